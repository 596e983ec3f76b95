/*
 * trees/forest/forest.h: trained trees, and their answers.
 *
 * A row goes left at a node where its value is below the threshold, and right otherwise. Where a node has a set of
 * categories, a row whose code is in it goes right, and any other code left. Without a value a row goes where
 * `default_left` says. The margin of a row is the base margin of an output plus the leaves that its trees lead to, in
 * the order of the trees, in float32. Trees of several outputs stand by turns: tree t adds to output t % outputs.
 */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "trees/data/tree_columns.h"

typedef struct tree_node {
    int32_t left;      /* the right child stands behind it; -1: a leaf */
    int32_t parent;    /* -1: the root */
    int32_t feature;   /* column of the data; of a leaf 0 */
    float value;       /* threshold; of a leaf what it adds */
    float weight;      /* what the node would add if it were a leaf */
    bool default_left; /* where rows without a value go */
    float gain;        /* by which the loss falls, as split.h counts it; of a leaf 0 */
    int32_t set;       /* where its categories begin in the tree's words */
    int32_t set_words; /* 0: it compares with the threshold */
    double hessian;    /* sum over the rows of the training: the cover of a node */
} tree_node;

typedef struct weft_tree {
    tree_node *node; /* [nodes] the root first, children behind their parents */
    int32_t nodes;
    uint32_t *word; /* [words] sets: bit c % 32 of a set's word c / 32 is code c */
    int32_t words;
} weft_tree;

enum { FOREST_OUTPUTS_MAX = 1024 };

typedef struct weft_forest {
    int columns, outputs;
    float *base;     /* [outputs] margin of a row before the first tree */
    weft_tree *tree; /* [trees] */
    int trees, capacity;
} weft_forest;

weft_status forest_create(int columns, int outputs, weft_forest *forest);
void forest_destroy(weft_forest *forest); /* zeros are fine */
/* The forest takes over *tree. */
weft_status forest_add(weft_forest *forest, weft_tree *tree);
/* [out] to: the first `trees` trees of a forest; for forest_destroy, also after a failure. */
weft_status forest_copy(const weft_forest *from, int trees, weft_forest *to);
/* Removes trees from the end. */
void forest_cut(weft_forest *forest, int trees);
void tree_destroy(weft_tree *tree);

/* Gives a node an empty set for codes 0 .. codes - 1, at least one. node: one of the tree, or of another that becomes
 * it. */
weft_status tree_add_set(weft_tree *tree, int32_t codes, tree_node *node);
static inline void tree_set_insert(weft_tree *tree, const tree_node *node, int32_t code)
{
    tree->word[node->set + code / 32] |= UINT32_C(1) << (code % 32);
}

static inline bool tree_set_has(const weft_tree *tree, const tree_node *node, float code)
{
    if (!(code >= 0.0F && code < 32.0F * (float)node->set_words)) {
        return false;
    }
    const int32_t c = (int32_t)code;
    return (tree->word[node->set + c / 32] >> (c % 32) & 1) != 0;
}

/* Does a row with this value of the node's column go left? */
static inline bool tree_goes_left(const weft_tree *tree, const tree_node *node, float x)
{
    return isnan(x) ? node->default_left : node->set_words != 0 ? !tree_set_has(tree, node, x) : x < node->value;
}

/* The leaf of a row: value[columns], NaN for a missing one. */
int32_t tree_leaf(const weft_tree *tree, const float *value);
/* [out] margin: [data->rows, outputs] of trees first .. end - 1, without the base margins where first > 0, to which
 * they are added then. Local. */
weft_status forest_margins(const weft_forest *forest, const tree_columns *data, int first, int end, int threads,
                           float *margin);
/* [out] leaf: [data->rows, trees] the node in which a row ends, as the tree numbers its nodes. Local. */
weft_status forest_leaves(const weft_forest *forest, const tree_columns *data, int threads, int32_t *leaf);
