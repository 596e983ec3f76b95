/*
 * hal/cpu/library/onednn_versions.h: what versions 2 and 3 of oneDNN disagree on. Memory descriptors are structs in
 * version 2 and opaque in 3; operation descriptors are gone in 3; convolution without dilation is one of its own in 2.
 */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#define TRY_DNNL(call)                                                                                                 \
    do {                                                                                                               \
        dnnl_status_t try_dnnl_ = (call);                                                                              \
        if (try_dnnl_ != dnnl_success) {                                                                               \
            return try_dnnl_;                                                                                          \
        }                                                                                                              \
    } while (0)

typedef dnnl_memory_desc_t owned_desc; /* zeroed: none */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t read_desc;
#else
typedef const dnnl_memory_desc_t *read_desc;
#endif

static inline dnnl_status_t desc_by_strides(owned_desc *desc, dnnl_data_type_t type, int64_t rows, int64_t cols,
                                            int64_t row_step, int64_t col_step)
{
    dnnl_dims_t dims = {rows, cols};
    dnnl_dims_t strides = {row_step, col_step};
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_strides(desc, 2, dims, type, strides);
#else
    return dnnl_memory_desc_init_by_strides(desc, 2, dims, type, strides);
#endif
}

static inline dnnl_status_t desc_by_tag(owned_desc *desc, int count, const dnnl_dims_t dims, dnnl_data_type_t type,
                                        dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_tag(desc, count, dims, type, tag);
#else
    return dnnl_memory_desc_init_by_tag(desc, count, dims, type, tag);
#endif
}

static inline void desc_destroy(owned_desc *desc)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_destroy(*desc);
#else
    (void)desc;
#endif
}

static inline read_desc desc_read(const owned_desc *desc)
{
#if DNNL_VERSION_MAJOR >= 3
    return *desc;
#else
    return desc;
#endif
}

/* In the type of what is added to. */
static inline dnnl_status_t append_sum(dnnl_post_ops_t ops, float factor)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_sum(ops, factor, 0, dnnl_data_type_undef);
#else
    return dnnl_post_ops_append_sum(ops, factor);
#endif
}

static inline dnnl_status_t append_relu(dnnl_post_ops_t ops)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0F, 0.0F);
#else
    return dnnl_post_ops_append_eltwise(ops, 1.0F, dnnl_eltwise_relu, 0.0F, 0.0F);
#endif
}

/* bias: NULL for none */
static inline dnnl_status_t matmul_desc_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const owned_desc *a,
                                               const owned_desc *b, const owned_desc *bias, const owned_desc *c,
                                               const_dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(out, engine, *a, *b, bias != NULL ? *bias : NULL, *c, attr);
#else
    dnnl_matmul_desc_t matmul;
    TRY_DNNL(dnnl_matmul_desc_init(&matmul, a, b, bias, c));
    return dnnl_primitive_desc_create(out, &matmul, attr, engine, NULL);
#endif
}

/* A convolution as the library sees it. */
typedef struct conv_desc {
    owned_desc x, y, weight, bias; /* those of a backward pass are their gradients */
    bool has_bias;
    dnnl_dims_t stride, dilation, before, behind; /* dilation 0: dense */
} conv_desc;

typedef enum conv_pass { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_WEIGHTS, CONV_PASSES } conv_pass;

/* hint: the forward pass, for the other two */
static inline dnnl_status_t conv_desc_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, conv_pass pass,
                                             bool training, const conv_desc *d, const_dnnl_primitive_desc_t hint,
                                             const_dnnl_primitive_attr_t attr)
{
    const dnnl_prop_kind_t prop = training ? dnnl_forward_training : dnnl_forward_inference;
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    const_dnnl_memory_desc_t bias = d->has_bias ? d->bias : NULL;
    if (pass == CONV_FORWARD) {
        return dnnl_convolution_forward_primitive_desc_create(out, engine, prop, direct, d->x, d->weight, bias, d->y,
                                                              d->stride, d->dilation, d->before, d->behind, attr);
    }
    if (pass == CONV_BACKWARD_DATA) {
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, engine, direct, d->x, d->weight, d->y, d->stride, d->dilation, d->before, d->behind, hint, attr);
    }
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, engine, direct, d->x, d->weight, bias, d->y, d->stride, d->dilation, d->before, d->behind, hint, attr);
#else
    const dnnl_memory_desc_t *bias = d->has_bias ? &d->bias : NULL;
    dnnl_convolution_desc_t conv;
    if (pass == CONV_FORWARD) {
        TRY_DNNL(dnnl_dilated_convolution_forward_desc_init(&conv, prop, direct, &d->x, &d->weight, bias, &d->y,
                                                            d->stride, d->dilation, d->before, d->behind));
    } else if (pass == CONV_BACKWARD_DATA) {
        TRY_DNNL(dnnl_dilated_convolution_backward_data_desc_init(&conv, direct, &d->x, &d->weight, &d->y, d->stride,
                                                                  d->dilation, d->before, d->behind));
    } else {
        TRY_DNNL(dnnl_dilated_convolution_backward_weights_desc_init(&conv, direct, &d->x, &d->weight, bias, &d->y,
                                                                     d->stride, d->dilation, d->before, d->behind));
    }
    return dnnl_primitive_desc_create(out, &conv, attr, engine, hint);
#endif
}
