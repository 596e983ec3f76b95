/* train/activities.c: see train/activities.h. */
#include "train/activities.h"

const weft_activity ACTIVITY_LINEAR[1] = {{.text = "linear", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_ELEMENTWISE[1] = {{.text = "norm, activation, dropout", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_LOSS[1] = {{.text = "loss", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_ALLREDUCE[1] = {{.text = "gradient all-reduce", .kind = ACTIVITY_MOVES}};
const weft_activity ACTIVITY_NORM_SUMS[1] = {{.text = "norm statistics all-reduce", .kind = ACTIVITY_MOVES}};
const weft_activity ACTIVITY_OPTIMIZER[1] = {{.text = "optimizer", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_SECOND[1] = {{.text = "second order", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_EVALUATE[1] = {{.text = "evaluate", .kind = ACTIVITY_SCORES, .absorbs = true}};
const weft_activity ACTIVITY_WRITE[1] = {{.text = "write results", .kind = ACTIVITY_ONCE}};
