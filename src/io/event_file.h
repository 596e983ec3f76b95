/*
 * io/event_file.h: event files of TensorBoard, scalars alone.
 *
 * A file is a list of records in TFRecord's framing, each an Event in the wire format of Protocol Buffers; all integers
 * are little-endian, and mask(c) = rotate_right(c, 15) + 0xa282ead8:
 *
 *     uint64 length | uint32 mask(crc32c(length)) | payload[length] | uint32 mask(crc32c(payload))
 *
 *     Event    1: wall_time, double   2: step, int64   3: file_version, text   5: summary   7: session_log
 *     Summary  1: value, repeated { 1: tag, text   2: simple_value, float }
 *     SessionLog  1: status, 1 = a start: what was known of this step and later ones is void
 *
 * The first record is the version "brain.Event:2". A record is one write, so whoever follows the file sees whole
 * records. CRC32C: G. Castagnoli et al., IEEE Transactions on Communications 41(6), 1993, doi:10.1109/26.231911.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

#define EVENT_FILE_PREFIX "events.out.tfevents."
enum { EVENT_VALUES_MAX = 32, EVENT_TAG_MAX = 64 }; /* of one step */

typedef struct event_file {
    int fd; /* < 0: closed */
    char path[FILE_PATH_MAX];
} event_file;

typedef struct event_value {
    const char *tag; /* at most EVENT_TAG_MAX bytes */
    float value;
} event_value;

/* A new FOLDER/events.out.tfevents.SECONDS.HOST, of the first second from now that has none. */
weft_status event_file_create(const char *folder, const char *host, event_file *file);
/* What earlier files of the folder say of `step` and later ones is void. */
weft_status event_file_restart(event_file *file, int64_t step);
weft_status event_file_write(event_file *file, int64_t step, const event_value *value, int count);
void event_file_close(event_file *file);

/* Cut an event file before the first record of a later step than this, or the first damaged one. WEFT_ERR_DATA: it is
 * no event file, and stays as it is. */
weft_status event_file_cut(const char *path, int64_t step);

/* CRC32C, as in RFC 3720, appendix B.4. */
uint32_t event_file_crc(const void *data, size_t bytes);
