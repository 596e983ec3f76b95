/* partition/stream/edge_stream.c: see partition/stream/edge_stream.h. */
#include "partition/stream/edge_stream.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"
#include "partition/stream/homes.h"

enum { PROGRESS_ROWS = 4096, LOOK = 64 }; /* pairs between two looks at all parts */
#define EVEN_EDGES 0.5
#define EVEN_ROWS  0.5
#define ROWS_LIMIT 1.10
#define ROWS_FIRST 8 /* vertices that a part may hold in any case */

typedef struct stream_state {
    const weft_graph *graph;
    uint16_t *edge_part;
    int parts, words;
    int64_t most_load; /* edges that a part may have */
    int64_t *degree;   /* [n]; while edges are mirrored: the next entry of each row */
    uint16_t *home;    /* [n] */
    uint64_t *held;    /* [n, words] bit p: part p holds v */
    int64_t *load;     /* [parts] edges */
    int64_t *rows;     /* [parts] vertices */
    /* What the last look at all parts saw. */
    int64_t least_load, top_load, least_rows, top_rows, rows_limit;
    int evenest;   /* the part that adds most to evenness, -1: none has room */
    int64_t since; /* pairs placed since */
} stream_state;

/* ---- pairs as they lie in rows ----------------------------------------------------------------------------------- */

/* The first entry of row v with source u, or -1. */
static int64_t entry_of(const weft_graph *graph, int64_t v, int64_t u)
{
    int64_t low = graph->offset[v], high = graph->offset[v + 1];
    const int64_t end = high;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (graph_source(graph, middle) < u) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && graph_source(graph, low) == u ? low : -1;
}

/* Is entry e of row v, with source u, where a walk over the rows first meets the pair? */
static bool is_first(const weft_graph *graph, int64_t v, int64_t e, int64_t u)
{
    if (u == v || (e > graph->offset[v] && graph_source(graph, e - 1) == u)) {
        return false;
    }
    return u > v || (!graph->symmetric && entry_of(graph, u, v) < 0);
}

static int64_t run_length(const weft_graph *graph, int64_t v, int64_t e)
{
    int64_t end = e + 1;
    while (end < graph->offset[v + 1] && graph_source(graph, end) == graph_source(graph, e)) {
        ++end;
    }
    return end - e;
}

/* Edges of the pair that entry e of row v begins, both directions and repetitions counted. */
static int64_t pair_edges(const weft_graph *graph, int64_t v, int64_t e, int64_t u)
{
    const int64_t here = run_length(graph, v, e);
    if (graph->symmetric) {
        return 2 * here;
    }
    const int64_t there = u > v ? entry_of(graph, u, v) : -1;
    return here + (there >= 0 ? run_length(graph, u, there) : 0);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool holds(const stream_state *state, int64_t v, int part)
{
    return (state->held[v * state->words + part / 64] >> (part % 64) & 1) != 0;
}

static void hold(stream_state *state, int64_t v, int part)
{
    state->rows[part] += holds(state, v, part) ? 0 : 1;
    state->held[v * state->words + part / 64] |= UINT64_C(1) << (part % 64);
}

static void place(stream_state *state, int64_t e, int64_t u, int64_t v, int part)
{
    hold(state, u, part);
    hold(state, v, part);
    state->load[part] += pair_edges(state->graph, v, e, u);
    state->edge_part[e] = (uint16_t)part;
}

static double edges_term(const stream_state *state, int part)
{
    return EVEN_EDGES * (double)(state->top_load - state->load[part]) /
           (1.0 + (double)(state->top_load - state->least_load));
}

static double rows_term(const stream_state *state, int part)
{
    return EVEN_ROWS * (double)(state->top_rows - state->rows[part]) /
           (1.0 + (double)(state->top_rows - state->least_rows));
}

static void look(stream_state *state)
{
    int64_t rows = 0;
    state->least_load = state->least_rows = INT64_MAX;
    state->top_load = state->top_rows = 0;
    for (int p = 0; p < state->parts; ++p) {
        const int64_t load = state->load[p], held = state->rows[p];
        state->least_load = load < state->least_load ? load : state->least_load;
        state->top_load = load > state->top_load ? load : state->top_load;
        state->least_rows = held < state->least_rows ? held : state->least_rows;
        state->top_rows = held > state->top_rows ? held : state->top_rows;
        rows += held;
    }
    state->rows_limit = (int64_t)(ROWS_LIMIT * (double)rows / state->parts) + ROWS_FIRST;
    state->evenest = -1;
    double best = 0;
    for (int p = 0; p < state->parts; ++p) {
        const double gain = edges_term(state, p) + rows_term(state, p);
        if (state->load[p] < state->most_load && state->rows[p] < state->rows_limit &&
            (state->evenest < 0 || gain > best)) {
            state->evenest = p;
            best = gain;
        }
    }
    state->since = 0;
}

typedef struct choice {
    int part; /* -1: none yet */
    double score;
} choice;

/* The pair at hand. */
typedef struct ends {
    int64_t u, v;
    double weight_u, weight_v; /* what it is worth that a part holds u, or v */
    int64_t rows_limit;        /* vertices that a part may hold and still take one of them */
} ends;

static void consider(const stream_state *state, const ends *pair, int part, choice *best)
{
    const bool has_u = holds(state, pair->u, part), has_v = holds(state, pair->v, part), both = has_u && has_v;
    if (state->load[part] >= state->most_load || (!both && state->rows[part] >= pair->rows_limit)) {
        return;
    }
    const double score = (has_u ? pair->weight_u : 0) + (has_v ? pair->weight_v : 0) + edges_term(state, part) +
                         (both ? EVEN_ROWS : rows_term(state, part));
    if (best->part < 0 || score > best->score || (score == best->score && part < best->part)) {
        *best = (choice){part, score};
    }
}

static void consider_holders(const stream_state *state, const ends *pair, choice *best)
{
    const uint64_t *a = state->held + pair->u * state->words, *b = state->held + pair->v * state->words;
    for (int w = 0; w < state->words; ++w) {
        for (uint64_t bits = a[w] | b[w]; bits != 0; bits &= bits - 1) {
            consider(state, pair, 64 * w + __builtin_ctzll(bits), best);
        }
    }
}

static int emptiest(const stream_state *state)
{
    int best = 0;
    for (int p = 1; p < state->parts; ++p) {
        best = state->load[p] < state->load[best] ? p : best;
    }
    return best;
}

/* Vertices are even by preference, edges always: without a part that has room for both, room for edges is enough. */
static int choose(stream_state *state, int64_t u, int64_t v)
{
    const double degrees = (double)(state->degree[u] + state->degree[v]);
    if (state->since++ >= LOOK) {
        look(state);
    }
    ends pair = {.u = u,
                 .v = v,
                 .weight_u = 1.0 + (double)state->degree[v] / degrees,
                 .weight_v = 1.0 + (double)state->degree[u] / degrees,
                 .rows_limit = state->rows_limit};
    choice best = {.part = -1};
    consider_holders(state, &pair, &best);
    if (state->evenest >= 0) {
        consider(state, &pair, state->evenest, &best);
    }
    if (best.part < 0) {
        pair.rows_limit = INT64_MAX;
        consider_holders(state, &pair, &best);
    }
    return best.part >= 0 ? best.part : emptiest(state);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static void count_degrees(stream_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        state->degree[v] += graph->offset[v + 1] - graph->offset[v];
        for (int64_t e = graph->offset[v]; !graph->symmetric && e < graph->offset[v + 1]; ++e) {
            ++state->degree[graph_source(graph, e)];
        }
    }
}

static void place_at_home(stream_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            const uint16_t home = state->home[v];
            state->edge_part[e] = PARTITION_NO_PART;
            if (state->home[u] == home && state->load[home] < state->most_load && is_first(graph, v, e, u)) {
                place(state, e, u, v, home);
            }
        }
    }
}

static void place_others(stream_state *state)
{
    const weft_graph *graph = state->graph;
    log_progress progress = log_progress_begin("stream, edges", "edges", (double)graph->edges);
    look(state);
    for (int64_t v = 0; v < graph->vertices; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(&progress, (double)graph->offset[v]);
        }
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (state->edge_part[e] == PARTITION_NO_PART && is_first(graph, v, e, u)) {
                place(state, e, u, v, choose(state, u, v));
            }
        }
    }
    log_progress_end(&progress);
}

/* The entry of row u < v with source v, where the pair was placed, or -1. Of a symmetric graph rows u are asked in the
 * order of v, so each moves on from where it was left. */
static int64_t placed_entry(const weft_graph *graph, int64_t u, int64_t v, int64_t *next)
{
    if (!graph->symmetric) {
        return entry_of(graph, u, v);
    }
    while (next[u] < graph->offset[u + 1] && graph_source(graph, next[u]) < v) {
        ++next[u];
    }
    return next[u] < graph->offset[u + 1] && graph_source(graph, next[u]) == v ? next[u] : -1;
}

/* What was not the first of its pair follows it. */
static weft_status mirror(stream_state *state)
{
    const weft_graph *graph = state->graph;
    int64_t *next = state->degree;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        next[v] = graph->offset[v];
    }
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (u == v || state->edge_part[e] != PARTITION_NO_PART) {
                continue;
            }
            const bool repeated = e > graph->offset[v] && graph_source(graph, e - 1) == u;
            const int64_t from = repeated ? e - 1 : placed_entry(graph, u, v, next);
            WEFT_CHECK(
                from >= 0, WEFT_ERR_DATA,
                "%s: the graph says that it is symmetric, but row %lld has source %lld and row %lld lacks source "
                "%lld, or is not ascending: convert it again",
                graph->name, (long long)v, (long long)u, (long long)u, (long long)v);
            state->edge_part[e] = state->edge_part[from];
        }
    }
    return WEFT_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

uint64_t edge_stream_memory(int64_t vertices, int parts)
{
    const uint64_t words = (uint64_t)(parts + 63) / 64, later = words * sizeof(uint64_t);
    const uint64_t most = later > HOMES_BYTES_PER_VERTEX ? later : HOMES_BYTES_PER_VERTEX;
    return (uint64_t)vertices * (sizeof(int64_t) + sizeof(uint16_t) + most);
}

weft_status edge_stream_assign(const weft_graph *graph, int parts, double balance, uint16_t *edge_part, double *at_home)
{
    weft_status status = WEFT_OK;
    const int64_t n = graph->vertices;
    stream_state state = {.graph = graph,
                          .edge_part = edge_part,
                          .parts = parts,
                          .words = (parts + 63) / 64,
                          .most_load = (int64_t)(balance * (double)graph->edges / parts) + 1};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.degree, n, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.home, n, WEFT_MEM_PARTITION), status, done);
    count_degrees(&state);
    WEFT_TRY_GOTO(homes_find(graph, state.degree, parts, state.home), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.held, n * state.words, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.load, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.rows, parts, WEFT_MEM_PARTITION), status, done);
    place_at_home(&state);
    int64_t home_edges = 0;
    for (int p = 0; p < parts; ++p) {
        home_edges += state.load[p];
    }
    if (at_home != NULL) {
        *at_home = (double)home_edges / (double)(graph->edges > 0 ? graph->edges : 1);
    }
    place_others(&state);
    status = mirror(&state);
done:
    weft_free(state.rows);
    weft_free(state.load);
    weft_free(state.held);
    weft_free(state.home);
    weft_free(state.degree);
    return status;
}
