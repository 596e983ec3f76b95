/*
 * comm/halo/halo_format.h: what the rows of one exchange are, and how its messages carry them.
 *
 * A row of width elements is written as it is, in fewer bits (hal_row_codec), or in numbers of bits that the rows
 * choose (comm/halo/halo_mix.h). All of an exchange's messages are written alike, so both ends know their bytes.
 */
#pragma once

#include "comm/halo.h"

typedef struct halo_format {
    halo_direction direction;
    comm_halo_code code;
    hal_mat x;            /* [n_local, width] on the device: where the rows are taken from and go to */
    bool messages_reach;  /* messages lie in the memory that the backend packs into */
    int64_t packed_bytes; /* of a row beside x, as it is there */
    int64_t row_bytes;    /* of the room for a row in a message */
} halo_format;

/* direct: messages reach memory of the device that the host does not see (comm_choose_direct). code->rounding names
 * the sender. */
halo_format halo_format_of(const weft_hal *hal, halo_direction direction, const comm_halo_code *code, hal_mat x,
                           bool direct);

/* The rows choose their bits; and: they are written in fewer bits at all. */
static inline bool halo_code_is_mixed(const comm_halo_code *code)
{
    return code->mean_bits > 0.0;
}

static inline bool halo_code_is_coded(const comm_halo_code *code)
{
    return code->codec != HAL_ROWS_NONE || halo_code_is_mixed(code);
}

/* Of a message of so many rows. */
int64_t halo_format_bytes(const halo_format *format, int64_t rows);
