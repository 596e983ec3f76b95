/* train/second/capture_conv.c: see train/second/capture_conv.h. */
#include "train/second/capture_conv.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/permutation.h"
#include "base/philox.h"

enum { CAPTURE_IMAGES = 64 }; /* images whose rows are made at a time */

void capture_conv_destroy(capture_conv *c)
{
    TENSOR_DESTROY_ALL(&c->normed, &c->index, &c->seen, &c->rows, &c->ones);
    WEFT_FREE_ALL(c->index_host, c->seen_host);
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
    const int64_t most = bytes < CAPTURE_NORMED_BYTES ? CAPTURE_NORMED_BYTES / bytes : 1;
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

/* ---- one row an image -------------------------------------------------------------------------------------------- */

/* Array of `count` numbers, 0 or 1, of a type that rows may have. */
static void put_flag(weft_dtype dtype, void *array, int64_t i, bool one)
{
    const uint16_t half = 0x3F80; /* 1 as bfloat16 */
    if (dtype == WEFT_DTYPE_F64) {
        ((double *)array)[i] = one ? 1.0 : 0.0;
    } else if (dtype == WEFT_DTYPE_F32) {
        ((float *)array)[i] = one ? 1.0F : 0.0F;
    } else {
        ((uint16_t *)array)[i] = one ? half : 0;
    }
}

/* The input pixel that output pixel `at` sees at place k of the kernel; -1: padding. */
static int64_t pixel_seen(const hal_conv_shape *s, int64_t across, int64_t at, int64_t k)
{
    const int64_t y = at / across * s->stride[0] - s->pad[0][0] + k / s->kernel[1] * s->dilation[0];
    const int64_t x = at % across * s->stride[1] - s->pad[1][0] + k % s->kernel[1] * s->dilation[1];
    return y >= 0 && y < s->height && x >= 0 && x < s->width ? y * s->width + x : -1;
}

/* [out] seen [pixels, places], of the type of x: 1 where some output pixel sees pixel p at place k of the kernel, else
 * 0. conv NULL: one place, where every pixel is seen. */
static weft_status mark_pixels(capture_conv *c, const hal_conv_shape *conv, const weft_tensor *x, int64_t pixels,
                               weft_tensor *seen)
{
    const int64_t places = conv != NULL ? conv->kernel[0] * conv->kernel[1] : 1, count = pixels * places;
    const int64_t bytes = count * (int64_t)weft_dtype_bytes(x->dtype);
    int64_t extent[2] = {0};
    if (c->seen.cols < bytes) {
        weft_free(c->seen_host);
        c->seen_host = NULL;
        WEFT_TRY(weft_malloc((size_t)bytes, 1, WEFT_MEM_WORKSPACE, &c->seen_host));
        WEFT_TRY(grow(x->hal, WEFT_DTYPE_U8, bytes, &c->seen));
    }
    for (int64_t i = 0; i < count; ++i) {
        put_flag(x->dtype, c->seen_host, i, conv == NULL);
    }
    if (conv != NULL) {
        hal_conv_extent(conv, extent);
    }
    for (int64_t i = 0; i < extent[0] * extent[1] * places; ++i) {
        const int64_t pixel = pixel_seen(conv, extent[1], i / places, i % places);
        if (pixel >= 0) {
            put_flag(x->dtype, c->seen_host, pixel * places + i % places, true);
        }
    }
    *seen = (weft_tensor){
        .hal = x->hal, .dtype = x->dtype, .rows = pixels, .cols = places, .ld = places, .data = c->seen.data};
    return tensor_upload(seen, c->seen_host);
}

/* Memory for rows of n numbers of some images, and `one` in the place of a joined bias. */
static weft_status prepare_rows(capture_conv *c, const weft_tensor *packed, int64_t n, bool joined, double one)
{
    double wide[CAPTURE_IMAGES];
    float narrow[CAPTURE_IMAGES];
    WEFT_TRY(grow(packed->hal, packed->dtype, CAPTURE_IMAGES * n, &c->rows));
    WEFT_TRY(joined ? grow(packed->hal, packed->dtype, CAPTURE_IMAGES, &c->ones) : WEFT_OK);
    for (int i = 0; i < CAPTURE_IMAGES; ++i) {
        wide[i] = one;
        narrow[i] = (float)one;
    }
    return joined ? tensor_upload(&c->ones, packed->dtype == WEFT_DTYPE_F64 ? (const void *)wide : narrow) : WEFT_OK;
}

/* packed = beta packed + alpha times the products of the rows of `images` images x: x^T seen, channel by channel, and
 * with `joined` one number more. */
static weft_status add_rows(const capture_conv *c, const weft_tensor *x, int64_t images, const weft_tensor *seen,
                            bool joined, double alpha, double beta, weft_tensor *packed)
{
    const int64_t terms = x->cols * seen->cols, n = terms + (joined ? 1 : 0);
    const weft_tensor rows = {
        .hal = x->hal, .dtype = packed->dtype, .rows = images, .cols = n, .ld = n, .data = c->rows.data};
    if (joined) {
        const weft_tensor ones = {
            .hal = x->hal, .dtype = packed->dtype, .rows = images, .cols = 1, .ld = 1, .data = c->ones.data};
        weft_tensor last = tensor_view(&rows, 0, images, terms, 1);
        WEFT_TRY(tensor_axpby(1.0, &ones, 0.0, &last));
    }
    for (int64_t i = 0; i < images; ++i) {
        const weft_tensor image = tensor_view(x, i * seen->rows, seen->rows, 0, x->cols);
        const weft_tensor row = tensor_view(&rows, i, 1, 0, terms);
        weft_tensor sum = tensor_reshape(&row, x->cols, seen->cols);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &image, .b = seen, .trans_a = true}, &sum));
    }
    return hal_gram(
        x->hal, &(hal_gram_args){.x = tensor_mat(&rows), .packed = tensor_mat(packed), .alpha = alpha, .beta = beta});
}

/* Rows are sums over output pixels, and products are divided by the square of their number. */
weft_status capture_mean_inputs(capture_conv *c, const tap_rows *rows, bool add, weft_tensor *packed)
{
    const int64_t pixels = rows->x->rows / rows->images, seers = rows->dy->rows / rows->images;
    const double area = (double)seers;
    const int64_t terms = rows->transposed ? rows->cols : rows->rows;
    const bool joined = packed->cols > hal_triangle(terms);
    int64_t most = 0;
    weft_tensor seen;
    WEFT_TRY(images_at_a_time(c, rows, &most));
    most = most < CAPTURE_IMAGES ? most : CAPTURE_IMAGES;
    WEFT_TRY(prepare_rows(c, packed, terms + 1, joined, area));
    WEFT_TRY(mark_pixels(c, rows->conv, rows->x, pixels, &seen));
    for (int64_t first = 0; first < rows->images; first += most) {
        const int64_t images = rows->images - first < most ? rows->images - first : most;
        weft_tensor x;
        WEFT_TRY(take_images(c, rows, first, images, &x));
        WEFT_TRY(add_rows(c, &x, images, &seen, joined, 1.0 / (area * area), add || first > 0 ? 1.0 : 0.0, packed));
    }
    return WEFT_OK;
}

weft_status capture_sum_outputs(capture_conv *c, const tap_rows *rows, bool add, weft_tensor *packed)
{
    const int64_t area = rows->dy->rows / rows->images;
    weft_tensor seen;
    WEFT_TRY(prepare_rows(c, packed, rows->dy->cols, false, 0.0));
    WEFT_TRY(mark_pixels(c, NULL, rows->dy, area, &seen));
    for (int64_t first = 0; first < rows->images; first += CAPTURE_IMAGES) {
        const int64_t left = rows->images - first, images = left < CAPTURE_IMAGES ? left : CAPTURE_IMAGES;
        const weft_tensor dy = tensor_view(rows->dy, first * area, images * area, 0, rows->dy->cols);
        WEFT_TRY(add_rows(c, &dy, images, &seen, false, 1.0, add || first > 0 ? 1.0 : 0.0, packed));
    }
    return WEFT_OK;
}
