/*
 * hal/cpu/library/lapack.h: the only door to LAPACK: factorisations of one matrix by OpenBLAS, through LAPACKE.
 *
 * The library is opened at run time, when a factorisation first asks for it: a job that factorises nothing pays
 * nothing, and a program runs without it. Of its interface the calls that are needed are written down here, as they
 * have stood since LAPACKE 3.5: no header, nothing to link. Debian: libopenblas0-openmp, liblapacke.
 *
 * OpenBLAS is built in three ways. The one for OpenMP runs on the threads of the caller's runtime, as many as
 * omp_set_num_threads says outside of a parallel region and one inside. The one with threads of its own is held to one
 * thread, because its pool would stand beside ours; the serial one has one anyway.
 *
 * Some releases compute wrong numbers on processors that came after them. The first use therefore checks a product, a
 * Cholesky factor and an eigenproblem; lapack_get returns NULL if one is wrong, with a warning.
 *
 * WEFT_LAPACK=off in the environment does without the library, to compare; WEFT_LAPACK=wrong, for tests, pretends that
 * the check failed. A build with -DWEFT_LAPACK=OFF has none of it.
 */
#pragma once

#include "hal/hal.h"

typedef struct lapack lapack;

enum { LAPACK_MOST = 30000 /* rows of a matrix: its workspace is counted in 32 bits */ };

/* Returns the process's library, opened and checked by the first call, or NULL if there is none that computes right.
 * Logs once why it is NULL, or that it is the slow reference. Any thread may ask. */
const lapack *lapack_get(void);

/* [out] text: "OpenBLAS 0.3.21, kernel Zen, OpenMP", "not found", "none" of a build without, "" if nobody has opened it
 * yet; opens it first if `open`. Logs nothing. */
void lapack_describe(bool open, char *text, size_t bytes);

/* Bytes of workspace that the calls below need for a matrix of n columns, at most. */
size_t lapack_work_bytes(weft_dtype dtype, int64_t n);

/*
 * One matrix of float32 or float64 in row-major order, with the operations' meaning (hal/ops.def); info as LAPACK
 * returns it: 0, or not. n and m <= LAPACK_MOST. Callers check numbers that are not finite, since LAPACK does not.
 */
/* lower triangle of a[n,n] = L; returns row + 1 of the first pivot that is not positive */
int lapack_potrf(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld);
/* lower triangle of a[n,n] = the inverse from L */
int lapack_potri(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld);
/* x[k,n] = x (L L^T)^-1 */
int lapack_potrs(const lapack *library, weft_dtype dtype, int64_t n, const void *a, int64_t ld, int64_t k, void *x,
                 int64_t ldx);
/* a[n,n] = eigenvectors in its rows, values[n] ascending, from the lower triangle */
int lapack_syevd(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld, void *values, void *work);
/* a[m,n] = Q; r[n,n] = R in its upper triangle, whose diagonal may be negative; what is below is not written */
int lapack_geqrf(const lapack *library, weft_dtype dtype, int64_t m, int64_t n, void *a, int64_t ld, void *r,
                 int64_t ldr, void *work);
