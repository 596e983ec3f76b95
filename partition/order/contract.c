/*
 * partition/order/contract.c: the graph between clusters.
 *
 * Two passes over the edges, clusters in parallel: the first counts the distinct neighbours of each cluster, the second
 * sums their weights. A thread needs 12 bytes a cluster; when that would exceed WORK_BYTES, fewer threads run.
 */
#include <stdbool.h>

#include "base/alloc.h"

#include <assert.h>

#include "machine/thread_ranges.h"
#include "partition/order/propagate.h"
#include "partition/partition.h"

#define WORK_BYTES (INT64_C(1) << 30)

typedef struct contraction {
    const cluster_graph *graph;
    const int32_t *label;
    int64_t clusters;
    int threads;
    int64_t *first;  /* [clusters + 1] members of a cluster */
    int32_t *member; /* [vertices] grouped by cluster, ascending */
    int32_t *seen;   /* [threads, clusters] the cluster that met this neighbour last */
    int64_t *place;  /* [threads, clusters] where its weight is summed */
    int64_t *offset; /* the result */
    int32_t *neighbour, *weight, *size;
} contraction;

static void group_members(contraction *state)
{
    int64_t n = state->graph->vertices;
    for (int64_t v = 0; v < n; ++v) {
        assert(state->label[v] >= 0 && state->label[v] < state->clusters);
        ++state->first[state->label[v] + 1];
    }
    for (int64_t c = 0; c < state->clusters; ++c) {
        state->first[c + 1] += state->first[c];
    }
    for (int64_t v = 0; v < n; ++v) {
        state->member[state->first[state->label[v]]++] = (int32_t)v;
    }
    for (int64_t c = state->clusters; c > 0; --c) {
        state->first[c] = state->first[c - 1];
    }
    state->first[0] = 0;
}

/* Distinct neighbouring clusters of c; with `fill`, also their list and weights. */
static int64_t visit_cluster(contraction *state, int64_t c, bool fill, int32_t *seen, int64_t *place)
{
    const cluster_graph *graph = state->graph;
    int64_t count = 0;
    for (int64_t m = state->first[c]; m < state->first[c + 1]; ++m) {
        int64_t v = state->member[m];
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int32_t d = state->label[graph->neighbour[e]];
            if (d == c) {
                continue;
            }
            if (seen[d] != c) {
                seen[d] = (int32_t)c;
                if (fill) {
                    place[d] = state->offset[c] + count;
                    state->neighbour[place[d]] = d;
                    state->weight[place[d]] = 0;
                }
                ++count;
            }
            if (fill) {
                int64_t sum = (int64_t)state->weight[place[d]] + (graph->weight == NULL ? 1 : graph->weight[e]);
                state->weight[place[d]] = sum < INT32_MAX ? (int32_t)sum : INT32_MAX;
            }
        }
    }
    assert(!fill || state->offset[c] + count == state->offset[c + 1]);
    return count;
}

/* Clusters differ much in size: they are handed out one by one, which changes nothing in the result. */
static void visit_all(contraction *state, bool fill)
{
    for (int64_t i = 0; i < state->threads * state->clusters; ++i) {
        state->seen[i] = -1;
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(state->threads)
    for (int64_t c = 0; c < state->clusters; ++c) {
        int64_t base = omp_get_thread_num() * state->clusters;
        int64_t count = visit_cluster(state, c, fill, state->seen + base, state->place + base);
        if (!fill) {
            state->offset[c + 1] = count;
        }
    }
}

static weft_status sum_edges(contraction *state)
{
    WEFT_TRY(WEFT_NEW(&state->seen, state->threads * state->clusters, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->place, state->threads * state->clusters, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->offset, state->clusters + 1, WEFT_MEM_PARTITION));
    visit_all(state, false);
    for (int64_t c = 0; c < state->clusters; ++c) {
        state->offset[c + 1] += state->offset[c];
    }
    WEFT_TRY(WEFT_NEW(&state->neighbour, state->offset[state->clusters], WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->weight, state->offset[state->clusters], WEFT_MEM_PARTITION));
    visit_all(state, true);
    return WEFT_OK;
}

static weft_status sum_sizes(contraction *state)
{
    WEFT_TRY(WEFT_NEW_ZERO(&state->size, state->clusters, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < state->graph->vertices; ++v) {
        state->size[state->label[v]] += state->graph->size == NULL ? 1 : state->graph->size[v];
    }
    return WEFT_OK;
}

weft_status propagate_contract(const cluster_graph *graph, const int32_t *label, int64_t clusters, int threads,
                               cluster_graph *out)
{
    weft_status status = WEFT_OK;
    int64_t fit = WORK_BYTES / (12 * (clusters + 1));
    contraction state = {.graph = graph,
                         .label = label,
                         .clusters = clusters,
                         .threads = fit < 1 ? 1 : (fit < threads ? (int)fit : threads)};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.first, clusters + 1, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.member, graph->vertices, WEFT_MEM_PARTITION), status, done);
    group_members(&state);
    WEFT_TRY_GOTO(sum_edges(&state), status, done);
    status = sum_sizes(&state);
done:
    WEFT_FREE_ALL(state.place, state.seen, state.member, state.first);
    *out = (cluster_graph){.vertices = clusters,
                           .offset = state.offset,
                           .neighbour = state.neighbour,
                           .weight = state.weight,
                           .size = state.size};
    if (status != WEFT_OK) {
        cluster_graph_free(out);
    }
    return status;
}

void cluster_graph_free(cluster_graph *graph)
{
    WEFT_FREE_ALL((void *)(uintptr_t)graph->offset, (void *)(uintptr_t)graph->neighbour,
                  (void *)(uintptr_t)graph->weight, (void *)(uintptr_t)graph->size);
    *graph = (cluster_graph){0};
}
