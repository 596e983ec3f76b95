/*
 * tune/search/front.h: what several objectives leave as the best: the points that no other beats.
 *
 * A point beats another if it is nowhere worse and somewhere better. Points are rows of `objectives` numbers, of which
 * less is better; infinity is a value, NaN is not.
 */
#pragma once

#include "base/status.h"

enum { OBJECTIVES_MOST = 4 };

/* [out] rank [count]: 0 for a point that no other beats, 1 for one that only those beat, and so on. Equal points have
 * one rank. */
void front_ranks(const double *points, int count, int objectives, int *rank);
/*
 * The volume of all places that some point beats and that are nowhere above the reference [objectives]: exact, by
 * slices along the last objective (L. While et al.: A faster algorithm for calculating hypervolume. IEEE Transactions
 * on Evolutionary Computation 10(1), 2006). Points that are anywhere above the reference add nothing.
 * count^(objectives - 1) steps. WEFT_ERR_RESOURCE: memory.
 */
weft_status front_volume(const double *points, int count, int objectives, const double *reference, double *volume);
