/*
 * train/indexes/roc_curve.h: the curves of answers over all thresholds, thinned to what a drawing shows.
 *
 * ROC: sensitivity over 1 - specificity. Precision and recall: precision over sensitivity, whose area in steps is the
 * average precision. A point is left out where it lies within 1 % of the axes' lengths of the one that was kept before;
 * the areas are those of all points.
 */
#pragma once

#include "train/indexes/score_levels.h"

enum { CURVE_POINTS = 256 };

typedef struct index_curve {
    int points;
    double x[CURVE_POINTS], y[CURVE_POINTS];
} index_curve;

/* From (0, 0) to (1, 1), by falling thresholds; no points without rows of both classes. */
void roc_curve_of(const score_levels *levels, index_curve *curve);
/* x: recall, y: precision, by falling thresholds; no points without positive rows. Returns the average precision, or
 * NaN. */
double precision_curve_of(const score_levels *levels, index_curve *curve);
