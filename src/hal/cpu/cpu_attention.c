/*
 * hal/cpu/cpu_attention.c: attention over edges, by rows: those of heads alone are cut evenly, those that walk edges by
 * their number, which is what a row costs. Every row is summed by one thread in the order of its edges.
 */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"

/* Of the second-level cache, for rows of other ends; the rest is for sums, edges and lists. */
static int64_t cache_share(void)
{
    return (int64_t)(cpu_l2_bytes() * 3 / 4);
}

static void head_dot_rows(const cpu_piece *piece, const void *args)
{
    piece->kernels->head_dot(args, piece->first, piece->first + piece->rows);
}

static weft_status cpu_head_dot(weft_hal *hal, const hal_head_dot_args *a)
{
    assert(a->x.rows == a->out.rows && (a->out.cols == 0 || a->x.cols % a->out.cols == 0));
    const int64_t rows = a->out.cols > 0 ? a->out.rows : 0;
    return cpu_rows(hal, &(cpu_rows_job){.run = head_dot_rows, .args = a, .rows = rows, .work = rows * a->x.cols},
                    NULL);
}

static void head_scale_rows(const cpu_piece *piece, const void *args)
{
    piece->kernels->head_scale(args, piece->first, piece->first + piece->rows);
}

static weft_status cpu_head_scale(weft_hal *hal, const hal_head_scale_args *a)
{
    assert(a->scale.rows == a->y.rows && (a->scale.cols == 0 || a->y.cols % a->scale.cols == 0));
    return a->scale.cols > 0 ? cpu_each_row(hal, head_scale_rows, a, &a->y) : WEFT_OK;
}

/* An operation that walks the edges of its rows, those of `result`, and reads `columns` columns of an edge, each of
 * which costs `work`. */
#define EDGE_OP(name, result, columns, work)                                                                           \
    static void name##_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)                  \
    {                                                                                                                  \
        kernels->name(args, cache_share(), first, end);                                                                \
    }                                                                                                                  \
    static weft_status cpu_##name(weft_hal *hal, const hal_##name##_args *a)                                           \
    {                                                                                                                  \
        assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && (columns) % a->how.heads == 0);                       \
        const cpu_edge_job job = {                                                                                     \
            .run = name##_rows, .args = a, .offset = &a->offset, .rows = a->result.rows, .width = (work) * (columns)}; \
        return cpu_edge_rows(hal, &job);                                                                               \
    }
EDGE_OP(attention_highest, highest, a->how.heads, 1)
EDGE_OP(attention_forward, out, a->x.cols, 1)
EDGE_OP(attention_backward_targets, dtarget, a->x.cols, 1)
EDGE_OP(attention_backward_sources, dx, a->x.cols, 1)
EDGE_OP(dynamic_highest, highest, a->x.cols, 1)
EDGE_OP(dynamic_forward, out, a->x.cols, 2)
EDGE_OP(dynamic_backward_targets, dtarget, a->x.cols, 3)
EDGE_OP(dynamic_backward_sources, dx, a->x.cols, 3)

void cpu_attention_ops(hal_ops *ops)
{
    ops->dynamic_highest = cpu_dynamic_highest;
    ops->dynamic_forward = cpu_dynamic_forward;
    ops->dynamic_backward_targets = cpu_dynamic_backward_targets;
    ops->dynamic_backward_sources = cpu_dynamic_backward_sources;
    ops->head_dot = cpu_head_dot;
    ops->head_scale = cpu_head_scale;
    ops->attention_highest = cpu_attention_highest;
    ops->attention_forward = cpu_attention_forward;
    ops->attention_backward_targets = cpu_attention_backward_targets;
    ops->attention_backward_sources = cpu_attention_backward_sources;
}
