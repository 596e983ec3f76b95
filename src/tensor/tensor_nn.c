/* tensor/tensor_nn.c: norms, losses, the metric and optimisers with their shapes checked; hal_run counts what they
 * cost. */
#include "tensor/tensor_check.h"

/* ---- batch norm -------------------------------------------------------------------------------------------------- */

static weft_status check_stats(const char *op, const weft_tensor *x, const weft_tensor *stats)
{
    return tensor_check_exact(op, "stats", stats, &(hal_mat){.rows = 2, .cols = x->cols, .dtype = WEFT_DTYPE_F64}, x);
}

static weft_status check_batch_norm(const char *op, const weft_tensor *x, const tensor_batch_norm *norm)
{
    WEFT_TRY(tensor_check_vector(op, "mean", norm->mean, 1, x->cols, x));
    WEFT_TRY(tensor_check_vector(op, "rstd", norm->rstd, 1, x->cols, x));
    WEFT_TRY(tensor_check_vector(op, "gamma", norm->gamma, 1, x->cols, x));
    return tensor_check_vector(op, "beta", norm->beta, 1, x->cols, x);
}

weft_status tensor_bn_stats(const weft_tensor *x, weft_tensor *stats)
{
    WEFT_TRY(check_stats("bn_stats", x, stats));
    return hal_bn_stats(x->hal, &(hal_bn_stats_args){.x = tensor_mat(x), .stats = tensor_mat(stats)});
}

weft_status tensor_bn_finish(const weft_tensor *stats, double count, double epsilon, weft_tensor *mean,
                             weft_tensor *var, weft_tensor *rstd)
{
    WEFT_TRY(check_stats("bn_finish", mean, stats));
    WEFT_TRY(tensor_check_vector("bn_finish", "var", var, 1, mean->cols, mean));
    WEFT_TRY(tensor_check_vector("bn_finish", "rstd", rstd, 1, mean->cols, mean));
    return hal_bn_finish(mean->hal, &(hal_bn_finish_args){.mean = tensor_mat(mean),
                                                          .var = tensor_mat(var),
                                                          .rstd = tensor_mat(rstd),
                                                          .stats = tensor_mat(stats),
                                                          .count = count,
                                                          .epsilon = epsilon});
}

weft_status tensor_bn_rstd(const weft_tensor *var, double epsilon, weft_tensor *rstd)
{
    WEFT_TRY(tensor_check_vector("bn_rstd", "var", var, 1, rstd->cols, rstd));
    return hal_bn_rstd(rstd->hal,
                       &(hal_bn_rstd_args){.var = tensor_mat(var), .rstd = tensor_mat(rstd), .epsilon = epsilon});
}

weft_status tensor_bn_gradients(const weft_tensor *stats, weft_tensor *dgamma, weft_tensor *dbeta)
{
    WEFT_TRY(check_stats("bn_gradients", dbeta, stats));
    WEFT_TRY(tensor_check_vector("bn_gradients", "dgamma", dgamma, 1, dbeta->cols, dbeta));
    return hal_bn_gradients(
        dbeta->hal,
        &(hal_bn_gradients_args){.dgamma = tensor_mat(dgamma), .dbeta = tensor_mat(dbeta), .stats = tensor_mat(stats)});
}

/* The operands that all have that read a norm. */
#define BATCH_NORM(norm)                                                                                               \
    .mean = tensor_mat((norm)->mean), .rstd = tensor_mat((norm)->rstd), .gamma = tensor_mat((norm)->gamma),            \
    .beta = tensor_mat((norm)->beta), .relu = (norm)->relu

weft_status tensor_bn_apply(const weft_tensor *x, const tensor_batch_norm *norm, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("bn_apply", "x", x, y));
    WEFT_TRY(norm->residual == NULL ? WEFT_OK : tensor_check_same("bn_apply", "residual", norm->residual, y));
    WEFT_TRY(check_batch_norm("bn_apply", x, norm));
    return hal_bn_apply(y->hal, &(hal_bn_apply_args){BATCH_NORM(norm), .residual = tensor_mat(norm->residual),
                                                     .x = tensor_mat(x), .y = tensor_mat(y)});
}

static weft_status check_if_there(const char *op, const char *name, const weft_tensor *t, const weft_tensor *x)
{
    return t == NULL ? WEFT_OK : tensor_check_same(op, name, t, x);
}

weft_status tensor_bn_backward_stats(const weft_tensor *dy, const weft_tensor *x, const tensor_batch_norm *norm,
                                     weft_tensor *stats)
{
    WEFT_TRY(tensor_check_same("bn_backward_stats", "dy", dy, x));
    WEFT_TRY(check_if_there("bn_backward_stats", "share", norm->share, x));
    WEFT_TRY(check_if_there("bn_backward_stats", "y", norm->y, x));
    WEFT_TRY(check_if_there("bn_backward_stats", "counted", norm->counted, x));
    WEFT_TRY(check_batch_norm("bn_backward_stats", x, norm));
    WEFT_TRY(check_stats("bn_backward_stats", x, stats));
    return hal_bn_backward_stats(
        x->hal, &(hal_bn_backward_stats_args){BATCH_NORM(norm), .dy = tensor_mat(dy), .share = tensor_mat(norm->share),
                                              .x = tensor_mat(x), .y = tensor_mat(norm->relu ? norm->y : NULL),
                                              .counted = tensor_mat(norm->counted), .stats = tensor_mat(stats)});
}

weft_status tensor_bn_backward_apply(const weft_tensor *dy, const weft_tensor *x, const tensor_batch_norm *norm,
                                     const weft_tensor *stats, double count, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("bn_backward_apply", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("bn_backward_apply", "x", x, dx));
    WEFT_TRY(check_batch_norm("bn_backward_apply", x, norm));
    WEFT_TRY(check_stats("bn_backward_apply", x, stats));
    return hal_bn_backward_apply(dx->hal, &(hal_bn_backward_apply_args){BATCH_NORM(norm), .dy = tensor_mat(dy),
                                                                        .x = tensor_mat(x), .stats = tensor_mat(stats),
                                                                        .dx = tensor_mat(dx), .count = count});
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

static weft_status check_layer_norm(const char *op, const weft_tensor *x, const tensor_layer_norm *norm)
{
    WEFT_TRY(tensor_check_vector(op, "gamma", norm->gamma, 1, x->cols, x));
    WEFT_TRY(tensor_check_vector(op, "beta", norm->beta, 1, x->cols, x));
    const hal_mat saved = {.rows = x->rows, .cols = 2, .dtype = tensor_param_type(x->dtype)};
    return tensor_check_exact(op, "saved", norm->saved, &saved, x);
}

static weft_status check_group_norm(const char *op, const weft_tensor *x, const tensor_group_norm *norm)
{
    WEFT_CHECK(norm->groups > 0 && norm->pixels > 0 && x->cols % norm->groups == 0 && x->rows % norm->pixels == 0,
               WEFT_ERR_INTERNAL, "%s: %lld groups of %lld columns, images of %lld of %lld rows", op,
               (long long)norm->groups, (long long)x->cols, (long long)norm->pixels, (long long)x->rows);
    WEFT_TRY(tensor_check_vector(op, "gamma", norm->gamma, 1, x->cols, x));
    const hal_mat saved = {
        .rows = x->rows / norm->pixels, .cols = 2 * norm->groups, .dtype = tensor_param_type(x->dtype)};
    return tensor_check_exact(op, "saved", norm->saved, &saved, x);
}

weft_status tensor_gn_forward(const weft_tensor *x, const tensor_group_norm *norm, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("gn_forward", "x", x, y));
    WEFT_TRY(check_group_norm("gn_forward", x, norm));
    WEFT_TRY(tensor_check_vector("gn_forward", "beta", norm->beta, 1, x->cols, x));
    return hal_gn_forward(y->hal, &(hal_gn_forward_args){.x = tensor_mat(x),
                                                         .gamma = tensor_mat(norm->gamma),
                                                         .beta = tensor_mat(norm->beta),
                                                         .saved = tensor_mat(norm->saved),
                                                         .y = tensor_mat(y),
                                                         .pixels = norm->pixels,
                                                         .groups = norm->groups,
                                                         .epsilon = norm->epsilon});
}

weft_status tensor_gn_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_group_norm *norm,
                               weft_tensor *dgamma, weft_tensor *dbeta, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("gn_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("gn_backward", "x", x, dx));
    WEFT_TRY(check_group_norm("gn_backward", x, norm));
    WEFT_TRY(tensor_check_vector("gn_backward", "dgamma", dgamma, 1, x->cols, x));
    WEFT_TRY(tensor_check_vector("gn_backward", "dbeta", dbeta, 1, x->cols, x));
    return hal_gn_backward(dx->hal, &(hal_gn_backward_args){.dy = tensor_mat(dy),
                                                            .x = tensor_mat(x),
                                                            .gamma = tensor_mat(norm->gamma),
                                                            .saved = tensor_mat(norm->saved),
                                                            .dgamma = tensor_mat(dgamma),
                                                            .dbeta = tensor_mat(dbeta),
                                                            .dx = tensor_mat(dx),
                                                            .pixels = norm->pixels,
                                                            .groups = norm->groups});
}

weft_status tensor_ln_forward(const weft_tensor *x, const tensor_layer_norm *norm, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("ln_forward", "x", x, y));
    WEFT_TRY(check_layer_norm("ln_forward", x, norm));
    return hal_ln_forward(y->hal, &(hal_ln_forward_args){.x = tensor_mat(x),
                                                         .gamma = tensor_mat(norm->gamma),
                                                         .beta = tensor_mat(norm->beta),
                                                         .saved = tensor_mat(norm->saved),
                                                         .y = tensor_mat(y),
                                                         .epsilon = norm->epsilon});
}

weft_status tensor_ln_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_layer_norm *norm,
                               weft_tensor *dgamma, weft_tensor *dbeta, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("ln_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("ln_backward", "x", x, dx));
    WEFT_TRY(check_layer_norm("ln_backward", x, norm));
    WEFT_TRY(tensor_check_vector("ln_backward", "dgamma", dgamma, 1, x->cols, x));
    WEFT_TRY(tensor_check_vector("ln_backward", "dbeta", dbeta, 1, x->cols, x));
    return hal_ln_backward(dx->hal, &(hal_ln_backward_args){.dy = tensor_mat(dy),
                                                            .x = tensor_mat(x),
                                                            .gamma = tensor_mat(norm->gamma),
                                                            .saved = tensor_mat(norm->saved),
                                                            .dgamma = tensor_mat(dgamma),
                                                            .dbeta = tensor_mat(dbeta),
                                                            .dx = tensor_mat(dx)});
}

/* ---- losses and metric ------------------------------------------------------------------------------------------- */

static weft_status check_loss(const char *op, const weft_tensor *x, const weft_tensor *loss, const weft_tensor *dx)
{
    WEFT_TRY(tensor_check_exact(op, "loss", loss, &(hal_mat){.rows = 1, .cols = 1, .dtype = WEFT_DTYPE_F64}, x));
    return dx == NULL ? WEFT_OK : tensor_check_same(op, "x", x, dx);
}

weft_status tensor_softmax_xent(const weft_tensor *x, const int32_t *label, const tensor_loss_rows *rows,
                                weft_tensor *loss, weft_tensor *dx)
{
    WEFT_TRY(check_loss("softmax_xent", x, loss, dx));
    return hal_softmax_xent(x->hal,
                            &(hal_softmax_xent_args){.x = tensor_mat(x),
                                                     .label = hal_column_from(label, WEFT_DTYPE_I32, x->rows),
                                                     .mask = hal_column_from(rows->mask, WEFT_DTYPE_U8, x->rows),
                                                     .weight = hal_column_from(rows->weight, WEFT_DTYPE_F32, x->rows),
                                                     .loss = tensor_mat(loss),
                                                     .dx = tensor_mat(dx),
                                                     .scale = rows->scale,
                                                     .smoothing = rows->smoothing});
}

weft_status tensor_bce_logits(const weft_tensor *x, const float *target, const tensor_loss_rows *rows,
                              weft_tensor *loss, weft_tensor *dx)
{
    WEFT_TRY(check_loss("bce_logits", x, loss, dx));
    return hal_bce_logits(
        x->hal, &(hal_bce_logits_args){.x = tensor_mat(x),
                                       .target = hal_mat_from(target, WEFT_DTYPE_F32, x->rows, x->cols, x->cols),
                                       .mask = hal_column_from(rows->mask, WEFT_DTYPE_U8, x->rows),
                                       .loss = tensor_mat(loss),
                                       .dx = tensor_mat(dx),
                                       .scale = rows->scale});
}

weft_status tensor_accuracy(const weft_tensor *x, const int32_t *label, const uint8_t *mask, weft_tensor *counts)
{
    WEFT_TRY(
        tensor_check_exact("accuracy", "counts", counts, &(hal_mat){.rows = 1, .cols = 2, .dtype = WEFT_DTYPE_I64}, x));
    return hal_accuracy(x->hal, &(hal_accuracy_args){.x = tensor_mat(x),
                                                     .label = hal_column_from(label, WEFT_DTYPE_I32, x->rows),
                                                     .mask = hal_column_from(mask, WEFT_DTYPE_U8, x->rows),
                                                     .counts = tensor_mat(counts)});
}

/* ---- optimisers -------------------------------------------------------------------------------------------------- */

weft_status tensor_adam(const hal_adam_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *m, weft_tensor *v)
{
    WEFT_TRY(tensor_check_vector("adam", "w", w, 1, w->cols, w));
    WEFT_TRY(tensor_check_same("adam", "g", g, w));
    WEFT_TRY(tensor_check_same("adam", "m", m, w));
    WEFT_TRY(tensor_check_same("adam", "v", v, w));
    hal_adam_args args = *step;
    args.w = tensor_mat(w);
    args.g = tensor_mat(g);
    args.m = tensor_mat(m);
    args.v = tensor_mat(v);
    return hal_adam(w->hal, &args);
}

weft_status tensor_adadelta(const hal_adadelta_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *squares,
                            weft_tensor *moves)
{
    WEFT_TRY(tensor_check_vector("adadelta", "w", w, 1, w->cols, w));
    WEFT_TRY(tensor_check_same("adadelta", "g", g, w));
    WEFT_TRY(tensor_check_same("adadelta", "squares", squares, w));
    WEFT_TRY(tensor_check_same("adadelta", "moves", moves, w));
    hal_adadelta_args args = *step;
    args.w = tensor_mat(w);
    args.g = tensor_mat(g);
    args.squares = tensor_mat(squares);
    args.moves = tensor_mat(moves);
    return hal_adadelta(w->hal, &args);
}

weft_status tensor_sgd(const hal_sgd_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *velocity)
{
    WEFT_TRY(tensor_check_vector("sgd", "w", w, 1, w->cols, w));
    WEFT_TRY(tensor_check_same("sgd", "g", g, w));
    WEFT_TRY(velocity == NULL ? WEFT_OK : tensor_check_same("sgd", "velocity", velocity, w));
    WEFT_CHECK(velocity != NULL || step->momentum == 0.0, WEFT_ERR_INTERNAL, "sgd: momentum %g without a velocity",
               step->momentum);
    hal_sgd_args args = *step;
    args.w = tensor_mat(w);
    args.g = tensor_mat(g);
    args.velocity = tensor_mat(velocity);
    return hal_sgd(w->hal, &args);
}

weft_status tensor_lars(const hal_lars_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *velocity,
                        const weft_tensor *norms)
{
    static const hal_mat two = {.rows = 1, .cols = 2, .dtype = WEFT_DTYPE_F64};
    WEFT_TRY(tensor_check_vector("lars", "w", w, 1, w->cols, w));
    WEFT_TRY(tensor_check_same("lars", "g", g, w));
    WEFT_TRY(velocity == NULL ? WEFT_OK : tensor_check_same("lars", "velocity", velocity, w));
    WEFT_TRY(norms == NULL ? WEFT_OK : tensor_check_exact("lars", "norms", norms, &two, w));
    WEFT_CHECK(velocity != NULL || step->momentum == 0.0, WEFT_ERR_INTERNAL, "lars: momentum %g without a velocity",
               step->momentum);
    hal_lars_args args = *step;
    args.w = tensor_mat(w);
    args.g = tensor_mat(g);
    args.velocity = tensor_mat(velocity);
    args.norms = tensor_mat(norms);
    return hal_lars(w->hal, &args);
}

weft_status tensor_sum_squares(const weft_tensor *x, weft_tensor *out)
{
    static const hal_mat one = {.rows = 1, .cols = 1, .dtype = WEFT_DTYPE_F64};
    WEFT_TRY(tensor_check_vector("sum_squares", "x", x, 1, x->cols, x));
    WEFT_TRY(tensor_check_exact("sum_squares", "out", out, &one, x));
    return hal_sum_squares(x->hal, &(hal_sum_squares_args){.x = tensor_mat(x), .out = tensor_mat(out)});
}
