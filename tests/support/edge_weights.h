/* support/edge_weights.h: weights for the edges of small graphs: some are 0, and of a symmetric graph both directions
 * weigh the same. */
#pragma once

#include <stdlib.h>

#include "graph/graph.h"

static inline float test_weight(int64_t from, int64_t to, bool symmetric)
{
    const int64_t low = symmetric && to < from ? to : from;
    const int64_t high = symmetric && to < from ? from : to;
    return (float)((low * 31 + high * 17 + 5) % 9) / 4.0F;
}

/* [edges], for free(). */
static inline float *test_weights(const weft_graph *graph)
{
    float *weight = malloc(((size_t)graph->edges + 1) * sizeof *weight);
    for (int64_t v = 0; weight != NULL && v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            weight[e] = test_weight(graph_source(graph, e), v, graph->symmetric);
        }
    }
    return weight;
}
