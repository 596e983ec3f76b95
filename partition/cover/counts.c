/* partition/cover/counts.c: see partition/cover/counts.h. */
#include "partition/cover/counts.h"

#include <assert.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/shares.h"

static weft_status layout(const pair_list *list, const int32_t *degree, part_counts *counts)
{
    int parts = counts->parts;
    WEFT_TRY(WEFT_NEW(&counts->row, list->vertices, WEFT_MEM_PARTITION));
    for (int64_t v = 0; v < list->vertices; ++v) {
        bool dense = parts <= COUNTS_DENSE && degree[v] >= parts;
        counts->row[v] = (counts_row){.first = counts->slots, .used = dense ? -1 : 0, .degree = degree[v]};
        counts->slots += dense ? counts_stride(parts) : (degree[v] < parts ? degree[v] : parts);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&counts->count, counts->slots, WEFT_MEM_PARTITION));
    return WEFT_NEW(&counts->part, counts->slots, WEFT_MEM_PARTITION);
}

enum { COUNT_THREADS = 8 }; /* every one reads all pairs */

/* first[threads + 1]: the vertices of each thread. What a vertex is in the rows of others, one here and one there,
 * takes FAR times as long as what is in its own. */
static void share_vertices(const pair_list *list, const part_counts *counts, int threads, int64_t *first)
{
    enum { FAR = 4 };
    const int64_t all = (FAR + 1) * list->pairs;
    int64_t cost = 0;
    int t = 0;
    for (int64_t v = 0; v < list->vertices; ++v) {
        for (; t < threads && cost >= split_even(all, t, threads); ++t) {
            first[t] = v;
        }
        const int64_t own = list->offset[v + 1] - list->offset[v];
        cost += own + FAR * (counts->row[v].degree - own);
    }
    for (; t <= threads; ++t) {
        first[t] = list->vertices;
    }
}

/* Each thread counts for its own range of vertices, in the order of the pairs. */
static void count_pairs(const pair_list *list, const uint16_t *pair_part, int threads, part_counts *counts)
{
    int64_t first[COUNT_THREADS + 1];
    threads = split_threads(list->pairs, threads < COUNT_THREADS ? threads : COUNT_THREADS);
    share_vertices(list, counts, threads, first);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; ++t) {
        const int64_t begin = first[t], end = first[t + 1];
        for (int64_t u = 0; u < end; ++u) {
            for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
                const int64_t v = list->other[e];
                assert(pair_part[e] < counts->parts);
                if (u >= begin) {
                    ++counts->count[counts_take_slot(counts, u, pair_part[e])];
                }
                if (v >= begin && v < end) {
                    ++counts->count[counts_take_slot(counts, v, pair_part[e])];
                }
            }
        }
    }
}

/* What parts hold, from the rows: every pair is counted at both ends. */
static void sum_parts(const pair_list *list, part_counts *counts)
{
    for (int64_t v = 0; v < list->vertices; ++v) {
        const bool dense = counts_is_dense(counts, v);
        const int32_t slots = dense ? counts->parts : counts->row[v].used;
        for (int32_t i = 0; i < slots; ++i) {
            const int64_t slot = counts->row[v].first + i;
            const int part = dense ? i : counts->part[slot];
            counts->load[part] += counts->count[slot];
            counts->held[part] += counts->count[slot] > 0 ? 1 : 0;
        }
    }
    for (int p = 0; p < counts->parts; ++p) {
        counts->load[p] /= 2;
        counts->replicas += counts->held[p];
    }
}

weft_status counts_create(const pair_list *list, const uint16_t *pair_part, int parts, int threads, part_counts *counts)
{
    weft_status status = WEFT_OK;
    int32_t *degree = NULL;
    assert(parts >= 1);
    *counts = (part_counts){.parts = parts};
    WEFT_TRY_GOTO(pair_list_degrees(list, threads, &degree), status, done);
    WEFT_TRY_GOTO(layout(list, degree, counts), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&counts->load, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&counts->held, parts, WEFT_MEM_PARTITION), status, done);
    count_pairs(list, pair_part, threads, counts);
    sum_parts(list, counts);
done:
    weft_free(degree);
    if (status != WEFT_OK) {
        counts_free(counts);
    }
    return status;
}

void counts_free(part_counts *counts)
{
    WEFT_FREE_ALL(counts->row, counts->count, counts->part, counts->load, counts->held);
    *counts = (part_counts){0};
}

int64_t counts_largest(const part_counts *counts, const double *share)
{
    return (int64_t)ceil(shares_most(share, counts->parts, counts->held));
}
