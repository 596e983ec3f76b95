/*
 * comm/halo/halo_mixer.h: messages of rows in numbers of bits that the rows choose (comm/halo/halo_mix.h), packed and
 * unpacked through a backend.
 *
 *      pack      ranges of the rows -> classes -> gather by class -> encode each class -> header
 *      unpack    header -> classes -> decode each class -> scatter by class
 *
 * Ranges and headers are the host's business: where it does not see the backend's memory, rows are downloaded to be
 * looked at.
 */
#pragma once

#include "comm/halo/halo_mix.h"

typedef struct halo_mixer halo_mixer;

/* One message. */
typedef struct halo_mixed {
    hal_mat x;            /* [n_local, width], float32 */
    const int32_t *index; /* device [rows], of x */
    const int64_t *id;    /* device [rows], global */
    int64_t rows, first;  /* first: its place among the rows of the exchange, which have a place each */
    hal_mat packed;       /* [rows, width] of work space */
    char *message, *host; /* on the device, and where the host sees it: the same where it sees everything */
    double mean_bits;
    hal_row_rounding rounding;
} halo_mixed;

/* rows: most of an exchange's side. Free with halo_mixer_destroy; NULL is allowed there. Local. */
weft_status halo_mixer_create(weft_hal *hal, int64_t rows, int64_t width, halo_mixer **mixer);
void halo_mixer_destroy(halo_mixer *mixer);
/* Bytes that no row of a message exceeds on average, with its part of the header. */
static inline int64_t halo_mixer_room(int64_t width)
{
    const int64_t most = 1 + hal_row_bytes(HAL_ROWS_INT8, width);
    return most > 4 * width ? most : 4 * width;
}
weft_status halo_mixer_pack(halo_mixer *mixer, const halo_mixed *rows);
weft_status halo_mixer_unpack(halo_mixer *mixer, const halo_mixed *rows, hal_scatter mode);
