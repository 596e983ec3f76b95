/*
 * app/bench/bench_gemm.h: what the files of `weft bench gemm` share.
 *
 *      ab    Y [m, d] = X [m, k] W [k, d]         forward
 *      atb   D [k, d] = X^T [k, m] G [m, d]       gradient of the weights: long sums, small result
 *      abt   Z [m, k] = G [m, d] W^T [d, k]       gradient of the input
 */
#ifndef WEFT_APP_BENCH_BENCH_GEMM_H
#define WEFT_APP_BENCH_BENCH_GEMM_H

#include "app/bench/bench.h"
#include "hal/hal.h"

typedef enum gemm_product { GEMM_AB, GEMM_ATB, GEMM_ABT, GEMM_PRODUCTS } gemm_product;

typedef struct gemm_result {
    gemm_product product; /* these four are the question */
    int64_t rows, inputs, d;
    bench_quartiles seconds;
    double flops, bytes; /* of one product; each matrix read or written once */
    double worst;        /* largest error over its bound; above 1 is invalid */
    bool valid;
} gemm_result;

weft_status bench_gemm_case(weft_hal *hal, int repeats, gemm_result *result);

#endif
