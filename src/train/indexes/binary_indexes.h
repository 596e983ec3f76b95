/*
 * train/indexes/binary_indexes.h: everything that is told of the answers of a model with two classes: how well they
 * order the rows, how far they are probabilities, and what they come to at a threshold.
 *
 * Rows count once, whatever their weights in training. Rank 0 gathers one record of 8 bytes a labelled row and counts
 * rows by score (score_levels.h), so indexes have the same bits on any number of ranks. An index that is not defined is
 * NaN, with a note in words.
 */
#pragma once

#include "train/indexes/calibration.h"
#include "train/indexes/confusion.h"
#include "train/indexes/index_records.h"
#include "train/indexes/roc_area.h"
#include "train/indexes/roc_curve.h"

/* Rows of a class below which a note says that there are few. */
enum { INDEX_FEW = 10, INDEX_NOTES = 6 };

/* What the threshold comes from. */
typedef enum threshold_source {
    THRESHOLD_GIVEN, /* the user's */
    THRESHOLD_RUN,   /* the run that trained the model */
    THRESHOLD_VALID, /* Youden's rule on validation rows */
    THRESHOLD_TRAIN, /* Youden's rule on training rows */
    THRESHOLD_HALF   /* 0.5, because there are no other rows with both classes, or no threshold is better than chance */
} threshold_source;

typedef struct index_threshold {
    double value; /* a probability; NaN: to be chosen */
    threshold_source source;
    double youden; /* of the rows that it was chosen on; NaN: not known */
} index_threshold;

typedef struct binary_indexes {
    bool made;   /* false: the targets are not two classes */
    bool finite; /* all answers are; else nothing below is defined */
    int64_t rows, positives;
    index_value area; /* under the ROC curve */
    double area_se;
    double average_precision;
    index_calibration calibration;
    index_threshold threshold;
    index_confusion confusion;
    index_value sensitivity, specificity, accuracy, precision, negative_value, f1;
    index_curve roc, precision_recall;
    int notes;
    const char *note[INDEX_NOTES];
} binary_indexes;

/*
 * logits: [targets->rows, targets->outputs] of this rank. judged: a split, or INDEX_ALL_ROWS. threshold: on rank 0; of
 * value NaN: Youden's rule chooses it on validation rows, or on training rows where validation rows do not have both
 * classes, and never on the rows that are judged. [out] indexes: on rank 0; the other ranks have `made` alone.
 * Collective.
 */
weft_status binary_indexes_make(weft_comm *comm, const train_targets *targets, const float *logits, int judged,
                                const index_threshold *threshold, binary_indexes *indexes);
/* The indexes of rows at hand, at a threshold of any value but NaN. Local. */
void binary_indexes_of(const score_levels *levels, const index_threshold *threshold, binary_indexes *indexes);
