/*
 * partition/methods/root.c: which of its replicas computes a vertex.
 *
 * The root carries the dense work, so parts should hold equally many; and the root should be where most of the vertex's
 * edges are. A vertex held once has no choice. Split vertices then take, in id order, the part with most of their edges
 * among those below the mean number of roots + 5 %, or the least filled part that holds them when all are full. A part
 * left with fewer roots than the mean is filled up from the others' split vertices. Isolated vertices go where
 * roots are fewest. No choice adds a replica. Sequential over vertices: O(replicas).
 */
#include "partition/methods/root.h"

#include <assert.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"
#include "partition/methods/replication.h"

#define ROOT_SLACK 1.05

typedef struct root_state {
    const replica_table *table;
    uint16_t *root;
    int64_t *count; /* [parts] roots so far */
    int parts;
} root_state;

static int64_t replicas(const replica_table *table, int64_t v)
{
    return table->first[v + 1] - table->first[v];
}

/* The held part below `limit` roots with most edges, else the held part with the fewest roots. */
static int best_part(const root_state *state, int64_t v, int64_t limit)
{
    const replica_table *table = state->table;
    int best = -1, emptiest = -1;
    int32_t best_edges = -1;
    int64_t at = table->first[v];
    for (int w = 0; w < table->words; ++w) {
        for (uint64_t bits = table->held[v * table->words + w]; bits != 0; bits &= bits - 1) {
            int part = 64 * w + __builtin_ctzll(bits);
            int32_t edges = table->edges[at++];
            if (state->count[part] < limit && edges > best_edges) {
                best = part;
                best_edges = edges;
            }
            if (emptiest < 0 || state->count[part] < state->count[emptiest]) {
                emptiest = part;
            }
        }
    }
    assert(emptiest >= 0 && at == table->first[v + 1]);
    return best >= 0 ? best : emptiest;
}

static void place_all(root_state *state, int64_t limit)
{
    const replica_table *table = state->table;
    for (int64_t v = 0; v < table->vertices; ++v) {
        if (replicas(table, v) == 1) {
            state->root[v] = (uint16_t)best_part(state, v, INT64_MAX);
            ++state->count[state->root[v]];
        }
    }
    for (int64_t v = 0; v < table->vertices; ++v) {
        if (replicas(table, v) > 1) {
            state->root[v] = (uint16_t)best_part(state, v, limit);
            ++state->count[state->root[v]];
        }
    }
}

/* Move roots of split vertices from parts above the mean to parts below it, until nothing moves (at most 4 rounds). */
static void even_out(root_state *state, int64_t mean)
{
    const replica_table *table = state->table;
    int64_t moved = 1;
    for (int round = 0; round < 4 && moved > 0; ++round) {
        moved = 0;
        for (int64_t v = 0; v < table->vertices; ++v) {
            if (replicas(table, v) < 2 || state->count[state->root[v]] <= mean) {
                continue;
            }
            int to = best_part(state, v, mean);
            if (state->count[to] < mean) {
                --state->count[state->root[v]];
                ++state->count[to];
                state->root[v] = (uint16_t)to;
                ++moved;
            }
        }
    }
}

/* Isolated vertices fill the parts with the fewest roots: level by level, parts ascending. */
static void place_isolated(root_state *state)
{
    const replica_table *table = state->table;
    int part = 0;
    int64_t level = INT64_MAX;
    for (int p = 0; p < state->parts; ++p) {
        level = state->count[p] < level ? state->count[p] : level;
    }
    for (int64_t v = 0; v < table->vertices; ++v) {
        if (replicas(table, v) > 0) {
            continue;
        }
        while (state->count[part] > level) {
            part = part + 1 < state->parts ? part + 1 : 0;
            level += part == 0 ? 1 : 0;
        }
        state->root[v] = (uint16_t)part;
        ++state->count[part];
    }
}

/* An edge without a part is a self-loop. */
static void place_self_loops(const weft_graph *graph, int threads, weft_partition *partition)
{
#pragma omp parallel num_threads(split_threads(graph->edges, threads))
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_rows(graph->offset, graph->vertices, t + 1, team);
        for (int64_t v = split_rows(graph->offset, graph->vertices, t, team); v < end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                if (partition->edge_part[e] == PARTITION_NO_PART) {
                    partition->edge_part[e] = partition->root[v];
                }
            }
        }
    }
}

weft_status partition_choose_roots(const weft_graph *graph, int threads, weft_partition *partition)
{
    weft_status status = WEFT_OK;
    replica_table table = {0};
    root_state state = {.table = &table, .root = partition->root, .parts = partition->parts};
    int64_t mean = (graph->vertices + partition->parts - 1) / partition->parts;
    WEFT_TRY_GOTO(replica_table_build(graph, partition, threads, &table), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.count, partition->parts, WEFT_MEM_PARTITION), status, done);
    place_all(&state, (int64_t)((double)mean * ROOT_SLACK) + 1);
    place_isolated(&state);
    even_out(&state, mean);
    place_self_loops(graph, threads, partition);
done:
    weft_free(state.count);
    replica_table_free(&table);
    return status;
}
