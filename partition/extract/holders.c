/*
 * partition/extract/holders.c: which parts hold a vertex as the source or the destination of their edges.
 *
 * A part that is cut alone looks through all edges for its own and for those of its owned vertices that lie elsewhere
 * (extract_scan); in an edge-cut of a graph that equals its transpose the rows of owned vertices tell both, and others
 * are not read. For several parts one pass tells it of all (part_holders_find), and each takes its column
 * (extract_look_up).
 */
#include <assert.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/extract/extract_state.h"

static void mark(uint64_t *row, int part)
{
    uint64_t *word = &row[part / 64];
    const uint64_t bit = UINT64_C(1) << (part % 64);
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) {
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    }
}

/* ---- of all parts ------------------------------------------------------------------------------------------------ */

static void mark_row(const weft_graph *graph, const weft_partition *partition, int64_t v, const part_holders *holders)
{
    const int words = holders->words;
    uint64_t *target = holders->target + v * words; /* this thread's alone */
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
        const int64_t u = graph_source(graph, e);
        const int part = partition_part_of(partition, e, v);
        target[part / 64] |= UINT64_C(1) << (part % 64);
        mark(holders->source + u * words, part);
        if (holders->out_degree != NULL) {
            __atomic_fetch_add(&holders->out_degree[u], 1, __ATOMIC_RELAXED);
        }
    }
}

weft_status part_holders_find(const weft_graph *graph, const weft_partition *partition, part_holders *holders)
{
    const int64_t n = graph->vertices;
    weft_status status = WEFT_OK;
    *holders = (part_holders){.words = (partition->parts + 63) / 64};
    WEFT_TRY(extract_check(graph, partition));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&holders->source, n * holders->words, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&holders->target, n * holders->words, WEFT_MEM_PARTITION), status, done);
    if (!graph->symmetric) {
        WEFT_TRY_GOTO(WEFT_NEW_ZERO(&holders->out_degree, n, WEFT_MEM_PARTITION), status, done);
    }
#pragma omp parallel num_threads(split_threads(graph->edges, omp_get_max_threads()))
    OWN_ROWS(v, graph->offset, n) {
        mark_row(graph, partition, v, holders);
    }
done:
    if (status != WEFT_OK) {
        part_holders_free(holders);
    }
    return status;
}

void part_holders_free(part_holders *holders)
{
    WEFT_FREE_ALL(holders->source, holders->target, holders->out_degree);
    *holders = (part_holders){0};
}

/* ---- of one ------------------------------------------------------------------------------------------------------ */

/* Owned vertices, and arrays for what is known of them. */
static weft_status find_owned(extract_state *state)
{
    weft_part *part = state->part;
    const int64_t n = state->graph->vertices;
    WEFT_TRY(vertex_set_create(n, &state->own));
    WEFT_TRY(vertex_set_create(n, &state->source));
    WEFT_TRY(vertex_set_create(n, &state->target));
#pragma omp parallel for schedule(static) num_threads(split_threads(n, state->threads))
    for (int64_t w = 0; w < vertex_set_words(n); ++w) {
        for (int64_t v = 64 * w; v < 64 * w + 64 && v < n; ++v) {
            state->own.bits[w] |= (uint64_t)(root_of(state, v) == part->part) << (v % 64);
        }
    }
    part->n_owned = vertex_set_rank(&state->own);
    WEFT_TRY(WEFT_NEW_ZERO(&state->peer_source, part->n_owned * state->words, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW_ZERO(&state->peer_target, part->n_owned * state->words, WEFT_MEM_GRAPH));
    return WEFT_NEW_ZERO(&part->out_degree, part->n_owned, WEFT_MEM_GRAPH);
}

/* Of row v. [out] found: places after `first` of the edges that are local, or begin at an owned vertex. */
static int known_edges(const extract_state *state, int64_t v, int64_t first, int count, uint16_t found[EDGE_BLOCK])
{
    int edges = 0;
    const uint16_t *edge_part = state->partition->edge_part;
    const bool row_is_local = edge_part == NULL && root_of(state, v) == state->part->part;
    for (int i = 0; i < count; ++i) {
        const bool local = row_is_local || (edge_part != NULL && edge_part[first + i] == state->part->part);
        found[edges] = (uint16_t)i;
        edges += (int)local | (int)vertex_set_has(&state->own, graph_source(state->graph, first + i));
    }
    return edges;
}

static void scan_known(extract_state *state, int64_t v, int64_t e)
{
    const int64_t u = graph_source(state->graph, e);
    const int part = partition_part_of(state->partition, e, v);
    const bool local = part == state->part->part;
    if (local) {
        vertex_set_add(&state->target, v);
        vertex_set_add(&state->source, u);
    }
    if (!vertex_set_has(&state->own, u)) {
        return;
    }
    const int64_t place = vertex_set_place(&state->own, u);
    if (!local) {
        assert(part < state->part->parts);
        mark(state->peer_source + place * state->words, part);
    }
    if (!state->graph->symmetric) { /* by place in `own`; renumbered once local ids are known */
        __atomic_fetch_add(&state->part->out_degree[place], 1, __ATOMIC_RELAXED);
    }
}

/* The other parts that aggregate edges of the owned row v. */
static void mark_targets(const extract_state *state, int64_t v)
{
    const uint16_t *edge_part = state->partition->edge_part;
    const int own = state->part->part;
    uint64_t *row = state->peer_target + vertex_set_place(&state->own, v) * state->words;
    for (int64_t e = state->graph->offset[v]; edge_part != NULL && e < state->graph->offset[v + 1]; ++e) {
        assert(edge_part[e] < state->part->parts);
        row[edge_part[e] / 64] |= UINT64_C(1) << (edge_part[e] % 64);
    }
    row[own / 64] &= ~(UINT64_C(1) << (own % 64));
}

static void scan_row(extract_state *state, int64_t v)
{
    const int64_t end = state->graph->offset[v + 1];
    uint16_t found[EDGE_BLOCK];
    for (int64_t first = state->graph->offset[v]; first < end; first += EDGE_BLOCK) {
        const int edges = known_edges(state, v, first, block_edges(first, end), found);
        for (int i = 0; i < edges; ++i) {
            scan_known(state, v, first + found[i]);
        }
    }
    if (vertex_set_has(&state->own, v)) {
        mark_targets(state, v);
    }
}

/* Whether every edge of the row lies with its destination's root. */
static bool row_stays(const weft_partition *partition, const weft_graph *graph, int64_t v)
{
    const uint16_t root = partition->root[v];
    uint16_t strays = 0; /* as narrow as what it compares: a vector holds more */
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
        strays |= partition->edge_part[e] ^ root;
    }
    return strays == 0;
}

/* Whether the parts are an edge-cut of a graph that equals its transpose. */
static bool rows_tell_all(const extract_state *state)
{
    const weft_graph *graph = state->graph;
    bool stay = graph->symmetric && state->partition->root != NULL;
    if (!stay || state->partition->edge_part == NULL) {
        return stay;
    }
#pragma omp parallel num_threads(split_threads(graph->edges, state->threads)) reduction(&& : stay)
    {
        OWN_ROWS(v, graph->offset, graph->vertices) {
            stay = stay && row_stays(state->partition, graph, v);
        }
    }
    return stay;
}

/* An owned row of such parts: its neighbours are what it reads, and their parts are those that read it. */
static void scan_own_row(extract_state *state, int64_t v)
{
    const weft_graph *graph = state->graph;
    const int own = state->part->part;
    uint64_t *readers = state->peer_source + vertex_set_place(&state->own, v) * state->words;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
        const int64_t u = graph_source(graph, e);
        const int root = state->partition->root[u];
        vertex_set_add(&state->source, u);
        readers[root / 64] |= UINT64_C(1) << (root % 64);
    }
    readers[own / 64] &= ~(UINT64_C(1) << (own % 64));
    if (graph->offset[v + 1] > graph->offset[v]) {
        vertex_set_add(&state->target, v);
    }
}

weft_status extract_scan(extract_state *state)
{
    const weft_graph *graph = state->graph;
    WEFT_TRY(find_owned(state));
    if (state->part->parts == 1 && graph->symmetric) { /* no replicas, and out-degrees are in-degrees */
        return WEFT_OK;
    }
    const bool own_rows = rows_tell_all(state);
#pragma omp parallel num_threads(split_threads(graph->edges, state->threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        if (!own_rows) {
            scan_row(state, v);
        } else if (vertex_set_has(&state->own, v)) {
            scan_own_row(state, v);
        }
    }
    return WEFT_OK;
}

/* The part's own bit is left out: what remains are its peers. */
static void copy_peers(const extract_state *state, const uint64_t *holders, int64_t v, uint64_t *peers)
{
    const int own = state->part->part;
    uint64_t *row = peers + vertex_set_place(&state->own, v) * state->words;
    for (int w = 0; w < state->words; ++w) {
        row[w] = holders[v * state->words + w];
    }
    row[own / 64] &= ~(UINT64_C(1) << (own % 64));
}

/* The 64 vertices of word w. */
static void look_up_word(extract_state *state, const part_holders *holders, int64_t w)
{
    const int own = state->part->part;
    for (int64_t v = 64 * w; v < 64 * w + 64 && v < state->graph->vertices; ++v) {
        const int64_t at = v * holders->words + own / 64;
        state->source.bits[w] |= (holders->source[at] >> (own % 64) & 1) << (v % 64);
        state->target.bits[w] |= (holders->target[at] >> (own % 64) & 1) << (v % 64);
        if (vertex_set_has(&state->own, v)) {
            copy_peers(state, holders->source, v, state->peer_source);
            copy_peers(state, holders->target, v, state->peer_target);
            if (holders->out_degree != NULL) {
                state->part->out_degree[vertex_set_place(&state->own, v)] = holders->out_degree[v];
            }
        }
    }
}

weft_status extract_look_up(extract_state *state, const part_holders *holders)
{
    const int64_t words = vertex_set_words(state->graph->vertices);
    WEFT_TRY(find_owned(state));
#pragma omp parallel for schedule(static) num_threads(split_threads(64 * words, state->threads))
    for (int64_t w = 0; w < words; ++w) {
        look_up_word(state, holders, w);
    }
    return WEFT_OK;
}
