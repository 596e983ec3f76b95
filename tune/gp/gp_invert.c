/*
 * tune/gp/gp_invert.c: A^-1 = L^-T L^-1 by Cholesky's factor L, with loops over rows.
 *
 * A Gaussian process needs the inverse itself: its gradient reads every element, and predictions are products with
 * it. A hundred points are too few for a library's blocks to pay.
 */
#include <math.h>
#include <string.h>

#include "tune/gp/gp_model.h"

/* L in place of the lower triangle. */
static bool factorise(double *a, int n, double *half_log)
{
    *half_log = 0.0;
    for (int i = 0; i < n; i++) {
        double *row = a + (int64_t)i * n;
        for (int k = 0; k < i; k++) {
            const double *other = a + (int64_t)k * n;
            row[k] = (row[k] - gp_dot(row, other, k)) / other[k];
        }
        const double pivot = row[i] - gp_dot(row, row, i);
        if (!(pivot > 0.0)) {
            return false;
        }
        row[i] = sqrt(pivot);
        *half_log += log(row[i]);
    }
    return true;
}

/* L^-1 in place of L, row by row: row i of it is (e_i - sum over k < i of L[i, k] row k) / L[i, i]. */
static void invert_factor(double *a, double *scratch, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = a + (int64_t)i * n;
        const double pivot = 1.0 / row[i];
        memset(scratch, 0, (size_t)n * sizeof *scratch);
        for (int k = 0; k < i; k++) {
            const double *other = a + (int64_t)k * n, times = row[k];
#pragma omp simd
            for (int c = 0; c <= k; c++) {
                scratch[c] -= times * other[c];
            }
        }
        for (int c = 0; c < i; c++) {
            row[c] = scratch[c] * pivot;
        }
        row[i] = pivot;
    }
}

bool gp_invert(double *matrix, double *inverse, int n, double *half_log)
{
    if (!factorise(matrix, n, half_log)) {
        return false;
    }
    invert_factor(matrix, inverse, n);
    memset(inverse, 0, (size_t)n * (size_t)n * sizeof *inverse);
    for (int r = 0; r < n; r++) { /* adds the outer product of row r of L^-1 */
        const double *row = matrix + (int64_t)r * n;
        for (int i = 0; i <= r; i++) {
            double *out = inverse + (int64_t)i * n, times = row[i];
#pragma omp simd
            for (int k = 0; k <= i; k++) {
                out[k] += times * row[k];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            inverse[(int64_t)k * n + i] = inverse[(int64_t)i * n + k];
        }
    }
    return true;
}
