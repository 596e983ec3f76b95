/* app/predict/run_threshold.h: the threshold of two classes: that of --threshold, or that of a training run. */
#pragma once

#include "app/options/app_options.h"
#include "train/indexes/binary_indexes.h"

/* options: of the command. model: path of the model's file, beside which a run has summary.json; NULL: it is being
 * trained. [out] threshold: of value NaN where neither says one; a summary that cannot be read is told in the log.
 * WEFT_ERR_USAGE: --threshold is no probability. Local. */
weft_status threshold_asked(const weft_options *options, const char *model, index_threshold *threshold);
/* A warning for each option of indexes that was given for targets which have none. */
void threshold_warn_idle(const weft_options *options, const train_targets *targets);
