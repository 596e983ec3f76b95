/*
 * trees/shap/shap_walk.h: the walk of tree_shap.c over the edges of one tree, for 16 rows at a time.
 *
 * Whether a row meets conditions is a number, 1 or 0, so that a factor is chosen by products and rows fill the lanes of
 * vectors:
 *
 *     f / fo  =  none + above * (now - none) + met * (both - now)
 */
#pragma once

#include "trees/forest/forest.h"

enum { SHAP_LANES = 16, SHAP_RATIOS = 3, SHAP_SHARES = 2 };

/* A tree with the tables of its edges. */
typedef struct shap_tree {
    const weft_tree *tree;
    int points, depth;
    double *point, *weight; /* [points] */
    double *numbers;        /* [nodes, 7, points] of the edge that leads to a node: edge_table */
    int32_t *last;          /* [nodes] the node below the nearest edge above of the same column; -1: none */
    double *z;              /* [nodes] product of cover ratios of the column of the edge that leads here, on the path */
    double mean;            /* answer of a row of which nothing is known */
} shap_tree;

/* WEFT_ERR_UNSUPPORTED: the tree is deeper than SHAP_DEPTH_MAX. Destroy it also after a failure. */
weft_status shap_tree_create(const weft_tree *tree, shap_tree *s);
void shap_tree_destroy(shap_tree *s);

/* Numbers of an edge at each point: f = z (1 - t) + o t with its condition, fo without it. */
typedef struct edge_table {
    double *ratio[SHAP_RATIOS]; /* f / fo for oo = 0; what oo = 1, o = 0 adds to it; what o = 1 adds to that */
    double *share[SHAP_SHARES]; /* (o - z) / f for o = 0; what o = 1 adds to it */
    double *above[SHAP_SHARES]; /* (oo - zo) / fo likewise by oo; zeros if no edge above is of this column */
} edge_table;

static inline edge_table table_of(const shap_tree *s, int32_t node)
{
    double *at = s->numbers + (int64_t)node * (SHAP_RATIOS + 2 * SHAP_SHARES) * s->points;
    edge_table t;
    for (int i = 0; i < SHAP_RATIOS; ++i, at += s->points) {
        t.ratio[i] = at;
    }
    for (int i = 0; i < SHAP_SHARES; ++i, at += s->points) {
        t.share[i] = at;
    }
    for (int i = 0; i < SHAP_SHARES; ++i, at += s->points) {
        t.above[i] = at;
    }
    return t;
}

static inline int32_t column_of_edge(const weft_tree *tree, int32_t node)
{
    return tree->node[tree->node[node].parent].feature;
}

/* Of SHAP_LANES rows, by one thread. */
typedef struct shap_walk {
    const shap_tree *s;
    const float *value; /* [columns, SHAP_LANES] */
    double *phi;        /* [columns, SHAP_LANES] */
    double *pair;       /* [columns (columns - 1) / 2, SHAP_LANES] twice the interaction of a pair; NULL: not asked */
    double *stack;      /* [depth + 1, 2, points, SHAP_LANES]: P and S of each level */
    double *edge;       /* [depth + 1, points, SHAP_LANES] d of the edge that leads to a level; with pair only */
    int32_t *path;      /* [depth + 1] column of that edge */
    double *met;        /* [nodes, SHAP_LANES] 1: the row meets all conditions of the edge's column so far; else 0 */
} shap_walk;

static inline double *shap_level(const shap_walk *w, int level, int which)
{
    return w->stack + ((int64_t)level * 2 + which) * w->s->points * SHAP_LANES;
}

/* Place of columns i < j among the pairs. */
static inline int64_t shap_pair(int64_t i, int64_t j)
{
    return j * (j - 1) / 2 + i;
}

/* Kernels by instruction set: S of a node's level, from P of it; adds to phi, and to pair. */
typedef void shap_visit(const shap_walk *w, int32_t at, int level);
shap_visit shap_visit_base, shap_visit_avx2, shap_visit_avx512;
