/*
 * trees/grow/grow_state.h: a tree that is growing, shared by the files that grow it (tree_grower.c, grow_order.c,
 * grow_divide.c, grow_finish.c).
 *
 * Nodes are divided in batches, but take their places in the tree one at a time, in the order of their gains. A node
 * that is divided before its turn is grown ahead: it and its children have no place in the tree yet, and never get one
 * if the leaves are used up first. Its rows then stay one leaf.
 */
#pragma once

#include "trees/grow/histograms.h"
#include "trees/grow/node_rows.h"
#include "trees/grow/row_sample.h"
#include "trees/grow/tree_grower.h"

typedef struct grown_node {
    int32_t node;       /* its place in the tree; -1: none yet */
    int parent;         /* index in tree_grower.grown; -1: the root */
    int left;           /* index of the left child, the right one follows; -1: not divided */
    int depth;          /* of the root 0 */
    int64_t begin, end; /* its rows on this rank */
    int64_t middle;     /* where those of the right child begin, once it is divided */
    int64_t rows;       /* of all ranks */
    int slot;           /* its histograms; -1: it has none */
    split_node at;      /* its sums and bounds; `use` is set while its split is looked for */
    tree_split split;   /* gain 0: it stays a leaf */
} grown_node;

/* Nodes that are divided together, and their children whose splits are looked for: memory that is taken before ranks
 * agree that the batch begins. */
typedef struct grow_batch {
    int first;             /* the first child in tree_grower.grown */
    histogram_node *build; /* [builds] of the child of fewer rows; after its build in another order */
    int *parent;           /* [builds] whose child it is */
    int *side;     /* [builds] 0, 1: the left or right child of a parent whose histograms are gone; -1: another */
    int64_t *rows; /* [builds, 2] of the children */
    int builds;
    int *slot, *of;   /* [splits] histograms of a child, and its index */
    split_node *node; /* [splits] */
    uint8_t *use;     /* [splits, columns] */
    tree_split *best; /* [splits] */
    int build_capacity, split_capacity;
} grow_batch;

struct tree_grower {
    weft_comm *comm;
    weft_hal *hal;
    const tree_columns *data;
    const tree_bins *bins;
    const tree_cuts *cuts;
    const uint8_t *counts;
    tree_growth growth;
    rank_exchange exchange;
    tree_histograms histograms;
    node_rows rows;
    uint8_t *use;      /* [columns] drawn for the tree */
    uint8_t *path;     /* [columns] not 0: a node above divides by it */
    uint8_t *take;     /* [rows] a row_take each, for the tree that grows; NULL: every tree takes all rows */
    int64_t all_rows;  /* rows that count, of all ranks */
    int64_t listed;    /* rows of this rank that the tree is grown on */
    grown_node *grown; /* [nodes] children behind their parents */
    int nodes, grown_capacity, node_capacity;
    int *place; /* [nodes of the tree] index of each in `grown` */
    int place_capacity;
    int *open; /* [opens] leaves of the tree that have a gain: a heap, the next to be divided first */
    int opens, open_capacity;
    int ends;           /* leaves of the tree */
    int ahead;          /* divided nodes without a place for their children */
    double least, last; /* gains of the last division of the tree before, and of this one so far */
    int *pick;          /* [picks] nodes that are divided together */
    int pick_capacity;
    grow_batch batch;
    int room; /* nodes that have histograms at one time, at most; the same on all ranks */
    split_rule rule;
    double most[2]; /* of gradients and of hessians, over all ranks */
    uint64_t seed;  /* of what is drawn for the tree that grows */
};

/* grow_order.c: the root becomes the tree's first node. Local. */
weft_status grow_order_begin(tree_grower *g, weft_tree *tree);
/* Gives divided nodes their places in the tree, as far as it is known who comes next. Local. */
weft_status grow_order_place(tree_grower *g, weft_tree *tree);
/* [out] g->pick: the nodes to divide next, ascending; *picks 0: the tree is complete. Local, the same on all ranks. */
weft_status grow_order_pick(tree_grower *g, int *picks);

/* grow_divide.c: the root, with its rows. sum: gradients, hessians and rows of all ranks. Local. */
weft_status grow_divide_root(tree_grower *g, const int64_t sum[3]);
/* How many of `picks` picked nodes there is room for to divide together, 1 at least; the histograms of other nodes go
 * where they would leave none, and are summed again when their turn comes. Local, the same on all ranks. */
int grow_divide_fit(tree_grower *g, int picks);
/* Divides the rows of so many picked nodes, and takes the memory that their children need. Local. */
weft_status grow_divide_rows(tree_grower *g, const int *pick, int picks);
/* The histograms and splits of the root, or of the children of the nodes whose rows were divided. Collective. */
weft_status grow_divide_splits(tree_grower *g);
/* Histograms that no node needs any more go back. */
void grow_divide_end(tree_grower *g);
void grow_divide_free(tree_grower *g);

/* grow_finish.c: [out] leaf: [rows] where each row that the tree is grown on is; -1: another row. */
void grow_finish_listed(const tree_grower *g, const weft_tree *tree, int32_t *leaf);
/* What leaves add, and the covers of all nodes, by rows whose leaf is known. Collective. */
weft_status grow_finish_values(tree_grower *g, const float *gradient, const float *hessian, const int32_t *leaf,
                               weft_tree *tree);
/* [in, out] leaf: the other rows find theirs from the root. */
void grow_finish_others(const tree_grower *g, const weft_tree *tree, int32_t *leaf);

static inline bool grow_takes(const tree_grower *g, int64_t row)
{
    return g->take == NULL || g->take[row] != ROW_LEFT_OUT;
}

/* What the gradient and hessian of a row are multiplied by. */
static inline double grow_factor(const tree_grower *g, int64_t row)
{
    return g->take != NULL && g->take[row] == ROW_AMPLIFIED ? (1.0 - g->growth.top) / g->growth.other : 1.0;
}
