/*
 * app/train/fit_gradient.h: the fit of every kind of workload that has none of its own (workload_ops.fit): the loop by
 * gradients (train/loop/loop.h), the first weights, and the final weights.
 */
#pragma once

#include "app/workload/workload.h"

/* --init-weights, read by rank 0 before anything is decided, as the scaling of inputs goes with the weights:
 * work->start and work->moments. [out] initial: on every rank, for saved_model_close; NULL without the option.
 * Collective. */
weft_status fit_open_initial(workload *work, saved_model **initial);
/* Holds those weights against the model that was built, before the run folder is touched, and puts them into it.
 * initial may be NULL. WEFT_ERR_DATA: they are another model's, or their classes stand in another order. Collective. */
weft_status fit_place_initial(const workload *work, const saved_model *initial);
/* The model was built: what measuring chose becomes an option of the run (app/setup/choices.h). Collective. */
weft_status fit_keep_choices(app_context *context, const workload *work);
/* work: built; initial: placed, or NULL. Codes as those of workload_ops.fit. Collective. */
weft_status fit_by_gradient(const workload *work, const saved_model *initial, const fit_services *services,
                            train_result *result);
