/* partition/cover/adjacency.c: see partition/cover/adjacency.h. */
#include "partition/cover/adjacency.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"

enum { BUILD_THREADS = 8 }; /* every thread reads all pairs */

/* Each thread fills its own range of rows: smaller neighbours from a walk over all pairs, then its own larger ones. */
static void fill_rows(const pair_list *list, const int64_t *offset, int threads, int64_t *next, int32_t *neighbour)
{
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t low = split_rows(offset, list->vertices, t, team);
        int64_t high = split_rows(offset, list->vertices, t + 1, team);
        for (int64_t u = 0; u < high; ++u) {
            for (int64_t i = list->offset[u]; i < list->offset[u + 1]; ++i) {
                int64_t v = list->other[i];
                if (v >= low && v < high) {
                    neighbour[next[v]++] = (int32_t)u;
                }
            }
        }
        for (int64_t v = low; v < high; ++v) {
            for (int64_t i = list->offset[v]; i < list->offset[v + 1]; ++i) {
                neighbour[next[v]++] = list->other[i];
            }
            assert(next[v] == offset[v + 1]);
        }
    }
}

static weft_status build(const pair_list *list, int threads, adjacency *adjacent)
{
    weft_status status = WEFT_OK;
    int32_t *degree = NULL;
    int64_t *next = NULL, n = list->vertices;
    WEFT_TRY_GOTO(pair_list_degrees(list, threads, &degree), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&adjacent->own_offset, n + 1, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&adjacent->own_neighbour, 2 * list->pairs, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&next, n + 1, WEFT_MEM_PARTITION), status, done);
    adjacent->own_offset[0] = 0;
    for (int64_t v = 0; v < n; ++v) {
        adjacent->own_offset[v + 1] = adjacent->own_offset[v] + degree[v];
    }
    memcpy(next, adjacent->own_offset, (size_t)(n + 1) * sizeof next[0]);
    threads = split_threads(list->pairs, threads);
    fill_rows(list, adjacent->own_offset, threads < BUILD_THREADS ? threads : BUILD_THREADS, next,
              adjacent->own_neighbour);
    adjacent->offset = adjacent->own_offset;
    adjacent->neighbour = adjacent->own_neighbour;
done:
    WEFT_FREE_ALL(next, degree);
    return status;
}

weft_status adjacency_build(const weft_graph *graph, const pair_list *list, int threads, adjacency *adjacent)
{
    assert(list->vertices == graph->vertices);
    *adjacent = (adjacency){.vertices = list->vertices, .entries = 2 * list->pairs};
    if (graph->symmetric && graph->source64 == NULL && graph->edges == adjacent->entries) {
        adjacent->offset = graph->offset; /* neither self-loops nor duplicates, or there would be more edges */
        adjacent->neighbour = graph->source32;
        return WEFT_OK;
    }
    weft_status status = build(list, threads, adjacent);
    if (status != WEFT_OK) {
        adjacency_free(adjacent);
    }
    return status;
}

/* Whether the row is that of a set of pairs. */
static bool row_is_plain(const weft_graph *graph, int64_t v)
{
    const int32_t *source = graph->source32;
    const int64_t begin = graph->offset[v], end = graph->offset[v + 1];
    bool plain = begin == end || source[begin] != v;
    for (int64_t e = begin + 1; e < end; ++e) {
        plain &= (source[e - 1] < source[e]) & (source[e] != v);
    }
    return plain;
}

bool adjacency_borrow(const weft_graph *graph, int threads, adjacency *adjacent)
{
    bool plain = graph->symmetric && graph->source32 != NULL;
    *adjacent = (adjacency){.vertices = graph->vertices, .entries = graph->edges};
    if (!plain) {
        return false;
    }
#pragma omp parallel num_threads(split_threads(graph->edges, threads)) reduction(&& : plain)
    {
        OWN_ROWS(v, graph->offset, graph->vertices) {
            plain = plain && row_is_plain(graph, v);
        }
    }
    adjacent->offset = graph->offset;
    adjacent->neighbour = graph->source32;
    return plain;
}

void adjacency_free(adjacency *adjacent)
{
    WEFT_FREE_ALL(adjacent->own_offset, adjacent->own_neighbour);
    *adjacent = (adjacency){0};
}
