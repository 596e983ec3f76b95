/*
 * gnn/data/features/spectral_dense.h: blocks of vectors and small symmetric matrices, for gnn/data/features/spectral.c.
 *
 * A block is [n, m] by rows. Sums over n are taken over a fixed number of runs of rows and added in their order, so
 * that bits do not depend on the number of threads.
 */
#ifndef WEFT_GNN_DATA_FEATURES_SPECTRAL_DENSE_H
#define WEFT_GNN_DATA_FEATURES_SPECTRAL_DENSE_H

#include <stdint.h>

#include "base/status.h"

enum { DENSE_RUNS = 32 };

/* c [m, m] = x' y; partial [DENSE_RUNS, m, m] is workspace. */
void dense_gram(int64_t n, int64_t m, const double *x, const double *y, double *partial, double *c);
/* x = x t, t [m, m]; row [threads, m] is workspace. */
void dense_multiply(int64_t n, int64_t m, double *x, const double *t, double *row);
/* Columns of x of length 1. g, partial, row: workspace, here and below. */
void dense_scale(int64_t n, int64_t m, double *x, double *g, double *partial, double *row);
/* Columns of x, of length 1, made orthonormal. WEFT_ERR_INTERNAL when they do not span m dimensions. */
weft_status dense_orthonormalise(int64_t n, int64_t m, double *x, double *g, double *partial);
/* a [m, m] symmetric: eigenvalues, descending, and eigenvectors in the columns of v; a is destroyed. */
void dense_eigen(int64_t m, double *a, double *v, double *values);

#endif
