/*
 * train/indexes/score_levels.h: rows with two classes, counted by score.
 *
 * A level is a score that occurs, with its rows of either class. Every index of train/indexes is a function of the
 * levels in the order of their scores, so it has the same bits however rows are dealt to ranks, and ties cost nothing
 * extra. Memory: 24 bytes a different score.
 *
 * A score is a logit: the probability of the second class is 1 / (1 + exp(-score)).
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct score_level {
    float score;
    int64_t positives, negatives;
} score_level;

typedef struct score_levels {
    score_level *level; /* [count] by rising score */
    int64_t count;
    int64_t positives, negatives; /* of all levels */
} score_levels;

/* An index with its interval of 95 %. NaN: not defined. */
typedef struct index_value {
    double value, low, high;
} index_value;

/* The quantile 0.975 of the normal distribution. */
#define INDEX_NORMAL_QUANTILE 1.959963984540054

/* From records (train/score/score_record.h) whose bits 1 to 31 are 0: sorted in place, with `spare` [count] for the
 * sort. Free with score_levels_free. */
weft_status score_levels_make(uint64_t *records, uint64_t *spare, int64_t count, score_levels *levels);
void score_levels_free(score_levels *levels);

static inline double score_probability(float score)
{
    return 1.0 / (1.0 + exp(-(double)score));
}

static inline int64_t score_level_rows(const score_level *level)
{
    return level->positives + level->negatives;
}
