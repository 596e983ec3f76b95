/*
 * train/indexes/confusion.h: answers of two classes at a threshold: counts, shares with their intervals, and the
 * threshold itself.
 *
 * Shares have Wilson's interval (E. Wilson, JASA 22, 1927, doi:10.1080/01621459.1927.10502953), which stays within
 * [0, 1] and holds for few rows. F1 is no share of rows that are drawn, so its interval is the percentile bootstrap's
 * (B. Efron, Annals of Statistics 7(1), 1979, doi:10.1214/aos/1176344552). Rows that are drawn again from n rows make
 * counts of a multinomial law, so a replicate draws three binomial numbers, and no rows.
 */
#pragma once

#include "train/indexes/score_levels.h"

enum { INDEX_REPLICATES = 2000 };

typedef struct index_confusion {
    int64_t true_positives, false_positives, false_negatives, true_negatives;
} index_confusion;

/* Rows whose probability is at least `threshold` are answered with the second class. */
index_confusion confusion_at(const score_levels *levels, double threshold);
/* hits of rows; NaN of no rows. */
index_value wilson_share(int64_t hits, int64_t rows);
/* F1 = 2 TP / (2 TP + FP + FN); NaN where that is 0 / 0. A replicate where it is counts as 0. The same interval for the
 * same counts. */
index_value f1_of(const index_confusion *c);
/* Youden's rule (W. Youden, Cancer 3(1), 1950): the probability at which sensitivity + specificity - 1, *youden, is
 * largest, of equal ones the highest. NaN: none is above 0. */
double youden_threshold(const score_levels *levels, double *youden);
