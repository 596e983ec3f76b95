/*
 * gnn/data/features/spectral_dense.c: see gnn/data/features/spectral_dense.h.
 *
 * Orthonormalisation by Cholesky of the Gram matrix, three times, the first time shifted: T. Fukaya, R. Kannan, Y.
 * Nakatsukasa, Y. Yamamoto, Y. Yanagisawa: Shifted Cholesky QR for computing the QR factorization of ill-conditioned
 * matrices. SIAM Journal on Scientific Computing 42, 2020, doi:10.1137/18M1218212.
 */
#include "gnn/data/features/spectral_dense.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { PASSES = 3 };

void dense_gram(int64_t n, int64_t m, const double *x, const double *y, double *partial, double *c)
{
    assert(n >= 0 && m >= 1);
    memset(partial, 0, (size_t)(DENSE_RUNS * m * m) * sizeof *partial);
#pragma omp parallel for schedule(dynamic, 1)
    for (int run = 0; run < DENSE_RUNS; run++) {
        double *sum = partial + run * m * m;
        for (int64_t v = n * run / DENSE_RUNS; v < n * (run + 1) / DENSE_RUNS; v++) {
            for (int64_t i = 0; i < m; i++) {
                const double a = x[v * m + i];
                for (int64_t j = 0; j < m; j++) {
                    sum[i * m + j] += a * y[v * m + j];
                }
            }
        }
    }
    memcpy(c, partial, (size_t)(m * m) * sizeof *c);
    for (int64_t k = m * m; k < DENSE_RUNS * m * m; k++) {
        c[k % (m * m)] += partial[k];
    }
}

void dense_multiply(int64_t n, int64_t m, double *x, const double *t, double *row)
{
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < n; v++) {
        double *sum = row + omp_get_thread_num() * m;
        memset(sum, 0, (size_t)m * sizeof *sum);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < m; j++) {
                sum[j] += x[v * m + i] * t[i * m + j];
            }
        }
        memcpy(x + v * m, sum, (size_t)m * sizeof *sum);
    }
}

/* x = x l'^-1: row by row, forward through the columns. */
static void solve_rows(int64_t n, int64_t m, double *x, const double *l)
{
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < n; v++) {
        double *y = x + v * m;
        for (int64_t j = 0; j < m; j++) {
            double sum = y[j];
            for (int64_t k = 0; k < j; k++) {
                sum -= y[k] * l[j * m + k];
            }
            assert(l[j * m + j] > 0);
            y[j] = sum / l[j * m + j];
        }
    }
}

void dense_scale(int64_t n, int64_t m, double *x, double *g, double *partial, double *scale)
{
    dense_gram(n, m, x, x, partial, g);
    for (int64_t j = 0; j < m; j++) {
        scale[j] = g[j * m + j] > 0 ? 1 / sqrt(g[j * m + j]) : 0;
    }
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < n; v++) {
        for (int64_t j = 0; j < m; j++) {
            x[v * m + j] *= scale[j];
        }
    }
}

/* The lower triangle of g[m,m] becomes its Cholesky factor. */
static weft_status factorise(weft_hal *hal, int64_t m, double *g)
{
    int32_t info = 0;
    const hal_potrf_args args = {.a = hal_mat_of(g, WEFT_DTYPE_F64, m, m, m),
                                 .info = hal_mat_of(&info, WEFT_DTYPE_I32, 1, 1, 1)};
    WEFT_TRY(hal_potrf(hal, &args));
    WEFT_CHECK(info == 0, WEFT_ERR_INTERNAL, "spectral features: vector %d of %lld depends on those before it",
               (int)info, (long long)m);
    return WEFT_OK;
}

weft_status dense_orthonormalise(weft_hal *hal, int64_t n, int64_t m, double *x, double *g, double *partial)
{
    const double shift = 1e-14 * (double)m;
    for (int pass = 0; pass < PASSES; pass++) {
        dense_gram(n, m, x, x, partial, g);
        for (int64_t j = 0; j < m && pass == 0; j++) {
            g[j * m + j] += shift;
        }
        WEFT_TRY(factorise(hal, m, g));
        solve_rows(n, m, x, g);
    }
    return WEFT_OK;
}

weft_status dense_eigen(weft_hal *hal, int64_t m, double *a, double *rows, double *v, double *values)
{
    int32_t info = 0;
    const hal_syevd_args args = {.a = hal_mat_of(a, WEFT_DTYPE_F64, m, m, m),
                                 .vectors = hal_mat_of(rows, WEFT_DTYPE_F64, m, m, m),
                                 .values = hal_row_of(v, WEFT_DTYPE_F64, m), /* ascending, until v is written below */
                                 .info = hal_mat_of(&info, WEFT_DTYPE_I32, 1, 1, 1)};
    WEFT_TRY(hal_syevd(hal, &args));
    WEFT_CHECK(info == 0, WEFT_ERR_INTERNAL, "spectral features: no eigenvalues of a matrix of %lld rows (%d)",
               (long long)m, (int)info);
    for (int64_t j = 0; j < m; j++) {
        values[j] = v[m - 1 - j];
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) {
            v[i * m + j] = rows[(m - 1 - j) * m + i];
        }
    }
    return WEFT_OK;
}
