/*
 * hal/cpu/cpu_nn.c: the neural-network operations, by rows; see cpu_rows.h. Constants of a whole operation are worked
 * out before the rows are cut.
 */
#include <assert.h>

#include "hal/cpu/cpu_rows.h"
#include "hal/ref/ref_backend.h"

/* ---- activation ------------------------------------------------------------------------------------------------ */

static bool drops(const hal_dropout *dropout)
{
    return dropout->probability > 0.0F;
}

static void relu_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_act_forward_args *a = args;
    piece_kernels(piece, &a->x)
        ->relu_forward(piece->rows, a->y.cols, piece_cells_in(piece, &a->x), a->x.ld, piece_cells_out(piece, &a->y),
                       a->y.ld);
}

static void act_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_act_forward_args *a = args;
    piece_kernels(piece, &a->x)
        ->act_forward(piece->rows, a->y.cols, piece_cells_in(piece, &a->x), a->x.ld, a->relu, &a->dropout, piece->first,
                      piece_cells_out(piece, &a->y), a->y.ld);
}

static weft_status cpu_act_forward(weft_hal *hal, const hal_act_forward_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols);
    const bool relu_alone = a->relu && !drops(&a->dropout);
    return cpu_each_row(hal, relu_alone ? relu_forward_rows : act_forward_rows, a, &a->y);
}

static void relu_backward_rows(const cpu_piece *piece, const void *args)
{
    const hal_act_backward_args *a = args;
    float scale = drops(&a->dropout) ? (float)(1.0 / (1.0 - (double)a->dropout.probability)) : 1.0F;
    piece_kernels(piece, &a->dy)
        ->relu_backward(piece->rows, a->dx.cols, piece_cells_in(piece, &a->dy), a->dy.ld, piece_cells_in(piece, &a->y),
                        a->y.ld, scale, piece_cells_out(piece, &a->dx), a->dx.ld);
}

/* Without ReLU the forward pass is linear: its own transpose. */
static weft_status cpu_act_backward(weft_hal *hal, const hal_act_backward_args *a)
{
    assert(a->dy.rows == a->dx.rows && a->dy.cols == a->dx.cols);
    if (!a->relu) {
        return cpu_act_forward(hal, &(hal_act_forward_args){.x = a->dy, .y = a->dx, .dropout = a->dropout});
    }
    return cpu_each_row(hal, relu_backward_rows, a, &a->dx);
}

static void elu_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_elu_forward_args *a = args;
    piece->kernels->elu_forward(piece->rows, a->y.cols, piece_in(piece, &a->x), a->x.ld, piece_out(piece, &a->y),
                                a->y.ld);
}

static weft_status cpu_elu_forward(weft_hal *hal, const hal_elu_forward_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols);
    return cpu_each_row(hal, elu_forward_rows, a, &a->y);
}

static void elu_backward_rows(const cpu_piece *piece, const void *args)
{
    const hal_elu_backward_args *a = args;
    piece->kernels->elu_backward(piece->rows, a->dx.cols, piece_in(piece, &a->dy), a->dy.ld, piece_in(piece, &a->y),
                                 a->y.ld, (float)a->keep, piece_out(piece, &a->dx), a->dx.ld);
}

static weft_status cpu_elu_backward(weft_hal *hal, const hal_elu_backward_args *a)
{
    assert(a->dy.rows == a->dx.rows && a->y.rows == a->dx.rows && a->dy.cols == a->dx.cols);
    return cpu_each_row(hal, elu_backward_rows, a, &a->dx);
}

/* ---- curves and gates ------------------------------------------------------------------------------------------ */

static void curve_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_curve_forward_args *a = args;
    piece_kernels(piece, &a->x)
        ->curve_forward(piece->rows, a->y.cols, a->curve, piece_cells_in(piece, &a->x), a->x.ld,
                        piece_cells_out(piece, &a->y), a->y.ld);
}

static weft_status cpu_curve_forward(weft_hal *hal, const hal_curve_forward_args *a)
{
    assert(a->x.rows == a->y.rows && a->x.cols == a->y.cols);
    return cpu_each_row(hal, curve_forward_rows, a, &a->y);
}

static void curve_backward_rows(const cpu_piece *piece, const void *args)
{
    const hal_curve_backward_args *a = args;
    const cpu_curve_backward rows = {.m = piece->rows,
                                     .n = a->dx.cols,
                                     .lddy = a->dy.ld,
                                     .ldk = a->known.ld,
                                     .lddx = a->dx.ld,
                                     .dy = piece_cells_in(piece, &a->dy),
                                     .known = piece_cells_in(piece, &a->known),
                                     .dx = piece_cells_out(piece, &a->dx)};
    piece_kernels(piece, &a->dy)->curve_backward(&rows, a->curve);
}

static weft_status cpu_curve_backward_op(weft_hal *hal, const hal_curve_backward_args *a)
{
    assert(a->dy.rows == a->dx.rows && a->dy.cols == a->dx.cols && a->known.cols == a->dx.cols);
    return cpu_each_row(hal, curve_backward_rows, a, &a->dx);
}

static void gate_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_gate_forward_args *a = args;
    piece_kernels(piece, &a->x)->gate_forward(a, piece->first, piece->rows);
}

static weft_status cpu_gate_forward(weft_hal *hal, const hal_gate_forward_args *a)
{
    assert(a->pixels > 0 && a->gate.rows * a->pixels == a->y.rows && a->gate.cols == a->y.cols);
    return cpu_each_row(hal, gate_forward_rows, a, &a->y);
}

static void gate_backward_images(const cpu_piece *piece, const void *args)
{
    const hal_gate_backward_args *a = args;
    piece_kernels(piece, &a->x)->gate_backward(a, piece->first, piece->rows);
}

/* An image is one thread's: the same bits for any number of threads. */
static weft_status cpu_gate_backward(weft_hal *hal, const hal_gate_backward_args *a)
{
    assert(a->pixels > 0 && a->gate.rows * a->pixels == a->dx.rows && a->gate.cols == a->dx.cols);
    const cpu_rows_job job = {.run = gate_backward_images,
                              .args = a,
                              .rows = a->dx.cols > 0 ? a->gate.rows : 0,
                              .work = a->dx.rows * a->dx.cols};
    return cpu_rows(hal, &job, NULL);
}

/* ---- batch norm ---------------------------------------------------------------------------------------------- */

/* The sums of all pieces, [2, n]. */
static weft_status rows_to_stats(weft_hal *hal, const cpu_rows_job *job, const hal_mat *stats)
{
    assert(stats->rows == 2 && stats->ld == stats->cols && stats->dtype == WEFT_DTYPE_F64);
    double *out = stats->data;
    cpu_parts_left left;
    WEFT_TRY(cpu_rows(hal, job, &left));
    for (int64_t j = 0; j < 2 * stats->cols; ++j) {
        out[j] = left_sum(&left, j, 0.0);
    }
    return WEFT_OK;
}

static void bn_stats_rows(const cpu_piece *piece, const void *args)
{
    const hal_bn_stats_args *a = args;
    piece_kernels(piece, &a->x)->norm.stats(piece->rows, a->x.cols, piece_cells_in(piece, &a->x), a->x.ld, piece->own);
}

static weft_status cpu_bn_stats(weft_hal *hal, const hal_bn_stats_args *a)
{
    assert(a->stats.cols == a->x.cols);
    const cpu_rows_job job = cpu_rows_of(bn_stats_rows, a, &a->x, 2 * (size_t)a->x.cols * sizeof(double));
    return rows_to_stats(hal, &job, &a->stats);
}

/* What all operations on normalised rows read by column. */
#define NORM_OPERANDS(a)                                                                                               \
    .mean = (a)->mean.source, .rstd = (a)->rstd.source, .gamma = (a)->gamma.source, .beta = (a)->beta.source,          \
    .relu = (a)->relu

static void bn_apply_rows(const cpu_piece *piece, const void *args)
{
    const hal_bn_apply_args *a = args;
    const cpu_bn_forward rows = {.m = piece->rows,
                                 .n = a->y.cols,
                                 .x = piece_cells_in(piece, &a->x),
                                 .residual = piece_cells_in(piece, &a->residual),
                                 .y = piece_cells_out(piece, &a->y),
                                 .ld_x = a->x.ld,
                                 .ld_residual = a->residual.ld,
                                 .ld_y = a->y.ld,
                                 NORM_OPERANDS(a)};
    piece_kernels(piece, &a->x)->norm.apply(&rows);
}

static weft_status cpu_bn_apply(weft_hal *hal, const hal_bn_apply_args *a)
{
    assert(a->x.rows == a->y.rows && a->mean.cols == a->y.cols && a->rstd.cols == a->y.cols);
    return cpu_each_row(hal, bn_apply_rows, a, &a->y);
}

static void bn_backward_stats_rows(const cpu_piece *piece, const void *args)
{
    const hal_bn_backward_stats_args *a = args;
    const cpu_bn_backward rows = {.m = piece->rows,
                                  .n = a->x.cols,
                                  .dy = piece_cells_in(piece, &a->dy),
                                  .share = piece_cells_in(piece, &a->share),
                                  .x = piece_cells_in(piece, &a->x),
                                  .y = piece_cells_in(piece, &a->y),
                                  .to = piece_cells_out(piece, &a->counted),
                                  .ld_dy = a->dy.ld,
                                  .ld_share = a->share.ld,
                                  .ld_x = a->x.ld,
                                  .ld_y = a->y.ld,
                                  .ld_to = a->counted.ld,
                                  NORM_OPERANDS(a)};
    piece_kernels(piece, &a->x)->norm.backward_stats(&rows, piece->own);
}

static weft_status cpu_bn_backward_stats(weft_hal *hal, const hal_bn_backward_stats_args *a)
{
    assert(a->dy.rows == a->x.rows && a->stats.cols == a->x.cols);
    assert(a->share.source == NULL || a->counted.data != NULL);
    const cpu_rows_job job = cpu_rows_of(bn_backward_stats_rows, a, &a->x, 2 * (size_t)a->x.cols * sizeof(double));
    return rows_to_stats(hal, &job, &a->stats);
}

typedef struct bn_backward_job {
    const hal_bn_backward_apply_args *args;
    const float *coefficient; /* [3, n]: gamma * rstd, sum_g / count, sum_g_xhat / count */
} bn_backward_job;

static void bn_backward_apply_rows(const cpu_piece *piece, const void *job)
{
    const hal_bn_backward_apply_args *a = ((const bn_backward_job *)job)->args;
    const cpu_bn_backward rows = {.m = piece->rows,
                                  .n = a->dx.cols,
                                  .dy = piece_cells_in(piece, &a->dy),
                                  .x = piece_cells_in(piece, &a->x),
                                  .to = piece_cells_out(piece, &a->dx),
                                  .ld_dy = a->dy.ld,
                                  .ld_x = a->x.ld,
                                  .ld_to = a->dx.ld,
                                  NORM_OPERANDS(a)};
    piece_kernels(piece, &a->x)->norm.backward_apply(&rows, ((const bn_backward_job *)job)->coefficient);
}

static weft_status cpu_bn_backward_apply(weft_hal *hal, const hal_bn_backward_apply_args *a)
{
    assert(a->dy.rows == a->dx.rows && a->x.rows == a->dx.rows && (a->count > 0.0 || a->dx.rows == 0));
    int64_t n = a->dx.cols;
    const float *rstd = a->rstd.source;
    const float *gamma = a->gamma.source;
    const double *stats = a->stats.source;
    float *coefficient = NULL;
    WEFT_TRY(cpu_workspace(hal, 3 * (size_t)n * sizeof *coefficient, (void **)&coefficient));
    for (int64_t j = 0; j < n; ++j) {
        coefficient[j] = gamma[j] * rstd[j];
        coefficient[n + j] = (float)(stats[j] / a->count);
        coefficient[2 * n + j] = (float)(stats[n + j] / a->count);
    }
    const bn_backward_job whole = {.args = a, .coefficient = coefficient};
    return cpu_each_row(hal, bn_backward_apply_rows, &whole, &a->dx);
}

/* ---- layer norm ---------------------------------------------------------------------------------------------- */

static void ln_forward_rows(const cpu_piece *piece, const void *args)
{
    const hal_ln_forward_args *a = args;
    piece_kernels(piece, &a->x)
        ->ln_forward(piece->rows, a->y.cols, piece_cells_in(piece, &a->x), a->x.ld, a->gamma.source, a->beta.source,
                     a->epsilon, piece_out(piece, &a->saved), piece_cells_out(piece, &a->y), a->y.ld);
}

static weft_status cpu_ln_forward(weft_hal *hal, const hal_ln_forward_args *a)
{
    assert(a->x.rows == a->y.rows && a->saved.rows == a->y.rows && a->saved.ld == 2);
    return cpu_each_row(hal, ln_forward_rows, a, &a->y);
}

static void ln_backward_rows(const cpu_piece *piece, const void *args)
{
    const hal_ln_backward_args *a = args;
    piece_kernels(piece, &a->x)
        ->ln_backward(piece->rows, a->dx.cols, piece_cells_in(piece, &a->dy), a->dy.ld, piece_cells_in(piece, &a->x),
                      a->x.ld, a->gamma.source, piece_in(piece, &a->saved), piece->own, piece_cells_out(piece, &a->dx),
                      a->dx.ld);
}

static weft_status cpu_ln_backward(weft_hal *hal, const hal_ln_backward_args *a)
{
    assert(a->dy.rows == a->dx.rows && a->saved.rows == a->dx.rows && a->saved.ld == 2);
    int64_t n = a->dx.cols;
    float *dgamma = a->dgamma.data;
    float *dbeta = a->dbeta.data;
    cpu_parts_left left;
    const cpu_rows_job job = cpu_rows_of(ln_backward_rows, a, &a->dx, 2 * (size_t)n * sizeof(double));
    WEFT_TRY(cpu_rows(hal, &job, &left));
    for (int64_t j = 0; j < n; ++j) {
        dgamma[j] = (float)left_sum(&left, j, (double)dgamma[j]);
        dbeta[j] = (float)left_sum(&left, n + j, (double)dbeta[j]);
    }
    return WEFT_OK;
}

/* ---- group norm: an image is one thread's, so what forward gives and dx are the same bits for any number of threads;
 * sums over images are added in the order of the threads' pieces ---- */

/* The rows of a piece, whose own rows are images. */
static hal_mat rows_of(const cpu_piece *piece, const hal_mat *mat, int64_t pixels)
{
    return hal_mat_rows(mat, piece->first * pixels, piece->rows * pixels);
}

static void forward_images(const cpu_piece *piece, const void *args)
{
    hal_gn_forward_args a = *(const hal_gn_forward_args *)args;
    a.x = rows_of(piece, &a.x, a.pixels);
    a.y = rows_of(piece, &a.y, a.pixels);
    a.saved = rows_of(piece, &a.saved, 1);
    (void)(a.x.dtype == WEFT_DTYPE_BF16 ? ref_gn_forward_bf16(&a) : ref_gn_forward_f32(&a));
}

static weft_status cpu_gn_forward(weft_hal *hal, const hal_gn_forward_args *a)
{
    assert(a->pixels > 0 && a->groups > 0 && a->y.rows % a->pixels == 0 && a->y.cols % a->groups == 0);
    const cpu_rows_job job = {
        .run = forward_images, .args = a, .rows = a->y.rows / a->pixels, .work = a->y.rows * a->y.cols};
    return cpu_rows(hal, &job, NULL);
}

static void backward_images(const cpu_piece *piece, const void *args)
{
    hal_gn_backward_args a = *(const hal_gn_backward_args *)args;
    float *own = piece->own;
    a.dy = rows_of(piece, &a.dy, a.pixels);
    a.x = rows_of(piece, &a.x, a.pixels);
    a.dx = rows_of(piece, &a.dx, a.pixels);
    a.saved = rows_of(piece, &a.saved, 1);
    a.dgamma.data = own;
    a.dbeta.data = own + a.dx.cols;
    (void)(a.x.dtype == WEFT_DTYPE_BF16 ? ref_gn_backward_bf16(&a) : ref_gn_backward_f32(&a));
}

static weft_status cpu_gn_backward(weft_hal *hal, const hal_gn_backward_args *a)
{
    assert(a->pixels > 0 && a->groups > 0 && a->dx.rows % a->pixels == 0 && a->dx.cols % a->groups == 0);
    const int64_t n = a->dx.cols;
    float *dgamma = a->dgamma.data, *dbeta = a->dbeta.data;
    cpu_parts_left left;
    const cpu_rows_job job = {.run = backward_images,
                              .args = a,
                              .rows = a->dx.rows / a->pixels,
                              .work = a->dx.rows * n,
                              .own_bytes = 2 * (size_t)n * sizeof(float)};
    WEFT_TRY(cpu_rows(hal, &job, &left));
    for (int part = 0; part < left.parts; ++part) {
        const float *own = (const float *)(const void *)(left.own + (size_t)part * left.stride);
        for (int64_t j = 0; j < n; ++j) {
            dgamma[j] += own[j];
            dbeta[j] += own[n + j];
        }
    }
    return WEFT_OK;
}

/* ---- losses and metric ------------------------------------------------------------------------------------------ */

/* Adds the pieces' losses to loss[1,1] and, when given, their counts to count[1,1]. */
static weft_status rows_to_loss(weft_hal *hal, const cpu_rows_job *job, const hal_mat *loss, const hal_mat *count)
{
    assert(loss->rows == 1 && loss->cols == 1 && loss->data != NULL);
    cpu_parts_left left;
    double *sum = loss->data;
    int64_t *entries = count != NULL ? count->data : NULL;
    WEFT_TRY(cpu_rows(hal, job, &left));
    for (int part = 0; part < left.parts; ++part) {
        const cpu_loss *own = (const cpu_loss *)(const void *)(left.own + (size_t)part * left.stride);
        *sum += own->sum;
        if (entries != NULL) {
            *entries += own->count;
        }
    }
    return WEFT_OK;
}

/* The piece's part of a mask, or NULL. */
static const uint8_t *mask_of(const cpu_piece *piece, const hal_mat *mask)
{
    const uint8_t *all = mask->source;
    return all != NULL ? all + piece->first : NULL;
}

static void softmax_xent_rows(const cpu_piece *piece, const void *args)
{
    const hal_softmax_xent_args *a = args;
    const int32_t *label = a->label.source;
    *(cpu_loss *)piece->own = piece->kernels->softmax_xent(
        piece->rows, a->x.cols, piece_in(piece, &a->x), a->x.ld, label + piece->first, mask_of(piece, &a->mask),
        piece_in(piece, &a->weight), (float)a->scale, (float)a->smoothing, piece_out(piece, &a->dx), a->dx.ld);
}

static weft_status cpu_softmax_xent(weft_hal *hal, const hal_softmax_xent_args *a)
{
    assert(a->label.rows == a->x.rows);
    assert(a->mask.source == NULL || a->mask.rows == a->x.rows);
    assert(a->weight.source == NULL || a->weight.rows == a->x.rows);
    const cpu_rows_job job = cpu_rows_of(softmax_xent_rows, a, &a->x, sizeof(cpu_loss));
    return rows_to_loss(hal, &job, &a->loss, NULL);
}

static void bce_logits_rows(const cpu_piece *piece, const void *args)
{
    const hal_bce_logits_args *a = args;
    *(cpu_loss *)piece->own = piece->kernels->bce_logits(
        piece->rows, a->x.cols, piece_in(piece, &a->x), a->x.ld, piece_in(piece, &a->target), a->target.ld,
        mask_of(piece, &a->mask), (float)a->scale, piece_out(piece, &a->dx), a->dx.ld);
}

static weft_status cpu_bce_logits(weft_hal *hal, const hal_bce_logits_args *a)
{
    assert(a->target.rows == a->x.rows && a->target.cols == a->x.cols);
    assert(a->mask.source == NULL || a->mask.rows == a->x.rows);
    const cpu_rows_job job = cpu_rows_of(bce_logits_rows, a, &a->x, sizeof(cpu_loss));
    return rows_to_loss(hal, &job, &a->loss, &a->count);
}

static void accuracy_rows(const cpu_piece *piece, const void *args)
{
    const hal_accuracy_args *a = args;
    const int32_t *label = a->label.source;
    piece->kernels->accuracy(piece->rows, a->x.cols, piece_in(piece, &a->x), a->x.ld, label + piece->first,
                             mask_of(piece, &a->mask), piece->own);
}

static weft_status cpu_accuracy(weft_hal *hal, const hal_accuracy_args *a)
{
    assert(a->counts.rows == 1 && a->counts.cols == 2);
    int64_t *counts = a->counts.data;
    cpu_parts_left left;
    const cpu_rows_job job = cpu_rows_of(accuracy_rows, a, &a->x, 2 * sizeof *counts);
    WEFT_TRY(cpu_rows(hal, &job, &left));
    for (int part = 0; part < left.parts; ++part) {
        const int64_t *own = (const int64_t *)(const void *)(left.own + (size_t)part * left.stride);
        counts[0] += own[0];
        counts[1] += own[1];
    }
    return WEFT_OK;
}

void cpu_nn_ops(hal_ops *ops)
{
    ops->act_forward = cpu_act_forward;
    ops->curve_forward = cpu_curve_forward;
    ops->curve_backward = cpu_curve_backward_op;
    ops->gate_forward = cpu_gate_forward;
    ops->gate_backward = cpu_gate_backward;
    ops->act_backward = cpu_act_backward;
    ops->elu_forward = cpu_elu_forward;
    ops->elu_backward = cpu_elu_backward;
    ops->bn_stats = cpu_bn_stats;
    ops->bn_apply = cpu_bn_apply;
    ops->bn_backward_stats = cpu_bn_backward_stats;
    ops->bn_backward_apply = cpu_bn_backward_apply;
    ops->ln_forward = cpu_ln_forward;
    ops->ln_backward = cpu_ln_backward;
    ops->gn_forward = cpu_gn_forward;
    ops->gn_backward = cpu_gn_backward;
    ops->softmax_xent = cpu_softmax_xent;
    ops->bce_logits = cpu_bce_logits;
    ops->accuracy = cpu_accuracy;
}
