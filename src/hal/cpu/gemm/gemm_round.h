/* hal/cpu/gemm/gemm_round.h: rows of a matrix on their way into kernels that multiply bfloat16. */
#pragma once

#include "hal/cpu/gemm/gemm_widen.h"

/* Rows in bfloat16, `ld` cells from one to the next. */
typedef struct halves {
    const uint16_t *data;
    int64_t ld;
} halves;

/* Rows `rows` of a matrix of `cols` columns: where they lie if it is of bfloat16 (`narrow`), else rounded into `room`
 * [rows, cols]. */
static inline halves rounded(const hal_pack_cast *cast, const void *matrix, bool narrow, int64_t ld, hal_span rows,
                             int64_t cols, uint16_t *room)
{
    if (narrow) {
        return (halves){.data = (const uint16_t *)matrix + rows.begin * ld, .ld = ld};
    }
    for (int64_t i = 0; i < rows.end - rows.begin; ++i) {
        cast->encode((const float *)matrix + (rows.begin + i) * ld, room + i * cols, cols);
    }
    return (halves){.data = room, .ld = cols};
}
