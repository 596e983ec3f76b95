/* hal/ref/ref_gram.c: sums of products of rows and of patches, and histograms, as they are defined; see hal/ops.def. */
#include <assert.h>

#include "hal/ref/ref_backend.h"

/* A matrix whose rows are multiplied: it is read by element, so that patches need not be stored. */
typedef struct gram_rows {
    double (*at)(const void *args, int64_t row, int64_t col);
    const void *args;
    int64_t rows, cols;
    const int32_t *index; /* [rows] rows of the matrix; NULL: all in order */
    const uint8_t *mask;  /* which rows count; NULL: all do */
} gram_rows;

static double sum_of_products(const gram_rows *x, int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t r = 0; r < x->rows; ++r) {
        const int64_t row = x->index != NULL ? x->index[r] : r;
        if (x->mask == NULL || x->mask[row] != 0) {
            sum += x->at(x->args, row, i) * x->at(x->args, row, j);
        }
    }
    return sum;
}

static void gram_of(const gram_rows *x, double alpha, double beta, const hal_mat *packed)
{
    assert(packed->cols == hal_triangle(x->cols));
    for (int64_t i = 0; i < x->cols; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const int64_t at = hal_triangle(i) + j;
            const double old = beta == 0.0 ? 0.0 : beta * ref_load(packed, 0, at);
            ref_store(packed, 0, at, alpha * sum_of_products(x, i, j) + old);
        }
    }
}

static double element_at(const void *args, int64_t row, int64_t col)
{
    return ref_load(&((const hal_gram_args *)args)->x, row, col);
}

weft_status ref_gram_mixed(const hal_gram_args *args)
{
    const hal_mat *index = &args->index;
    const gram_rows x = {.at = element_at,
                         .args = args,
                         .rows = index->source != NULL ? index->rows : args->x.rows,
                         .cols = args->x.cols,
                         .index = index->source,
                         .mask = index->source != NULL ? NULL : args->mask.source};
    gram_of(&x, args->alpha, args->beta, &args->packed);
    return WEFT_OK;
}

/* Column `col` of patch `row`: channel, kernel row, kernel column; behind the last channel 1. */
static double patch_at(const void *args, int64_t row, int64_t col)
{
    const hal_patch_gram_args *a = args;
    const hal_conv_shape *s = &a->shape;
    int64_t extent[2];
    hal_conv_extent(s, extent);
    const int64_t channel = col / (s->kernel[0] * s->kernel[1]);
    const int64_t ky = col / s->kernel[1] % s->kernel[0];
    const int64_t kx = col % s->kernel[1];
    const int64_t y = row / extent[1] % extent[0] * s->stride[0] - s->pad[0][0] + ky * s->dilation[0];
    const int64_t x = row % extent[1] * s->stride[1] - s->pad[1][0] + kx * s->dilation[1];
    const int64_t image = row / (extent[0] * extent[1]);
    const bool inside = y >= 0 && y < s->height && x >= 0 && x < s->width;
    if (channel == s->in) {
        return 1.0;
    }
    return inside ? ref_load(&a->x, (image * s->height + y) * s->width + x, channel) : 0.0;
}

weft_status ref_patch_gram_mixed(const hal_patch_gram_args *args)
{
    WEFT_TRY(hal_patch_gram_check(args));
    const gram_rows x = {.at = patch_at,
                         .args = args,
                         .rows =
                             args->index.source != NULL ? args->index.rows : hal_patches(&args->shape, args->x.rows),
                         .cols = hal_patch_columns(&args->shape),
                         .index = args->index.source};
    gram_of(&x, args->alpha, args->beta, &args->packed);
    return WEFT_OK;
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

/* One row adds to its cells. */
static void add_row(const hal_histogram_args *args, int64_t row)
{
    const int32_t *first = args->first.source;
    const int64_t at = row * args->bins.ld;
    const bool wide = args->bins.dtype == WEFT_DTYPE_I16;
    const int32_t pair = ((const int32_t *)args->pair.source)[row * args->pair.ld];
    const int64_t gradient = hal_pair_gradient(pair);
    const int64_t hessian = hal_pair_hessian(pair);
    for (int64_t f = 0; f < args->bins.cols; ++f) {
        const int64_t place = wide ? first[f] + ((const uint16_t *)args->bins.source)[at + f]
                                   : HAL_BINS * f + ((const uint8_t *)args->bins.source)[at + f];
        int64_t *cell = (int64_t *)args->sums.data + place * args->sums.ld;
        if (args->sums.cols == 1) {
            cell[0] += gradient * ((int64_t)1 << 32) + hessian;
        } else {
            cell[0] += gradient;
            cell[1] += hessian;
        }
    }
}

weft_status ref_histogram_mixed(const hal_histogram_args *args)
{
    const int32_t *index = args->index.source;
    const int64_t rows = index != NULL ? args->index.rows : args->bins.rows;
    WEFT_TRY(hal_histogram_check(args));
    for (int64_t i = 0; i < args->sums.rows && !args->add; ++i) {
        for (int64_t j = 0; j < args->sums.cols; ++j) {
            ((int64_t *)args->sums.data)[i * args->sums.ld + j] = 0;
        }
    }
    for (int64_t r = 0; r < rows; ++r) {
        add_row(args, index != NULL ? index[r] : r);
    }
    return WEFT_OK;
}
