/* train/score/metric_kinds.h: what answers are scored by. */
#pragma once

#include <stdbool.h>

#include "base/option_words.h"

/* Errors fall as a model learns; the others rise. */
typedef enum train_metric {
    TRAIN_METRIC_ACCURACY,
    TRAIN_METRIC_ROCAUC,
    TRAIN_METRIC_RMSE,     /* root of the mean square of answer - target */
    TRAIN_METRIC_MAE,      /* mean of |answer - target| */
    TRAIN_METRIC_PINBALL,  /* mean of q (target - answer) where that is above 0, else of (1 - q) (answer - target) */
    TRAIN_METRIC_DEVIANCE, /* mean of 2 (target log(target / answer) - target + answer), Poisson's */
    TRAIN_METRIC_NDCG,     /* of groups of rows: train/score/ranking_scores.h */
    TRAIN_METRIC_F1,       /* mean over classes: train/score/class_scores.h */
    TRAIN_METRIC_TOP5,     /* label among the five largest logits */
    TRAIN_METRIC_R2,       /* 1 - sum of (answer - target)^2 / sum of (target - mean of the split's targets)^2 */
    TRAIN_METRIC_MRR,      /* mean of 1 / rank of a positive among negatives: train/score/rank_scores.h */
    TRAIN_METRIC_HITS      /* share of the positives that stand among the first: train/score/rank_scores.h */
} train_metric;

/* The metric that is asked for; auto follows the loss. Those behind auto are in the order of train_metric. */
#define METRIC_CHOICES(X)                                                                                              \
    X(METRIC_AUTO, "auto")                                                                                             \
    X(METRIC_ACC, "acc")                                                                                               \
    X(METRIC_ROCAUC, "rocauc")                                                                                         \
    X(METRIC_RMSE, "rmse")                                                                                             \
    X(METRIC_MAE, "mae")                                                                                               \
    X(METRIC_PINBALL, "pinball")                                                                                       \
    X(METRIC_DEVIANCE, "deviance")                                                                                     \
    X(METRIC_NDCG, "ndcg")                                                                                             \
    X(METRIC_F1, "f1")                                                                                                 \
    X(METRIC_TOP5, "top5")                                                                                             \
    X(METRIC_R2, "r2")                                                                                                 \
    X(METRIC_MRR, "mrr")                                                                                               \
    X(METRIC_HITS, "hits")
typedef enum metric_choice { METRIC_CHOICES(CHOICE_VALUE) } metric_choice;

typedef struct metric_kind {
    const char *word; /* of --metric */
    const char *text; /* in sentences and headings */
    bool error;       /* in the unit of the target: less is better. Else a share of 1 */
    bool numbers;     /* targets are numbers */
} metric_kind;

const metric_kind *metric_kind_of(train_metric metric);
/* The kind that a word of --metric names; NULL: none. */
const metric_kind *metric_kind_named(const char *word);
/* Returns true if score `a` is better than `b`; NaN never is. */
bool metric_better(train_metric metric, double a, double b);
