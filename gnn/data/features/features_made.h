/*
 * gnn/data/features/features_made.h: features for graphs that come without: --features
 * degree|onehot|random:D|spectral:D.
 *
 *   degree      log(1 + in-degree), log(1 + out-degree), and the in-degree's power of two one-hot: column 2 + k is 1
 * where 2^k <= in-degree + 1 < 2^(k+1); as many columns as the largest in-degree needs onehot      [n, n]: vertex v has
 * a 1 in column v, held sparse above FEATURES_ONEHOT_VERTICES vertices random:D    normal with variance 1/D, a
 * function of (seed, vertex, column): the same whatever the threads spectral:D  eigenvectors of the D largest
 * eigenvalues of the normalised adjacency (gnn/data/features/spectral.h)
 *
 * Degrees are those of the store: after --symmetrize and --self-loops. All but spectral are made row by row while the
 * store is written and take no memory but the degrees.
 */
#pragma once

#include "graph/graph.h"

enum { FEATURES_ONEHOT_VERTICES = 16384, FEATURES_WIDTH_MAX = 65536, FEATURES_SPECTRAL_MAX = 256 };

typedef enum features_kind {
    FEATURES_FILE, /* the text is none of the words: the path of a file (./degree for one of that name) */
    FEATURES_DEGREE,
    FEATURES_ONEHOT,
    FEATURES_RANDOM,
    FEATURES_SPECTRAL
} features_kind;

/* What --features asks for, and D. WEFT_ERR_USAGE: a word without its D, or D out of range. */
weft_status features_parse(const char *text, features_kind *kind, int64_t *width);

typedef struct features_made features_made;

/* For the graph of a store in the making (vertices, edges, offset, source32, symmetric). The graph's arrays must
 * outlive the result. memory_bytes: limit for the eigenvectors, 0 = half of what is available. WEFT_ERR_USAGE: too few
 * or too many vertices; WEFT_ERR_RESOURCE with the figures. */
weft_status features_make(const char *text, const weft_graph *graph, uint64_t seed, int64_t memory_bytes,
                          features_made **made);
void features_free(features_made *made); /* NULL is allowed */
int64_t features_width(const features_made *made);
/* The arrays of a store get these features, whole or sparse; `made` lives as long as they do. */
void features_place(features_made *made, graph_arrays *arrays);
/* graph_arrays.fill_features, with the features as self. */
weft_status features_fill(void *made, int64_t row, int64_t rows, float *out);
