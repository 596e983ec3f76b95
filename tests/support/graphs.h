/*
 * support/graphs.h: small graphs in memory for tests, built the obvious way (sort all entries), independent of the
 * readers. Sizes are in the thousands.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "support/random.h"

typedef struct test_graph {
    weft_graph graph;
    int64_t *offset;
    int32_t *source;
} test_graph;

typedef struct test_edges {
    int64_t count, capacity;
    int64_t *key; /* destination << 32 | source */
} test_edges;

static inline void test_edge(test_edges *edges, int64_t from, int64_t to)
{
    if (edges->count == edges->capacity) {
        edges->capacity = edges->capacity * 2 + 64;
        edges->key = realloc(edges->key, (size_t)edges->capacity * sizeof edges->key[0]);
    }
    edges->key[edges->count++] = to << 32 | from;
}

static inline int test_compare_keys(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Takes the edges. symmetric: reverses are added. Duplicates are dropped unless keep_duplicates. */
static inline test_graph test_graph_build(int64_t n, test_edges *edges, bool symmetric, bool keep_duplicates)
{
    int64_t count = edges->count;
    for (int64_t i = 0; symmetric && i < count; ++i) {
        test_edge(edges, edges->key[i] >> 32, edges->key[i] & 0xffffffff);
    }
    if (edges->count > 0) {
        qsort(edges->key, (size_t)edges->count, sizeof edges->key[0], test_compare_keys);
    }
    test_graph g = {0};
    g.offset = calloc((size_t)n + 1, sizeof g.offset[0]);
    g.source = malloc(((size_t)edges->count + 1) * sizeof g.source[0]);
    int64_t kept = 0;
    for (int64_t i = 0; i < edges->count; ++i) {
        if (i > 0 && !keep_duplicates && edges->key[i] == edges->key[i - 1]) {
            continue;
        }
        g.source[kept++] = (int32_t)(edges->key[i] & 0xffffffff);
        ++g.offset[(edges->key[i] >> 32) + 1];
    }
    for (int64_t v = 0; v < n; ++v) {
        g.offset[v + 1] += g.offset[v];
    }
    free(edges->key);
    *edges = (test_edges){0};
    g.graph =
        (weft_graph){.vertices = n, .edges = kept, .symmetric = symmetric, .offset = g.offset, .source32 = g.source};
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): the arrays leave in g; test_graph_free frees them */
    strcpy(g.graph.name, "test");
    strcpy(g.graph.hash, "0123456789abcdef0123456789abcdef");
    return g;
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

static inline void test_graph_free(test_graph *g)
{
    free(g->offset);
    free(g->source);
    *g = (test_graph){0};
}

static inline test_graph test_graph_random(int64_t n, int64_t m, bool symmetric, uint64_t seed)
{
    test_edges edges = {0};
    uint64_t state = seed;
    for (int64_t i = 0; i < m; ++i) {
        int64_t a = test_random(&state) % n, b = test_random(&state) % n;
        test_edge(&edges, a, b);
    }
    return test_graph_build(n, &edges, symmetric, false);
}

/* Communities of equal size, ids shuffled; `inside` percent of the edges stay inside; skewed degrees. No self-loops. */
static inline test_graph test_graph_communities(int64_t n, int64_t m, int64_t groups, unsigned inside, uint64_t seed)
{
    test_edges edges = {0};
    uint64_t state = seed;
    int64_t size = n / groups;
    int64_t *id = malloc((size_t)n * sizeof id[0]);
    for (int64_t i = 0; i < n; ++i) {
        id[i] = i;
    }
    for (int64_t i = n - 1; i > 0; --i) {
        int64_t j = test_random(&state) % (i + 1);
        int64_t other = id[j];
        id[j] = id[i];
        id[i] = other;
    }
    for (int64_t i = 0; i < m; ++i) {
        double skew = (double)test_random(&state) / 2147483648.0;
        int64_t group = test_random(&state) % groups;
        int64_t a = group * size + (int64_t)(skew * skew * (double)size);
        int64_t other = test_random(&state) % 100 < inside ? group : (int64_t)(test_random(&state) % groups);
        skew = (double)test_random(&state) / 2147483648.0;
        int64_t b = other * size + (int64_t)(skew * skew * (double)size);
        if (a != b) {
            test_edge(&edges, id[a], id[b]);
        }
    }
    free(id);
    return test_graph_build(n, &edges, true, false);
}

enum { TEST_GRAPHS = 12 };

/* A zoo: every case that has a way of going wrong. *name tells which. */
static inline test_graph test_graph_case(int i, const char **name)
{
    static const char *const names[TEST_GRAPHS] = {"no vertices",
                                                   "one vertex",
                                                   "one vertex with a self-loop",
                                                   "no edges",
                                                   "star",
                                                   "path",
                                                   "random symmetric",
                                                   "random directed",
                                                   "with isolated",
                                                   "more parts than vertices",
                                                   "communities",
                                                   "duplicates and self-loops, directed"};
    test_edges edges = {0};
    *name = names[i];
    switch (i) {
    case 0:
        return test_graph_build(0, &edges, true, false);
    case 1:
        return test_graph_build(1, &edges, true, false);
    case 2:
        test_edge(&edges, 0, 0);
        return test_graph_build(1, &edges, true, false);
    case 3:
        return test_graph_build(37, &edges, false, false);
    case 4:
        for (int64_t v = 1; v < 300; ++v) {
            test_edge(&edges, 0, v);
        }
        return test_graph_build(300, &edges, true, false);
    case 5:
        for (int64_t v = 1; v < 500; ++v) {
            test_edge(&edges, v - 1, v);
        }
        return test_graph_build(500, &edges, true, false);
    case 6:
        return test_graph_random(400, 3000, true, 1);
    case 7:
        return test_graph_random(400, 3000, false, 2);
    case 8:
        return test_graph_random(2000, 900, true, 3);
    case 9:
        return test_graph_random(5, 9, true, 4);
    case 10:
        return test_graph_communities(1200, 9000, 12, 85, 5);
    default: {
        uint64_t state = 6;
        for (int k = 0; k < 4000; ++k) {
            int64_t a = test_random(&state) % 150, b = test_random(&state) % 150;
            test_edge(&edges, a, k % 20 == 0 ? a : b);
        }
        return test_graph_build(150, &edges, false, true);
    }
    }
}
