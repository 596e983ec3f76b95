/* train/second/capture_conv.c: see train/second/capture_conv.h. */
#include "train/second/capture_conv.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/permutation.h"
#include "base/philox.h"

enum { NORMED_BYTES = 4 << 20 }; /* of images under a norm at a time, or one image */

void capture_conv_destroy(capture_conv *c)
{
    tensor_destroy(&c->normed);
    tensor_destroy(&c->index);
    weft_free(c->index_host);
    memset(c, 0, sizeof *c);
}

/* Makes *t a vector of at least `cols` elements; what it held is lost. */
static weft_status grow(weft_hal *hal, weft_dtype dtype, int64_t cols, weft_tensor *t)
{
    if (t->cols >= cols) {
        return WEFT_OK;
    }
    tensor_destroy(t);
    return tensor_create(hal, dtype, 1, cols, WEFT_MEM_WORKSPACE, t);
}

/* [out] index: the patches of `images` images that count, picked[pixels] of each, whose area is in pixels; no data: all
 * count. */
static weft_status list_patches(capture_conv *c, const tap_rows *rows, const capture_pixels *pixels, int64_t images,
                                weft_tensor *index)
{
    const int64_t area = rows->dy->rows / rows->images, count = images * pixels->most;
    const permutation order = permutation_make((uint64_t)area, pixels->seed, WEFT_RNG_FACTORS, pixels->draw);
    *index = (weft_tensor){.hal = rows->x->hal, .dtype = WEFT_DTYPE_I32};
    if (pixels->most == 0 || pixels->most >= area) {
        return WEFT_OK;
    }
    if (c->index.cols < count) {
        weft_free(c->index_host);
        c->index_host = NULL;
        WEFT_TRY(WEFT_NEW(&c->index_host, count, WEFT_MEM_WORKSPACE));
        WEFT_TRY(grow(rows->x->hal, WEFT_DTYPE_I32, count, &c->index));
    }
    for (int64_t i = 0; i < count; ++i) {
        const int64_t pixel = (int64_t)permute(&order, (uint64_t)(i % pixels->most));
        c->index_host[i] = (int32_t)(i / pixels->most * area + pixel);
    }
    *index = tensor_reshape(&c->index, count, 1);
    return tensor_upload(index, c->index_host);
}

/* [out] x: `images` images from `first` on, as the convolution sees them. */
static weft_status take_images(const capture_conv *c, const tap_rows *rows, int64_t first, int64_t images,
                               weft_tensor *x)
{
    const hal_conv_norm *norm = rows->norm;
    const int64_t area = rows->x->rows / rows->images;
    *x = tensor_view(rows->x, first * area, images * area, 0, rows->x->cols);
    if (norm == NULL) {
        return WEFT_OK;
    }
    const weft_tensor from = *x;
    *x = (weft_tensor){.hal = from.hal,
                       .dtype = from.dtype,
                       .rows = from.rows,
                       .cols = from.cols,
                       .ld = from.cols,
                       .data = c->normed.data};
    return hal_bn_apply(from.hal, &(hal_bn_apply_args){.x = tensor_mat(&from),
                                                       .mean = norm->mean,
                                                       .rstd = norm->rstd,
                                                       .gamma = norm->gamma,
                                                       .beta = norm->beta,
                                                       .y = tensor_mat(x),
                                                       .relu = norm->relu});
}

/* Images of a call, limited where they pass a norm. */
static weft_status images_at_a_time(capture_conv *c, const tap_rows *rows, int64_t *images)
{
    const int64_t bytes = rows->x->rows / rows->images * rows->x->cols * (int64_t)weft_dtype_bytes(rows->x->dtype);
    *images = rows->images;
    if (rows->norm == NULL) {
        return WEFT_OK;
    }
    const int64_t most = bytes < NORMED_BYTES ? NORMED_BYTES / bytes : 1;
    *images = most < rows->images ? most : rows->images;
    return grow(rows->x->hal, WEFT_DTYPE_U8, *images * bytes, &c->normed);
}

weft_status capture_conv_inputs(capture_conv *c, const tap_rows *rows, const capture_pixels *pixels, bool add,
                                weft_tensor *packed, int64_t *count)
{
    int64_t most = 0;
    assert(rows->conv != NULL && rows->conv->groups == 1 && rows->x != NULL && rows->images >= 1);
    hal_conv_shape shape = *rows->conv;
    shape.bias = packed->cols > hal_triangle(hal_conv_terms(&shape));
    assert(packed->cols == hal_triangle(hal_patch_columns(&shape)));
    *count = 0;
    WEFT_TRY(images_at_a_time(c, rows, &most));
    for (int64_t first = 0; first < rows->images; first += most) {
        const int64_t images = rows->images - first < most ? rows->images - first : most;
        weft_tensor x, index;
        WEFT_TRY(take_images(c, rows, first, images, &x));
        WEFT_TRY(list_patches(c, rows, pixels, images, &index));
        const hal_patch_gram_args args = {.x = tensor_mat(&x),
                                          .index = tensor_mat(index.rows > 0 ? &index : NULL),
                                          .packed = tensor_mat(packed),
                                          .shape = shape,
                                          .alpha = 1.0,
                                          .beta = add || first > 0 ? 1.0 : 0.0};
        WEFT_TRY(hal_patch_gram(x.hal, &args));
        *count += index.rows > 0 ? index.rows : hal_patches(rows->conv, x.rows);
    }
    return WEFT_OK;
}
