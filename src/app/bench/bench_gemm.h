/* app/bench/bench_gemm.h: a row of `weft bench gemm`, and what measures it. */
#ifndef WEFT_APP_BENCH_BENCH_GEMM_H
#define WEFT_APP_BENCH_BENCH_GEMM_H

#include "app/bench/bench_grid.h"

/* clang-format off */
#define GEMM_ROW(C)                                                                                                    \
    C(TEXT, product, true) C(INT, threads, true) C(INT, rows, true) C(INT, inputs, true) C(INT, d, true)               \
    BENCH_SECONDS(C) C(REAL, gflop_per_s, true) C(REAL, gemm_flop_per_s, false) C(REAL, percent_of_gemm, true)         \
    C(REAL, percent_of_triad, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(gemm_row, GEMM_ROW);

/* Measures the product that the row names. [out] row: seconds, error over its bound, valid. [out] bytes: of the three
 * matrices. */
weft_status bench_gemm_case(weft_hal *hal, int repeats, gemm_row *row, double *bytes);

#endif
