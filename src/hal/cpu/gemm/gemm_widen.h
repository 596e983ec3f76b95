/* hal/cpu/gemm/gemm_widen.h: rows of a matrix of bfloat16 on their way into the kernels, which multiply float32. */
#pragma once

#include "hal/cpu/cpu_backend.h"
#include "hal/pack.h"

enum { WIDEN_ROWS = 48 /* rows that are widened at once: whole tiles of the kernels */ };

static inline const void *cells_at(const void *matrix, bool narrow, int64_t at)
{
    return (const char *)matrix + (size_t)at * (narrow ? sizeof(uint16_t) : sizeof(float));
}

static inline const hal_pack_cast *casts_of(const weft_hal *hal)
{
    return &hal_pack_of(cpu_state_of(hal)->isa)->bf16;
}

/* Rows of `cols` cells, widened into floats without gaps; rows of float32 are taken as they lie. room: [rows, cols],
 * not read if the rows are float32. [out] ld: columns from one row of the result to the next. */
static inline const float *widened(const hal_pack_cast *cast, const void *from, bool narrow, int64_t rows, int64_t cols,
                                   int64_t ld_from, float *room, int64_t *ld)
{
    *ld = narrow ? cols : ld_from;
    if (!narrow) {
        return from;
    }
    for (int64_t i = 0; i < rows; ++i) {
        cast->decode((const uint16_t *)from + i * ld_from, room + i * cols, cols);
    }
    return room;
}
