/* tensor/tensor_attention.c: operations on heads and attention over edges; see tensor/tensor.h. */
#include "tensor/tensor_check.h"

weft_status tensor_head_dot(const weft_tensor *x, const weft_tensor *y, weft_tensor *out)
{
    WEFT_TRY(tensor_check_alike("head_dot", "x", x, out));
    WEFT_TRY(tensor_check_alike("head_dot", "y", y, out));
    WEFT_TRY(tensor_check_shape("head_dot", "out", out, x->rows, out->cols));
    WEFT_TRY(tensor_check_shape("head_dot", "y", y, y->rows == 1 ? 1 : x->rows, x->cols));
    WEFT_CHECK(out->cols > 0 && x->cols % out->cols == 0, WEFT_ERR_INTERNAL, "head_dot: %ld columns for %ld heads",
               (long)x->cols, (long)out->cols);
    return hal_head_dot(out->hal, &(hal_head_dot_args){.x = tensor_mat(x), .y = tensor_mat(y), .out = tensor_mat(out)});
}

weft_status tensor_head_scale(const weft_tensor *scale, bool divide, const weft_tensor *x, double beta, weft_tensor *y)
{
    WEFT_TRY(tensor_check_alike("head_scale", "scale", scale, y));
    WEFT_TRY(tensor_check_alike("head_scale", "x", x, y));
    WEFT_TRY(tensor_check_shape("head_scale", "scale", scale, y->rows, scale->cols));
    WEFT_TRY(tensor_check_shape("head_scale", "x", x, x->rows == 1 ? 1 : y->rows, y->cols));
    WEFT_CHECK(scale->cols > 0 && y->cols % scale->cols == 0, WEFT_ERR_INTERNAL,
               "head_scale: %ld columns for %ld heads", (long)y->cols, (long)scale->cols);
    return hal_head_scale(
        y->hal,
        &(hal_head_scale_args){
            .scale = tensor_mat(scale), .x = tensor_mat(x), .y = tensor_mat(y), .beta = beta, .divide = divide});
}

/* A matrix of n rows, or one of every head. */
static weft_status check_heads(const char *op, const char *name, const tensor_attention *a, const weft_tensor *t,
                               const weft_tensor *like)
{
    WEFT_TRY(tensor_check_alike(op, name, t, like));
    return tensor_check_shape(op, name, t, t->rows >= a->rows ? t->rows : a->rows, a->how.heads);
}

static weft_status check(const char *op, const tensor_attention *a, const weft_tensor *x, const weft_tensor *like)
{
    WEFT_CHECK(a->how.heads >= 1 && a->how.heads <= HAL_HEADS && x->cols % a->how.heads == 0, WEFT_ERR_INTERNAL,
               "%s: %ld columns for %d heads, of which there are 1 to %d", op, (long)x->cols, a->how.heads, HAL_HEADS);
    WEFT_TRY(tensor_check_alike(op, "x", x, like));
    WEFT_TRY(check_heads(op, "source", a, a->source, like));
    WEFT_TRY(check_heads(op, "target", a, a->target, like));
    return check_heads(op, "highest", a, a->highest, like);
}

static weft_status check_backward(const char *op, const tensor_attention *a, const weft_tensor *x,
                                  const weft_tensor *dy)
{
    WEFT_TRY(check(op, a, x, dy));
    WEFT_TRY(tensor_check_same(op, "dy", dy, x));
    WEFT_TRY(check_heads(op, "total", a, a->total, dy));
    return check_heads(op, "mean", a, a->mean, dy);
}

static hal_mat offsets_of(const tensor_attention *a)
{
    return hal_column_from(a->offset, WEFT_DTYPE_I64, a->rows + 1);
}

static hal_mat columns_of(const tensor_attention *a)
{
    return hal_column_from(a->column, WEFT_DTYPE_I32, a->entries);
}

/* The operands that all have that read scores. */
#define ATTENTION(a)                                                                                                   \
    .offset = offsets_of(a), .column = columns_of(a), .source = tensor_mat((a)->source),                               \
    .target = tensor_mat((a)->target), .highest = tensor_mat((a)->highest), .how = (a)->how

weft_status tensor_attention_highest(const tensor_attention *a, weft_tensor *highest)
{
    WEFT_TRY(check_heads("attention_highest", "source", a, a->source, highest));
    WEFT_TRY(tensor_check_shape("attention_highest", "highest", highest, a->rows, a->how.heads));
    return hal_attention_highest(highest->hal, &(hal_attention_highest_args){.offset = offsets_of(a),
                                                                             .column = columns_of(a),
                                                                             .source = tensor_mat(a->source),
                                                                             .highest = tensor_mat(highest),
                                                                             .how = a->how});
}

weft_status tensor_attention_forward(const tensor_attention *a, const weft_tensor *x, weft_tensor *out,
                                     weft_tensor *total)
{
    WEFT_TRY(check("attention_forward", a, x, out));
    WEFT_TRY(tensor_check_shape("attention_forward", "out", out, a->rows, x->cols));
    WEFT_TRY(tensor_check_shape("attention_forward", "total", total, a->rows, a->how.heads));
    return hal_attention_forward(out->hal,
                                 &(hal_attention_forward_args){ATTENTION(a), .x = tensor_mat(x), .out = tensor_mat(out),
                                                               .total = tensor_mat(total)});
}

weft_status tensor_attention_backward_targets(const tensor_attention *a, const weft_tensor *x, const weft_tensor *dy,
                                              weft_tensor *dtarget)
{
    WEFT_TRY(check_backward("attention_backward_targets", a, x, dy));
    WEFT_TRY(tensor_check_shape("attention_backward_targets", "dtarget", dtarget, a->rows, a->how.heads));
    return hal_attention_backward_targets(
        dy->hal, &(hal_attention_backward_targets_args){ATTENTION(a), .total = tensor_mat(a->total),
                                                        .mean = tensor_mat(a->mean), .x = tensor_mat(x),
                                                        .dy = tensor_mat(dy), .dtarget = tensor_mat(dtarget)});
}

weft_status tensor_attention_backward_sources(const tensor_attention *a, const weft_tensor *x, const weft_tensor *dy,
                                              weft_tensor *dx, weft_tensor *dsource)
{
    WEFT_TRY(check_backward("attention_backward_sources", a, x, dy));
    WEFT_TRY(tensor_check_shape("attention_backward_sources", "dx", dx, a->rows, x->cols));
    WEFT_TRY(tensor_check_shape("attention_backward_sources", "dsource", dsource, a->rows, a->how.heads));
    return hal_attention_backward_sources(
        dy->hal, &(hal_attention_backward_sources_args){
                     ATTENTION(a), .total = tensor_mat(a->total), .mean = tensor_mat(a->mean), .x = tensor_mat(x),
                     .dy = tensor_mat(dy), .dx = tensor_mat(dx), .dsource = tensor_mat(dsource)});
}

static weft_status check_dynamic(const char *op, const tensor_dynamic *a, const weft_tensor *like)
{
    const int heads = a->edges.how.heads;
    WEFT_CHECK(heads >= 1 && heads <= HAL_HEADS && a->x->cols % heads == 0, WEFT_ERR_INTERNAL,
               "%s: %ld columns for %d heads, of which there are 1 to %d", op, (long)a->x->cols, heads, HAL_HEADS);
    WEFT_TRY(tensor_check_alike(op, "x", a->x, like));
    WEFT_TRY(tensor_check_same(op, "target", a->target, a->x));
    WEFT_TRY(tensor_check_alike(op, "vector", a->vector, like));
    return tensor_check_shape(op, "vector", a->vector, 1, a->x->cols);
}

static weft_status check_dynamic_backward(const char *op, const tensor_dynamic *a, const weft_tensor *dy)
{
    WEFT_TRY(check_dynamic(op, a, dy));
    WEFT_TRY(tensor_check_same(op, "dy", dy, a->x));
    WEFT_TRY(check_heads(op, "highest", &a->edges, a->edges.highest, dy));
    WEFT_TRY(check_heads(op, "total", &a->edges, a->edges.total, dy));
    return check_heads(op, "mean", &a->edges, a->edges.mean, dy);
}

/* The operands that all have. */
#define DYNAMIC(a)                                                                                                     \
    .x = tensor_mat((a)->x), .target = tensor_mat((a)->target), .vector = tensor_mat((a)->vector),                     \
    .offset = offsets_of(&(a)->edges), .column = columns_of(&(a)->edges), .how = (a)->edges.how

weft_status tensor_dynamic_highest(const tensor_dynamic *a, weft_tensor *highest)
{
    WEFT_TRY(check_dynamic("dynamic_highest", a, highest));
    WEFT_TRY(tensor_check_shape("dynamic_highest", "highest", highest, a->edges.rows, a->edges.how.heads));
    return hal_dynamic_highest(highest->hal, &(hal_dynamic_highest_args){DYNAMIC(a), .highest = tensor_mat(highest)});
}

weft_status tensor_dynamic_forward(const tensor_dynamic *a, weft_tensor *out, weft_tensor *total)
{
    WEFT_TRY(check_dynamic("dynamic_forward", a, out));
    WEFT_TRY(check_heads("dynamic_forward", "highest", &a->edges, a->edges.highest, out));
    WEFT_TRY(tensor_check_shape("dynamic_forward", "out", out, a->edges.rows, a->x->cols));
    WEFT_TRY(tensor_check_shape("dynamic_forward", "total", total, a->edges.rows, a->edges.how.heads));
    return hal_dynamic_forward(out->hal,
                               &(hal_dynamic_forward_args){DYNAMIC(a), .highest = tensor_mat(a->edges.highest),
                                                           .out = tensor_mat(out), .total = tensor_mat(total)});
}

weft_status tensor_dynamic_backward_targets(const tensor_dynamic *a, const weft_tensor *dy, weft_tensor *dtarget,
                                            weft_tensor *dvector)
{
    WEFT_TRY(check_dynamic_backward("dynamic_backward_targets", a, dy));
    WEFT_TRY(tensor_check_shape("dynamic_backward_targets", "dtarget", dtarget, a->edges.rows, a->x->cols));
    WEFT_TRY(tensor_check_shape("dynamic_backward_targets", "dvector", dvector, a->edges.rows, a->x->cols));
    return hal_dynamic_backward_targets(
        dy->hal, &(hal_dynamic_backward_targets_args){DYNAMIC(a), .highest = tensor_mat(a->edges.highest),
                                                      .total = tensor_mat(a->edges.total),
                                                      .mean = tensor_mat(a->edges.mean), .dy = tensor_mat(dy),
                                                      .dtarget = tensor_mat(dtarget), .dvector = tensor_mat(dvector)});
}

weft_status tensor_dynamic_backward_sources(const tensor_dynamic *a, const weft_tensor *dy, weft_tensor *dx)
{
    WEFT_TRY(check_dynamic_backward("dynamic_backward_sources", a, dy));
    WEFT_TRY(tensor_check_shape("dynamic_backward_sources", "dx", dx, a->edges.rows, a->x->cols));
    return hal_dynamic_backward_sources(
        dy->hal, &(hal_dynamic_backward_sources_args){
                     DYNAMIC(a), .highest = tensor_mat(a->edges.highest), .total = tensor_mat(a->edges.total),
                     .mean = tensor_mat(a->edges.mean), .dy = tensor_mat(dy), .dx = tensor_mat(dx)});
}
