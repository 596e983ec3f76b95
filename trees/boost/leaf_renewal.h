/* trees/boost/leaf_renewal.h: leaves of losses whose hessian says nothing. */
#pragma once

#include "trees/forest/forest.h"
#include "trees/loss/tree_loss.h"

/*
 * Under a loss whose best constant is a quantile, each leaf becomes that quantile of its rows' y - margin, times
 * `rate`; all rows that count take part, also where a tree was grown on some of them. leaf: [rows] as the grower gives
 * it. margin: [rows] before the tree. Harmless under the other losses. Collective.
 */
weft_status boost_renew_leaves(weft_comm *comm, const tree_targets *targets, const float *margin, const int32_t *leaf,
                               double rate, weft_tree *tree);
