/*
 * hal/cuda/device/cuda_solver.h: factorisations of large matrices by cuSOLVER, where the machine has it. It is opened
 * at run time, by the first matrix that is large enough: a program runs without it, and the kernels of
 * hal/cuda/factor do what it does not.
 *
 * Matrices lie by columns, as LAPACK has them. Its upper triangle is therefore our lower one, and its columns are our
 * rows.
 */
#pragma once

#include <stdint.h>

#include "hal/cuda/device/cuda_device.h"
#include "hal/op_args.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_solver cuda_solver;

typedef enum cuda_solver_call {
    CUDA_SOLVER_POTRF, /* upper triangle of a[n,n] = U, a = U^T U */
    CUDA_SOLVER_POTRI, /* upper triangle of a[n,n] = the inverse of U^T U, from U there */
    CUDA_SOLVER_POTRS, /* x[n,m] = (U^T U)^-1 x */
    CUDA_SOLVER_SYEVD, /* from the upper triangle: columns of a[n,n] = eigenvectors, x[n] = eigenvalues, ascending */
    CUDA_SOLVER_GEQRF, /* a[m,n], x[n] = Householder's reflections and R, m >= n */
    CUDA_SOLVER_ORGQR, /* a[m,n] = Q, from a and x of CUDA_SOLVER_GEQRF */
    CUDA_SOLVER_CALLS
} cuda_solver_call;

typedef struct cuda_solver_job {
    cuda_solver_call call;
    weft_dtype dtype; /* float32 or float64 */
    int64_t m, n;
    void *a, *x; /* on the device; not read by the questions below */
    int64_t lda, ldx;
    void *work;      /* cuda_solver_workspace bytes of the device */
    int32_t *info;   /* on the device: LAPACK's */
    size_t elements; /* of work; cuda_solver_workspace sets it */
} cuda_solver_job;

/* Returns true if there is a library, and the matrix is of a size for it.
 * [update] solver: NULL before the first question about a matrix of this stream; cuda_solver_close frees it. */
bool cuda_solver_takes(cuda_solver **solver, cuda_stream *stream, weft_dtype dtype, int64_t m, int64_t n);
/* [out] bytes of the device that the job needs as workspace. */
int cuda_solver_workspace(cuda_solver *solver, cuda_solver_job *job, size_t *bytes);
int cuda_solver_run(cuda_solver *solver, const cuda_solver_job *job);
void cuda_solver_close(cuda_solver *solver);
/* [out] text: "cuSOLVER 11.7", or "no cuSOLVER". */
void cuda_solver_library(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
