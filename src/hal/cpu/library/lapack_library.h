/* hal/cpu/library/lapack_library.h: LAPACK's interface as far as lapack.c calls it. For the files of this folder. */
#pragma once

#include "hal/cpu/library/lapack.h"

enum { LAPACK_BY_ROWS = 101, LAPACK_BY_COLUMNS = 102 }; /* LAPACK_ROW_MAJOR, LAPACK_COL_MAJOR */

/* LAPACKE_<letter><name>_work: they allocate nothing for matrices by columns. Integers have 32 bits. Pointers to
 * numbers are void, so that one type serves float and double. */
typedef int lapack_potrf_call(int layout, char uplo, int n, void *a, int lda);
typedef int lapack_potrs_call(int layout, char uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb);
typedef int lapack_syevd_call(int layout, char jobz, char uplo, int n, void *a, int lda, void *w, void *work, int lwork,
                              int32_t *iwork, int liwork);
typedef int lapack_gelqf_call(int layout, int m, int n, void *a, int lda, void *tau, void *work, int lwork);
typedef int lapack_orglq_call(int layout, int m, int n, int k, void *a, int lda, const void *tau, void *work,
                              int lwork);

/* The products of CBLAS, which the check multiplies with; 111 is no transpose, 112 a transpose. */
typedef void lapack_sgemm_call(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                               int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void lapack_dgemm_call(int layout, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                               int lda, const double *b, int ldb, double beta, double *c, int ldc);

struct lapack {
    lapack_potrf_call *spotrf, *dpotrf, *spotri, *dpotri;
    lapack_potrs_call *spotrs, *dpotrs;
    lapack_syevd_call *ssyevd, *dsyevd;
    lapack_gelqf_call *sgelqf, *dgelqf;
    lapack_orglq_call *sorglq, *dorglq;
    lapack_sgemm_call *sgemm;
    lapack_dgemm_call *dgemm;
    bool reference; /* not OpenBLAS */
    char name[128]; /* "OpenBLAS 0.3.21, kernel Zen, OpenMP" */
};

/* Returns NULL, or what the library computes wrong: "a product of float32". It takes a few milliseconds. */
const char *lapack_check(const lapack *library);
