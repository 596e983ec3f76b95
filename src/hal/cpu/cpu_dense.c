/* hal/cpu/cpu_dense.c: the dense operations other than products, by rows; see cpu_rows.h. */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"

static void axpby_rows(const cpu_piece *piece, const void *args)
{
    const hal_axpby_args *a = args;
    piece_kernels(piece, &a->x)
        ->axpby(piece->rows, a->y.cols, (float)a->alpha, piece_cells_in(piece, &a->x), a->x.ld, (float)a->beta,
                piece_cells_out(piece, &a->y), a->y.ld);
}

static weft_status cpu_axpby(weft_hal *hal, const hal_axpby_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols);
    return cpu_each_row(hal, axpby_rows, a, &a->y);
}

static void scale_rows_rows(const cpu_piece *piece, const void *args)
{
    const hal_scale_rows_args *a = args;
    piece->kernels->scale_rows(piece->rows, a->y.cols, piece_in(piece, &a->scale), piece_in(piece, &a->x), a->x.ld,
                               piece_out(piece, &a->y), a->y.ld);
}

static weft_status cpu_scale_rows(weft_hal *hal, const hal_scale_rows_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols && a->scale.ld == 1);
    return cpu_each_row(hal, scale_rows_rows, a, &a->y);
}

static void gather_rows_rows(const cpu_piece *piece, const void *args)
{
    const hal_gather_rows_args *a = args;
    const int32_t *index = a->index.source;
    piece_kernels(piece, &a->x)
        ->gather_rows(piece->rows, a->y.cols, index + piece->first, a->x.source, a->x.ld, piece_cells_out(piece, &a->y),
                      a->y.ld);
}

static weft_status cpu_gather_rows(weft_hal *hal, const hal_gather_rows_args *a)
{
    assert(a->x.cols == a->y.cols && a->index.rows == a->y.rows);
    return cpu_each_row(hal, gather_rows_rows, a, &a->y);
}

/* Indices are distinct: threads never write the same row. */
static void scatter_rows_rows(const cpu_piece *piece, const void *args)
{
    const hal_scatter_rows_args *a = args;
    const int32_t *index = a->index.source;
    piece_kernels(piece, &a->x)
        ->scatter_rows(piece->rows, a->x.cols, index + piece->first, a->mode, piece_cells_in(piece, &a->x), a->x.ld,
                       a->y.data, a->y.ld);
}

static weft_status cpu_scatter_rows(weft_hal *hal, const hal_scatter_rows_args *a)
{
    assert(a->x.cols == a->y.cols && a->index.rows == a->x.rows);
    return cpu_each_row(hal, scatter_rows_rows, a, &a->x);
}

static void col_sum_rows(const cpu_piece *piece, const void *args)
{
    const hal_col_sum_args *a = args;
    piece_kernels(piece, &a->x)->col_sum(piece->rows, a->x.cols, piece_cells_in(piece, &a->x), a->x.ld, piece->own);
}

static weft_status cpu_col_sum(weft_hal *hal, const hal_col_sum_args *a)
{
    assert(a->out.cols == a->x.cols && a->out.rows <= 1);
    int64_t n = a->x.cols;
    float *out = a->out.data;
    cpu_parts_left left;
    const cpu_rows_job job = cpu_rows_of(col_sum_rows, a, &a->x, (size_t)n * sizeof(double));
    WEFT_TRY(cpu_rows(hal, &job, &left));
    for (int64_t j = 0; j < n; ++j) {
        out[j] = (float)left_sum(&left, j, a->beta == 0.0 ? 0.0 : a->beta * (double)out[j]);
    }
    return WEFT_OK;
}

void cpu_dense_ops(hal_ops *ops)
{
    ops->axpby = cpu_axpby;
    ops->scale_rows = cpu_scale_rows;
    ops->gather_rows = cpu_gather_rows;
    ops->scatter_rows = cpu_scatter_rows;
    ops->col_sum = cpu_col_sum;
}
