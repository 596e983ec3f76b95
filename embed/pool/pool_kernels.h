/* embed/pool/pool_kernels.h: sums of rows, compiled once an instruction set (base/isa.h). */
#pragma once

#include <stdint.h>

/* Rows of `from`, with leading dimension ld, that are added up. */
typedef struct pool_source {
    const float *from;
    int64_t ld;
    int fields; /* of pool_gradients: rows are bags, field f of a sample begins at column f * stride */
    int stride;
    const float *weight; /* of each position, what its row is multiplied by; NULL: 1 */
} pool_source;

typedef struct pool_kernels {
    /* out[b] = sum of weight[p] * row place[p], at[b] <= p < at[b + 1], for bags first <= b < last; bag b of out is
     * that of its field and sample. */
    void (*rows)(const pool_source *source, const int64_t *at, const int32_t *place, int64_t first, int64_t last,
                 float *out, int64_t out_ld);
    /* out[i - first] = sum of weight[p] * bag bag[p], at[i] <= p < at[i + 1], for keys first <= i < last. */
    void (*gradients)(const pool_source *source, const int64_t *at, const int32_t *bag, int64_t first, int64_t last,
                      float *out, int64_t out_ld);
} pool_kernels;

extern const pool_kernels pool_kernels_base, pool_kernels_avx2, pool_kernels_avx512;
