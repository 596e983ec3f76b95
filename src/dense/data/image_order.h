/*
 * dense/data/image_order.h: which samples a step takes, and which of them are a rank's.
 *
 * An epoch's order is a permutation of the samples that is computed, not stored: a function of (seed, epoch) and the
 * number of samples, whatever the number of ranks. Batch t is positions [t B, (t + 1) B) of it, the last may be short.
 * Of each batch every rank takes a contiguous share; shares differ by one row at most.
 */
#ifndef WEFT_DENSE_DATA_IMAGE_ORDER_H
#define WEFT_DENSE_DATA_IMAGE_ORDER_H

#include <stdbool.h>

#include "base/permutation.h"

/* Batches of an epoch; drop_last: without the short one, but at least one. */
int64_t image_order_steps(int64_t samples, int64_t batch, bool drop_last);

/* The order of an epoch: sample = permute(&order, position). samples >= 1. */
permutation image_order(int64_t samples, uint64_t seed, uint32_t epoch);

typedef struct image_share {
    int64_t batch;        /* rows over all ranks, */
    int64_t part;         /* and of the part of the batch that this is a share of */
    int64_t begin, count; /* this rank's positions */
} image_share;

/* Of batch `step` of `samples` positions. */
image_share image_order_share(int64_t samples, int64_t batch, int64_t step, int ranks, int rank);

/* Part `part` of the `parts` that batch `step` comes in: runs of its rows, as equal as can be. */
typedef struct image_turn {
    int64_t step;
    int part, parts;
} image_turn;
image_share image_order_part(int64_t samples, int64_t batch, image_turn turn, int ranks, int rank);

#endif
