/*
 * hal/cpu/factor/own_forms.h: factorisations without LAPACK, for processors on which it computes wrong numbers and
 * machines that have none. Eigenvalues, Q and R are computed in double on `threads` threads, with the same bits for
 * every number of them; Cholesky factors and inverses of large matrices of float32 in blocks, over the backend's
 * products.
 */
#pragma once

#include "hal/hal.h"

enum { OWN_BLOCK = 128 /* rows that a step of a blocked form takes */ };

/* Lower triangle of a[n,n] of float32 = L. [out] info of potrf. work: own_potrf_bytes. */
size_t own_potrf_bytes(int64_t n);
weft_status own_potrf(weft_hal *hal, const hal_mat *a, void *work, int32_t *info);

/* a[n,n] of float32 = the inverse, in both triangles, from L. work: own_potri_bytes. */
size_t own_potri_bytes(int64_t n);
weft_status own_potri(weft_hal *hal, const hal_mat *a, void *work);

/* vectors[n,n] and values[n] of the type of a[n,n], whose numbers are finite; work: own_syevd_bytes. Returns the info
 * of syevd. */
size_t own_syevd_bytes(int64_t n);
int32_t own_syevd(int threads, const hal_mat *a, const hal_mat *vectors, const hal_mat *values, void *work);

/* a[m,n] = Q and r[n,n] = R; work: own_geqrf_bytes. Returns the info of geqrf. */
size_t own_geqrf_bytes(int64_t m, int64_t n);
int32_t own_geqrf(int threads, const hal_mat *a, const hal_mat *r, void *work);

static inline double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}
