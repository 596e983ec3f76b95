/*
 * hal/cpu/gemm/pairs_tile.h: a tile of a product of pairs of bfloat16; for files that are compiled for AVX-512 BF16.
 *
 * A tile of PAIR_A_PANEL rows and PAIR_B_PANEL columns of C, 16 registers, takes a pair of terms with two loads of B
 * and PAIR_A_PANEL broadcasts of A for 16 instructions that multiply. Each of those rounds twice: products are exact,
 * their sum with C is of float32; denormals are zeros.
 */
#pragma once

#include <immintrin.h>

#include "hal/cpu/kernels.h"

enum { PAIR_LANES = 16, PAIR_TILE_LANES = 2 /* registers of a tile's row */ };

_Static_assert((int)PAIR_B_PANEL == (int)PAIR_TILE_LANES * (int)PAIR_LANES, "a tile is a panel wide");

/* Where the pairs of A are: that of row i and term p at a[i * row + p * term]. */
typedef struct pair_steps {
    int64_t row, term;
} pair_steps;

/* Rows 0 .. rows - 1 of a tile of C, and those of its columns that `there` has; + C where it adds. All PAIR_A_PANEL
 * rows of A are read. */
static inline __attribute__((always_inline)) void pairs_multiply_tile(int64_t pairs, const uint32_t *a, pair_steps step,
                                                                      const uint32_t *b, bool adds, int64_t rows,
                                                                      const __mmask16 there[PAIR_TILE_LANES], float *c,
                                                                      int64_t ldc)
{
    __m512 sum[PAIR_A_PANEL][PAIR_TILE_LANES];
#pragma GCC unroll 8
    for (int i = 0; i < PAIR_A_PANEL; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < PAIR_TILE_LANES; ++j) {
            sum[i][j] = adds && i < rows ? _mm512_maskz_loadu_ps(there[j], c + i * ldc + (int64_t)j * PAIR_LANES)
                                         : _mm512_setzero_ps();
        }
    }
    for (int64_t p = 0; p < pairs; ++p) {
        const __m512bh first = (__m512bh)_mm512_loadu_si512(b + p * PAIR_B_PANEL);
        const __m512bh second = (__m512bh)_mm512_loadu_si512(b + p * PAIR_B_PANEL + PAIR_LANES);
#pragma GCC unroll 8
        for (int i = 0; i < PAIR_A_PANEL; ++i) {
            const __m512bh pair = (__m512bh)_mm512_set1_epi32((int)a[i * step.row + p * step.term]);
            sum[i][0] = _mm512_dpbf16_ps(sum[i][0], pair, first);
            sum[i][1] = _mm512_dpbf16_ps(sum[i][1], pair, second);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < PAIR_A_PANEL; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < PAIR_TILE_LANES; ++j) {
            if (i < rows) {
                _mm512_mask_storeu_ps(c + i * ldc + (int64_t)j * PAIR_LANES, there[j], sum[i][j]);
            }
        }
    }
}
