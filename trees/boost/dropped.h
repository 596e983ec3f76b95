/*
 * trees/boost/dropped.h: rounds that are left out while a round grows its trees (dart).
 *
 * Each earlier round is left out with probability `drop`; with probability `skip` none is. Of k that are, the new trees
 * take 1 / (k + rate) of what they were grown to add, and the k rounds k / (k + rate) of what they added, so that the
 * answers keep their size. The leaves hold the product, and so a model is one of plain trees.
 *
 *   K. V. Rashmi, R. Gilad-Bachrach: DART: dropouts meet multiple additive regression trees. AISTATS 2015,
 *   arXiv 1505.01866.
 */
#pragma once

#include "trees/forest/forest.h"

/* [out] out: [rounds so far] not 0: the round is left out by round `rounds`. Returns how many are. */
int dropped_draw(double drop, double skip, uint64_t seed, int rounds, uint8_t *out);
/* [out] margin: of the trees of the rounds that are not left out. Local. */
weft_status dropped_margins(const weft_forest *forest, const tree_columns *data, const uint8_t *out, int rounds,
                            int threads, float *margin);
/* Scales the trees of the rounds that were left out, of which there are `count`, and those of the last round. */
void dropped_scale(weft_forest *forest, const uint8_t *out, int rounds, int count, double rate);
