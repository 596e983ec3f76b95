/*
 * gnn/data/features/spectral_dense.c: see gnn/data/features/spectral_dense.h.
 *
 * Orthonormalisation by Cholesky of the Gram matrix, three times, the first time shifted: T. Fukaya, R. Kannan, Y.
 * Nakatsukasa, Y. Yamamoto, Y. Yanagisawa: Shifted Cholesky QR for computing the QR factorization of ill-conditioned
 * matrices. SIAM Journal on Scientific Computing 42, 2020, doi:10.1137/18M1218212. Eigenvalues by cyclic Jacobi
 * rotations: m is a few hundred.
 */
#include "gnn/data/features/spectral_dense.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

enum { SWEEPS = 60, PASSES = 3 };

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

/* g = l l' with l below the diagonal, in place; false when a pivot is not positive. */
static bool cholesky(int64_t m, double *g)
{
    for (int64_t j = 0; j < m; j++) {
        double pivot = g[j * m + j];
        for (int64_t k = 0; k < j; k++) {
            pivot -= g[j * m + k] * g[j * m + k];
        }
        if (!(pivot > 0)) {
            return false;
        }
        g[j * m + j] = sqrt(pivot);
        for (int64_t i = j + 1; i < m; i++) {
            double sum = g[i * m + j];
            for (int64_t k = 0; k < j; k++) {
                sum -= g[i * m + k] * g[j * m + k];
            }
            g[i * m + j] = sum / g[j * m + j];
        }
    }
    return true;
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

weft_status dense_orthonormalise(int64_t n, int64_t m, double *x, double *g, double *partial)
{
    const double shift = 1e-14 * (double)m;
    for (int pass = 0; pass < PASSES; pass++) {
        dense_gram(n, m, x, x, partial, g);
        for (int64_t j = 0; j < m && pass == 0; j++) {
            g[j * m + j] += shift;
        }
        WEFT_CHECK(cholesky(m, g), WEFT_ERR_INTERNAL, "spectral features: %lld vectors depend on each other",
                   (long long)m);
        solve_rows(n, m, x, g);
    }
    return WEFT_OK;
}

/* One rotation that clears a[p][q]; rows and columns p, q of a, columns p, q of v. */
static void rotate(int64_t m, double *a, double *v, int64_t p, int64_t q)
{
    assert(p >= 0 && p < q && q < m);
    const double theta = (a[q * m + q] - a[p * m + p]) / (2 * a[p * m + q]);
    const double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1);
    const double s = t * c;
    for (int64_t k = 0; k < m; k++) {
        const double x = a[k * m + p], y = a[k * m + q];
        a[k * m + p] = c * x - s * y;
        a[k * m + q] = s * x + c * y;
    }
    for (int64_t k = 0; k < m; k++) {
        const double x = a[p * m + k], y = a[q * m + k];
        a[p * m + k] = c * x - s * y;
        a[q * m + k] = s * x + c * y;
    }
    for (int64_t k = 0; k < m; k++) {
        const double x = v[k * m + p], y = v[k * m + q];
        v[k * m + p] = c * x - s * y;
        v[k * m + q] = s * x + c * y;
    }
}

static void swap_columns(int64_t m, double *v, double *values, int64_t i, int64_t j)
{
    const double value = values[i];
    values[i] = values[j];
    values[j] = value;
    for (int64_t k = 0; k < m; k++) {
        const double entry = v[k * m + i];
        v[k * m + i] = v[k * m + j];
        v[k * m + j] = entry;
    }
}

void dense_eigen(int64_t m, double *a, double *v, double *values)
{
    double off = 1, size = 0;
    memset(v, 0, (size_t)(m * m) * sizeof *v);
    for (int64_t i = 0; i < m; i++) {
        v[i * m + i] = 1;
    }
    for (int64_t k = 0; k < m * m; k++) {
        size += a[k] * a[k];
    }
    for (int sweep = 0; sweep < SWEEPS && off > 1e-30 * size; sweep++) {
        off = 0;
        for (int64_t p = 0; p < m; p++) {
            for (int64_t q = p + 1; q < m; q++) {
                off += a[p * m + q] * a[p * m + q];
                if (fabs(a[p * m + q]) > 1e-300) {
                    rotate(m, a, v, p, q);
                }
            }
        }
    }
    for (int64_t i = 0; i < m; i++) {
        values[i] = a[i * m + i];
    }
    for (int64_t i = 0; i < m; i++) { /* largest first; of equal ones the earlier */
        int64_t most = i;
        for (int64_t j = i + 1; j < m; j++) {
            most = values[j] > values[most] ? j : most;
        }
        swap_columns(m, v, values, i, most);
    }
}
