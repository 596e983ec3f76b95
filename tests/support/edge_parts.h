/*
 * support/edge_parts.h: what the parts of a graph's edges hold, counted the plain way.
 */
#pragma once

#include "partition/partition.h"
#include "support/test.h"

/* Every edge has a part, and self-loops have none. [out] held [n, parts], load [parts] edges. Returns the replicas. */
static inline int64_t count_held(const weft_graph *g, int parts, const uint16_t *edge_part, char *held, int64_t *load)
{
    int64_t replicas = 0;
    memset(held, 0, (size_t)(g->vertices * parts));
    memset(load, 0, (size_t)parts * sizeof *load);
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            const int64_t u = graph_source(g, e);
            assert_int_equal(edge_part[e] == PARTITION_NO_PART, u == v);
            if (u != v) {
                assert_true(edge_part[e] < parts);
                held[u * parts + edge_part[e]] = held[v * parts + edge_part[e]] = 1;
                ++load[edge_part[e]];
            }
        }
    }
    for (int64_t i = 0; i < g->vertices * parts; ++i) {
        replicas += held[i];
    }
    return replicas;
}
