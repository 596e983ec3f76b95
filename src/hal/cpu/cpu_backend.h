/*
 * hal/cpu/cpu_backend.h: what the files of the CPU backend share.
 *
 * The backend picks its kernels once, when it is opened: the widest instruction set that this processor has, capped by
 * the resource's argument ("cpu:avx2", "cpu:base"). Ops read the level from cpu_state and call the function of that
 * level; files named *_avx2.c and *_avx512.c hold them, everything else is baseline code.
 */
#pragma once

#include <stddef.h>

#include "base/isa.h"
#include "hal/cpu/kernels.h"
#include "hal/hal.h"

typedef struct onednn onednn;           /* see library/onednn.h */
typedef struct cpu_product cpu_product; /* see library/onednn.h */

typedef struct cpu_state {
    hal_isa isa;
    cpu_kernels kernels; /* of that level */
    void *workspace;     /* partial results of reductions; grows, see cpu_workspace */
    size_t workspace_bytes;
    void *factor; /* scratch memory beside it, see cpu_factor_workspace */
    size_t factor_bytes;
    onednn *library; /* NULL without it */
    onednn **alone;  /* [threads of the backend] the library for one thread each; NULL without native_bf16 */
    hal_ops own;     /* operations on float32 and bfloat16, and those whose operands have types of their own */
    weft_hal ref;    /* its tables: what everything else runs on */
} cpu_state;

static inline cpu_state *cpu_state_of(const weft_hal *hal)
{
    return (cpu_state *)hal->state;
}

/* At least `bytes` of scratch memory owned by the backend, 64-byte aligned, valid until the next op asks for it. */
weft_status cpu_workspace(weft_hal *hal, size_t bytes, void **workspace);
/* Likewise, beside it: valid until the next factorisation or gram, whatever products run in between. */
weft_status cpu_factor_workspace(weft_hal *hal, size_t bytes, void **workspace);

/* Pieces that `work` elementary operations are cut into: hal->threads, or fewer when threads would cost more than they
 * save. A function of its arguments alone, so that results do not depend on what the OpenMP runtime grants. */
int cpu_parts(const weft_hal *hal, int64_t work);

/* Of the first-level cache of a core for data, and of the second-level cache. */
uint64_t cpu_l1_bytes(void);
uint64_t cpu_l2_bytes(void);

/* Memory and prepared matrices. */
void cpu_mem_ops(hal_mem_ops *ops);
void cpu_sparse_ops(hal_sparse_ops *ops);

/* Each sets the slots that it has a version of for float32, and for bfloat16 where rows may be of it; the others and
 * float64 run on ref. */
void cpu_gemm_op(hal_ops *ops);
/* A product of which at least one matrix is of bfloat16; m, n and k > 0. */
weft_status cpu_gemm_narrow(weft_hal *hal, const cpu_product *product);

/* Pixels of images that a convolution of 1 x 1 meets: row i of its output [images * down * across] belongs to row
 * (image * height + y * stride[0]) * width + x * stride[1] of its input. stride[0] 0: to row i. */
typedef struct cpu_pixels {
    int64_t height, width, down, across, stride[2];
} cpu_pixels;

/* C[m, n] = A^T B, + C where it adds; A [k, m] and B of bfloat16, C of float32. kernels.pairs is not NULL. */
typedef struct cpu_pair_product {
    int64_t m, n, k;
    const uint16_t *a;
    int64_t lda;
    const uint16_t *b;
    int64_t ldb;
    cpu_pixels pixels; /* which row of B belongs to one of A */
    float *c;
    int64_t ldc;
    bool adds;
} cpu_pair_product;

weft_status cpu_gemm_pairs(weft_hal *hal, const cpu_pair_product *product);
/* Makes the workspace large enough for products of this size, so that they allocate nothing. */
weft_status cpu_pairs_prepare(weft_hal *hal, int64_t m, int64_t n, int64_t k);

/* Convolutions of 3 x 3 by transformed tiles (winograd/): their name where the caller allows them and this backend has
 * them for such a shape, else NULL. x and y are of the shape's type. */
const char *cpu_winograd_name(const weft_hal *hal, const hal_conv_shape *shape);
/* Makes the workspace large enough for so many images, so that passes allocate nothing. */
weft_status cpu_winograd_prepare(weft_hal *hal, const hal_conv_shape *shape, int64_t images);
weft_status cpu_winograd_forward(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *x,
                                 const hal_conv_norm *norm, const float *weight, void *y);
weft_status cpu_winograd_backward_data(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *dy,
                                       const float *weight, void *dx);
weft_status cpu_winograd_backward_weights(weft_hal *hal, const hal_conv_shape *shape, int64_t images, const void *x,
                                          const hal_conv_norm *norm, const void *dy, float *dweight, bool adds);

void cpu_dense_ops(hal_ops *ops);
void cpu_nn_ops(hal_ops *ops);
void cpu_token_ops(hal_ops *ops);
void cpu_attention_ops(hal_ops *ops);
void cpu_pool_ops(hal_ops *ops);
void cpu_max_ops(hal_ops *ops);
void cpu_optim_ops(hal_ops *ops);
void cpu_pack_ops(hal_ops *ops);

/* Sets slots that take every type themselves: factorisations of float32 and float64. */
void cpu_factor_ops(hal_ops *ops);
/* Scratch memory [bytes] of a factorisation of one matrix of n rows; with the library's own code and buffers where it
 * is asked. */
uint64_t cpu_factor_scratch(hal_op op, weft_dtype dtype, int64_t n);
/* Scratch memory [bytes] of gram and patch_gram, of so many rows of float32; makes: of patches, or of some of the
 * rows. */
uint64_t cpu_gram_scratch(const weft_hal *hal, int64_t rows, int64_t n, bool makes);
/* Sets slots of gram and patch_gram for rows of float32 and bfloat16, and of histogram. */
void cpu_gram_ops(hal_ops *ops);
void cpu_histogram_op(hal_ops *ops);
/* The sums of histogram for bins of 16 bits. threads: of the caller's team, or 1. */
void cpu_histogram_wide(const hal_histogram_args *args, int64_t rows, int threads);

/* In all types that it supports: the prepared matrix is this backend's own. */
weft_status cpu_spmm_run(weft_hal *hal, const hal_spmm_run_args *args);
weft_status cpu_fixed_run(weft_hal *hal, const hal_fixed_run_args *args);
/* Sets the other slots of sums in fixed point. */
void cpu_fixed_ops(hal_ops *ops);
weft_status cpu_feature_product(weft_hal *hal, const hal_feature_product_args *a);

/* Prepared convolutions and what runs them, likewise. */
void cpu_image_ops(weft_hal *hal);
