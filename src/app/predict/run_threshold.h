/* app/predict/run_threshold.h: the threshold of two classes that a training run chose. */
#pragma once

#include "train/indexes/binary_indexes.h"

/* From summary.json beside the model's file at `path`. Of value NaN where there is none; a file that cannot be read is
 * told in the log. Local. */
index_threshold run_threshold_of(const char *path);
