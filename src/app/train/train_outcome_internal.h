/* app/train/train_outcome_internal.h: what the two files of app/train/train_outcome.h share. */
#ifndef WEFT_APP_TRAIN_TRAIN_OUTCOME_INTERNAL_H
#define WEFT_APP_TRAIN_TRAIN_OUTCOME_INTERNAL_H

#include "app/train/train_outcome.h"

/* [out] line; the count. */
int train_outcome_warnings(const train_outcome *outcome, const weft_options *options, const train_result *result,
                           char line[OUTCOME_LINES][OUTCOME_BYTES]);

#endif
