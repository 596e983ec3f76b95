/* hal/cpu/cpu_max.c: the largest row over edges, and its gradient; see cpu_rows.h. */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"

/* Rows [first, end) of an operation, by the kernel for the type of x. */
#define ROWS_OF(name)                                                                                                  \
    static void name##_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)                  \
    {                                                                                                                  \
        const hal_max_##name##_args *a = args;                                                                         \
        const cpu_cell_kernels *own = a->x.dtype == WEFT_DTYPE_BF16 ? &kernels->bf16 : &kernels->f32;                  \
        own->max_##name(a, first, end);                                                                                \
    }
ROWS_OF(forward)
ROWS_OF(ties)
ROWS_OF(backward)

static void forward_columns(const cpu_kernels *kernels, const void *args, int64_t row, int64_t col, int64_t cols)
{
    hal_max_forward_args a = *(const hal_max_forward_args *)args;
    a.x = hal_mat_cols(&a.x, col, cols);
    a.out = hal_mat_cols(&a.out, col, cols);
    forward_rows(kernels, &a, row, row + 1);
}

static weft_status cpu_max_forward(weft_hal *hal, const hal_max_forward_args *a)
{
    assert(a->x.cols == a->out.cols);
    assert(a->elsewhere.source == NULL || a->elsewhere.rows == a->out.rows);
    const cpu_edge_job job = {.run = forward_rows,
                              .run_columns = forward_columns,
                              .args = a,
                              .offset = &a->offset,
                              .rows = a->out.rows,
                              .cols = a->out.cols,
                              .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void ties_columns(const cpu_kernels *kernels, const void *args, int64_t row, int64_t col, int64_t cols)
{
    hal_max_ties_args a = *(const hal_max_ties_args *)args;
    a.x = hal_mat_cols(&a.x, col, cols);
    a.y = hal_mat_cols(&a.y, col, cols);
    if (a.count.source != NULL) {
        a.count = hal_mat_cols(&a.count, col, cols);
    }
    a.ties = hal_mat_cols(&a.ties, col, cols);
    ties_rows(kernels, &a, row, row + 1);
}

static weft_status cpu_max_ties(weft_hal *hal, const hal_max_ties_args *a)
{
    assert(a->x.cols == a->y.cols && a->ties.cols == a->y.cols && a->ties.rows == a->y.rows);
    assert(a->count.source == NULL || (a->count.cols == a->x.cols && a->count.rows <= a->x.rows));
    const cpu_edge_job job = {.run = ties_rows,
                              .run_columns = ties_columns,
                              .args = a,
                              .offset = &a->offset,
                              .rows = a->ties.rows,
                              .cols = a->ties.cols,
                              .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void share_rows(const cpu_piece *piece, const void *args)
{
    const hal_max_share_args *a = args;
    piece_kernels(piece, &a->dy)
        ->max_share(piece->rows, a->dy.cols, piece_in(piece, &a->ties), a->ties.ld, piece_cells_out(piece, &a->dy),
                    a->dy.ld);
}

static weft_status cpu_max_share(weft_hal *hal, const hal_max_share_args *a)
{
    assert(a->ties.rows == a->dy.rows && a->ties.cols == a->dy.cols);
    return cpu_each_row(hal, share_rows, a, &a->dy);
}

static void backward_columns(const cpu_kernels *kernels, const void *args, int64_t row, int64_t col, int64_t cols)
{
    hal_max_backward_args a = *(const hal_max_backward_args *)args;
    a.x = hal_mat_cols(&a.x, col, cols);
    a.y = hal_mat_cols(&a.y, col, cols);
    a.dy = hal_mat_cols(&a.dy, col, cols);
    a.dx = hal_mat_cols(&a.dx, col, cols);
    backward_rows(kernels, &a, row, row + 1);
}

static weft_status cpu_max_backward(weft_hal *hal, const hal_max_backward_args *a)
{
    assert(a->x.rows == a->dx.rows && a->x.cols == a->dx.cols);
    assert(a->y.rows == a->dy.rows && a->y.cols == a->dx.cols && a->dy.cols == a->dx.cols);
    const cpu_edge_job job = {.run = backward_rows,
                              .run_columns = backward_columns,
                              .args = a,
                              .offset = &a->offset,
                              .rows = a->dx.rows,
                              .cols = a->dx.cols,
                              .width = 2 * a->x.cols};
    return cpu_edge_rows(hal, &job);
}

void cpu_max_ops(hal_ops *ops)
{
    ops->max_forward = cpu_max_forward;
    ops->max_ties = cpu_max_ties;
    ops->max_share = cpu_max_share;
    ops->max_backward = cpu_max_backward;
}
