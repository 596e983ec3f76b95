/* train/activities.h: where the time of a training goes that is none of a room above: what layers of every kind do, and
 * the loop. */
#pragma once

#include "base/trace/activity.h"

extern const weft_activity ACTIVITY_LINEAR[1];
extern const weft_activity ACTIVITY_ELEMENTWISE[1];
extern const weft_activity ACTIVITY_LOSS[1];
extern const weft_activity ACTIVITY_ALLREDUCE[1];
extern const weft_activity ACTIVITY_NORM_SUMS[1]; /* statistics of batch norm over ranks */
extern const weft_activity ACTIVITY_OPTIMIZER[1];
extern const weft_activity ACTIVITY_SECOND[1]; /* second order: factors, inverses and turned gradients */
extern const weft_activity ACTIVITY_EVALUATE[1];
extern const weft_activity ACTIVITY_WRITE[1];
