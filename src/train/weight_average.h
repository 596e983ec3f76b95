/*
 * train/weight_average.h: the exponential moving average of the parameters over the steps of a run.
 *
 * Behind the first update the average is the parameters; behind each later one average = decay * average +
 * (1 - decay) * parameters, running statistics of norms likewise, as torch.optim.swa_utils.AveragedModel with
 * get_ema_multi_avg_fn and use_buffers does it. Evaluations, the best parameters and what a training ends with are the
 * average; gradients are those of the parameters. It costs two more copies of the parameters, and reads and writes
 * them once a step.
 *
 *      weight_average_add                  behind an update
 *      weight_average_show                 the average stands in the place of the parameters
 *      weight_average_hide                 the parameters again, to the bit
 *
 *   B. Polyak, A. Juditsky: Acceleration of stochastic approximation by averaging. SIAM J. Control Optim. 30(4), 1992,
 *   doi:10.1137/0330046.
 */
#pragma once

#include "train/param.h"

typedef struct weight_average {
    param_store *params; /* NULL: there is no average */
    double decay;
    bool any, shown;
    weft_tensor value, own;                 /* the average: [1, elements] and [1, own] */
    weft_tensor trained_value, trained_own; /* the parameters, while the average stands in their place */
} weight_average;

/* decay: 0, which makes no average, to less than 1. params lives as long. Local. */
weft_status weight_average_create(param_store *params, double decay, weight_average *average);
void weight_average_destroy(weight_average *average);
/* A run begins. Local. */
void weight_average_reset(weight_average *average);
/* step: updates of the run so far, from 1. Local. */
weft_status weight_average_add(weight_average *average, int64_t step);
/* Nothing changes before the first update, or where it is shown, or hidden, already. Local. */
weft_status weight_average_show(weight_average *average);
weft_status weight_average_hide(weight_average *average);
