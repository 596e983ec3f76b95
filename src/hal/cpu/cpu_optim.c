/* hal/cpu/cpu_optim.c: drivers of the optimiser steps; constants are worked out in double. f64 runs on ref. */
#include <math.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/kernels.h"

static weft_status cpu_adam(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_adam *adam, void *w, const void *g,
                            void *m, void *v)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.optim.adam(hal, dtype, n, adam, w, g, m, v);
    }
    WEFT_CHECK(adam->step >= 1, WEFT_ERR_INTERNAL, "adam: step %ld; the first step is 1", (long)adam->step);
    double correction1 = 1.0 - pow(adam->beta1, (double)adam->step);
    double correction2 = 1.0 - pow(adam->beta2, (double)adam->step);
    cpu_adam_step step = {.beta1 = (float)adam->beta1,
                          .beta2 = (float)adam->beta2,
                          .one_minus_beta1 = (float)(1.0 - adam->beta1),
                          .one_minus_beta2 = (float)(1.0 - adam->beta2),
                          .weight_decay = (float)adam->weight_decay,
                          .epsilon = (float)adam->epsilon,
                          .step_size = (float)(adam->lr / correction1),
                          .inverse_root_second = (float)(1.0 / sqrt(correction2))};
    float *weight = w;
    const float *gradient = g;
    float *first = m;
    float *second = v;
    int parts = cpu_parts(hal, n * 4);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(n, parts, part, &begin, &end);
        state->kernels->adam(end - begin, &step, weight + begin, gradient + begin, first + begin, second + begin);
    }
    return WEFT_OK;
}

static weft_status cpu_sgd(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_sgd *sgd, void *w, const void *g,
                           void *momentum)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.optim.sgd(hal, dtype, n, sgd, w, g, momentum);
    }
    WEFT_CHECK(sgd->step >= 1, WEFT_ERR_INTERNAL, "sgd: step %ld; the first step is 1", (long)sgd->step);
    cpu_sgd_step step = {.lr = (float)sgd->lr,
                         .momentum = (float)sgd->momentum,
                         .one_minus_dampening = (float)(1.0 - sgd->dampening),
                         .weight_decay = (float)sgd->weight_decay,
                         .nesterov = sgd->nesterov,
                         .has_momentum = sgd->momentum != 0.0,
                         .first = sgd->step == 1};
    float *weight = w;
    const float *gradient = g;
    float *buffer = momentum;
    int parts = cpu_parts(hal, n * 2);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(n, parts, part, &begin, &end);
        state->kernels->sgd(end - begin, &step, weight + begin, gradient + begin,
                            buffer != NULL ? buffer + begin : NULL);
    }
    return WEFT_OK;
}

void cpu_optim_ops(hal_optim_ops *ops)
{
    *ops = (hal_optim_ops){.adam = cpu_adam, .sgd = cpu_sgd};
}
