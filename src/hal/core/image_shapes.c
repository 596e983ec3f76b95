/* hal/core/image_shapes.c: shapes of convolution and pooling, and what may be asked of them; see hal/hal.h. */
#include <inttypes.h>

#include "hal/hal.h"

enum { MOST_POOLED = 256 }; /* elements of a kernel that a byte can tell apart */

static int64_t places(int64_t input, const int64_t pad[2], int64_t kernel, int64_t dilation, int64_t stride)
{
    int64_t room = input + pad[0] + pad[1] - (dilation * (kernel - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
}

void hal_conv_extent(const hal_conv_shape *s, int64_t extent[2])
{
    extent[0] = places(s->height, s->pad[0], s->kernel[0], s->dilation[0], s->stride[0]);
    extent[1] = places(s->width, s->pad[1], s->kernel[1], s->dilation[1], s->stride[1]);
}

void hal_pool_extent(const hal_pool_shape *s, int64_t extent[2])
{
    extent[0] = places(s->height, s->pad[0], s->kernel[0], 1, s->stride[0]);
    extent[1] = places(s->width, s->pad[1], s->kernel[1], 1, s->stride[1]);
}

int64_t hal_conv_terms(const hal_conv_shape *s)
{
    return s->in / s->groups * s->kernel[0] * s->kernel[1];
}

/* What convolution and pooling have in common. */
static weft_status check_window(const char *what, const int64_t input[2], const int64_t kernel[2],
                                const int64_t stride[2], const int64_t pad[2][2])
{
    WEFT_CHECK(input[0] > 0 && input[1] > 0, WEFT_ERR_UNSUPPORTED, "%s: images of %" PRId64 " x %" PRId64 " pixels",
               what, input[0], input[1]);
    WEFT_CHECK(kernel[0] > 0 && kernel[1] > 0, WEFT_ERR_UNSUPPORTED, "%s: a kernel of %" PRId64 " x %" PRId64, what,
               kernel[0], kernel[1]);
    WEFT_CHECK(stride[0] > 0 && stride[1] > 0, WEFT_ERR_UNSUPPORTED, "%s: a stride of %" PRId64 ", %" PRId64, what,
               stride[0], stride[1]);
    for (int d = 0; d < 2; ++d) {
        WEFT_CHECK(pad[d][0] >= 0 && pad[d][1] >= 0, WEFT_ERR_UNSUPPORTED, "%s: padding of %" PRId64 ", %" PRId64, what,
                   pad[d][0], pad[d][1]);
    }
    return WEFT_OK;
}

static weft_status check_output(const char *what, const int64_t extent[2], const int64_t kernel[2],
                                const int64_t input[2])
{
    WEFT_CHECK(extent[0] > 0 && extent[1] > 0, WEFT_ERR_UNSUPPORTED,
               "%s: a kernel of %" PRId64 " x %" PRId64 " finds no place in images of %" PRId64 " x %" PRId64
               " pixels and their padding",
               what, kernel[0], kernel[1], input[0], input[1]);
    return WEFT_OK;
}

weft_status hal_conv_check(const hal_conv_shape *s)
{
    const int64_t input[2] = {s->height, s->width};
    int64_t extent[2];
    WEFT_TRY(check_window("convolution", input, s->kernel, s->stride, s->pad));
    WEFT_CHECK(s->in > 0 && s->out > 0, WEFT_ERR_UNSUPPORTED,
               "convolution: from %" PRId64 " channels to %" PRId64 "; both are at least 1", s->in, s->out);
    WEFT_CHECK(s->groups > 0 && s->in % s->groups == 0 && s->out % s->groups == 0, WEFT_ERR_UNSUPPORTED,
               "convolution: %" PRId64 " groups do not divide %" PRId64 " and %" PRId64 " channels", s->groups, s->in,
               s->out);
    WEFT_CHECK(s->dilation[0] > 0 && s->dilation[1] > 0, WEFT_ERR_UNSUPPORTED,
               "convolution: a dilation of %" PRId64 ", %" PRId64 "; 1 is a dense kernel", s->dilation[0],
               s->dilation[1]);
    hal_conv_extent(s, extent);
    return check_output("convolution", extent, s->kernel, input);
}

weft_status hal_pool_check(const hal_pool_shape *s)
{
    const int64_t input[2] = {s->height, s->width};
    int64_t extent[2];
    WEFT_TRY(check_window("pooling", input, s->kernel, s->stride, s->pad));
    for (int d = 0; d < 2; ++d) {
        WEFT_CHECK(s->pad[d][0] < s->kernel[d] && s->pad[d][1] < s->kernel[d], WEFT_ERR_UNSUPPORTED,
                   "pooling: padding of %" PRId64 " and %" PRId64 " leaves a kernel of %" PRId64 " without a pixel",
                   s->pad[d][0], s->pad[d][1], s->kernel[d]);
    }
    WEFT_CHECK(s->average || s->kernel[0] * s->kernel[1] <= MOST_POOLED, WEFT_ERR_UNSUPPORTED,
               "pooling: the maximum over %" PRId64 " x %" PRId64 " pixels; at most %d", s->kernel[0], s->kernel[1],
               (int)MOST_POOLED);
    hal_pool_extent(s, extent);
    return check_output("pooling", extent, s->kernel, input);
}

weft_status hal_conv_begin(const hal_conv_shape *shape, const int64_t *images, int sizes, hal_conv *conv)
{
    WEFT_TRY(hal_conv_check(shape));
    WEFT_CHECK(sizes >= 0 && sizes <= HAL_CONV_SIZES, WEFT_ERR_INTERNAL,
               "convolution: to be prepared for %d numbers of images; at most %d", sizes, (int)HAL_CONV_SIZES);
    conv->shape = *shape;
    conv->sizes = sizes;
    for (int i = 0; i < sizes; ++i) {
        conv->images[i] = images[i];
    }
    return WEFT_OK;
}

weft_status hal_conv_size(const hal_conv *conv, const char *op, const hal_mat *x, const hal_mat *y, int *size)
{
    const hal_conv_shape *s = &conv->shape;
    int64_t extent[2];
    hal_conv_extent(s, extent);
    const int64_t images = x->rows / (s->height * s->width);
    WEFT_CHECK(x->dtype == s->dtype && y->dtype == s->dtype, WEFT_ERR_INTERNAL,
               "%s: operands of %s and %s for a convolution on %s", op, weft_dtype_name(x->dtype),
               weft_dtype_name(y->dtype), weft_dtype_name(s->dtype));
    WEFT_CHECK(x->rows == images * s->height * s->width && y->rows == images * extent[0] * extent[1] &&
                   x->cols == s->in && y->cols == s->out && x->ld == s->in && y->ld == s->out,
               WEFT_ERR_INTERNAL,
               "%s: operands of %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64 " for images of %" PRId64
               " x %" PRId64 " x %" PRId64 " that become %" PRId64 " x %" PRId64 " x %" PRId64,
               op, x->rows, x->cols, y->rows, y->cols, s->height, s->width, s->in, extent[0], extent[1], s->out);
    *size = -1;
    for (int i = 0; i < conv->sizes && images > 0; ++i) {
        if (conv->images[i] == images) {
            *size = i;
        }
    }
    WEFT_CHECK(images == 0 || *size >= 0, WEFT_ERR_INTERNAL,
               "%s: %" PRId64 " images, which the convolution was not prepared for", op, images);
    return WEFT_OK;
}

weft_status hal_conv_bias(const hal_conv *conv, const char *op, const hal_mat *bias)
{
    WEFT_CHECK((bias->data != NULL) == conv->shape.bias, WEFT_ERR_INTERNAL,
               "%s: the convolution was prepared %s a bias", op, conv->shape.bias ? "with" : "without");
    return WEFT_OK;
}

weft_status hal_conv_norm_check(const hal_conv *conv, const char *op, const hal_conv_norm *norm)
{
    enum { VECTORS = 4 };
    const hal_mat *const vector[VECTORS] = {&norm->mean, &norm->rstd, &norm->gamma, &norm->beta};
    for (int i = 0; i < VECTORS; ++i) {
        const bool there = vector[i]->source != NULL;
        WEFT_CHECK(there == conv->shape.norm, WEFT_ERR_INTERNAL, "%s: the convolution was prepared with%s a norm", op,
                   conv->shape.norm ? "" : "out");
        WEFT_CHECK(!there || (vector[i]->cols == conv->shape.in && vector[i]->ld == conv->shape.in), WEFT_ERR_INTERNAL,
                   "%s: a norm of %" PRId64 " channels for a convolution of %" PRId64, op, vector[i]->cols,
                   conv->shape.in);
    }
    return WEFT_OK;
}
