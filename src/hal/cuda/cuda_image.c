/* hal/cuda/cuda_image.c: prepares convolutions for kernels/image.cu and for libraries: their shape, who makes them,
 * and scratch memory. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/append.h"
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

/* For kernels of our own: weights in the order that is read, and sums of pieces of pixels. */
static size_t own_bytes(const cuda_conv *conv)
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

/* For libraries: a filter and a workspace behind it, and sums of columns. */
static size_t library_bytes(const cuda_conv *conv)
{
    const size_t columns = (size_t)conv->common.shape.out * CUDA_CONV_CHUNKS * sizeof(double);
    size_t most = 0;
    for (int i = 0; i < conv->common.sizes; ++i) {
        for (int pass = 0; pass < CUDA_CONV_PASSES; ++pass) {
            const size_t bytes = cuda_dnn_workspace(conv->dnn[i], (cuda_conv_pass)pass);
            most = bytes > most ? bytes : most;
        }
    }
    most += cuda_conv_filter_bytes(&conv->common.shape);
    return conv->common.shape.bias && columns > most ? columns : most;
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

/* ---- who makes it ------------------------------------------------------------------------------------------------ */

/* Whether cuBLAS makes a pass of the i-th number of images. */
static bool is_product(cuda_queue *queue, const cuda_conv *conv, cuda_conv_pass pass, int i)
{
    cuda_product product;
    return cuda_conv_product(conv, pass, conv->common.images[i] * conv->made[0] * conv->made[1], &product) &&
           cuda_blas_takes(&queue->blas, queue->stream, &product);
}

/* What is no product is cuDNN's as far as it makes it; the rest is left to kernels of our own. */
static void ask_libraries(cuda_queue *queue, cuda_conv *conv)
{
    for (int i = 0; i < conv->common.sizes; ++i) {
        if (!is_product(queue, conv, CUDA_CONV_FORWARD, i) && cuda_dnn_wanted()) {
            cuda_dnn_prepare(&queue->dnn, queue->stream, &conv->common.shape, conv->made, conv->common.images[i],
                             &conv->dnn[i]);
        }
    }
}

static const char *maker_of(cuda_queue *queue, const cuda_conv *conv, cuda_conv_pass pass, int i)
{
    const char *library = cuda_dnn_name(conv->dnn[i], pass);
    return is_product(queue, conv, pass, i) ? "cuBLAS product" : library != NULL ? library : "implicit product";
}

/* All that make a pass, each once. */
static void tell(char *text, size_t bytes, cuda_queue *queue, const cuda_conv *conv, cuda_conv_pass pass)
{
    snprintf(text, bytes, "%s", conv->common.sizes > 0 ? "" : "implicit product");
    for (int i = 0; i < conv->common.sizes; ++i) {
        const char *maker = maker_of(queue, conv, pass, i);
        bool told = false;
        for (int other = 0; other < i; ++other) {
            told = told || strcmp(maker, maker_of(queue, conv, pass, other)) == 0;
        }
        if (!told) {
            text_append(text, bytes, "%s%s", text[0] != '\0' ? "; " : "", maker);
        }
    }
}

static hal_conv_info conv_info(weft_hal *hal, const hal_conv *conv)
{
    const cuda_conv *own = (const cuda_conv *)conv;
    cuda_queue *queue = &cuda_state_of(hal)->queue;
    hal_conv_info info = {.slow = false};
    tell(info.forward, sizeof info.forward, queue, own, CUDA_CONV_FORWARD);
    if (conv->shape.training) {
        tell(info.backward_weights, sizeof info.backward_weights, queue, own, CUDA_CONV_WEIGHTS);
    }
    if (conv->shape.training && conv->shape.backward_data) {
        tell(info.backward_data, sizeof info.backward_data, queue, own, CUDA_CONV_DATA);
    }
    const bool narrow = weft_dtype_bytes(conv->shape.dtype) == 2;
    for (int i = 0; i < conv->sizes; ++i) {
        for (int pass = 0; pass < CUDA_CONV_PASSES; ++pass) {
            info.winograd = info.winograd || cuda_dnn_is_winograd(own->dnn[i], (cuda_conv_pass)pass);
        }
        const bool library =
            is_product(queue, own, CUDA_CONV_FORWARD, i) || cuda_dnn_name(own->dnn[i], CUDA_CONV_FORWARD) != NULL;
        info.rounds_sums = info.rounds_sums || (narrow && conv->shape.bias && library);
        info.rounds_gradient =
            info.rounds_gradient || (narrow && cuda_dnn_name(own->dnn[i], CUDA_CONV_WEIGHTS) != NULL);
    }
    return info;
}

/* ---- preparing --------------------------------------------------------------------------------------------------- */

static void release(cuda_conv *conv)
{
    for (int i = 0; conv != NULL && i < HAL_CONV_SIZES; ++i) {
        cuda_dnn_release(conv->dnn[i]);
    }
    weft_free(conv);
}

static void conv_destroy(weft_hal *hal, hal_conv *conv)
{
    (void)hal;
    release((cuda_conv *)conv);
}

/* All of a convolution but its scratch memory. */
static weft_status prepare(const weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                           cuda_conv **out)
{
    weft_status status = WEFT_OK;
    cuda_conv *conv = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&conv, 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(hal_conv_begin(shape, images, sizes, &conv->common), status, failed);
    WEFT_CHECK_GOTO(shape->dtype == WEFT_DTYPE_F32 || shape->dtype == WEFT_DTYPE_F64 || hal_is_half(shape->dtype),
                    status, failed, WEFT_ERR_UNSUPPORTED, "convolution: no operation on %s",
                    weft_dtype_name(shape->dtype));
    WEFT_CHECK_GOTO(!shape->norm, status, failed, WEFT_ERR_UNSUPPORTED,
                    "convolution: backend cuda takes no norm; run bn_apply before it");
    hal_conv_extent(shape, conv->made);
    WEFT_TRY_GOTO(check_sizes(conv), status, failed);
    WEFT_TRY_GOTO(cuda_enter(hal), status, failed);
    ask_libraries(&cuda_state_of(hal)->queue, conv);
    const size_t own = own_bytes(conv);
    const size_t library = library_bytes(conv);
    conv->scratch_bytes = own > library ? own : library;
    *out = conv;
    return WEFT_OK;
failed:
    release(conv);
    return status;
}

static weft_status conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                               hal_conv **out)
{
    cuda_conv *conv = NULL;
    void *scratch = NULL;
    *out = NULL;
    WEFT_TRY(prepare(hal, shape, images, sizes, &conv));
    const weft_status status =
        cuda_check("convolution", cuda_queue_scratch(&cuda_state_of(hal)->queue, conv->scratch_bytes, &scratch));
    if (status != WEFT_OK) {
        release(conv);
        return status;
    }
    *out = &conv->common;
    return WEFT_OK;
}

size_t cuda_scratch_of_conv(const weft_hal *hal, const hal_scratch_shape *shape)
{
    cuda_conv *conv = NULL;
    if (prepare(hal, shape->conv, shape->images, shape->sizes, &conv) != WEFT_OK) {
        weft_error_clear(); /* conv_create will say it */
        return 0;
    }
    const size_t bytes = conv->scratch_bytes;
    release(conv);
    return bytes;
}

void cuda_image_ops(hal_image_ops *ops)
{
    *ops = (hal_image_ops){.conv_create = conv_create, .conv_destroy = conv_destroy, .conv_info = conv_info};
}
