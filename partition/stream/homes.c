/* partition/stream/homes.c: see partition/stream/homes.h. */
#include "partition/stream/homes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"

enum { PASSES = 8, PROGRESS_ROWS = 4096, STILL = 128 }; /* passes end when fewer than one vertex in STILL moves */
#define EDGE_SLACK   1.05                               /* of a part over the mean */
#define VERTEX_SLACK 1.10

typedef struct homes_state {
    const weft_graph *graph;
    const int64_t *degree;
    int64_t total;    /* sum of degrees */
    int64_t *label;   /* [n] cluster, later part */
    int64_t *edges;   /* [labels] sum of degrees */
    int64_t *members; /* [labels] vertices with edges */
    int64_t *count;   /* [labels] zero between rows */
    log_progress progress;
    int64_t passes; /* over rows so far */
} homes_state;

/* The label of most sources of v among those that can take it; its own where none has more. */
static int64_t best_label(homes_state *state, int64_t v, int64_t most_edges, int64_t most_members)
{
    const weft_graph *graph = state->graph;
    const int64_t own = state->label[v], begin = graph->offset[v], end = graph->offset[v + 1];
    int64_t best = own;
    for (int64_t e = begin; e < end; ++e) {
        ++state->count[state->label[graph_source(graph, e)]];
    }
    int64_t most = state->count[own];
    for (int64_t e = begin; e < end; ++e) {
        const int64_t label = state->label[graph_source(graph, e)];
        if (state->count[label] > most && state->edges[label] + state->degree[v] <= most_edges &&
            state->members[label] < most_members) {
            most = state->count[label];
            best = label;
        }
    }
    for (int64_t e = begin; e < end; ++e) {
        state->count[state->label[graph_source(graph, e)]] = 0;
    }
    return best;
}

static int64_t propagate_once(homes_state *state, int64_t most_edges, int64_t most_members)
{
    const int64_t n = state->graph->vertices;
    int64_t moved = 0;
    for (int64_t v = 0; v < n; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(&state->progress, (double)(state->passes * n + v));
        }
        const int64_t own = state->label[v], best = best_label(state, v, most_edges, most_members);
        if (best != own) {
            state->edges[own] -= state->degree[v];
            state->edges[best] += state->degree[v];
            --state->members[own];
            ++state->members[best];
            state->label[v] = best;
            ++moved;
        }
    }
    ++state->passes;
    return moved;
}

static void propagate(homes_state *state, int64_t most_edges, int64_t most_members)
{
    int64_t moved = INT64_MAX;
    for (int pass = 0; pass < PASSES && moved > state->graph->vertices / STILL; ++pass) {
        moved = propagate_once(state, most_edges, most_members);
    }
}

/* ---- clusters to parts ------------------------------------------------------------------------------------------- */

typedef struct share {
    double edges, members; /* of the mean part */
} share;

static double fullness(share s)
{
    return s.edges > s.members ? s.edges : s.members;
}

static share share_of(const homes_state *state, int64_t cluster, int parts)
{
    return (share){(double)state->edges[cluster] * parts / (double)state->total,
                   (double)state->members[cluster] * parts / (double)state->graph->vertices};
}

typedef struct sized_cluster {
    double size;
    int64_t cluster;
} sized_cluster;

static int fuller_first(const void *a, const void *b)
{
    const sized_cluster *x = a, *y = b;
    if (x->size != y->size) {
        return x->size < y->size ? 1 : -1;
    }
    return x->cluster < y->cluster ? -1 : 1;
}

/* A heap of parts, the emptiest at its root, of which alone the share grows. */
typedef struct part_heap {
    int parts;
    int *part;    /* [parts] */
    share *share; /* [parts] of each part, by its number */
} part_heap;

static bool is_emptier(const part_heap *heap, int a, int b)
{
    const double x = fullness(heap->share[heap->part[a]]), y = fullness(heap->share[heap->part[b]]);
    return x < y || (x == y && heap->part[a] < heap->part[b]);
}

static void sift_root(part_heap *heap)
{
    for (int at = 0, child = 1; child < heap->parts; child = 2 * at + 1) {
        child += child + 1 < heap->parts && is_emptier(heap, child + 1, child) ? 1 : 0;
        if (!is_emptier(heap, child, at)) {
            return;
        }
        const int part = heap->part[at];
        heap->part[at] = heap->part[child];
        heap->part[child] = part;
        at = child;
    }
}

/* part_of [n]: what is written for each cluster. */
static void deal(const homes_state *state, const sized_cluster *order, int64_t clusters, part_heap *heap,
                 int64_t *part_of)
{
    for (int p = 0; p < heap->parts; ++p) {
        heap->part[p] = p;
    }
    for (int64_t i = 0; i < clusters; ++i) {
        const share more = share_of(state, order[i].cluster, heap->parts);
        share *mine = &heap->share[heap->part[0]];
        part_of[order[i].cluster] = heap->part[0];
        mine->edges += more.edges;
        mine->members += more.members;
        sift_root(heap);
    }
}

/* Labels become parts, and so do the sums over them. */
static weft_status clusters_to_parts(homes_state *state, int parts)
{
    weft_status status = WEFT_OK;
    const int64_t n = state->graph->vertices;
    int64_t clusters = 0;
    sized_cluster *order = NULL;
    part_heap heap = {.parts = parts};
    for (int64_t v = 0; v < n; ++v) {
        clusters += state->edges[v] > 0 ? 1 : 0;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&order, clusters, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&heap.part, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&heap.share, parts, WEFT_MEM_PARTITION), status, done);
    clusters = 0;
    for (int64_t v = 0; v < n; ++v) {
        if (state->edges[v] > 0) {
            order[clusters++] = (sized_cluster){fullness(share_of(state, v, parts)), v};
        }
    }
    if (clusters > 0) {
        qsort(order, (size_t)clusters, sizeof order[0], fuller_first);
    }
    deal(state, order, clusters, &heap, state->count);
    for (int p = 0; p < parts; ++p) {
        state->edges[p] = state->members[p] = 0;
    }
    for (int64_t v = 0; v < n; ++v) {
        state->label[v] = state->degree[v] > 0 ? state->count[state->label[v]] : 0;
        state->edges[state->label[v]] += state->degree[v];
        state->members[state->label[v]] += state->degree[v] > 0 ? 1 : 0;
    }
    for (int64_t v = 0; v < n; ++v) {
        state->count[v] = 0;
    }
done:
    weft_free(heap.share);
    weft_free(heap.part);
    weft_free(order);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static weft_status state_create(const weft_graph *graph, const int64_t *degree, int parts, homes_state *state)
{
    const int64_t n = graph->vertices, labels = n > parts ? n : parts;
    *state = (homes_state){.graph = graph, .degree = degree};
    WEFT_TRY(WEFT_NEW(&state->label, n, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->edges, labels, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->members, labels, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->count, labels, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < n; ++v) {
        state->label[v] = v;
        state->edges[v] = degree[v];
        state->members[v] = degree[v] > 0 ? 1 : 0;
        state->total += degree[v];
    }
    return WEFT_OK;
}

static void state_free(homes_state *state)
{
    weft_free(state->label);
    weft_free(state->edges);
    weft_free(state->members);
    weft_free(state->count);
}

weft_status homes_find(const weft_graph *graph, const int64_t *degree, int parts, uint16_t *home)
{
    weft_status status = WEFT_OK;
    homes_state state;
    WEFT_TRY_GOTO(state_create(graph, degree, parts, &state), status, done);
    const double edges = (double)state.total / parts, members = (double)graph->vertices / parts;
    state.progress = log_progress_begin("stream, homes of vertices", "rows", 2.0 * PASSES * (double)graph->vertices);
    propagate(&state, (int64_t)edges, (int64_t)members + 1);
    WEFT_TRY_GOTO(clusters_to_parts(&state, parts), status, done);
    propagate(&state, (int64_t)(EDGE_SLACK * edges), (int64_t)(VERTEX_SLACK * members) + 1);
    log_progress_end(&state.progress);
    for (int64_t v = 0; v < graph->vertices; ++v) {
        assert(state.label[v] < parts);
        home[v] = (uint16_t)state.label[v];
    }
done:
    state_free(&state);
    return status;
}
