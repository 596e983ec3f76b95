/* partition/order/propagate.c: see partition/order/propagate.h. */
#include "partition/order/propagate.h"

#include <assert.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"

enum {
    BLOCKS = 8,
    ROUNDS = 8,
    SAMPLE = 256,         /* neighbours looked at: evenly spaced ones of longer rows */
    TABLE = 4096,         /* slots of the table of labels around a vertex */
    TABLE_USED_MAX = 2048 /* further labels are ignored: they weigh little */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Labels around one vertex and their weights; -1 = free slot. */
typedef struct label_table {
    int32_t label[TABLE];
    int64_t weight[TABLE];
    int32_t used[TABLE_USED_MAX];
    int count;
} label_table;

typedef struct propagation {
    const cluster_graph *graph;
    int64_t limit;
    uint64_t seed;
    int32_t *label;
    int64_t *held;      /* [vertices] size of each label's cluster */
    int32_t *wish;      /* [vertices / BLOCKS + 1] */
    label_table *table; /* [threads] */
    int threads;
} propagation;

static int64_t size_of(const cluster_graph *graph, int64_t v)
{
    return graph->size == NULL ? 1 : graph->size[v];
}

static void table_add(label_table *table, int32_t label, int64_t weight)
{
    assert(label >= 0);
    uint32_t slot = (uint32_t)((uint32_t)label * UINT32_C(2654435769)) / (UINT32_MAX / TABLE + 1);
    while (table->label[slot] >= 0 && table->label[slot] != label) {
        slot = (slot + 1) % TABLE;
    }
    if (table->label[slot] < 0) {
        if (table->count == TABLE_USED_MAX) {
            return;
        }
        table->label[slot] = label;
        table->weight[slot] = 0;
        table->used[table->count++] = (int32_t)slot;
    }
    table->weight[slot] += weight;
}

static void gather_labels(const propagation *state, int64_t v, label_table *table)
{
    const cluster_graph *graph = state->graph;
    int64_t begin = graph->offset[v], count = graph->offset[v + 1] - begin;
    int64_t step = graph->weight == NULL && count > SAMPLE ? count / SAMPLE : 1;
    for (int64_t e = begin; e < begin + count; e += step) {
        int64_t u = graph->neighbour[e];
        if (u != v) {
            table_add(table, state->label[u], graph->weight == NULL ? 1 : graph->weight[e]);
        }
    }
}

/* The heaviest label with room; the own one when none is heavier, and otherwise ties go by a hash of label and round,
 * so that vertices with common neighbours meet. Empties the table. */
static int32_t best_label(const propagation *state, int64_t v, uint64_t salt, label_table *table)
{
    int32_t own = state->label[v], best = own;
    int64_t best_weight = 0, size = size_of(state->graph, v);
    uint64_t best_hash = 0;
    for (int i = 0; i < table->count; ++i) {
        int32_t label = table->label[table->used[i]];
        int64_t weight = table->weight[table->used[i]];
        uint64_t hash = label == own ? 0 : mix(salt ^ (uint64_t)label) | 1;
        bool open = label == own || state->held[label] + size <= state->limit;
        if (open && (weight > best_weight || (weight == best_weight && hash < best_hash))) {
            best = label;
            best_weight = weight;
            best_hash = hash;
        }
        table->label[table->used[i]] = -1;
    }
    table->count = 0;
    return best;
}

static int64_t block_size(int64_t vertices, int64_t block)
{
    return vertices > block ? (vertices - block - 1) / BLOCKS + 1 : 0;
}

static int64_t run_block(propagation *state, int64_t block, uint64_t salt)
{
    int64_t count = block_size(state->graph->vertices, block), moved = 0;
#pragma omp parallel num_threads(split_threads(8 * count, state->threads))
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_even(count, t + 1, team);
        for (int64_t i = split_even(count, t, team); i < end; ++i) {
            gather_labels(state, block + i * BLOCKS, &state->table[t]);
            state->wish[i] = best_label(state, block + i * BLOCKS, salt, &state->table[t]);
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t v = block + i * BLOCKS, size = size_of(state->graph, v);
        int32_t from = state->label[v], to = state->wish[i];
        assert(to >= 0 && to < state->graph->vertices);
        if (to != from && state->held[to] + size <= state->limit) {
            state->held[from] -= size;
            state->held[to] += size;
            state->label[v] = to;
            ++moved;
        }
    }
    return moved;
}

/* Consecutive numbers in the order of first appearance. */
static int64_t renumber(int64_t vertices, int32_t *label, int64_t *number)
{
    int64_t clusters = 0;
    for (int64_t v = 0; v < vertices; ++v) {
        number[v] = -1;
    }
    for (int64_t v = 0; v < vertices; ++v) {
        assert(label[v] >= 0 && label[v] < vertices);
        if (number[label[v]] < 0) {
            number[label[v]] = clusters++;
        }
        label[v] = (int32_t)number[label[v]];
    }
    return clusters;
}

weft_status propagate_labels(const cluster_graph *graph, int64_t limit, uint64_t seed, int threads, int32_t *label,
                             int64_t *clusters)
{
    weft_status status = WEFT_OK;
    int64_t n = graph->vertices, moved = n;
    propagation state = {.graph = graph, .limit = limit, .seed = seed, .label = label, .threads = threads};
    WEFT_TRY_GOTO(WEFT_NEW(&state.held, n, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.wish, n / BLOCKS + 1, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.table, threads, WEFT_MEM_PARTITION), status, done);
    for (int t = 0; t < threads; ++t) {
        state.table[t].count = 0;
        for (int i = 0; i < TABLE; ++i) {
            state.table[t].label[i] = -1;
        }
    }
    for (int64_t v = 0; v < n; ++v) {
        label[v] = (int32_t)v;
        state.held[v] = size_of(graph, v);
    }
    for (int round = 0; round < ROUNDS && moved > n / 100; ++round) {
        moved = 0;
        for (int64_t block = 0; block < BLOCKS; ++block) {
            moved += run_block(&state, block, mix(seed + (uint64_t)round + 1));
        }
    }
    *clusters = renumber(n, label, state.held);
done:
    WEFT_FREE_ALL(state.table, state.wish, state.held);
    return status;
}
