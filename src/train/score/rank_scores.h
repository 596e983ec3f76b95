/*
 * train/score/rank_scores.h: how high positives stand among negatives: mean reciprocal rank, and hits among the first
 * K, exact over any number of ranks, as OGB's evaluator has them.
 *
 *     rank of a positive = 1 + negatives above it + half of the negatives of its score
 *     MRR                = mean of 1 / rank
 *     hits@K             = share of the positives that are above the K-th best negative; 1 where negatives are fewer
 *
 * The negatives of a positive are those of its group, or all of its split where there are no groups; with groups hits@K
 * is the share of the positives whose rank is at most K. Without groups every rank holds the scores of all negatives, 4
 * bytes each, and sorts them; a group lies on one rank.
 *
 *   W. Hu et al.: Open Graph Benchmark: datasets for machine learning on graphs. NeurIPS 2020, arXiv 2005.00687.
 */
#pragma once

#include <stdint.h>

#include "comm/comm.h"

/* Answers of this rank. */
typedef struct ranked_answers {
    int64_t rows;
    const float *score;  /* [rows] */
    const uint8_t *mark; /* [rows] bit 0: a positive; bits 1 and 2: the split, 3: none */
    const uint64_t
        *group;  /* [rows], equal neighbours are one; NULL: no groups. The same choice on all ranks with rows */
    int hits_at; /* K; 0: the mean reciprocal rank */
} ranked_answers;

/* [out] score [TRAIN_SPLITS]; NaN for a split without positives or without negatives; the same on all ranks.
 * Collective. WEFT_ERR_RESOURCE. */
weft_status rank_scores(weft_comm *comm, const ranked_answers *rows, double *score);
