/* train/score/value_scores.h: errors of answers that are numbers, the same bits for any number of ranks. */
#pragma once

#include "comm/comm.h"
#include "train/score/metric_kinds.h"

typedef struct value_rows {
    int64_t rows;
    const float *answer, *target; /* [rows]; a target of NaN is none */
    const uint8_t *split;         /* [rows] */
} value_rows;

/*
 * [out] score[TRAIN_SPLITS]: of all ranks' rows of a split, each row once; NaN for a split without rows, and of answers
 * that are not finite. quantile: of TRAIN_METRIC_PINBALL. Errors of rows are summed as whole numbers
 * (base/exact/fixed_sum.h). Collective.
 */
weft_status value_scores(weft_comm *comm, train_metric metric, double quantile, const value_rows *rows, double *score);
