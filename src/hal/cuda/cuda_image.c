/* hal/cuda/cuda_image.c: prepares convolutions for kernels/image.cu: their shape and scratch memory. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "hal/cuda/cuda_prepared.h"
#include "hal/cuda/kernels/cuda_conv.h"

static weft_status check_pixels(const char *what, int64_t pixels)
{
    WEFT_CHECK(pixels <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " pixels; backend cuda takes at most %" PRId32 " at once", what, pixels, INT32_MAX);
    return WEFT_OK;
}

static weft_status check_conv(const hal_conv *conv, const char *op, const hal_mat *x, const hal_mat *y)
{
    int size = 0;
    return hal_conv_size(conv, op, x, y, &size);
}

static weft_status check_forward(const hal_conv_forward_args *a)
{
    WEFT_TRY(check_conv(a->conv, "conv_forward", &a->x, &a->y));
    assert(a->weight.rows == a->conv->shape.out && a->weight.cols == hal_conv_terms(&a->conv->shape));
    return hal_conv_bias(a->conv, "conv_forward", &a->bias);
}

static weft_status check_weights(const hal_conv_backward_weights_args *a)
{
    WEFT_TRY(check_conv(a->conv, "conv_backward_weights", &a->x, &a->dy));
    assert(a->dweight.rows == a->conv->shape.out && a->dweight.cols == hal_conv_terms(&a->conv->shape));
    assert(a->beta == 0.0 || a->beta == 1.0);
    return hal_conv_bias(a->conv, "conv_backward_weights", &a->dbias);
}

weft_status cuda_check_image(hal_op op, const void *args)
{
    if (op == HAL_OP_conv_forward) {
        return check_forward(args);
    }
    if (op == HAL_OP_conv_backward_data) {
        const hal_conv_backward_data_args *a = args;
        return check_conv(a->conv, "conv_backward_data", &a->dx, &a->dy);
    }
    if (op == HAL_OP_conv_backward_weights) {
        return check_weights(args);
    }
    if (op == HAL_OP_pool_forward) {
        const hal_pool_forward_args *a = args;
        WEFT_TRY(hal_pool_check(&a->shape));
        return check_pixels("pool_forward", a->x.rows);
    }
    if (op == HAL_OP_pool_backward) {
        const hal_pool_backward_args *a = args;
        WEFT_TRY(hal_pool_check(&a->shape));
        assert(a->shape.average || a->index.source != NULL || hal_elements(&a->dy) == 0.0);
        return check_pixels("pool_backward", a->dx.rows);
    }
    return WEFT_OK;
}

/* For weights in the order that is read, and for sums of pieces of pixels. */
static size_t scratch_bytes(const cuda_conv *conv)
{
    const hal_conv_shape *s = &conv->common.shape;
    const int64_t weights = s->out * hal_conv_terms(s);
    const int64_t sum = s->dtype == WEFT_DTYPE_F64 ? 8 : 4;
    int64_t most = weights * (int64_t)weft_dtype_bytes(s->dtype);
    for (int i = 0; i < conv->common.sizes && s->training; ++i) {
        const int64_t pixels = conv->common.images[i] * conv->made[0] * conv->made[1];
        const int64_t piece = cuda_conv_piece(s, pixels);
        const int64_t bytes = (pixels + piece - 1) / piece * (weights + s->out) * sum;
        most = bytes > most ? bytes : most;
    }
    return (size_t)most;
}

static weft_status check_sizes(const cuda_conv *conv)
{
    const hal_conv_shape *s = &conv->common.shape;
    WEFT_TRY(check_pixels("convolution", hal_conv_terms(s))); /* and no more terms */
    for (int i = 0; i < conv->common.sizes; ++i) {
        WEFT_TRY(check_pixels("convolution", conv->common.images[i] * s->height * s->width));
        WEFT_TRY(check_pixels("convolution", conv->common.images[i] * conv->made[0] * conv->made[1]));
    }
    return WEFT_OK;
}

static void conv_destroy(weft_hal *hal, hal_conv *conv)
{
    (void)hal;
    weft_free(conv);
}

static weft_status conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                               hal_conv **out)
{
    weft_status status = WEFT_OK;
    cuda_conv *conv = NULL;
    void *scratch = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&conv, 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(hal_conv_begin(shape, images, sizes, &conv->common), status, failed);
    WEFT_CHECK_GOTO(shape->dtype == WEFT_DTYPE_F32 || shape->dtype == WEFT_DTYPE_F64 || shape->dtype == WEFT_DTYPE_BF16,
                    status, failed, WEFT_ERR_UNSUPPORTED, "convolution: no operation on %s",
                    weft_dtype_name(shape->dtype));
    WEFT_CHECK_GOTO(!shape->norm, status, failed, WEFT_ERR_UNSUPPORTED,
                    "convolution: backend cuda takes no norm; run bn_apply before it");
    hal_conv_extent(shape, conv->made);
    WEFT_TRY_GOTO(check_sizes(conv), status, failed);
    conv->scratch_bytes = scratch_bytes(conv);
    WEFT_TRY_GOTO(cuda_enter(hal), status, failed);
    WEFT_TRY_GOTO(
        cuda_check("convolution", cuda_queue_scratch(&cuda_state_of(hal)->queue, conv->scratch_bytes, &scratch)),
        status, failed);
    *out = &conv->common;
    return WEFT_OK;
failed:
    conv_destroy(hal, &conv->common);
    return status;
}

static hal_conv_info conv_info(weft_hal *hal, const hal_conv *conv)
{
    static const char name[] = "implicit product";
    (void)hal;
    hal_conv_info info = {.slow = false};
    snprintf(info.forward, sizeof info.forward, "%s", name);
    if (conv->shape.training) {
        snprintf(info.backward_weights, sizeof info.backward_weights, "%s", name);
        snprintf(info.backward_data, sizeof info.backward_data, "%s", conv->shape.backward_data ? name : "");
    }
    return info;
}

void cuda_image_ops(hal_image_ops *ops)
{
    *ops = (hal_image_ops){.conv_create = conv_create, .conv_destroy = conv_destroy, .conv_info = conv_info};
}
