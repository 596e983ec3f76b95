/*
 * trees/loss/logistic.h: gradients and losses of two classes, some rows at a time.
 *
 * The loss of a row is log(1 + exp(-z)), z being the margin of its own class: |z| where z is below 0, and the logarithm
 * of a number between 1 and 2, of which 512 are multiplied before it is taken. Kernels are compiled without fused
 * operations, and sum by LOGISTIC_LANES, so that they give the same bits for every instruction set.
 */
#pragma once

#include <stdint.h>

#include "base/isa.h"

#define TREE_LEAST_HESSIAN 1e-16F

enum { LOGISTIC_LANES = 8, LOGISTIC_ROWS = 512 * LOGISTIC_LANES };

typedef struct logistic_rows {
    const float *margin, *y; /* [rows] y: 0 or 1 */
    const uint8_t *counts;   /* [rows] 0: the row's numbers are 0, and its loss is not counted */
    int64_t rows;            /* at most LOGISTIC_ROWS */
    float *gradient, *hessian;
} logistic_rows;

/* Returns the sum of the losses. */
typedef double logistic_kernel(const logistic_rows *rows);
logistic_kernel logistic_base, logistic_avx2, logistic_avx512;
