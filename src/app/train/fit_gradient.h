/*
 * app/train/fit_gradient.h: the fit of every kind of workload that has none of its own (workload_ops.fit): the loop by
 * gradients (train/loop/loop.h), the first weights, and the final weights.
 */
#pragma once

#include "app/train/run_dir.h"
#include "app/workload/workload.h"
#include "train/loop/loop.h"

/* --init-weights, read by rank 0 before anything is decided, as the scaling of inputs goes with the weights:
 * work->start and work->moments. [out] initial: on every rank, for saved_model_close; NULL without the option.
 * Collective. */
weft_status fit_open_initial(workload *work, saved_model **initial);
/* Holds those weights against the model that was built, before the run folder is touched, puts them into it, and
 * freezes parameters and sets their rates by --freeze and --lr-scale. initial may be NULL. WEFT_ERR_DATA: the weights
 * are another model's, or their classes stand in another order. WEFT_ERR_USAGE: no parameter has such a name.
 * Collective. */
weft_status fit_place_initial(const workload *work, const saved_model *initial);
/* The model was built: what measuring chose becomes an option of the run (app/setup/choices.h). Collective. */
weft_status fit_keep_choices(app_context *context, const workload *work);
/* What the options of a built model ask of the loop; no preconditioner yet. [out] options: for fit_loop_options_free,
 * also after a failure. WEFT_ERR_USAGE: weights of classes that fit neither the labels nor another option.
 * Collective. */
weft_status fit_loop_options(const workload *work, const saved_model *initial, const fit_services *services,
                             train_options *options);
void fit_loop_options_free(train_options *options);
/* work: built; initial: placed, or NULL. Codes as those of workload_ops.fit. Collective. */
weft_status fit_by_gradient(const workload *work, const saved_model *initial, const fit_services *services,
                            train_result *result);

/* ---- --lr auto (app/train/lr_find.c) ---- */

/* WEFT_ERR_USAGE: the kind of model has no steps along a gradient. */
weft_status lr_find_check(const weft_options *options);
/*
 * Does nothing where --lr is a number. Else --lr of context->options becomes one: `before`, the value in the
 * checkpoint that the fit goes on from (rank 0; NULL: none), or what a test says. Weights and whatever else the test
 * changed are afterwards as they were. dir: has the curve, lr_range.csv. Collective. WEFT_ERR_DATA: the loss falls at
 * no rate. WEFT_ERR_USAGE: there is a preconditioner.
 */
weft_status lr_find(const workload *work, app_context *context, const saved_model *initial,
                    const fit_services *services, const char *before, const run_dir *dir);
