/*
 * io/zip/zip.h: a zip archive read strictly, through its central directory only.
 *
 * The directory is checked once, whole, at opening (io/zip/zip_directory.c): every member then lies in its own bytes of
 * the file and its local header agrees with the directory. A member is then read as a stream of exactly as many bytes
 * as the caller asks for (io/zip/zip_stream.c), so a declared size never decides an allocation.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "base/status.h"

typedef struct zip_member {
    char *name; /* without control characters */
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed_bytes, bytes; /* in the file; unpacked */
    uint64_t header_offset;       /* of the local header */
    uint64_t data_offset;
} zip_member;

typedef struct zip_directory {
    zip_member *members;
    size_t count;
} zip_directory;

/* Check the whole directory of an archive in memory. `path` is for messages. WEFT_ERR_DATA names what is wrong. */
weft_status zip_directory_read(const char *path, const uint8_t *data, size_t size, zip_directory *directory);
void zip_directory_free(zip_directory *directory);

typedef struct zip_stream {
    const char *name; /* for messages */
    const zip_member *member;
    const uint8_t *next; /* packed bytes not yet used */
    uint64_t packed_left, left;
    uint32_t crc;
    z_stream inflate;
    int inflating; /* the inflater needs inflateEnd */
} zip_stream;

weft_status zip_stream_open(const char *name, const uint8_t *archive, const zip_member *member, zip_stream *stream);
/* Exactly `bytes` bytes of the member, or WEFT_ERR_DATA. */
weft_status zip_stream_read(zip_stream *stream, void *dst, size_t bytes);
/* The member must end here, unpacked and packed, and its CRC must match. */
weft_status zip_stream_finish(zip_stream *stream);
void zip_stream_close(zip_stream *stream);
