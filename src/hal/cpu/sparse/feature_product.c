/*
 * hal/cpu/sparse/feature_product.c: products with matrices that are mostly zeros. Rows of the result are cut by
 * entries; a row is summed by one thread, in the order of its entries, strip by strip of columns. A strip draws
 * dropout's mask of its row again, where a row is wider than one.
 */
#include <assert.h>

#include "hal/cpu/sparse/spmm.h"
#include "hal/table/op_table.h"

static void run_rows(const hal_feature_product_args *a, const spmm_kernels *kernels, const sparse_features *m,
                     int64_t begin, int64_t end)
{
    const bool narrow = a->x.dtype == WEFT_DTYPE_BF16;
    const bool narrow_out = a->y.dtype == WEFT_DTYPE_BF16;
    for (int64_t column = 0; column < a->y.cols;) {
        const int width = spmm_feature_strip(kernels, a->y.cols - column);
        const spmm_pass pass = {
            .x = (const char *)a->x.source + (size_t)column * weft_dtype_bytes(a->x.dtype),
            .ldx = a->x.ld,
            .narrow = narrow,
            .width = width,
            .beta = (float)a->beta,
            .out = (char *)a->y.data + (size_t)column * weft_dtype_bytes(a->y.dtype),
            .ldo = a->y.ld,
            .narrow_out = narrow_out,
        };
        kernels->features(m, begin, end, &pass);
        column += width;
    }
}

weft_status cpu_feature_product(weft_hal *hal, const hal_feature_product_args *a)
{
    const cpu_state *state = cpu_state_of(hal);
    if (a->x.dtype == WEFT_DTYPE_F64) {
        return state->ref.op.feature_product(hal, a);
    }
    const int64_t rows = a->y.rows;
    const sparse_features m = {.offset = a->offset.source,
                               .column = a->column.source,
                               .value = a->value.source,
                               .transposed = a->transposed,
                               .dropout = a->dropout.probability > 0.0F ? &a->dropout : NULL,
                               .ahead = SPMM_FEATURE_EDGES};
    if (rows == 0 || a->y.cols == 0) {
        return WEFT_OK;
    }
    assert(a->offset.rows == rows + 1 && a->x.cols == a->y.cols);
    const int parts = cpu_parts(hal, (m.offset[rows] + rows) * a->y.cols);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span own = hal_split_csr(m.offset, rows, parts, part);
        run_rows(a, spmm_kernels_of(state->isa), &m, own.begin, own.end);
    }
    return WEFT_OK;
}
