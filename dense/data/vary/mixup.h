/*
 * dense/data/vary/mixup.h: training images that are mixed in pairs, and the shares of their two classes.
 *
 *      image = share * image + (1 - share) * partner,      share from Beta(alpha, alpha), one a batch
 *
 * H. Zhang, M. Cisse, Y. Dauphin, D. Lopez-Paz: mixup: Beyond empirical risk minimization, ICLR 2018,
 * arXiv:1710.09412. The share is the larger of a draw and its rest, so that an image keeps the larger part of itself:
 * with partners from a random permutation of the batch, the mixed images are distributed as without that choice.
 */
#pragma once

#include "base/permutation.h"

typedef struct mixup {
    double share;        /* of an image itself, from 0.5 to 1 */
    permutation partner; /* image i of the batch is mixed with image permute(&partner, i), which may be itself */
} mixup;

/* The draw of a step: a function of these alone, whatever the ranks. alpha > 0; images: of the batch, >= 1. */
mixup mixup_draw(double alpha, uint64_t seed, uint32_t epoch, int64_t step, int64_t images);
/* [in, out] pixels: [count] of an image, mixed with those of its partner. */
void mixup_pixels(double share, const float *partner, int64_t count, float *pixels);
/* [out] shares: [classes] of an image of class `label` whose partner is of class `other`; smoothing: 0 <= s < 1 of each
 * is spread over all classes evenly. */
void mixup_shares(double share, double smoothing, int32_t label, int32_t other, int64_t classes, float *shares);
