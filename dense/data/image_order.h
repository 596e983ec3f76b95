/*
 * dense/data/image_order.h: which samples a step takes, and which of them are a rank's.
 *
 * An epoch's order is a permutation of the samples that is computed, not stored: a function of (seed, epoch) and the
 * number of samples, whatever the number of ranks. Batch t is positions [t B, (t + 1) B) of it, the last may be short.
 * Of each batch every rank takes a contiguous share; shares differ by one row at most.
 *
 * A batch norm whose input is one pixel an image needs two images: then fewer are no step of their own, but join the step before,
 * parts of a step are cut between pairs of images, and so are shares where each rank normalises by itself.
 */
#ifndef WEFT_DENSE_DATA_IMAGE_ORDER_H
#define WEFT_DENSE_DATA_IMAGE_ORDER_H

#include <stdbool.h>

#include "base/permutation.h"

/* How the samples of an epoch come in batches. */
typedef struct image_batches {
    int64_t samples, batch;
    int64_t least;       /* images of a step and of each part of it, over all ranks, at least; 0 and 1: any number */
    int64_t share_least; /* images of a rank's share: so many or none; 0 and 1: any number */
    bool drop_last;      /* leave the short last batch out, unless it is the only one */
} image_batches;

/* Steps of an epoch. */
int64_t image_order_steps(const image_batches *batches);
/* Parts that a step comes in where `parts` are asked for: fewer where its images are too few for so many. */
int image_order_parts(const image_batches *batches, int64_t step, int parts);
/* Images of a rank's share of a part, at most. */
int64_t image_order_most(const image_batches *batches, int parts, int ranks);

/* The order of an epoch: sample = permute(&order, position). samples >= 1. */
permutation image_order(int64_t samples, uint64_t seed, uint32_t epoch);

typedef struct image_share {
    int64_t batch;        /* rows over all ranks, */
    int64_t part;         /* and of the part of the batch that this is a share of */
    int64_t begin, count; /* this rank's positions */
} image_share;

/* Of batch `step` of `samples` positions, in batches of any number of images. */
image_share image_order_share(int64_t samples, int64_t batch, int64_t step, int ranks, int rank);

/* Part `part` of the `parts` that batch `step` comes in: runs of its rows, as equal as can be. */
typedef struct image_turn {
    int64_t step;
    int part, parts;
} image_turn;
image_share image_order_part(const image_batches *batches, image_turn turn, int ranks, int rank);

#endif
