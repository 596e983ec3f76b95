/*
 * support/labelled_graphs.h: small graphs with features, labels and splits, for tests of training.
 */
#pragma once

#include "base/alloc.h"
#include "base/philox.h"
#include "graph/graph.h"
#include "support/edge_weights.h"
#include "support/test.h"

/* A deterministic stream of 32-bit draws. */
typedef struct draw_stream {
    uint64_t key;
    uint32_t next;
} draw_stream;

static inline uint32_t draw_next(draw_stream *random)
{
    return philox4x32((philox_block){{random->next++, 0, 0, 0}}, random->key).word[0];
}

typedef struct labelled_graph {
    weft_graph graph;
    int64_t *offset;
    int32_t *source;
    float *weight; /* for graph.weight, of a test that wants it */
    float *feature;
    int32_t *label;
    float *target;
    uint8_t *split;
} labelled_graph;

typedef struct labelled_graph_spec {
    int64_t vertices, degree; /* mean out-degree before symmetrising */
    int64_t features, classes, tasks;
    bool directed;
    int64_t isolated; /* the last vertices have no edges */
    uint64_t seed;
} labelled_graph_spec;

static inline int labelled_compare_edges(const void *a, const void *b)
{
    const int32_t *x = a;
    const int32_t *y = b;
    return x[1] != y[1] ? (x[1] > y[1]) - (x[1] < y[1]) : (x[0] > y[0]) - (x[0] < y[0]);
}

/* CSR by destination from (source, destination) pairs, sorted, without duplicates. */
static inline void labelled_graph_edges(labelled_graph *g, int32_t (*edge)[2], int64_t count)
{
    int64_t n = g->graph.vertices;
    qsort(edge, (size_t)count, sizeof *edge, labelled_compare_edges);
    ASSERT_OK(WEFT_NEW_ZERO(&g->offset, n + 1, WEFT_MEM_GRAPH));
    ASSERT_OK(WEFT_NEW(&g->source, count + 1, WEFT_MEM_GRAPH));
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (i == 0 || labelled_compare_edges(edge[i - 1], edge[i]) != 0) {
            g->source[kept++] = edge[i][0];
            g->offset[edge[i][1] + 1] += 1;
        }
    }
    for (int64_t v = 0; v < n; ++v) {
        g->offset[v + 1] += g->offset[v];
    }
    g->graph.edges = kept;
    g->graph.offset = g->offset;
    g->graph.source32 = g->source;
}

static inline void labelled_graph_values(labelled_graph *g, const labelled_graph_spec *spec, draw_stream *random)
{
    int64_t n = spec->vertices;
    ASSERT_OK(WEFT_NEW(&g->feature, n * spec->features + 1, WEFT_MEM_FEATURE));
    ASSERT_OK(WEFT_NEW(&g->label, n + 1, WEFT_MEM_FEATURE));
    ASSERT_OK(WEFT_NEW(&g->target, n * spec->tasks + 1, WEFT_MEM_FEATURE));
    ASSERT_OK(WEFT_NEW(&g->split, n + 1, WEFT_MEM_FEATURE));
    for (int64_t i = 0; i < n * spec->features; ++i) {
        g->feature[i] = philox_uniform(draw_next(random)) - 0.5f;
    }
    for (int64_t i = 0; i < n * spec->tasks; ++i) {
        uint32_t draw = draw_next(random) % 5;
        g->target[i] = draw == 4 ? NAN : (float)(draw & 1);
    }
    for (int64_t v = 0; v < n; ++v) {
        g->label[v] = spec->classes > 0 ? (int32_t)(draw_next(random) % (uint32_t)spec->classes) : -1;
        uint32_t draw = draw_next(random) % 4;
        g->split[v] = draw == 3 ? 255 : (uint8_t)draw;
    }
    g->graph.feature = g->feature;
    g->graph.features = spec->features;
    g->graph.label = spec->tasks > 0 ? NULL : g->label;
    g->graph.classes = spec->classes;
    g->graph.target = spec->tasks > 0 ? g->target : NULL;
    g->graph.tasks = spec->tasks;
    g->graph.split = g->split;
    g->graph.splits = 1;
}

static inline void labelled_graph_make(const labelled_graph_spec *spec, labelled_graph *g)
{
    memset(g, 0, sizeof *g);
    draw_stream random = {.key = spec->seed};
    int64_t n = spec->vertices;
    int64_t linked = n - spec->isolated;
    int64_t pairs = linked > 1 ? n * spec->degree : 0;
    int32_t(*edge)[2] = NULL;
    ASSERT_OK(WEFT_NEW(&edge, 2 * pairs + 1, WEFT_MEM_WORKSPACE));
    int64_t count = 0;
    for (int64_t i = 0; i < pairs; ++i) {
        int32_t u = (int32_t)(draw_next(&random) % (uint64_t)linked);
        int32_t v = (int32_t)(draw_next(&random) % (uint64_t)linked);
        if (u == v) {
            continue;
        }
        edge[count][0] = u;
        edge[count++][1] = v;
        if (!spec->directed) {
            edge[count][0] = v;
            edge[count++][1] = u;
        }
    }
    g->graph.vertices = n;
    g->graph.symmetric = !spec->directed;
    snprintf(g->graph.name, sizeof g->graph.name, "test");
    labelled_graph_edges(g, edge, count);
    g->weight = test_weights(&g->graph);
    labelled_graph_values(g, spec, &random);
    weft_free(edge);
}

static inline void labelled_graph_free(labelled_graph *g)
{
    weft_free(g->offset);
    weft_free(g->source);
    free(g->weight);
    weft_free(g->feature);
    weft_free(g->label);
    weft_free(g->target);
    weft_free(g->split);
}
