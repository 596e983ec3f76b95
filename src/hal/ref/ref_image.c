/*
 * hal/ref/ref_image.c: convolution and pooling as they are defined. A prepared convolution is its shape.
 *
 * A kernel element (ky, kx) of output pixel (oy, ox) reads input pixel (oy * stride - pad + ky * dilation, likewise x);
 * pixels outside of the image are padding. Convolution is correlation, as everywhere in deep learning.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

/* Input row or column that a kernel element reads at an output place; negative in the padding. */
static int64_t input_at(int64_t place, int64_t stride, int64_t pad, int64_t offset, int64_t extent)
{
    int64_t at = place * stride - pad + offset;
    return at < extent ? at : -1;
}

/* Output place at which a kernel element reads this input; -1 when there is none. */
static int64_t output_at(int64_t input, int64_t stride, int64_t pad, int64_t offset, int64_t extent)
{
    int64_t at = input + pad - offset;
    return at >= 0 && at % stride == 0 && at / stride < extent ? at / stride : -1;
}

/* A weight as a convolution on these rows sees it. */
#define ROUND(x) LOAD(STORE(x))

#define REF_BODY "hal/ref/ref_image_body.h"
#define REF_F16
#include "hal/ref/ref_typed.h"

static void ref_conv_destroy(weft_hal *hal, hal_conv *conv)
{
    (void)hal;
    weft_free(conv);
}

static weft_status ref_conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                                   hal_conv **out)
{
    *out = NULL;
    weft_status status = WEFT_OK;
    hal_conv *conv = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&conv, 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(hal_conv_begin(shape, images, sizes, conv), status, failed);
    WEFT_CHECK_GOTO(shape->dtype == WEFT_DTYPE_F32 || shape->dtype == WEFT_DTYPE_F64 || hal_is_half(shape->dtype),
                    status, failed, WEFT_ERR_UNSUPPORTED, "convolution: no operation on %s",
                    weft_dtype_name(shape->dtype));
    *out = conv;
    return WEFT_OK;
failed:
    ref_conv_destroy(hal, conv);
    return status;
}

static hal_conv_info ref_conv_info(weft_hal *hal, const hal_conv *conv)
{
    (void)hal;
    hal_conv_info info = {.forward = "ref", .slow = true};
    if (conv->shape.training) {
        snprintf(info.backward_weights, sizeof info.backward_weights, "ref");
        snprintf(info.backward_data, sizeof info.backward_data, "%s", conv->shape.backward_data ? "ref" : "");
    }
    return info;
}

void ref_image_ops(hal_image_ops *ops)
{
    *ops =
        (hal_image_ops){.conv_create = ref_conv_create, .conv_destroy = ref_conv_destroy, .conv_info = ref_conv_info};
}
