/*
 * partition/order/reorder.c: a vertex order from a hierarchy of clusters.
 *
 *   level 0   clusters of up to FIRST_LIMIT vertices by label propagation
 *   level 1   the graph between them, clusters of up to GROWTH times as many vertices, and so on while it shrinks
 *
 * The order lists the top clusters one after the other, each of them as the sequence of its sub-clusters, down to the
 * vertices (by id). A community larger than FIRST_LIMIT falls into pieces that the next level puts side by side.
 * Vertices without edges come last. A directed graph is clustered by its incoming edges.
 */
#include "partition/reorder.h"
#include "partition/partition.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/order/propagate.h"
#include "partition/partition_options.def"

enum { LEVELS_MAX = 12, FIRST_LIMIT = 4096, GROWTH = 8 };

typedef struct hierarchy {
    int levels;
    int64_t count[LEVELS_MAX + 1]; /* vertices at each level; count[levels] clusters at the top */
    int32_t *label[LEVELS_MAX];    /* [count[level]] cluster at level + 1 */
} hierarchy;

static weft_status build_level(hierarchy *tree, cluster_graph *graph, int64_t limit, uint64_t seed, int threads)
{
    int level = tree->levels;
    cluster_graph next = {0};
    WEFT_TRY(WEFT_NEW(&tree->label[level], graph->vertices, WEFT_MEM_PARTITION));
    tree->levels = level + 1;
    WEFT_TRY(
        propagate_labels(graph, limit, seed + (uint64_t)level, threads, tree->label[level], &tree->count[level + 1]));
    log_debug("vertex order: level %d: %lld of up to %lld vertices from %lld", level, (long long)tree->count[level + 1],
              (long long)limit, (long long)graph->vertices);
    WEFT_TRY(propagate_contract(graph, tree->label[level], tree->count[level + 1], threads, &next));
    if (level > 0) {
        cluster_graph_free(graph); /* level 0 is the caller's */
    }
    *graph = next;
    return WEFT_OK;
}

static weft_status build_hierarchy(const cluster_graph *bottom, uint64_t seed, int threads, hierarchy *tree)
{
    cluster_graph graph = *bottom;
    weft_status status = WEFT_OK;
    log_progress progress = log_progress_begin("vertex order", "levels", 0);
    tree->count[0] = graph.vertices;
    int64_t limit = FIRST_LIMIT;
    bool shrinks = true;
    while (status == WEFT_OK && shrinks && tree->levels < LEVELS_MAX && limit / GROWTH < bottom->vertices) {
        status = build_level(tree, &graph, limit, seed, threads);
        limit *= GROWTH;
        shrinks = graph.vertices > 1 && graph.vertices < tree->count[tree->levels - 1] / 10 * 9;
        log_progress_update(&progress, tree->levels);
    }
    log_progress_end(&progress);
    if (graph.offset != bottom->offset) {
        cluster_graph_free(&graph);
    }
    return status;
}

/* Order of the items below, given that of their clusters: by cluster, then by own number. order[i] = place of item i.
 */
static weft_status descend(const int32_t *label, int64_t items, const int32_t *cluster_place, int64_t clusters,
                           int32_t *place)
{
    int64_t *next = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&next, clusters + 1, WEFT_MEM_PARTITION));
    for (int64_t i = 0; i < items; ++i) {
        assert(label[i] >= 0 && label[i] < clusters);
        ++next[cluster_place[label[i]] + 1];
    }
    for (int64_t c = 0; c < clusters; ++c) {
        next[c + 1] += next[c];
    }
    for (int64_t i = 0; i < items; ++i) {
        place[i] = (int32_t)next[cluster_place[label[i]]]++;
    }
    weft_free(next);
    return WEFT_OK;
}

/* [out] position: the caller's, [count[0]]. */
static weft_status unfold(const hierarchy *tree, int32_t *position)
{
    weft_status status = WEFT_OK;
    int32_t *above = NULL, *here = NULL;
    WEFT_TRY(WEFT_NEW(&above, tree->count[tree->levels], WEFT_MEM_PARTITION));
    for (int64_t c = 0; c < tree->count[tree->levels]; ++c) {
        above[c] = (int32_t)c;
    }
    for (int level = tree->levels - 1; level >= 0; --level) {
        WEFT_TRY_GOTO(WEFT_NEW(&here, tree->count[level], WEFT_MEM_PARTITION), status, done);
        WEFT_TRY_GOTO(descend(tree->label[level], tree->count[level], above, tree->count[level + 1], here), status,
                      done);
        weft_free(above);
        above = here;
        here = NULL;
    }
    for (int64_t v = 0; v < tree->count[0]; ++v) {
        position[v] = above[v];
    }
done:
    WEFT_FREE_ALL(here, above);
    return status;
}

/* Move vertices without entries behind all others, both in their present order. */
static weft_status isolated_last(const weft_graph *graph, int32_t *position)
{
    int32_t *at = NULL;
    int64_t n = graph->vertices;
    int32_t next = 0;
    WEFT_TRY(WEFT_NEW(&at, n, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < n; ++v) {
        assert(position[v] >= 0 && position[v] < n);
        at[position[v]] = (int32_t)v;
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = 0; i < n; ++i) {
            bool isolated = graph->offset[at[i]] == graph->offset[at[i] + 1];
            if (isolated == (pass == 1)) {
                position[at[i]] = next++;
            }
        }
    }
    weft_free(at);
    return WEFT_OK;
}

/* Ids as 32-bit numbers: borrowed, or copied from a store with 64-bit ones. */
static weft_status narrow_sources(const weft_graph *graph, int threads, const int32_t **source, int32_t **copy)
{
    *copy = NULL;
    *source = graph->source32;
    if (graph->source64 == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(copy, graph->edges, WEFT_MEM_PARTITION));
    int32_t *narrow = *copy;
#pragma omp parallel for schedule(static) num_threads(split_threads(graph->edges, threads))
    for (int64_t e = 0; e < graph->edges; ++e) {
        narrow[e] = (int32_t)graph->source64[e];
    }
    *source = narrow;
    return WEFT_OK;
}

weft_status graph_cluster_order(const weft_graph *graph, uint64_t seed, int threads, int32_t **position,
                                double *seconds)
{
    weft_status status = WEFT_OK;
    double start = clock_seconds();
    hierarchy tree = {0};
    int32_t *copy = NULL;
    cluster_graph bottom = {.vertices = graph->vertices, .offset = graph->offset};
    *position = NULL;
    WEFT_CHECK(graph->vertices < INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%lld vertices: a vertex order takes fewer than 2^31; use " FLAG_REORDER " none",
               (long long)graph->vertices);
    threads = threads > 0 ? threads : omp_get_max_threads();
    WEFT_TRY_GOTO(narrow_sources(graph, threads, &bottom.neighbour, &copy), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(position, graph->vertices, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(build_hierarchy(&bottom, seed, threads, &tree), status, done);
    WEFT_TRY_GOTO(unfold(&tree, *position), status, done);
    status = isolated_last(graph, *position);
done:
    for (int level = 0; level < tree.levels; ++level) {
        weft_free(tree.label[level]);
    }
    weft_free(copy);
    if (status != WEFT_OK) {
        weft_free(*position);
        *position = NULL;
    }
    if (seconds != NULL) {
        *seconds = clock_seconds() - start;
    }
    return status;
}

bool graph_prefers_clustering(const weft_graph *graph)
{
    enum { CACHED_VERTICES = 16384, MANY_BLOCKS = 8, FEW_EDGES = 8 };
    double blocks = (double)graph->vertices / CACHED_VERTICES;
    return blocks > MANY_BLOCKS && graph->vertices < INT32_MAX &&
           (double)graph->edges / (double)graph->vertices / blocks < FEW_EDGES;
}
