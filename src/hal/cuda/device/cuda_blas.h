/*
 * hal/cuda/device/cuda_blas.h: products of matrices by cuBLAS, where the machine has it. It is opened at run time, by
 * the first product that asks for it: a program runs without it, and kernels/gemm.cu does what it does not.
 *
 * Its products have the same bits every time on one kind of card: one handle a stream, a workspace of its own, no
 * atomics; and float32 is multiplied as float32, never in the shorter type of tensor cores.
 */
#pragma once

#include <stdint.h>

#include "hal/cuda/device/cuda_device.h"
#include "hal/op_args.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_blas cuda_blas;

/* c[m,n] = alpha op(a)[m,k] op(b)[k,n] + beta c; rows of a, b and c lie lda, ldb and ldc elements apart. */
typedef struct cuda_product {
    const void *a, *b;
    void *c;
    weft_dtype from, to; /* of a and b; of c */
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
} cuda_product;

/* Whether cuda_blas_multiply does it: there is a library, and these types and sizes it takes.
 * [update] blas  NULL before the first question about a product on this stream; cuda_blas_close frees it. */
bool cuda_blas_takes(cuda_blas **blas, cuda_stream *stream, const cuda_product *product);
int cuda_blas_multiply(cuda_blas *blas, const cuda_product *product);
void cuda_blas_close(cuda_blas *blas);
/* Bytes of the device that it takes for itself, once something is multiplied; 0: there is none. */
size_t cuda_blas_workspace(void);
/* "cuBLAS 13.1", or "no cuBLAS". */
void cuda_blas_library(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
