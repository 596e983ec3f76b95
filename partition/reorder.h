/*
 * partition/reorder.h: a vertex order that puts most edges near the diagonal.
 *
 * Size-constrained label propagation, repeated on the contracted graph, then clusters in the order of the hierarchy
 * (Raghavan, Albert, Kumara 2007, doi:10.1103/PhysRevE.76.036106; Meyerhenke, Sanders, Schulz 2014,
 * doi:10.1007/978-3-319-07959-2_30). Sparse graphs aggregate several times faster in such an order.
 */
#pragma once

#include <stdbool.h>

#include "base/option_words.h"
#include "graph/graph.h"

/* The vertex order that is asked for; auto: graph_prefers_clustering decides. */
#define REORDER_CHOICES(X)                                                                                             \
    X(REORDER_AUTO, "auto")                                                                                            \
    X(REORDER_NONE, "none")                                                                                            \
    X(REORDER_CLUSTER, "cluster")
typedef enum reorder_choice { REORDER_CHOICES(CHOICE_VALUE) } reorder_choice;

/* [out] position  [n], position[v] = place of v in the new order (a permutation). Caller frees with weft_free.
 * Deterministic for a seed, whatever the number of threads. */
weft_status graph_cluster_order(const weft_graph *graph, uint64_t seed, int threads, int32_t **position,
                                double *seconds);

/* Does aggregation gain from the order? Where blocks of sources that fit a second-level cache are many and meet few
 * edges of a row each. */
bool graph_prefers_clustering(const weft_graph *graph);
