/*
 * hal/cpu/factor/own_qr.c: Q and R by modified Gram-Schmidt in double, twice: the columns lie in rows of their own, and
 * each one that is finished is taken out of all that follow, which threads share. The second pass takes out what
 * rounding left of the first, A = Q1 R1 = Q2 (R2 R1).
 */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "hal/cpu/factor/own_forms.h"
#include "hal/ref/ref_backend.h"

size_t own_geqrf_bytes(int64_t m, int64_t n)
{
    return (size_t)(n * m + 2 * n * n + n) * sizeof(double);
}

/* Row j of `q` gets length 1, unless it is 0, and leaves the rows behind it. r[j,:] = what it was of each. */
static void take_out(int threads, int64_t m, int64_t n, int64_t j, double *q, double *r)
{
    double *row = q + j * m;
    const double length = sqrt(dot(m, row, row));
    const double scale = length > 0.0 ? 1.0 / length : 0.0;
    r[j] = length;
    for (int64_t i = 0; i < m; ++i) {
        row[i] *= scale;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = j + 1; k < n; ++k) {
        double *other = q + k * m;
        const double share = dot(m, row, other);
        r[k] = share;
        for (int64_t i = 0; i < m; ++i) {
            other[i] -= share * row[i];
        }
    }
}

/* r[n,n] of `to` = second * first, both upper triangular. */
static void put_product(int64_t n, const double *second, const double *first, const hal_mat *to)
{
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int64_t k = i; k <= j; ++k) {
                sum += second[i * n + k] * first[k * n + j];
            }
            ref_store(to, i, j, sum);
        }
    }
}

int32_t own_geqrf(int threads, const hal_mat *a, const hal_mat *r, void *work)
{
    const int64_t m = a->rows;
    const int64_t n = a->cols;
    const double epsilon = a->dtype == WEFT_DTYPE_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double *q = work;
    double *first = q + n * m;
    double *second = first + n * n;
    double *before = second + n * n;
    int32_t info = 0;
    assert(r->rows == n && r->cols == n && m >= n);
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) {
            q[j * m + i] = ref_load(a, i, j);
        }
        before[j] = sqrt(dot(m, q + j * m, q + j * m));
    }
    for (int64_t j = 0; j < n; ++j) {
        take_out(threads, m, n, j, q, first + j * n);
        const double length = first[j * n + j];
        const bool stands = length > (double)(m + n) * epsilon * before[j] && length < INFINITY;
        info = info == 0 && !stands ? (int32_t)(j + 1) : info;
    }
    for (int64_t j = 0; j < n; ++j) {
        take_out(threads, m, n, j, q, second + j * n);
    }
    put_product(n, second, first, r);
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            ref_store(a, i, j, q[j * m + i]);
        }
    }
    return info;
}
