/*
 * hal/cpu/library/onednn.h: the only door to oneDNN, versions 2.6 to 3.x: matrix products and convolutions.
 *
 * A primitive is made once a shape and kept, with the library's scratch memory owned by us, so that repeated calls
 * allocate nothing. Without the library (WEFT_ONEDNN=OFF) onednn_open gives NULL and nothing else may be called.
 *
 *     onednn_context      engine, stream, scratch memory; a primitive that runs        onednn_gemm    products by shape
 *     onednn_versions.h   what the versions disagree on                                onednn_conv    convolutions
 */
#pragma once

#include "hal/hal.h"

typedef struct onednn onednn;
typedef struct onednn_conv onednn_conv;

/* A product as the drivers and the library see it: c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c + bias[n]. */
typedef struct cpu_product {
    bool trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    bool narrow_a, narrow_b, narrow_c; /* bfloat16, else float32 */
    const float *bias;                 /* [n] or NULL */
} cpu_product;

/* [out] library  NULL when this build has no oneDNN. Close with onednn_close; NULL is allowed. */
weft_status onednn_open(int threads, onednn **library);
void onednn_close(onednn *library);

/* A product with m, n and k > 0 and alpha = 1, of f32 or, where both a and b are of bfloat16, of bfloat16. */
weft_status onednn_gemm(onednn *library, const cpu_product *product);

/* Prepare a convolution for all its numbers of images, with rows of float32 or bfloat16 and float32 weights.
 * [out] conv  NULL when the library has no implementation. Destroy with onednn_conv_destroy; NULL is allowed.
 * backward_weights: whether that pass will be asked for.
 * [out] info  what was chosen. */
weft_status onednn_conv_create(onednn *library, const hal_conv *common, bool backward_weights, onednn_conv **conv,
                               hal_conv_info *info);
void onednn_conv_destroy(onednn_conv *conv);

/* As the operations of these names; `size` is the place of the number of images among those prepared for. */
weft_status onednn_conv_forward(const onednn_conv *conv, int size, const void *x, const float *weight,
                                const float *bias, void *y);
weft_status onednn_conv_backward_data(const onednn_conv *conv, int size, const void *dy, const float *weight, void *dx);
weft_status onednn_conv_backward_weights(const onednn_conv *conv, int size, const void *x, const void *dy,
                                         float *dweight, float *dbias, bool adds);

/* "oneDNN 3.2.0" or "none". */
const char *onednn_version(void);
