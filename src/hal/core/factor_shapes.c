/* hal/core/factor_shapes.c: what the operands of patch_gram and histogram must fulfil; see hal/hal.h. */
#include <assert.h>
#include <inttypes.h>

#include "hal/hal.h"

int64_t hal_patches(const hal_conv_shape *shape, int64_t rows)
{
    int64_t extent[2];
    const int64_t pixels = shape->height * shape->width;
    hal_conv_extent(shape, extent);
    return pixels > 0 ? rows / pixels * extent[0] * extent[1] : 0;
}

weft_status hal_patch_gram_check(const hal_patch_gram_args *args)
{
    hal_conv_shape s = args->shape;
    s.out = s.out > 0 ? s.out : 1; /* the field is not read */
    WEFT_CHECK(s.groups == 1, WEFT_ERR_UNSUPPORTED,
               "patch_gram: a convolution of %" PRId64 " groups; patches are summed for one", s.groups);
    WEFT_TRY(hal_conv_check(&s));
    assert(args->x.cols == s.in && args->x.rows % (s.height * s.width) == 0);
    assert(args->packed.rows == 1 && args->packed.cols == hal_triangle(hal_patch_columns(&s)));
    return WEFT_OK;
}

weft_status hal_histogram_check(const hal_histogram_args *args)
{
    const int64_t rows = args->index.source != NULL ? args->index.rows : args->bins.rows;
    assert(args->pair.rows == args->bins.rows);
    assert(args->bins.dtype == WEFT_DTYPE_U8 ? args->sums.rows == HAL_BINS * args->bins.cols
                                             : args->first.rows == args->bins.cols + 1);
    WEFT_CHECK(args->sums.cols == 2 || rows <= HAL_HISTOGRAM_ROWS, WEFT_ERR_UNSUPPORTED,
               "histogram: %" PRId64 " rows for cells of one number, which hold the sums of at most %d; take two", rows,
               (int)HAL_HISTOGRAM_ROWS);
    return WEFT_OK;
}
