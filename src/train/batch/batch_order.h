/*
 * train/batch/batch_order.h: the samples that a step takes, and the share of them that a rank takes.
 *
 * The order of an epoch is a permutation of the samples that is computed, not stored: a function of (seed, epoch) and
 * the number of samples, whatever the number of ranks. Batch t is positions [t B, (t + 1) B) of the order; the last
 * batch may be short. Every rank takes a contiguous share of each batch; shares differ by one sample at most.
 *
 *      positions   0 ......... B ......... 2 B ......... n          an epoch of n samples
 *      step        |     0     |     1     |    2    |
 *      parts                   |  0  |  1  |                        micro-batches of step 1
 *      ranks                   |0|1|2|0|1|2|                        shares of each part
 *
 * Some models need several samples together: a batch norm whose input is one pixel an image needs two images. Then a
 * rest of fewer samples joins the step before it, parts of a step are cut between groups of that many samples, and so
 * are shares where each rank normalises by itself.
 *
 * Where ranks own shards (batch_deal), positions are those of the deal: a rank's are its shard, in an order of its own
 * each epoch, and its share of step t of T is run t of T equal runs. Steps are as many; no batch is short.
 */
#pragma once

#include <stdbool.h>

#include "base/permutation.h"
#include "train/batch/batch_deal.h"

/* How an epoch of `samples` samples is cut into batches. */
typedef struct batch_plan {
    int64_t samples;
    /* Samples of a batch, over all ranks. */
    int64_t batch;
    /* The smallest number of samples of a step and of each part of it, over all ranks; 0 and 1: any number. */
    int64_t least;
    /* The smallest number of samples of a rank's share, unless it is empty; 0 and 1: any number. */
    int64_t share_least;
    /* Leave the short last batch out, unless it is the only one. */
    bool drop_last;
    /* Shards of the ranks, of `samples` samples; NULL: none. drop_last has no effect with it. */
    const batch_deal *deal;
} batch_plan;

/* A part of a step. */
typedef struct batch_turn {
    int64_t step;
    /* Part of the step, and how many parts it comes in: runs of its samples, as equal as can be. */
    int part, parts;
} batch_turn;

/* A rank's share of a part. */
typedef struct batch_share {
    /* Samples of the whole batch, over all ranks. */
    int64_t batch;
    /* Samples of the part, over all ranks. */
    int64_t part;
    /* This rank's positions are [begin, begin + count). */
    int64_t begin, count;
} batch_share;

/* Steps of an epoch. */
int64_t batch_order_steps(const batch_plan *plan);
/* Parts that a step comes in where `parts` are asked for: fewer where it has too few samples for so many. */
int batch_order_parts(const batch_plan *plan, int64_t step, int parts);
/* The largest number of samples that a rank's share of a part has. */
int64_t batch_order_most(const batch_plan *plan, int parts, int ranks);

/* The order of an epoch without shards: sample = permute(&order, position). samples >= 1. */
permutation batch_order(int64_t samples, uint64_t seed, uint32_t epoch);
/* The order of an epoch of rank's samples: without shards, of all of them. */
permutation batch_order_of(const batch_plan *plan, int rank, uint64_t seed, uint32_t epoch);
/* Returns the sample at a position of rank's share; order: batch_order_of(plan, rank, ...). */
int64_t batch_order_sample(const batch_plan *plan, int rank, const permutation *order, int64_t position);
/* WEFT_ERR_USAGE: with its shards the plan leaves a rank fewer samples in a part of a step than `least` or
 * `share_least`. */
weft_status batch_order_check(const batch_plan *plan, int parts);

/* The share of `rank`, one of `ranks`, of a part. */
batch_share batch_order_part(const batch_plan *plan, batch_turn turn, int ranks, int rank);
/* The share of a whole batch `step` of `samples` positions, in batches of any number of samples. */
batch_share batch_order_share(int64_t samples, int64_t batch, int64_t step, int ranks, int rank);
