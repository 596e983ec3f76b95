/*
 * trees/boost/boost.h: gradient boosting: round by round, trees that lower the loss of all trees before them.
 *
 *     WEFT_TRY(boost_create(comm, hal, &data, &targets, &options, &boost));
 *     WEFT_TRY(boost_restart(boost));
 *     for (int round = 0; round < 100; ++round) {
 *         WEFT_TRY(boost_round(boost, seed));
 *     }
 *     const weft_forest *forest = boost_forest(boost);
 *
 * A model has the same bits for every number of ranks and threads, and for every dealing of the rows.
 */
#pragma once

#include "trees/grow/tree_grower.h"
#include "trees/loss/tree_loss.h"

typedef struct boost_options {
    tree_growth growth;
    int values;               /* bins of a column, at most TREE_VALUES */
    float base;               /* margin before the first tree, of a single output; NaN: the constant of least loss */
    double drop, skip;        /* as in boost/dropped.h; drop 0: trees stay as they were grown */
    const weft_forest *begun; /* what boost_resume will be given; NULL: nothing */
    tree_release release;     /* of the data, unless `begun` compares with other numbers than the cuts */
} boost_options;

typedef struct tree_boost tree_boost;

/* Cuts and bins. data and targets live as long as *boost; y of the targets may be filled in before boost_restart, when
 * the numbers that bins replace are given back. Collective. */
weft_status boost_create(weft_comm *comm, weft_hal *hal, const tree_columns *data, const tree_targets *targets,
                         const boost_options *options, tree_boost **boost);
void boost_destroy(tree_boost *boost); /* NULL is fine */
/* No trees, and base margins: before the first round, unless boost_resume brings trees. Collective. */
weft_status boost_restart(tree_boost *boost);
/* Adds a tree for each output. seed: of the rows and columns that are drawn for them. Collective. */
weft_status boost_round(tree_boost *boost, uint64_t seed);
/* Goes on from these trees, which the boost copies; their bins are found again. Collective. */
weft_status boost_resume(tree_boost *boost, const weft_forest *forest);
/* The trees so far, the boost's own. */
const weft_forest *boost_forest(const tree_boost *boost);
/* [rows, outputs] margins of this rank's rows, of all splits, by the trees so far. */
const float *boost_margins(const tree_boost *boost);
/* The array of boost_margins, for weft_free: of a boost that is only to be destroyed. */
float *boost_take_margins(tree_boost *boost);
/* The sum of the losses of this rank's rows of the training at the margins before the last round. */
double boost_loss(const tree_boost *boost);
/* What grows the trees, and how many bins each column has: the boost's own. */
const tree_grower *boost_grower(const tree_boost *boost);
const tree_bins *boost_bins(const tree_boost *boost);
/* Bytes that the boost holds beside data and targets. */
