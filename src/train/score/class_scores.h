/*
 * train/score/class_scores.h: scores of classes that are counts of rows: macro-F1 and top-5 accuracy.
 *
 * A row's answer is the class of the largest logit, of equal ones the first. F1 of a class is 2 hits / (predicted +
 * labelled), and macro-F1 the mean over the classes that occur as label or as answer, as scikit-learn's f1_score has
 * it. A row is right within the first five if fewer than five classes are above its label; of equal logits the class
 * with the lower number is above.
 */
#pragma once

#include "train/model.h"
#include "train/score/metric_kinds.h"

typedef struct class_scores {
    train_metric metric; /* TRAIN_METRIC_F1 or TRAIN_METRIC_TOP5 */
    int64_t classes;
    int64_t *count; /* by split: F1: [classes, 3] hits, answers, labels; top-5: right rows, and all */
} class_scores;

/* WEFT_ERR_USAGE: top-5 of five classes or fewer, which is always 1. */
weft_status class_scores_create(train_metric metric, int64_t classes, class_scores *scores);
void class_scores_destroy(class_scores *scores);
void class_scores_begin(class_scores *scores);
/* logits: [targets->rows, classes] on the host, float64 or float32. */
void class_scores_add(class_scores *scores, weft_dtype dtype, const void *logits, const train_targets *targets);
/* [out] score [TRAIN_SPLITS], NaN for a split without rows. The counts become those of all ranks. Collective. */
weft_status class_scores_end(class_scores *scores, weft_comm *comm, double *score);
