/* app/bench/bench_gemm.h: `weft bench gemm`, and a row of its table. */
#ifndef WEFT_APP_BENCH_BENCH_GEMM_H
#define WEFT_APP_BENCH_BENCH_GEMM_H

#include "app/bench/bench_run.h"

/* clang-format off */
#define GEMM_ROW(C)                                                                                                    \
    C(TEXT, product, true) C(INT, threads, true) C(INT, rows, true) C(INT, inputs, true) C(INT, d, true)               \
    BENCH_SECONDS(C) C(REAL, gflop_per_s, true) C(REAL, gemm_flop_per_s, false) C(REAL, percent_of_gemm, true)         \
    C(REAL, percent_of_triad, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(gemm_row, GEMM_ROW);

/* Measures the product of a shape; row: both are set, the rest is filled. */
weft_status bench_gemm_case(bench_run *run, gemm_row *row);

extern const bench_kind bench_gemm;

#endif
