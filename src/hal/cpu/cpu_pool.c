/* hal/cpu/cpu_pool.c: pooling, by pixels of what is written; see cpu_rows.h. */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"

typedef struct pool_job {
    const void *args;
    cpu_pooling pool;
} pool_job;

/* x: the matrix of the input's pixels, y of the output's. */
static weft_status pool_job_of(const hal_pool_shape *shape, const hal_mat *x, const hal_mat *y, const hal_mat *index,
                               pool_job *job)
{
    WEFT_TRY(hal_pool_check(shape));
    cpu_pooling *p = &job->pool;
    *p = (cpu_pooling){.shape = *shape, .cols = y->cols, .ldx = x->ld, .ldy = y->ld, .ld_index = index->ld};
    hal_pool_extent(shape, p->extent);
    assert(x->cols == y->cols);
    assert(x->rows * p->extent[0] * p->extent[1] == y->rows * shape->height * shape->width);
    return WEFT_OK;
}

static void pool_forward_rows(const cpu_piece *piece, const void *args)
{
    const pool_job *job = args;
    const hal_pool_forward_args *a = job->args;
    const cpu_cell_kernels *kernels = piece_kernels(piece, &a->x);
    if (a->shape.average) {
        kernels->pool_average(&job->pool, piece->first, piece->rows, a->x.source, a->y.data);
    } else {
        kernels->pool_max(&job->pool, piece->first, piece->rows, a->x.source, a->y.data, a->index.data);
    }
}

static weft_status cpu_pool_forward(weft_hal *hal, const hal_pool_forward_args *a)
{
    pool_job job = {.args = a};
    WEFT_TRY(pool_job_of(&a->shape, &a->x, &a->y, &a->index, &job));
    const int64_t work = a->y.rows * a->y.cols * a->shape.kernel[0] * a->shape.kernel[1];
    return cpu_rows(hal, &(cpu_rows_job){.run = pool_forward_rows, .args = &job, .rows = a->y.rows, .work = work},
                    NULL);
}

static void pool_backward_rows(const cpu_piece *piece, const void *args)
{
    const pool_job *job = args;
    const hal_pool_backward_args *a = job->args;
    piece_kernels(piece, &a->dx)
        ->pool_backward(&job->pool, piece->first, piece->rows, a->dy.source, a->shape.average ? NULL : a->index.source,
                        a->dx.data);
}

static weft_status cpu_pool_backward(weft_hal *hal, const hal_pool_backward_args *a)
{
    pool_job job = {.args = a};
    WEFT_TRY(pool_job_of(&a->shape, &a->dx, &a->dy, &a->index, &job));
    assert(a->shape.average || a->index.data != NULL || hal_elements(&a->dy) == 0.0);
    const int64_t work = a->dy.rows * a->dy.cols * a->shape.kernel[0] * a->shape.kernel[1];
    return cpu_rows(hal, &(cpu_rows_job){.run = pool_backward_rows, .args = &job, .rows = a->dx.rows, .work = work},
                    NULL);
}

void cpu_pool_ops(hal_ops *ops)
{
    ops->pool_forward = cpu_pool_forward;
    ops->pool_backward = cpu_pool_backward;
}
