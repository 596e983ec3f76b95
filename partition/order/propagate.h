/*
 * partition/order/propagate.h: clusters of bounded size by label propagation, and the graph between them.
 *
 * Every vertex starts alone. In a round each vertex takes the label that weighs most among its neighbours, if that
 * cluster has room (Raghavan, Albert, Kumara 2007; the bound on sizes: Meyerhenke, Sanders, Schulz 2014). A round runs
 * in BLOCKS interleaved blocks of vertices: a block decides in parallel against frozen labels, then moves in order. So
 * the result does not depend on the threads, and neighbours rarely decide at the same time, which would make them swap
 * labels for ever.
 *
 * Time: rounds x min(edges, 256 n); memory: 8 bytes a vertex and 64 KiB a thread.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* A graph with weights, rows in CSR form. */
typedef struct cluster_graph {
    int64_t vertices;
    const int64_t *offset;    /* [vertices + 1] */
    const int32_t *neighbour; /* [offset[vertices]] */
    const int32_t *weight;    /* [offset[vertices]] of edges, or NULL: all 1 */
    const int32_t *size;      /* [vertices] original vertices inside, or NULL: all 1 */
} cluster_graph;

/* [out] label [vertices], the caller's: clusters numbered 0 .. *clusters - 1 in the order of their first vertex. No
 * cluster holds more than `limit` original vertices, but for single vertices that are larger. */
weft_status propagate_labels(const cluster_graph *graph, int64_t limit, uint64_t seed, int threads, int32_t *label,
                             int64_t *clusters);

/* The graph between clusters: weights are summed, edges inside are dropped, sizes are added. Arrays of *out from
 * base/alloc.h: free with cluster_graph_free. */
weft_status propagate_contract(const cluster_graph *graph, const int32_t *label, int64_t clusters, int threads,
                               cluster_graph *out);
void cluster_graph_free(cluster_graph *graph);
