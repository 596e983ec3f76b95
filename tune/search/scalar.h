/*
 * tune/search/scalar.h: several objectives as one number, which the searchers then make small as they do with one.
 *
 * Each suggestion has weights w of its own, drawn evenly from those of sum 1. The number of a value with the
 * objectives f is max_k w_k z_k + 0.05 sum_k w_k z_k, the augmented Tchebycheff norm: whatever the shape of the front,
 * each of its points is the least for some weights. z_k = (f_k - least) / (median - least) of all values told, so units
 * do not matter and a few bad trials do not either.
 *
 * J. Knowles: ParEGO: a hybrid algorithm with on-line landscape approximation for expensive multiobjective
 * optimization problems. IEEE Transactions on Evolutionary Computation 10(1), 2006.
 */
#pragma once

#include "tune/search/searcher_internal.h"

/* Sets the values of s->history to the weights of the next suggestion. Nothing happens with one objective. */
weft_status scalar_weigh(searcher *s);
/* Sets the values of s->history to the first objective. */
weft_status scalar_first(searcher *s);
