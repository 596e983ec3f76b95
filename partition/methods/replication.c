/* partition/methods/replication.c: see partition/methods/replication.h. */
#include "partition/methods/replication.h"

#include <assert.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"

static void mark(uint64_t *row, int part)
{
    uint64_t bit = UINT64_C(1) << (part % 64);
    uint64_t *word = &row[part / 64];
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) {
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    }
}

static int32_t *count_of(const replica_table *table, int64_t v, int part)
{
    const uint64_t *row = table->held + v * table->words;
    int rank = 0;
    for (int w = 0; w < part / 64; ++w) {
        rank += __builtin_popcountll(row[w]);
    }
    assert((row[part / 64] >> (part % 64) & 1) != 0); /* marked before it is counted */
    rank += __builtin_popcountll(row[part / 64] & ((UINT64_C(1) << (part % 64)) - 1));
    return &table->edges[table->first[v] + rank];
}

/* A symmetric graph shows every edge of v in row v, so the source side is left alone there. */
static void mark_all(const weft_graph *graph, const weft_partition *partition, int threads, replica_table *table)
{
    const bool both = !graph->symmetric;
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_rows(graph->offset, graph->vertices, t + 1, team);
        for (int64_t v = split_rows(graph->offset, graph->vertices, t, team); v < end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                int part = partition->edge_part[e];
                int64_t u = graph_source(graph, e);
                if (u == v || part == PARTITION_NO_PART) {
                    continue;
                }
                mark(table->held + v * table->words, part);
                if (both) {
                    mark(table->held + u * table->words, part);
                }
            }
        }
    }
}

static void count_all(const weft_graph *graph, const weft_partition *partition, int threads, replica_table *table)
{
    const bool both = !graph->symmetric;
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_rows(graph->offset, graph->vertices, t + 1, team);
        for (int64_t v = split_rows(graph->offset, graph->vertices, t, team); v < end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                int part = partition->edge_part[e];
                int64_t u = graph_source(graph, e);
                if (u == v || part == PARTITION_NO_PART) {
                    continue;
                }
                if (both) {
                    __atomic_fetch_add(count_of(table, v, part), 1, __ATOMIC_RELAXED);
                    __atomic_fetch_add(count_of(table, u, part), 1, __ATOMIC_RELAXED);
                } else {
                    ++*count_of(table, v, part);
                }
            }
        }
    }
}

weft_status replica_table_build(const weft_graph *graph, const weft_partition *partition, int threads,
                                replica_table *table)
{
    weft_status status = WEFT_OK;
    *table = (replica_table){.vertices = graph->vertices, .words = (partition->parts + 63) / 64};
    threads = split_threads(graph->edges, threads);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&table->held, table->vertices * table->words, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&table->first, table->vertices + 1, WEFT_MEM_PARTITION), status, done);
    mark_all(graph, partition, threads, table);
    int64_t sum = 0;
    for (int64_t v = 0; v < table->vertices; ++v) {
        table->first[v] = sum;
        for (int w = 0; w < table->words; ++w) {
            sum += __builtin_popcountll(table->held[v * table->words + w]);
        }
    }
    table->first[table->vertices] = sum;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&table->edges, sum, WEFT_MEM_PARTITION), status, done);
    count_all(graph, partition, threads, table);
done:
    if (status != WEFT_OK) {
        replica_table_free(table);
    }
    return status;
}

void replica_table_free(replica_table *table)
{
    weft_free(table->held);
    weft_free(table->first);
    weft_free(table->edges);
    *table = (replica_table){0};
}
