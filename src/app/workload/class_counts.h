/* app/workload/class_counts.h: labelled rows of each class. */
#pragma once

#include "app/workload/workload.h"

/* [out] by_class [TRAIN_SPLITS, targets->outputs]: labelled rows of each split and class, over all ranks. The targets
 * are classes, and built. Collective. */
weft_status class_counts_of(const workload *work, int64_t *by_class);
