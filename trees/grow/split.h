/*
 * trees/grow/split.h: the best way to divide the rows of a node, by its histograms.
 *
 *     gain = s(left) + s(right) - s(node)        s(G, H) = t(G)^2 / (H + lambda)
 *
 * with t(G) = G brought nearer to 0 by alpha; T. Chen, C. Guestrin: XGBoost, KDD 2016, doi:10.1145/2939672.2939785.
 * Both children need a hessian of at least min_hessian. Rows without a value go to the side where the gain is larger,
 * and right where both are equal. Of equal gains the lower column is taken, then the lower bin: ties fall alike on all
 * ranks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The sums of a node or of a side, in units of split_rule's scales. */
typedef struct tree_sums {
    int64_t gradient, hessian;
} tree_sums;

typedef struct tree_split {
    double gain; /* 0: there is no split */
    tree_sums left;
    int32_t feature;
    uint8_t bin; /* rows up to this bin go left */
    bool default_left;
} tree_split;

typedef struct split_rule {
    double lambda, alpha, min_hessian;
    double min_gain;                     /* a split gains more than this */
    double gradient_unit, hessian_unit; /* what a 1 in tree_sums means */
} split_rule;

/* cell: [cells][2] sums of a column of the node by bin; the last cell is of missing values. Improves *best. */
void split_scan(const split_rule *rule, const tree_sums *node, const int64_t *cell, int cells, int32_t feature,
                tree_split *best);
/* Does a come before b? */
bool split_is_better(const tree_split *a, const tree_split *b);
/* What a leaf of these sums adds to a margin. */
double split_leaf(const split_rule *rule, double gradient, double hessian);
