/* hal/cpu/cpu_optim.c: the optimiser steps, by rows (cpu_rows.h) of one element; constants are worked out in double. */
#include <assert.h>
#include <math.h>

#include "hal/cpu/cpu_rows.h"

/* The operands with the step's constants. */
typedef struct adam_job {
    const hal_adam_args *args;
    cpu_adam_step step;
} adam_job;

typedef struct adadelta_job {
    const hal_adadelta_args *args;
    cpu_adadelta_step step;
} adadelta_job;

typedef struct sgd_job {
    const hal_sgd_args *args;
    cpu_sgd_step step;
} sgd_job;

typedef struct lars_job {
    const hal_lars_args *args;
    cpu_lars_step step;
} lars_job;

/* Element `first` of a vector; NULL when it was left out. */
static float *element(const hal_mat *vector, int64_t first)
{
    float *data = vector->data;
    return data != NULL ? data + first : NULL;
}

static void adam_elements(const cpu_piece *piece, const void *job)
{
    const adam_job *j = job;
    const hal_adam_args *a = j->args;
    piece->kernels->adam(piece->rows, &j->step, element(&a->w, piece->first), element(&a->g, piece->first),
                         element(&a->m, piece->first), element(&a->v, piece->first));
}

static weft_status cpu_adam(weft_hal *hal, const hal_adam_args *a)
{
    assert(a->w.rows <= 1 && a->g.cols == a->w.cols && a->m.cols == a->w.cols && a->v.cols == a->w.cols);
    WEFT_CHECK(a->step >= 1, WEFT_ERR_INTERNAL, "adam: step %ld; the first step is 1", (long)a->step);
    double correction1 = 1.0 - pow(a->beta1, (double)a->step);
    double correction2 = 1.0 - pow(a->beta2, (double)a->step);
    const adam_job whole = {.args = a,
                            .step = {.beta1 = (float)a->beta1,
                                     .beta2 = (float)a->beta2,
                                     .one_minus_beta1 = (float)(1.0 - a->beta1),
                                     .one_minus_beta2 = (float)(1.0 - a->beta2),
                                     .weight_decay = (float)a->weight_decay,
                                     .epsilon = (float)a->epsilon,
                                     .step_size = (float)(a->lr / correction1),
                                     .inverse_root_second = (float)(1.0 / sqrt(correction2))}};
    int64_t n = a->w.cols;
    return cpu_rows(hal, &(cpu_rows_job){.run = adam_elements, .args = &whole, .rows = n, .work = n * 4}, NULL);
}

static void adadelta_elements(const cpu_piece *piece, const void *job)
{
    const adadelta_job *j = job;
    const hal_adadelta_args *a = j->args;
    piece->kernels->adadelta(piece->rows, &j->step, element(&a->w, piece->first), element(&a->g, piece->first),
                             element(&a->squares, piece->first), element(&a->moves, piece->first));
}

static weft_status cpu_adadelta(weft_hal *hal, const hal_adadelta_args *a)
{
    assert(a->w.rows <= 1 && a->g.cols == a->w.cols && a->squares.cols == a->w.cols && a->moves.cols == a->w.cols);
    const adadelta_job whole = {.args = a,
                                .step = {.lr = (float)a->lr,
                                         .decay = (float)a->decay,
                                         .one_minus_decay = (float)(1.0 - a->decay),
                                         .epsilon = (float)a->epsilon,
                                         .weight_decay = (float)a->weight_decay}};
    const int64_t n = a->w.cols;
    return cpu_rows(hal, &(cpu_rows_job){.run = adadelta_elements, .args = &whole, .rows = n, .work = n * 4}, NULL);
}

static void sgd_elements(const cpu_piece *piece, const void *job)
{
    const sgd_job *j = job;
    const hal_sgd_args *a = j->args;
    piece->kernels->sgd(piece->rows, &j->step, element(&a->w, piece->first), element(&a->g, piece->first),
                        element(&a->velocity, piece->first));
}

static weft_status cpu_sgd(weft_hal *hal, const hal_sgd_args *a)
{
    assert(a->w.rows <= 1 && a->g.cols == a->w.cols);
    WEFT_CHECK(a->step >= 1, WEFT_ERR_INTERNAL, "sgd: step %ld; the first step is 1", (long)a->step);
    const sgd_job whole = {.args = a,
                           .step = {.lr = (float)a->lr,
                                    .momentum = (float)a->momentum,
                                    .one_minus_dampening = (float)(1.0 - a->dampening),
                                    .weight_decay = (float)a->weight_decay,
                                    .nesterov = a->nesterov,
                                    .has_momentum = a->momentum != 0.0,
                                    .first = a->step == 1}};
    int64_t n = a->w.cols;
    return cpu_rows(hal, &(cpu_rows_job){.run = sgd_elements, .args = &whole, .rows = n, .work = n * 2}, NULL);
}

static void square_elements(const cpu_piece *piece, const void *args)
{
    const hal_sum_squares_args *a = args;
    const float *x = a->x.source;
    *(double *)piece->own = piece->kernels->sum_squares(piece->rows, x + piece->first);
}

static weft_status cpu_sum_squares(weft_hal *hal, const hal_sum_squares_args *a)
{
    cpu_parts_left left;
    int64_t n = a->x.cols;
    assert(a->x.rows <= 1);
    WEFT_TRY(cpu_rows(
        hal, &(cpu_rows_job){.run = square_elements, .args = a, .rows = n, .work = n, .own_bytes = sizeof(double)},
        &left));
    *(double *)a->out.data = left_sum(&left, 0, 0.0);
    return WEFT_OK;
}

static void lars_elements(const cpu_piece *piece, const void *job)
{
    const lars_job *j = job;
    const hal_lars_args *a = j->args;
    piece->kernels->lars(piece->rows, &j->step, element(&a->w, piece->first), element(&a->g, piece->first),
                         element(&a->velocity, piece->first));
}

static weft_status cpu_lars(weft_hal *hal, const hal_lars_args *a)
{
    assert(a->w.rows <= 1 && a->g.cols == a->w.cols);
    WEFT_CHECK(a->step >= 1, WEFT_ERR_INTERNAL, "lars: step %ld; the first step is 1", (long)a->step);
    const lars_job whole = {.args = a,
                            .step = {.rate = (float)(a->lr * hal_lars_ratio(a)),
                                     .momentum = (float)a->momentum,
                                     .weight_decay = (float)a->weight_decay,
                                     .has_momentum = a->momentum != 0.0,
                                     .first = a->step == 1}};
    int64_t n = a->w.cols;
    return cpu_rows(hal, &(cpu_rows_job){.run = lars_elements, .args = &whole, .rows = n, .work = n * 2}, NULL);
}

void cpu_optim_ops(hal_ops *ops)
{
    ops->adam = cpu_adam;
    ops->adadelta = cpu_adadelta;
    ops->sgd = cpu_sgd;
    ops->sum_squares = cpu_sum_squares;
    ops->lars = cpu_lars;
}
