/* hal/cpu/fixed/cpu_fixed.c: the operations on rows of sums in fixed point (hal/ops.def); see fixed.h and, for the
 * driver, hal/cpu/cpu_rows.h. */
#include <assert.h>
#include <string.h>

#include "hal/cpu/cpu_rows.h"
#include "hal/cpu/fixed/fixed_table.h"

typedef struct fixed_job {
    const fixed_kernels *kernels;
    const void *args;
} fixed_job;

static float scale_of(const hal_mat *scale, int64_t row)
{
    return scale->source != NULL ? ((const float *)scale->source)[row] : 1.0F;
}

/* The largest of a piece's rows, in its own memory. */
static void largest_rows(const cpu_piece *piece, const void *args)
{
    const fixed_job *job = args;
    const hal_fixed_largest_args *a = job->args;
    for (int64_t i = piece->first; i < piece->first + piece->rows; ++i) {
        job->kernels->largest(a->x.cols, (const float *)a->x.source + i * a->x.ld, scale_of(&a->scale, i), piece->own);
    }
}

static weft_status cpu_fixed_largest(weft_hal *hal, const hal_fixed_largest_args *a)
{
    const fixed_job job = {.kernels = cpu_fixed_kernels(hal), .args = a};
    const size_t bytes = (size_t)a->out.cols * sizeof(float);
    cpu_parts_left left;
    assert(a->x.cols == a->out.cols);
    if (a->out.cols == 0) {
        return WEFT_OK;
    }
    const cpu_rows_job rows = cpu_rows_of(largest_rows, &job, &a->x, bytes);
    WEFT_TRY(cpu_rows(hal, &rows, &left));
    memcpy(a->out.data, left.own, bytes);
    for (int part = 1; part < left.parts; ++part) {
        job.kernels->largest(a->out.cols, (const float *)(const void *)(left.own + (size_t)part * left.stride), 1.0F,
                             a->out.data);
    }
    return WEFT_OK;
}

static void round_rows(const cpu_piece *piece, const void *args)
{
    const fixed_job *job = args;
    const hal_fixed_rows_args *a = job->args;
    for (int64_t i = piece->first; i < piece->first + piece->rows; ++i) {
        job->kernels->round(a->q.cols, (const float *)a->x.source + i * a->x.ld, scale_of(&a->scale, i),
                            a->quantum.source, (int16_t *)a->q.data + i * a->q.ld);
    }
}

static weft_status cpu_fixed_rows(weft_hal *hal, const hal_fixed_rows_args *a)
{
    const fixed_job job = {.kernels = cpu_fixed_kernels(hal), .args = a};
    assert(a->x.rows == a->q.rows && a->x.cols == a->q.cols);
    return cpu_each_row(hal, round_rows, &job, &a->q);
}

static void finish_rows(const cpu_piece *piece, const void *args)
{
    const fixed_job *job = args;
    const hal_fixed_finish_args *a = job->args;
    const fixed_end end = {.quantum = a->quantum.source,
                           .post = a->post.source,
                           .diag = a->diag.source,
                           .self = a->x.source,
                           .ldself = a->x.ld,
                           .adds = a->beta != 0.0,
                           .out = a->out.data,
                           .ldo = a->out.ld};
    job->kernels->finish(&end, a->out.cols, a->sum.source, a->sum.ld, piece->first, piece->first + piece->rows);
}

static weft_status cpu_fixed_finish(weft_hal *hal, const hal_fixed_finish_args *a)
{
    const fixed_job job = {.kernels = cpu_fixed_kernels(hal), .args = a};
    assert(a->sum.rows == a->out.rows && a->sum.cols == a->out.cols);
    return cpu_each_row(hal, finish_rows, &job, &a->out);
}

static void add_rows(const cpu_piece *piece, const void *args)
{
    const hal_fixed_add_args *a = args;
    const int32_t *index = a->index.source;
    for (int64_t i = piece->first; i < piece->first + piece->rows; ++i) {
        const int32_t *x = (const int32_t *)a->x.source + i * a->x.ld;
        int32_t *y = (int32_t *)a->y.data + index[i] * a->y.ld;
        for (int64_t j = 0; j < a->x.cols; ++j) {
            y[j] += x[j];
        }
    }
}

static weft_status cpu_fixed_add(weft_hal *hal, const hal_fixed_add_args *a)
{
    assert(a->x.cols == a->y.cols && a->index.rows == a->x.rows);
    return cpu_each_row(hal, add_rows, a, &a->x);
}

void cpu_fixed_ops(hal_ops *ops)
{
    ops->fixed_largest = cpu_fixed_largest;
    ops->fixed_rows = cpu_fixed_rows;
    ops->fixed_finish = cpu_fixed_finish;
    ops->fixed_add = cpu_fixed_add;
}
