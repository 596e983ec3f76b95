/*
 * trees/forest/forest_walk.h: the leaves of many rows, a step of all of them at a time.
 *
 * Nodes stand in three arrays, leaves lead to themselves, and a step is the same for every row:
 *
 *      at = left[at] + (value[feature[at]][row] >= threshold[at])
 *
 * so that no branch is mispredicted and rows fill the lanes of a vector. The threshold of a leaf is NaN, which no value
 * reaches. A row without a value at a node goes where `missing` says: 0 left, 1 right.
 */
#pragma once

#include "trees/forest/forest.h"

enum { WALK_ROWS = 64 };

/* The trees of a forest, node by node of one tree after the other. */
typedef struct forest_nodes {
    int32_t *first;           /* [trees + 1] the root of each tree */
    int *depth;               /* [trees] steps to the deepest leaf */
    int32_t *left, *feature;  /* [first[trees]] */
    float *threshold, *value; /* [first[trees]] value: what a leaf adds */
    int32_t *missing;         /* [first[trees]] */
} forest_nodes;

/* Kernels by instruction set. value: [columns][WALK_ROWS] a block of rows, column by column; at: [WALK_ROWS] becomes
 * the leaves. holes: some value of the block is NaN. */
typedef void forest_walk(const forest_nodes *nodes, int tree, const float *value, bool holes, int32_t at[WALK_ROWS]);
forest_walk forest_walk_base, forest_walk_avx2, forest_walk_avx512;
