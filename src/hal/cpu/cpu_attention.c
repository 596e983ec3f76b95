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
    const int64_t rows = a->scale.cols > 0 ? a->y.rows : 0;
    return cpu_rows(hal, &(cpu_rows_job){.run = head_scale_rows, .args = a, .rows = rows, .work = rows * a->y.cols},
                    NULL);
}

static void highest_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->attention_highest(args, cache_share(), first, end);
}

static weft_status cpu_attention_highest(weft_hal *hal, const hal_attention_highest_args *a)
{
    const cpu_edge_job job = {
        .run = highest_rows, .args = a, .offset = &a->offset, .rows = a->highest.rows, .width = a->how.heads};
    return cpu_edge_rows(hal, &job);
}

static void forward_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->attention_forward(args, cache_share(), first, end);
}

static weft_status cpu_attention_forward(weft_hal *hal, const hal_attention_forward_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_edge_job job = {
        .run = forward_rows, .args = a, .offset = &a->offset, .rows = a->out.rows, .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void targets_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->attention_backward_targets(args, cache_share(), first, end);
}

static weft_status cpu_attention_backward_targets(weft_hal *hal, const hal_attention_backward_targets_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_edge_job job = {
        .run = targets_rows, .args = a, .offset = &a->offset, .rows = a->dtarget.rows, .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void sources_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->attention_backward_sources(args, cache_share(), first, end);
}

static weft_status cpu_attention_backward_sources(weft_hal *hal, const hal_attention_backward_sources_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_edge_job job = {
        .run = sources_rows, .args = a, .offset = &a->offset, .rows = a->dx.rows, .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void dynamic_highest_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->dynamic_highest(args, cache_share(), first, end);
}

static weft_status cpu_dynamic_highest(weft_hal *hal, const hal_dynamic_highest_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_edge_job job = {
        .run = dynamic_highest_rows, .args = a, .offset = &a->offset, .rows = a->highest.rows, .width = a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void dynamic_forward_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->dynamic_forward(args, cache_share(), first, end);
}

static weft_status cpu_dynamic_forward(weft_hal *hal, const hal_dynamic_forward_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_edge_job job = {
        .run = dynamic_forward_rows, .args = a, .offset = &a->offset, .rows = a->out.rows, .width = 2 * a->x.cols};
    return cpu_edge_rows(hal, &job);
}

/* The operands that both directions have. */
#define DYNAMIC_BACKWARD(a)                                                                                            \
    .x = &(a)->x, .target = &(a)->target, .vector = &(a)->vector, .offset = &(a)->offset, .column = &(a)->column,      \
    .highest = &(a)->highest, .total = &(a)->total, .mean = &(a)->mean, .dy = &(a)->dy, .how = &(a)->how

static void dynamic_targets_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->dynamic_backward_targets(args, cache_share(), first, end);
}

static weft_status cpu_dynamic_backward_targets(weft_hal *hal, const hal_dynamic_backward_targets_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_dynamic_backward whole = {DYNAMIC_BACKWARD(a), .dtarget = &a->dtarget, .dvector = &a->dvector};
    const cpu_edge_job job = {.run = dynamic_targets_rows,
                              .args = &whole,
                              .offset = &a->offset,
                              .rows = a->dtarget.rows,
                              .width = 3 * a->x.cols};
    return cpu_edge_rows(hal, &job);
}

static void dynamic_sources_rows(const cpu_kernels *kernels, const void *args, int64_t first, int64_t end)
{
    kernels->dynamic_backward_sources(args, cache_share(), first, end);
}

static weft_status cpu_dynamic_backward_sources(weft_hal *hal, const hal_dynamic_backward_sources_args *a)
{
    assert(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && a->x.cols % a->how.heads == 0);
    const cpu_dynamic_backward whole = {DYNAMIC_BACKWARD(a), .dx = &a->dx};
    const cpu_edge_job job = {
        .run = dynamic_sources_rows, .args = &whole, .offset = &a->offset, .rows = a->dx.rows, .width = 3 * a->x.cols};
    return cpu_edge_rows(hal, &job);
}

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
