/*
 * gnn/data/reader_csr.c: an edge list sorted into CSR.
 *
 *   count    row lengths, in one pass over the edges
 *   fill     each entry into its row, in whatever order the threads come
 *   sort     each row by id (in-place radix sort by bytes, the "American flag" sort of McIlroy, Bostic and McIlroy,
 *            Engineering Radix Sort, Computing Systems 1993), duplicates removed
 *   compact  rows moved together
 *
 * Sorting makes the result independent of the order of filling, so of the threads. Memory besides input and result: one
 * int64 a vertex. Cost: O(e) for any input; no comparison sort that a crafted file could drive into its worst case.
 */
#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/data/reader.h"

enum { SMALL = 48, DIGITS = 256 };

typedef struct edge_list {
    int64_t vertices, edges;
    const int32_t *from, *to;
    bool add_reverse, keep_self_loops;
} edge_list;

static weft_status check_ids(const edge_list *list)
{
    int64_t first = list->edges;
    int32_t n = (int32_t)list->vertices;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (int64_t e = 0; e < list->edges; e++) {
        bool good = list->from[e] >= 0 && list->from[e] < n && list->to[e] >= 0 && list->to[e] < n;
        if (!good && e < first) {
            first = e;
        }
    }
    WEFT_CHECK(first == list->edges, WEFT_ERR_DATA, "edge %" PRId64 ": (%d, %d): vertices are 0 to %d", first,
               list->from[first], list->to[first], n - 1);
    return WEFT_OK;
}

static void count_rows(const edge_list *list, int64_t *count)
{
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < list->edges; e++) {
        int32_t u = list->from[e];
        int32_t v = list->to[e];
        if (u == v && !list->keep_self_loops) {
            continue;
        }
#pragma omp atomic
        count[v]++;
        if (list->add_reverse && u != v) {
#pragma omp atomic
            count[u]++;
        }
    }
}

static void put_entry(int64_t *cursor, int32_t row, int32_t id, int32_t *source)
{
    int64_t at;
#pragma omp atomic capture
    at = cursor[row]++;
    source[at] = id;
}

static void fill_rows(const edge_list *list, int64_t *cursor, int32_t *source)
{
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < list->edges; e++) {
        int32_t u = list->from[e];
        int32_t v = list->to[e];
        if (u == v && !list->keep_self_loops) {
            continue;
        }
        put_entry(cursor, v, u, source);
        if (list->add_reverse && u != v) {
            put_entry(cursor, u, v, source);
        }
    }
}

static void insertion_sort(int32_t *a, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        int32_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}

/* Sort by the byte at `shift`, then each bucket by the byte below it: at most four levels deep. */
static void sort_row(int32_t *a, int64_t count, int shift) /* NOLINT(misc-no-recursion) */
{
    if (count <= SMALL) {
        insertion_sort(a, count);
        return;
    }
    int64_t next[DIGITS];
    int64_t end[DIGITS] = {0};
    for (int64_t i = 0; i < count; i++) {
        end[a[i] >> shift & 255]++;
    }
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; d++) {
        next[d] = sum;
        sum += end[d];
        end[d] = sum;
    }
    for (int d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            int32_t x = a[next[d]];
            int digit = x >> shift & 255;
            while (digit != d) { /* carry x to its bucket, pick up what lies there */
                int32_t y = a[next[digit]];
                a[next[digit]++] = x;
                x = y;
                digit = x >> shift & 255;
            }
            a[next[d]++] = x;
        }
    }
    for (int d = 0; d < DIGITS && shift > 0; d++) {
        int64_t start = d > 0 ? end[d - 1] : 0;
        sort_row(a + start, end[d] - start, shift - 8);
    }
}

static int64_t remove_duplicates(int32_t *a, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || a[i] != a[i - 1]) {
            a[kept++] = a[i];
        }
    }
    return kept;
}

/* The first row that starts at or after entry `goal`. */
static int64_t row_at(const int64_t *offset, int64_t vertices, int64_t goal)
{
    int64_t low = 0;
    int64_t high = vertices;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (offset[middle] < goal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Sort every row and leave its new length in length[]; rows are split between threads by entries. */
static void sort_rows(const int64_t *offset, int64_t vertices, int32_t *source, int64_t *length)
{
    int shift = vertices > 1 << 24 ? 24 : vertices > 1 << 16 ? 16 : vertices > 1 << 8 ? 8 : 0;
#pragma omp parallel
    {
        int64_t entries = offset[vertices];
        int64_t threads = omp_get_num_threads();
        int64_t t = omp_get_thread_num();
        int64_t begin = t == 0 ? 0 : row_at(offset, vertices, entries / threads * t);
        int64_t end = t == threads - 1 ? vertices : row_at(offset, vertices, entries / threads * (t + 1));
        for (int64_t v = begin; v < end; v++) {
            int32_t *row = source + offset[v];
            int64_t count = offset[v + 1] - offset[v];
            sort_row(row, count, shift);
            length[v] = remove_duplicates(row, count);
        }
    }
}

static void compact(int64_t *offset, int64_t vertices, const int64_t *length, int32_t *source)
{
    int64_t to = 0;
    for (int64_t v = 0; v < vertices; v++) {
        int64_t from = offset[v];
        if (from != to && length[v] > 0) {
            memmove(source + to, source + from, (size_t)length[v] * sizeof *source);
        }
        offset[v] = to;
        to += length[v];
    }
    offset[vertices] = to;
}

static bool is_symmetric(int64_t vertices, const int64_t *offset, const int32_t *source)
{
    weft_graph graph = {.vertices = vertices, .edges = offset[vertices], .offset = offset, .source32 = source};
    int64_t row;
    return offset[vertices] == 0 || graph_first_one_way(&graph, &row) < 0;
}

weft_status reader_build_csr(int64_t vertices, int64_t edges, const int32_t *from, const int32_t *to, bool add_reverse,
                             bool keep_self_loops, int64_t **offset, int32_t **source, int64_t *entries,
                             bool *symmetric)
{
    *offset = NULL;
    *source = NULL;
    WEFT_CHECK(vertices >= 1 && vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%" PRId64 " vertices; 1 to 2147483647 are supported", vertices);
    edge_list list = {.vertices = vertices,
                      .edges = edges,
                      .from = from,
                      .to = to,
                      .add_reverse = add_reverse,
                      .keep_self_loops = keep_self_loops};
    WEFT_TRY(check_ids(&list));
    int64_t *start = NULL;
    int64_t *cursor = NULL;
    int32_t *ids = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&start, vertices + 1, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&cursor, vertices, WEFT_MEM_WORKSPACE), status, done);
    count_rows(&list, start + 1);
    for (int64_t v = 0; v < vertices; v++) {
        cursor[v] = start[v];
        start[v + 1] += start[v];
    }
    WEFT_TRY_GOTO(WEFT_NEW(&ids, start[vertices], WEFT_MEM_GRAPH), status, done);
    fill_rows(&list, cursor, ids);
    sort_rows(start, vertices, ids, cursor);
    compact(start, vertices, cursor, ids);
    *entries = start[vertices];
    *symmetric = add_reverse || is_symmetric(vertices, start, ids);
    *offset = start;
    *source = ids;
    start = NULL;
    ids = NULL;
done:
    weft_free(cursor);
    weft_free(start);
    weft_free(ids);
    return status;
}
