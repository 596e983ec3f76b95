/*
 * graph/graph_validate.c: every invariant of a graph, checked in parallel.
 *
 * Each check is a predicate on one index; a parallel loop takes the smallest index that fails, so that the report does
 * not depend on the number of threads. Cost: one read of every array, plus one walk over the entries with a cursor a
 * row when the graph says that it is symmetric.
 */
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/number.h"
#include "graph/graph.h"

enum { BLOCK = 4096 };
#define EXPONENT 0x7f800000U

typedef bool (*predicate)(const weft_graph *graph, int64_t i);

/* The smallest i < count with !good(i), or count. Blocks past a known failure are skipped. */
static int64_t first_bad(const weft_graph *graph, int64_t count, predicate good)
{
    int64_t blocks = (count + BLOCK - 1) / BLOCK, first = count;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t end = (block + 1) * BLOCK < count ? (block + 1) * BLOCK : count;
        for (int64_t i = block * BLOCK; i < end && i < first; i++) {
            if (!good(graph, i)) {
                first = i;
            }
        }
    }
    return first;
}

static bool offset_ascends(const weft_graph *graph, int64_t v)
{
    return graph->offset[v] <= graph->offset[v + 1];
}

/* Ids of row v in range and strictly ascending. */
static int64_t first_bad_entry(const weft_graph *graph, int64_t v)
{
    int64_t previous = -1;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
        int64_t u = graph_source(graph, e);
        if (u <= previous || u >= graph->vertices) {
            return e;
        }
        previous = u;
    }
    return -1;
}

static bool row_is_good(const weft_graph *graph, int64_t v)
{
    return first_bad_entry(graph, v) < 0;
}

/* Do these two edges weigh the same? */
static bool weigh_alike(const weft_graph *graph, int64_t e, int64_t f)
{
    return graph->weight == NULL || graph->weight[e] == graph->weight[f];
}

/* Entry e of row v has its reverse, of its weight. */
static bool goes_both_ways(const weft_graph *graph, int64_t v, int64_t e)
{
    const int64_t u = graph_source(graph, e), f = graph_first_from(graph, u, v);
    return f < graph->offset[u + 1] && graph_source(graph, f) == v && weigh_alike(graph, e, f);
}

/* The first of the entries begin .. end - 1, all of row v, whose reverse is missing or weighs other, or -1. */
static int64_t first_one_way_among(const weft_graph *graph, int64_t v, int64_t begin, int64_t end)
{
    for (int64_t e = begin; e < end; e++) {
        if (!goes_both_ways(graph, v, e)) {
            return e;
        }
    }
    return -1;
}

static bool row_goes_both_ways(const weft_graph *graph, int64_t v)
{
    return first_one_way_among(graph, v, graph->offset[v], graph->offset[v + 1]) < 0;
}

/* Rows [begin, end) walked in order meet, in every row u, the entries [begin, end) in order: one cursor a row proves
 * that each entry u -> v has its reverse, without searching. */
static bool rows_go_both_ways(const weft_graph *graph, int64_t begin, int64_t end, int64_t *cursor)
{
    for (int64_t u = 0; u < graph->vertices; u++) {
        cursor[u] = graph_first_from(graph, u, begin);
    }
    for (int64_t v = begin; v < end; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            if (cursor[u] == graph->offset[u + 1] || graph_source(graph, cursor[u]) != v ||
                !weigh_alike(graph, e, cursor[u])) {
                return false;
            }
            cursor[u]++;
        }
    }
    return true;
}

/* First row of the i-th of `parts` ranges of rows with equal entries. */
static int64_t range_start(const weft_graph *graph, int parts, int i)
{
    int64_t place = 0, target = graph->edges / parts * i;
    SEARCH_FIRST(place, graph->vertices, graph->offset[at] < target);
    return i < parts ? place : graph->vertices;
}

static bool every_entry_goes_both_ways(const weft_graph *graph)
{
    /* The cursors of all parts take no more than the ids of the edges do, whatever the threads. */
    int64_t fit = 1 + graph->edges / (2 * graph->vertices + 1);
    int parts = fit < omp_get_max_threads() ? (int)fit : omp_get_max_threads();
    int64_t *cursor = NULL;
    if (WEFT_NEW(&cursor, parts * graph->vertices, WEFT_MEM_WORKSPACE) != WEFT_OK) {
        return false; /* the search below needs no memory */
    }
    int failed = 0;
#pragma omp parallel for schedule(static) reduction(+ : failed) num_threads(parts)
    for (int i = 0; i < parts; i++) {
        failed += !rows_go_both_ways(graph, range_start(graph, parts, i), range_start(graph, parts, i + 1),
                                     cursor + i * graph->vertices);
    }
    weft_free(cursor);
    return failed == 0;
}

int64_t graph_first_one_way(const weft_graph *graph, int64_t *row)
{
    /* Only a graph that is not symmetric pays for the search of its first offender. */
    int64_t n = graph->vertices;
    if (every_entry_goes_both_ways(graph)) {
        return -1;
    }
    *row = first_bad(graph, n, row_goes_both_ways);
    if (*row == n) {
        return -1;
    }
    return first_one_way_among(graph, *row, graph->offset[*row], graph->offset[*row + 1]);
}

static bool weight_is_good(const weft_graph *graph, int64_t e)
{
    const float weight = graph->weight[e];
    return weight == 0.0F || (weight >= FLT_MIN && weight <= FLT_MAX); /* not of NaN */
}

static bool label_is_good(const weft_graph *graph, int64_t v)
{
    return graph->label[v] >= -1 && graph->label[v] < graph->classes;
}

static bool target_is_good(const weft_graph *graph, int64_t i)
{
    return !isinf(graph->target[i]); /* NaN = unlabelled */
}

static bool split_is_good(const weft_graph *graph, int64_t v)
{
    return graph->split[v] <= 2 || graph->split[v] == 255;
}

static bool feature_offset_ascends(const weft_graph *graph, int64_t v)
{
    return graph->feature_offset[v] <= graph->feature_offset[v + 1];
}

/* The first of the sparse features of row v whose column is out of range, or not above the one before; or -1. */
static int64_t first_bad_column(const weft_graph *graph, int64_t v)
{
    int64_t previous = -1;
    for (int64_t i = graph->feature_offset[v]; i < graph->feature_offset[v + 1]; i++) {
        const int64_t column = graph->feature_column[i];
        if (column <= previous || column >= graph->features) {
            return i;
        }
        previous = column;
    }
    return -1;
}

static bool columns_are_good(const weft_graph *graph, int64_t v)
{
    return first_bad_column(graph, v) < 0;
}

static bool feature_value_is_good(const weft_graph *graph, int64_t i)
{
    return isfinite(graph->feature_value[i]);
}

static bool features_are_good(const weft_graph *graph, int64_t v)
{
    assert(graph->features > 0);
    const float *row = graph->feature + v * graph->features;
    uint32_t bad = 0;
    for (int64_t j = 0; j < graph->features; j++) {
        uint32_t bits;
        memcpy(&bits, &row[j], sizeof bits);
        bad |= (uint32_t)((bits & EXPONENT) == EXPONENT); /* infinite or NaN; a loop that vectorises */
    }
    return bad == 0;
}

static weft_status check_structure(const weft_graph *graph)
{
    const char *name = graph->name;
    int64_t n = graph->vertices;
    WEFT_CHECK(graph->offset[0] == 0, WEFT_ERR_DATA, "graph '%s': offset, row 0: %" PRId64 ", expected 0", name,
               graph->offset[0]);
    int64_t v = first_bad(graph, n, offset_ascends);
    WEFT_CHECK(v == n, WEFT_ERR_DATA,
               "graph '%s': offset, row %" PRId64 ": %" PRId64 " is followed by %" PRId64 "; it must ascend", name, v,
               graph->offset[v], graph->offset[v + 1]);
    WEFT_CHECK(graph->offset[n] == graph->edges, WEFT_ERR_DATA,
               "graph '%s': offset, row %" PRId64 ": %" PRId64 ", expected %" PRId64 " (the edges)", name, n,
               graph->offset[n], graph->edges);
    v = first_bad(graph, n, row_is_good);
    if (v < n) {
        int64_t e = first_bad_entry(graph, v), u = graph_source(graph, e);
        WEFT_CHECK(u >= 0 && u < n, WEFT_ERR_DATA,
                   "graph '%s': source, entry %" PRId64 " (row %" PRId64 "): vertex %" PRId64 " is outside 0..%" PRId64,
                   name, e, v, u, n - 1);
        return weft_fail(WEFT_ERR_DATA,
                         "graph '%s': source, entry %" PRId64 " (row %" PRId64 "): vertex %" PRId64 " after %" PRId64
                         "; the ids of a row must ascend, each once",
                         name, e, v, u, graph_source(graph, e - 1));
    }
    if (graph->weight != NULL) {
        const int64_t e = first_bad(graph, graph->edges, weight_is_good);
        WEFT_CHECK(e == graph->edges, WEFT_ERR_DATA,
                   "graph '%s': weight, entry %" PRId64 ": %g; weights are 0, or from %g to %g", name, e,
                   number_plain((double)graph->weight[e]), (double)FLT_MIN, (double)FLT_MAX);
    }
    if (graph->symmetric) {
        int64_t e = graph_first_one_way(graph, &v);
        WEFT_CHECK(e < 0 || graph->weight == NULL, WEFT_ERR_DATA,
                   "graph '%s': source, entry %" PRId64 ": the edge %" PRId64 " -> %" PRId64
                   " has no reverse of its weight (%g), but the graph says that it is symmetric",
                   name, e, graph_source(graph, e), v, number_plain((double)graph->weight[e]));
        WEFT_CHECK(e < 0, WEFT_ERR_DATA,
                   "graph '%s': source, entry %" PRId64 ": the edge %" PRId64 " -> %" PRId64
                   " has no reverse, but the graph says that it is symmetric",
                   name, e, graph_source(graph, e), v);
    }
    return WEFT_OK;
}

static weft_status check_sparse_features(const weft_graph *graph)
{
    const int64_t n = graph->vertices;
    int64_t v = first_bad(graph, n, feature_offset_ascends);
    WEFT_CHECK(v == n, WEFT_ERR_DATA,
               "graph '%s': feature_offset, row %" PRId64 ": %" PRId64 " is followed by %" PRId64 "; it must ascend",
               graph->name, v, graph->feature_offset[v], graph->feature_offset[v + 1]);
    v = first_bad(graph, n, columns_are_good);
    if (v < n) {
        const int64_t i = first_bad_column(graph, v);
        return weft_fail(WEFT_ERR_DATA,
                         "graph '%s': feature_column, entry %" PRId64 " (row %" PRId64
                         "): column %d; the columns of a row ascend, each once, from 0 to %" PRId64,
                         graph->name, i, v, graph->feature_column[i], graph->features - 1);
    }
    const int64_t numbers = graph->feature_offset[n];
    const int64_t i = first_bad(graph, numbers, feature_value_is_good);
    WEFT_CHECK(i == numbers, WEFT_ERR_DATA, "graph '%s': feature_value, entry %" PRId64 ": %g is not finite",
               graph->name, i, number_plain((double)graph->feature_value[i]));
    return WEFT_OK;
}

static weft_status check_features(const weft_graph *graph)
{
    int64_t v = first_bad(graph, graph->vertices, features_are_good);
    if (v == graph->vertices) {
        return WEFT_OK;
    }
    int64_t j = 0;
    while (isfinite(graph->feature[v * graph->features + j])) {
        j++;
    }
    return weft_fail(WEFT_ERR_DATA, "graph '%s': feature, row %" PRId64 ", column %" PRId64 ": %g is not finite",
                     graph->name, v, j, number_plain((double)graph->feature[v * graph->features + j]));
}

weft_status graph_validate_labels(const weft_graph *graph)
{
    int64_t n = graph->vertices;
    if (graph->label != NULL) {
        int64_t v = first_bad(graph, n, label_is_good);
        WEFT_CHECK(v == n, WEFT_ERR_DATA,
                   "graph '%s': label, row %" PRId64 ": %d is outside -1..%" PRId64 " (-1 = unlabelled)", graph->name,
                   v, graph->label[v], graph->classes - 1);
    }
    if (graph->target != NULL) {
        int64_t i = first_bad(graph, n * graph->tasks, target_is_good);
        WEFT_CHECK(i == n * graph->tasks, WEFT_ERR_DATA,
                   "graph '%s': target, row %" PRId64 ", column %" PRId64 ": %g is not finite (NaN = unlabelled)",
                   graph->name, i / graph->tasks, i % graph->tasks, number_plain((double)graph->target[i]));
    }
    if (graph->split != NULL) {
        int64_t v = first_bad(graph, n, split_is_good);
        WEFT_CHECK(v == n, WEFT_ERR_DATA,
                   "graph '%s': split, row %" PRId64 ": %u; expected 0 train, 1 valid, 2 test or 255 none", graph->name,
                   v, graph->split[v]);
    }
    return WEFT_OK;
}

weft_status graph_validate(const weft_graph *graph)
{
    WEFT_TRY(check_structure(graph));
    WEFT_TRY(graph_validate_labels(graph));
    WEFT_TRY(graph->feature_offset != NULL ? check_sparse_features(graph) : WEFT_OK);
    return graph->feature != NULL ? check_features(graph) : WEFT_OK;
}
