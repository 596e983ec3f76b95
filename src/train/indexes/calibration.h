/*
 * train/indexes/calibration.h: how far probabilities are those of what happens.
 *
 * Brier's score is the mean of (p - y)^2. Over bins of rows with like probabilities it is reliability - resolution +
 * uncertainty (A. Murphy, J. Applied Meteorology 12, 1973), with what probabilities of one bin differ by as a fourth
 * part (D. Stephenson and others, Weather and Forecasting 23, 2008), so that the four parts sum to the score. Slope
 * and intercept are those of a logistic regression of the class on the logit (D. Cox, Biometrika 45, 1958): 1 and 0
 * of a model that is calibrated, a slope below 1 of one whose probabilities are too extreme.
 */
#pragma once

#include "train/indexes/score_levels.h"

enum { CALIBRATION_BINS = 10 };

/* Bins have like numbers of rows; rows of one score are in one bin, so there may be fewer. */
typedef struct calibration_bin {
    int64_t rows, positives;
    double mean;       /* of the probabilities */
    index_value share; /* positives of rows */
} calibration_bin;

typedef struct index_calibration {
    int bins;
    calibration_bin bin[CALIBRATION_BINS];
    double brier, reliability, resolution, uncertainty, within;
    double log_loss;              /* mean of -log of the probability of the row's class */
    index_value slope, intercept; /* NaN: no finite fit; with one class, one score, or classes that a score parts */
    index_value intercept_alone;  /* of a fit whose slope is 1 */
} index_calibration;

/* Everything is NaN without rows. */
void calibration_of(const score_levels *levels, index_calibration *result);
