/*
 * dense/data/image_file.h: all bytes of a file, and files that may be packed: for readers whose samples are runs of
 * bytes (image_records.h) and whose labels are.
 */
#pragma once

#include "base/file.h"
#include "dense/data/image_set.h"

/* The bytes of a file: mapped, or unpacked into memory where the file is packed (.gz, .xz). */
typedef struct image_bytes {
    char *path; /* owned */
    const uint8_t *data;
    size_t bytes;
    uint8_t *unpacked; /* NULL: mapped */
    file_map map;
} image_bytes;

/* Returns the length of a whole file by its first `bytes`; 0: they do not say. */
typedef uint64_t (*image_bytes_stated)(const uint8_t *data, size_t bytes);

/*
 * Memory grows with the bytes that are there, whatever the file says, and reading stops at one byte more than it
 * states. stated: NULL for files that state nothing. WEFT_ERR_DATA: it unpacks to more than the options' memory.
 */
weft_status image_bytes_open(const char *path, const image_options *options, image_bytes_stated stated,
                             image_bytes *all);
/* `all` may be zeroed. */
void image_bytes_close(image_bytes *all);

/* Returns true if folder/name is there, or folder/name.gz. [out] path: of the one that is. */
bool image_file_find(const char *folder, const char *name, char path[FILE_PATH_MAX]);
