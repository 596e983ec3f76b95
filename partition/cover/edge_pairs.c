/* partition/cover/edge_pairs.c: see partition/cover/edge_pairs.h. */
#include "partition/cover/edge_pairs.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/sort.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/partition_options.def"

enum { SPREAD_THREADS = 16 }; /* each needs 4 bytes a vertex */

/* A symmetric graph shows each pair in the row of its smaller vertex; otherwise either row may hold it. */
static bool pair_key(bool symmetric, int64_t v, int64_t u, int64_t *low, int64_t *high)
{
    if (u == v || (symmetric && u < v)) {
        return false;
    }
    *low = u < v ? u : v;
    *high = u < v ? v : u;
    return true;
}

/* count[v] = entries that name a pair of row v, duplicates included. */
static void count_entries(const weft_graph *graph, int threads, int64_t *count)
{
#pragma omp parallel num_threads(threads)
    OWN_ROWS(v, graph->offset, graph->vertices) {
        int64_t own = 0, low = 0, high = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            if (!pair_key(graph->symmetric, v, graph_source(graph, e), &low, &high)) {
                continue;
            }
            if (low == v) {
                ++own;
            } else {
                __atomic_fetch_add(&count[low], 1, __ATOMIC_RELAXED);
            }
        }
        __atomic_fetch_add(&count[v], own, __ATOMIC_RELAXED);
    }
}

/* Place the partners; the order inside a row depends on the threads until the rows are sorted. */
static void place_entries(const weft_graph *graph, int threads, int64_t *next, int32_t *other)
{
#pragma omp parallel num_threads(threads)
    OWN_ROWS(v, graph->offset, graph->vertices) {
        int64_t low = 0, high = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            if (pair_key(graph->symmetric, v, graph_source(graph, e), &low, &high)) {
                other[__atomic_fetch_add(&next[low], 1, __ATOMIC_RELAXED)] = (int32_t)high;
            }
        }
    }
}

/* Sort each row where needed and drop duplicates inside it; kept[v] = partners left. Returns the number dropped. */
static int64_t sort_rows(int64_t n, const int64_t *offset, int threads, int32_t *other, int64_t *kept)
{
    int64_t dropped = 0;
#pragma omp parallel num_threads(threads) reduction(+ : dropped)
    OWN_ROWS(v, offset, n) {
        int32_t *row = other + offset[v];
        int64_t count = offset[v + 1] - offset[v], ascending = 1;
        while (ascending < count && row[ascending - 1] < row[ascending]) {
            ++ascending;
        }
        kept[v] = count;
        if (ascending >= count) {
            continue;
        }
        sort_ids(row, count, n);
        int64_t unique = 1;
        for (int64_t i = 1; i < count; ++i) {
            if (row[i] != row[unique - 1]) {
                row[unique++] = row[i];
            }
        }
        kept[v] = unique;
        dropped += count - unique;
    }
    return dropped;
}

/* Close the gaps that dropped duplicates left. */
static void close_gaps(pair_list *list, const int64_t *kept)
{
    int64_t to = 0;
    for (int64_t v = 0; v < list->vertices; ++v) {
        assert(to <= list->offset[v] && kept[v] >= 0);
        memmove(list->other + to, list->other + list->offset[v], (size_t)kept[v] * sizeof list->other[0]);
        list->offset[v] = to;
        to += kept[v];
    }
    list->offset[list->vertices] = to;
    list->pairs = to;
}

weft_status pair_list_build(const weft_graph *graph, int threads, pair_list *list)
{
    weft_status status = WEFT_OK;
    int64_t *next = NULL, n = graph->vertices;
    *list = (pair_list){.vertices = n};
    WEFT_CHECK(n < INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%lld vertices: this partitioner takes fewer than 2^31; use " FLAG_METHOD " stream", (long long)n);
    threads = split_threads(graph->edges, threads);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&list->offset, n + 1, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&next, n + 1, WEFT_MEM_PARTITION), status, done);
    count_entries(graph, threads, list->offset);
    int64_t sum = 0;
    for (int64_t v = 0; v <= n; ++v) {
        int64_t count = list->offset[v];
        list->offset[v] = sum;
        next[v] = sum;
        sum += count;
    }
    list->pairs = sum;
    WEFT_TRY_GOTO(WEFT_NEW(&list->other, sum, WEFT_MEM_PARTITION), status, done);
    place_entries(graph, threads, next, list->other);
    if (sort_rows(n, list->offset, threads, list->other, next) > 0) {
        close_gaps(list, next);
    }
done:
    weft_free(next);
    if (status != WEFT_OK) {
        pair_list_free(list);
    }
    return status;
}

void pair_list_free(pair_list *list)
{
    WEFT_FREE_ALL(list->offset, list->other);
    *list = (pair_list){0};
}

weft_status pair_list_degrees(const pair_list *list, int threads, int32_t **degree)
{
    WEFT_TRY(WEFT_NEW_ZERO(degree, list->vertices, WEFT_MEM_PARTITION));
    int32_t *d = *degree;
#pragma omp parallel num_threads(split_threads(list->pairs, threads))
    OWN_ROWS(v, list->offset, list->vertices) {
        for (int64_t i = list->offset[v]; i < list->offset[v + 1]; ++i) {
            __atomic_fetch_add(&d[list->other[i]], 1, __ATOMIC_RELAXED);
        }
        __atomic_fetch_add(&d[v], (int32_t)(list->offset[v + 1] - list->offset[v]), __ATOMIC_RELAXED);
    }
    return WEFT_OK;
}

/* First partner of row `low` that is not below `high`. */
static int64_t find_pair(const pair_list *list, int64_t low, int64_t high)
{
    int64_t place = list->offset[low];
    SEARCH_FIRST(place, list->offset[low + 1], list->other[at] < high);
    return place;
}

/* The pair {v, high} of row v, found by moving on from `own` where partners ascend; own: the one behind it. */
static int64_t pair_ahead(const pair_list *list, int64_t v, int64_t high, int64_t *own)
{
    const bool next = *own < list->offset[v + 1] && list->other[*own] == high;
    const int64_t pair = next ? *own : find_pair(list, v, high);
    *own = pair + 1;
    return pair;
}

/* The first row of a thread: an entry of a smaller neighbour, whose pair lies in another row, takes FAR times as long
 * as one of a larger. */
static int64_t spread_begin(const pair_list *list, const weft_graph *graph, int t, int threads)
{
    enum { FAR = 6 };
    const int64_t n = graph->vertices;
    if (!graph->symmetric) {
        return split_rows(graph->offset, n, t, threads);
    }
    const int64_t share = split_even(FAR * graph->edges - (FAR - 1) * list->pairs + n, t, threads);
    int64_t place = 0;
    SEARCH_FIRST(place, n, FAR * graph->offset[at] - (FAR - 1) * list->offset[at] + at < share);
    return t >= threads ? n : place;
}

/* Rows [begin, end) of the graph. Rows come in ascending order, so the partner v of each smaller u is found by moving
 * on from where row u was left: passed[u] partners of u lie below v. Returns an entry that names a pair which is none,
 * or -1. */
static int64_t spread_rows(const pair_list *list, const uint16_t *pair_part, const weft_graph *graph,
                           uint16_t loop_part, int64_t begin, int64_t end, int32_t *passed, uint16_t *edge_part)
{
    for (int64_t u = 0; u < end; ++u) {
        passed[u] = u < begin ? (int32_t)(find_pair(list, u, begin) - list->offset[u]) : 0;
    }
    for (int64_t v = begin; v < end; ++v) {
        int64_t own = list->offset[v];
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int64_t u = graph_source(graph, e);
            if (u == v) {
                edge_part[e] = loop_part;
            } else if (u < v) {
                const int32_t *other = list->other + list->offset[u];
                const int32_t count = (int32_t)(list->offset[u + 1] - list->offset[u]);
                int32_t at = passed[u];
                while (at < count && other[at] < v) {
                    ++at;
                }
                if (at == count || other[at] != v) {
                    return e;
                }
                passed[u] = at;
                edge_part[e] = pair_part[list->offset[u] + at];
            } else {
                const int64_t pair = pair_ahead(list, v, u, &own);
                if (pair >= list->offset[v + 1] || list->other[pair] != u) {
                    return e;
                }
                edge_part[e] = pair_part[pair];
            }
        }
    }
    return -1;
}

weft_status pair_list_spread(const pair_list *list, const uint16_t *pair_part, const weft_graph *graph,
                             uint16_t loop_part, int threads, uint16_t *edge_part)
{
    int32_t *passed = NULL;
    int64_t wrong = -1;
    threads = split_threads(graph->edges, threads < SPREAD_THREADS ? threads : SPREAD_THREADS);
    WEFT_TRY(WEFT_NEW(&passed, threads * graph->vertices, WEFT_MEM_PARTITION));
#pragma omp parallel num_threads(threads) reduction(max : wrong)
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        wrong = spread_rows(list, pair_part, graph, loop_part, spread_begin(list, graph, t, team),
                            spread_begin(list, graph, t + 1, team), passed + t * graph->vertices, edge_part);
    }
    weft_free(passed);
    if (wrong < 0) {
        return WEFT_OK;
    }
    return weft_fail(
        WEFT_ERR_DATA,
        "the graph says that it is symmetric, but vertices %lld and %lld are neighbours in one direction only, "
        "or rows do not ascend: convert it again",
        (long long)graph_row_of(graph, wrong), (long long)graph_source(graph, wrong));
}

void pair_list_collect(const pair_list *list, const uint16_t *edge_part, const weft_graph *graph, int threads,
                       uint16_t *pair_part)
{
#pragma omp parallel num_threads(split_threads(graph->edges, threads))
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_rows(graph->offset, graph->vertices, t + 1, team), low = 0, high = 0;
        for (int64_t v = split_rows(graph->offset, graph->vertices, t, team); v < end; ++v) {
            int64_t own = list->offset[v];
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                if (edge_part[e] == PARTITION_NO_PART ||
                    !pair_key(graph->symmetric, v, graph_source(graph, e), &low, &high)) {
                    continue;
                }
                const int64_t pair = low == v ? pair_ahead(list, v, high, &own) : find_pair(list, low, high);
                __atomic_store_n(&pair_part[pair], edge_part[e], __ATOMIC_RELAXED);
            }
        }
    }
}
