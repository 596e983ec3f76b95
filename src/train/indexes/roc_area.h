/*
 * train/indexes/roc_area.h: the area under the ROC curve with its standard error, and the difference of two areas.
 *
 * With P positive and N negative rows, V10 of a positive row is the share of negative rows with a lower score (ties
 * count one half), and V01 of a negative row the share of positive rows with a higher one. The area is the mean of V10;
 * its variance is S10 / P + S01 / N, with S10 and S01 the sample variances of V10 and V01. The difference of two
 * areas over the same rows has their covariances, too. E. DeLong, D. DeLong, D. Clarke-Pearson, Biometrics 44(3),
 * 1988, doi:10.2307/2531595; by ranks: X. Sun, W. Xu, IEEE Signal Processing Letters 21(11), 2014,
 * doi:10.1109/LSP.2014.2337313. Cost: one sort of the rows.
 */
#pragma once

#include "train/indexes/score_levels.h"

/* [out] se: the standard error. The area is NaN without rows of both classes; its error and interval are NaN with fewer
 * than two rows of either. Intervals are cut to [0, 1]. */
index_value roc_area(const score_levels *levels, double *se);

/* A row that two models scored. */
typedef struct paired_score {
    int64_t id;
    float score[2];
    int32_t positive; /* 0 or 1 */
} paired_score;

typedef struct roc_difference {
    index_value area[2];
    index_value difference; /* area[0] - area[1] */
    double se, z;
    double p; /* two-sided, of equal areas; 1 where both models order the rows alike. NaN: not defined */
} roc_difference;

/* row [count]: sorted by id; no two share one. WEFT_ERR_RESOURCE: memory, 40 bytes a row. */
weft_status roc_difference_of(const paired_score *row, int64_t count, roc_difference *result);
