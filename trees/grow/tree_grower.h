/*
 * trees/grow/tree_grower.h: grows one tree over the rows of all ranks.
 *
 * Gradients and hessians of a tree are rounded once to 16 bits, by scales that all ranks share, and summed as whole
 * numbers (hal histogram). Sums of whole numbers have no order, so a tree has the same bits for every number of ranks
 * and threads, and for every dealing of the rows. Rounding to nearest costs at most 2^-16 of the largest gradient a
 * row; the leaves are summed again from the unrounded gradients (base/exact/fixed_sum.h).
 *
 *      the rows of the root are listed, its histograms built
 *      while leaves have a split that is worth while:
 *          the rows of some leaves are divided, those of a level or of the largest gains; rows of children are summed
 *          smaller children:  histograms -> one reduce-scatter by columns -> this rank's columns of all ranks' rows
 *          larger children:   parent - smaller
 *          each rank finds the best splits by its columns; one all-reduce finds those of all ranks
 *
 * The bytes that ranks send while a tree grows have a closed form (trees/grow/growth_work.h).
 *
 *   T. Chen, C. Guestrin: XGBoost: a scalable tree boosting system. KDD 2016, doi:10.1145/2939672.2939785.
 *   G. Ke et al.: LightGBM: a highly efficient gradient boosting decision tree. NIPS 2017.
 *   Y. Shi et al.: Quantized training of gradient boosting decision trees. NeurIPS 2022, arXiv 2207.09682.
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/bins.h"
#include "trees/forest/forest.h"
#include "trees/grow/growth_work.h"
#include "trees/grow/interactions.h"

typedef struct tree_growth {
    int depth;                                   /* of a leaf at most; 0: no bound */
    int leaves;                                  /* at most; 0: no bound. One of the two is given. */
    bool leaf_wise;                              /* the leaf that gains most is split next; false: level by level */
    double rate;                                 /* leaves are multiplied by it */
    double lambda, alpha, min_gain, min_hessian; /* as in split.h */
    double max_step;                             /* of a leaf before the rate, up or down; 0: no bound */
    double row_share, column_share;              /* drawn for each tree; 1: all */
    double top, other; /* shares of rows by their gradients, as in row_sample.h; top 0: row_share alone draws */
    uint64_t
        histogram_bytes; /* of nodes that wait, about; others are summed again. 0: no bound. The same on all ranks */
    int set_most;        /* as smooth */
    double smooth, category_l2; /* of splits by sets of categories, as in split.h */
    int one_hot;                /* bins of categories up to which one stands against the rest */
    const int8_t *direction;    /* [columns] as in split.h, lives as long as the grower; NULL: none */
    interaction_groups interactions;
} tree_growth;

typedef struct tree_grower tree_grower;

/* bins, cuts: live as long as the grower. data: ids of rows. counts: [rows] not 0: a row that trees are grown on.
 * Collective. */
weft_status grower_create(weft_comm *comm, const tree_columns *data, const tree_bins *bins, const tree_cuts *cuts,
                          const uint8_t *counts, const tree_growth *growth, tree_grower **grower);
void grower_destroy(tree_grower *grower); /* NULL is fine */
/*
 * gradient, hessian: [rows] of this rank. seed, number of the tree in the training, from 0: what is drawn depends on
 * them.
 * [out] tree: for tree_destroy. [out] leaf: [rows] the leaf that each row of this rank goes to, also those that do not
 * count. WEFT_ERR_DATA: a gradient is not finite. Collective.
 */
weft_status grower_grow(tree_grower *grower, const float *gradient, const float *hessian, uint64_t seed, int number,
                        weft_tree *tree, int32_t *leaf);
/* Bytes of a best split that ranks tell each other. */
int64_t grower_record_bytes(const tree_grower *grower);
/* What was sent and computed since the grower was made; counted on one rank as if there were several. */
const growth_work *grower_work(const tree_grower *grower);
const growth_seconds *grower_seconds(const tree_grower *grower);
