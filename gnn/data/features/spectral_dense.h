/*
 * gnn/data/features/spectral_dense.h: blocks of vectors and small symmetric matrices, for gnn/data/features/spectral.c.
 *
 * A block is [n, m] by rows. Sums over n are taken over a fixed number of runs of rows and added in their order, so
 * that bits do not depend on the number of threads.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "hal/hal.h"

enum { DENSE_RUNS = 32 };

/* c [m, m] = x' y; partial [DENSE_RUNS, m, m] is workspace. */
void dense_gram(int64_t n, int64_t m, const double *x, const double *y, double *partial, double *c);
/* x = x t, t [m, m]; row [threads, m] is workspace. */
void dense_multiply(int64_t n, int64_t m, double *x, const double *t, double *row);
/* Columns of x of length 1. g, partial, row: workspace, here and below. */
void dense_scale(int64_t n, int64_t m, double *x, double *g, double *partial, double *row);
/* Makes the columns of x, of length 1, orthonormal. `hal` is a backend on host memory. WEFT_ERR_INTERNAL if they do not
 * span m dimensions. */
weft_status dense_orthonormalise(weft_hal *hal, int64_t n, int64_t m, double *x, double *g, double *partial);
/* Eigenvalues of the symmetric a[m, m], descending, and eigenvectors in the columns of v; a and rows[m, m] are
 * workspace. */
weft_status dense_eigen(weft_hal *hal, int64_t m, double *a, double *rows, double *v, double *values);
