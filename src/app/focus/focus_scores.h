/* app/focus/focus_scores.h: logits of a predictor on rank 0, in the order of its rows. */
#pragma once

#include "app/predict/predictor.h"

/* Calls `take` on rank 0 with rows [first, first + rows) of those that the predictor answers for, in their order,
 * whatever the number of ranks; logits: [rows, classes]. A `take` that fails ends all ranks. Collective. */
weft_status focus_scores_run(const predictor *p,
                             weft_status (*take)(void *self, int64_t first, int64_t rows, const float *logits,
                                                 int64_t classes),
                             void *self);
/* [out] odds: [classes] log-odds of each class by the softmax. WEFT_ERR_DATA: numbers that are not finite. */
weft_status focus_scores_odds(const float *logits, int64_t classes, double *odds);
