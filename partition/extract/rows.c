/*
 * partition/extract/rows.c: the edges of one part as rows of local ids.
 *
 *   count   local edges of each row: offsets
 *   fill    sources mapped to local ids, weights with them, in the order of the graph's row
 *   sort    within a group local ids ascend as global ids do, so a row that ascended in the graph is dealt to its
 *           groups (one pass to count, one to place); short rows, and those in another order of vertices, are sorted.
 *           Where two groups have all vertices, as of an edge-cut in two, rows are dealt while they are mapped
 *
 * Rows without local edges are known from the scan, and not looked at. Temporary memory: 2 bytes a local vertex, 64 KiB
 * a thread, as much again where edges have weights, and 8 bytes a local vertex for the comparison with the transpose;
 * of two groups 4 bytes a vertex of the graph.
 */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/sort.h"
#include "machine/thread_ranges.h"
#include "partition/extract/extract_state.h"

enum { DEALT_LEAST = 24, DEALT_MOST = 16384 }; /* edges of rows that are dealt to their groups */

typedef struct row_filler {
    const extract_state *state;
    int groups;
    uint16_t *group_of; /* [n_local] */
    int32_t *local_of;  /* [n] local id, of vertices that are held; NULL: there are not just two groups */
    int32_t second;     /* the first local id of the second group */
    int32_t *id;        /* [threads, DEALT_MOST] a row as it was */
    float *weight;      /* the same, or NULL */
} row_filler;

static int64_t count_row(const extract_state *state, int64_t v)
{
    const int64_t begin = state->graph->offset[v], end = state->graph->offset[v + 1];
    const uint16_t *edge_part = state->partition->edge_part;
    int64_t count = 0;
    if (edge_part == NULL) {
        return end - begin;
    }
    for (int64_t first = begin; first < end; first += EDGE_BLOCK) {
        const int edges = block_edges(first, end);
        uint16_t found = 0; /* of a type as narrow as what it counts: a vector holds more */
        for (int i = 0; i < edges; ++i) {
            found = (uint16_t)(found + (edge_part[first + i] == state->part->part));
        }
        count += found;
    }
    return count;
}

static weft_status count_rows(const extract_state *state)
{
    weft_part *part = state->part;
    WEFT_TRY(WEFT_NEW(&part->offset, part->n_local + 1, WEFT_MEM_GRAPH));
    part->offset[0] = 0;
#pragma omp parallel for schedule(dynamic, 512) num_threads(split_threads(state->graph->edges, state->threads))
    for (int64_t id = 0; id < part->n_local; ++id) {
        const int64_t v = part->gid[id];
        part->offset[id + 1] = part->parts == 1 || vertex_set_has(&state->target, v) ? count_row(state, v) : 0;
    }
    for (int64_t id = 0; id < part->n_local; ++id) {
        part->offset[id + 1] += part->offset[id];
    }
    part->edges = part->offset[part->n_local];
    return WEFT_OK;
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* The first entry of the sorted row v that is not below u. */
static int64_t first_from(const weft_part *part, int64_t v, int64_t u)
{
    int64_t place = part->offset[v];
    SEARCH_FIRST(place, part->offset[v + 1], part->source[at] < u);
    return place;
}

/* Place of local source u in the sorted row `id`, in which no source stands twice. */
static int64_t place_in_row(const weft_part *part, int64_t id, int32_t u)
{
    const int64_t place = first_from(part, id, u);
    assert(place < part->offset[id + 1] && part->source[place] == u);
    return place;
}

static void weigh_row(const extract_state *state, int64_t id)
{
    const weft_part *part = state->part;
    const int64_t end = state->graph->offset[part->gid[id] + 1];
    uint16_t found[EDGE_BLOCK];
    for (int64_t first = state->graph->offset[part->gid[id]]; first < end; first += EDGE_BLOCK) {
        const int edges = local_edges(state, first, block_edges(first, end), found);
        for (int i = 0; i < edges; ++i) {
            const int32_t u = local_id(state, graph_source(state->graph, first + found[i]));
            part->weight[place_in_row(part, id, u)] = state->graph->weight[first + found[i]];
        }
    }
}

static void sort_row(const extract_state *state, int64_t id)
{
    const weft_part *part = state->part;
    sort_ids(part->source + part->offset[id], part->offset[id + 1] - part->offset[id], part->n_local);
    if (part->weight != NULL) {
        weigh_row(state, id);
    }
}

/* A row of `count` edges from `begin` on whose groups ascend each. */
static void deal_row(const row_filler *filler, int64_t begin, int64_t count)
{
    const weft_part *part = filler->state->part;
    int32_t *id = filler->id + (int64_t)omp_get_thread_num() * DEALT_MOST;
    float *weight = filler->weight != NULL ? filler->weight + (int64_t)omp_get_thread_num() * DEALT_MOST : NULL;
    int32_t next[REPLICAS + PARTITION_MAX_PARTS + 1];
    memset(next, 0, (size_t)(filler->groups + 1) * sizeof next[0]);
    memcpy(id, part->source + begin, (size_t)count * sizeof id[0]);
    for (int64_t i = 0; i < count; ++i) {
        ++next[filler->group_of[id[i]] + 1];
    }
    for (int g = 0; g < filler->groups; ++g) {
        next[g + 1] += next[g];
    }
    if (weight == NULL) {
        for (int64_t i = 0; i < count; ++i) {
            part->source[begin + next[filler->group_of[id[i]]]++] = id[i];
        }
        return;
    }
    memcpy(weight, part->weight + begin, (size_t)count * sizeof weight[0]);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = begin + next[filler->group_of[id[i]]]++;
        part->source[at] = id[i];
        part->weight[at] = weight[i];
    }
}

/* All edges of graph row v, in two groups, to the local row that begins at `begin`. Returns false if they do not ascend
 * in the graph: then neither group does. The loop has no branch, because groups follow each other at random. */
static bool split_row(const row_filler *filler, int64_t v, int64_t begin)
{
    const weft_graph *graph = filler->state->graph;
    int32_t *low = filler->state->part->source + begin;
    int32_t *high = filler->id + (int64_t)omp_get_thread_num() * DEALT_MOST;
    int64_t lows = 0, highs = 0, last = -1;
    bool ascends = true;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
        const int64_t u = graph_source(graph, e);
        const int32_t id = filler->local_of[u];
        ascends &= last <= u;
        last = u;
        low[lows] = id;
        high[highs] = id;
        lows += id < filler->second;
        highs += id >= filler->second;
    }
    memcpy(low + lows, high, (size_t)highs * sizeof high[0]);
    return ascends;
}

/* How the sources of a row follow each other. */
typedef struct row_order {
    bool ascends, ascends_in_graph; /* by local and by global ids */
} row_order;

/* Local edges of graph row v to the row that begins at `at`. */
static row_order read_row(const extract_state *state, int64_t v, int64_t at)
{
    const weft_graph *graph = state->graph;
    const weft_part *part = state->part;
    const int64_t end = graph->offset[v + 1];
    row_order order = {true, true};
    int64_t last_vertex = -1;
    int32_t last_id = -1;
    uint16_t found[EDGE_BLOCK];
    for (int64_t first = graph->offset[v]; first < end; first += EDGE_BLOCK) {
        const int edges = local_edges(state, first, block_edges(first, end), found);
        for (int i = 0; i < edges; ++i, ++at) {
            const int64_t u = graph_source(graph, first + found[i]);
            const int32_t id = local_id(state, u);
            order.ascends &= last_id <= id;
            order.ascends_in_graph &= last_vertex <= u;
            last_id = id;
            last_vertex = u;
            part->source[at] = id;
            if (part->weight != NULL) {
                part->weight[at] = graph->weight[first + found[i]];
            }
        }
    }
    return order;
}

static void fill_row(const row_filler *filler, int64_t id)
{
    const extract_state *state = filler->state;
    const int64_t begin = state->part->offset[id], count = state->part->offset[id + 1] - begin;
    if (count == 0) {
        return;
    }
    if (filler->local_of != NULL && count <= DEALT_MOST) {
        if (!split_row(filler, state->part->gid[id], begin)) {
            sort_row(state, id);
        }
        return;
    }
    const row_order order = read_row(state, state->part->gid[id], begin);
    if (order.ascends) {
        return;
    }
    if (state->by_id && order.ascends_in_graph && count >= DEALT_LEAST && count >= filler->groups &&
        count <= DEALT_MOST) {
        deal_row(filler, begin, count);
    } else {
        sort_row(state, id);
    }
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

/* Whether all vertices are in two groups, and whole rows are of this part: then they are mapped by global ids. */
static weft_status find_halves(const extract_state *state, row_filler *filler)
{
    const weft_part *part = state->part;
    int found = 0;
    for (int g = 0; g < filler->groups; ++g) {
        const bool any = state->group[g] < state->group[g + 1];
        filler->second = any ? (int32_t)state->group[g] : filler->second;
        found += any;
    }
    if (found != 2 || !state->by_id || part->weight != NULL || state->partition->edge_part != NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&filler->local_of, state->graph->vertices, WEFT_MEM_GRAPH));
    for (int64_t id = 0; id < part->n_local; ++id) {
        filler->local_of[part->gid[id]] = (int32_t)id;
    }
    return WEFT_OK;
}

static weft_status filler_create(const extract_state *state, int threads, row_filler *filler)
{
    const weft_part *part = state->part;
    WEFT_TRY(WEFT_NEW(&filler->group_of, part->n_local, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&filler->id, (int64_t)threads * DEALT_MOST, WEFT_MEM_GRAPH));
    if (part->weight != NULL) {
        WEFT_TRY(WEFT_NEW(&filler->weight, (int64_t)threads * DEALT_MOST, WEFT_MEM_GRAPH));
    }
    for (int g = 0; g < filler->groups; ++g) {
        for (int64_t id = state->group[g]; id < state->group[g + 1]; ++id) {
            filler->group_of[id] = (uint16_t)g;
        }
    }
    return find_halves(state, filler);
}

static weft_status fill_rows(const extract_state *state)
{
    const weft_part *part = state->part;
    row_filler filler = {.state = state, .groups = REPLICAS + part->parts};
    const int threads = split_threads(part->edges, state->threads);
    weft_status status = filler_create(state, threads, &filler);
    WEFT_TRY_GOTO(status, status, done);
#pragma omp parallel num_threads(threads)
    {
        int64_t held = 0; /* edges whose pages of the graph this thread has brought in */
        OWN_ROWS(id, part->offset, part->n_local) {
            fill_row(&filler, id);
            held += part->offset[id + 1] - part->offset[id];
            if (held >= PART_HELD_EDGES) {
                graph_release_pages(state->graph);
                held = 0;
            }
        }
    }
done:
    WEFT_FREE_ALL(filler.group_of, filler.local_of, filler.id, filler.weight);
    return status;
}

/* ---- the transpose ----------------------------------------------------------------------------------------------- */

/* Whether rows [low, high) list behind their diagonal exactly the later rows that name them, in the order in which they
 * do: rows and their entries ascend. next [n_local]. */
static bool rows_are_named(const weft_part *part, int64_t low, int64_t high, int64_t *next)
{
    for (int64_t u = low; u < high; ++u) {
        next[u] = first_from(part, u, u + 1);
    }
    for (int64_t v = low; v < part->n_local; ++v) {
        const int64_t end = part->offset[v + 1], below = v < high ? v : high;
        for (int64_t e = first_from(part, v, low); e < end && part->source[e] < below; ++e) {
            const int32_t u = part->source[e];
            if (next[u] >= part->offset[u + 1] || part->source[next[u]] != v) {
                return false;
            }
            ++next[u];
        }
    }
    for (int64_t u = low; u < high; ++u) {
        if (next[u] < part->offset[u + 1]) {
            return false;
        }
    }
    return true;
}

/* In a symmetric set of edges sources and destinations are the same vertices. */
static bool ends_agree(const extract_state *state)
{
    const size_t words = (size_t)vertex_set_words(state->graph->vertices);
    return words == 0 || memcmp(state->source.bits, state->target.bits, words * sizeof state->source.bits[0]) == 0;
}

static weft_status check_symmetry(const extract_state *state)
{
    weft_part *part = state->part;
    int64_t *next = NULL;
    part->symmetric = state->graph->symmetric;
    if (!part->symmetric || part->parts == 1) {
        return WEFT_OK;
    }
    part->symmetric = ends_agree(state);
    if (!part->symmetric) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&next, part->n_local, WEFT_MEM_GRAPH));
    bool symmetric = true;
#pragma omp parallel num_threads(split_threads(part->edges, state->threads)) reduction(&& : symmetric)
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        symmetric = rows_are_named(part, split_rows(part->offset, part->n_local, t, team),
                                   split_rows(part->offset, part->n_local, t + 1, team), next);
    }
    part->symmetric = symmetric;
    weft_free(next);
    return WEFT_OK;
}

weft_status extract_rows(extract_state *state)
{
    weft_part *part = state->part;
    WEFT_TRY(count_rows(state));
    WEFT_TRY(WEFT_NEW(&part->source, part->edges, WEFT_MEM_GRAPH));
    WEFT_TRY(state->graph->weight != NULL ? WEFT_NEW(&part->weight, part->edges, WEFT_MEM_GRAPH) : WEFT_OK);
    WEFT_TRY(fill_rows(state));
    return check_symmetry(state);
}
