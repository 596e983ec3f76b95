/*
 * trees/forest/forest_walk.h: the leaves of many rows in one tree, a step of all of them at a time.
 *
 * The top of a tree is a complete one of few levels: `at` is the place of a row within its level, and a row whose leaf
 * lies higher goes left all the way. A vector of rows compares with the nodes of the first WALK_TURNS levels in turn,
 * and looks those of the others up in vectors, which hold a level each.
 *
 *      level 0            0                 top[0]
 *      level 1        0       1             top[1] top[2]
 *      level 2      0   1   2   3           top[3] .. top[6]         at = start[at]
 *
 * A node is eight bytes, and leaves lead to themselves, so that a step is the same for every row, no branch is
 * mispredicted, and rows fill the lanes of a vector:
 *
 *      at = at + step[at] + (value[column[at]][row] >= threshold[at])
 *
 * The threshold of a leaf is NaN, which no value reaches.
 */
#pragma once

#include "trees/forest/forest.h"

enum {
    WALK_ROWS = 64,
    WALK_TOP = 7,   /* levels of a tree's top, at most */
    WALK_TURNS = 4, /* of these, whose nodes are compared with in turn */
    WALK_STARTS = 1 << WALK_TOP,
    WALK_FIRST = 1 << WALK_TURNS,          /* nodes of the first level behind them */
    WALK_UPPER = WALK_STARTS - WALK_FIRST, /* nodes of all levels behind them */
    WALK_COLUMN_BITS = 15,
    WALK_COLUMNS = 1 << WALK_COLUMN_BITS,
    WALK_MISSING = WALK_COLUMNS, /* a row without a value goes right */
    WALK_STEP_SHIFT = 16,
    WALK_STEPS = 1 << 16
};

typedef struct walk_node {
    float threshold;
    uint32_t link; /* column, WALK_MISSING, and how far behind the node its left child stands << WALK_STEP_SHIFT */
} walk_node;

/* A tree whose columns are below WALK_COLUMNS and whose steps are below WALK_STEPS, without sets of categories. */
typedef struct walk_tree {
    walk_node top[WALK_FIRST - 1]; /* of the levels that are compared with in turn: level l begins at 2^l - 1 */
    float threshold[WALK_UPPER];   /* of the levels behind them: level l begins at 2^l - WALK_FIRST */
    uint32_t link[WALK_UPPER];
    int32_t start[WALK_STARTS]; /* [2^levels] */
    int levels, steps;          /* steps: from the lowest level of the top to the deepest leaf */
    bool fits;                  /* false: it is no such tree, and has no nodes here */
    const walk_node *node;      /* [nodes], the tree's own order */
    const float *value;         /* [nodes] what a leaf adds */
} walk_tree;

typedef struct walk_forest {
    walk_tree *tree; /* [end - first] */
    walk_node *node; /* those of all trees */
    float *value;
} walk_forest;

/* Trees first .. end - 1 of a forest. Destroy them also after a failure. */
weft_status walk_forest_create(const weft_forest *forest, int first, int end, walk_forest *to);
void walk_forest_destroy(walk_forest *forest);

/*
 * Kernels by instruction set. value: [columns][WALK_ROWS] a block of rows, column by column; [out] at: [WALK_ROWS] the
 * leaves, which are added to sum: [WALK_ROWS]. holes: some value of the block is NaN. All give the same bits.
 */
typedef void forest_walk(const walk_tree *tree, const float *value, bool holes, int32_t *at, float *sum);
forest_walk forest_walk_base, forest_walk_avx512;
