/* partition/stream/edge_stream.c: see partition/stream/edge_stream.h. */
#include "partition/stream/edge_stream.h"

#include <assert.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"
#include "partition/stream/homes.h"

enum { PROGRESS_ROWS = 4096, LOOK = 64 }; /* pairs between two looks at all parts */
enum { TEAM_BLOCKS = 32 };                /* of a rank's rows, with a word to the others behind each */
#define EVEN_EDGES 0.5
#define EVEN_ROWS  0.5
#define ROWS_LIMIT 1.10
#define ROWS_FIRST 8 /* vertices that a part may hold in any case */

/* A part that holds a vertex since the others heard last. */
typedef struct holding {
    int64_t vertex, part;
} holding;

typedef struct stream_state {
    const row_team *team;
    const weft_graph *graph;
    uint16_t *edge_part; /* of the edges of the team's own rows */
    int64_t first_edge;  /* the first of them */
    int parts, words;
    int64_t most_load; /* edges that a part may have */
    int64_t *room;     /* [parts] edges that this rank may still add */
    int64_t *degree;   /* [n]; while edges are mirrored: the next entry of each row */
    uint16_t *home;    /* [n] */
    uint64_t *held;    /* [n, words] bit p: part p holds v */
    int64_t *load;     /* [parts] edges */
    int64_t *rows;     /* [parts] vertices */
    /* Of a team: load and rows as of the last word, and what this rank has to tell. */
    int64_t *told_load, *told_rows;
    holding *news;
    int64_t news_count, news_room;
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

static uint16_t *part_of(const stream_state *state, int64_t e)
{
    assert(e >= state->first_edge && e < state->graph->offset[state->team->end]);
    return &state->edge_part[e - state->first_edge];
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static bool holds(const stream_state *state, int64_t v, int part)
{
    return (state->held[v * state->words + part / 64] >> (part % 64) & 1) != 0;
}

static weft_status note(stream_state *state, int64_t v, int part)
{
    if (state->news_count == state->news_room) {
        const int64_t room = 2 * state->news_room + 1024;
        WEFT_TRY(weft_realloc((void **)&state->news, (size_t)room, sizeof *state->news, WEFT_MEM_PARTITION));
        state->news_room = room;
    }
    state->news[state->news_count++] = (holding){v, part};
    return WEFT_OK;
}

static weft_status hold(stream_state *state, int64_t v, int part)
{
    if (holds(state, v, part)) {
        return WEFT_OK;
    }
    ++state->rows[part];
    state->held[v * state->words + part / 64] |= UINT64_C(1) << (part % 64);
    return state->team->size > 1 ? note(state, v, part) : WEFT_OK;
}

static weft_status place(stream_state *state, int64_t e, int64_t u, int64_t v, int part)
{
    const int64_t edges = pair_edges(state->graph, v, e, u);
    assert(part >= 0 && part < state->parts && edges > 0);
    WEFT_TRY(hold(state, u, part));
    WEFT_TRY(hold(state, v, part));
    state->load[part] += edges;
    state->room[part] -= edges;
    *part_of(state, e) = (uint16_t)part;
    return WEFT_OK;
}

/* ---- a team's word to each other --------------------------------------------------------------------------------- */

/* The others' holdings, counted once each whoever had them at the same time, and everybody's edges. */
static void hear_all(stream_state *state, const holding *news, int64_t count)
{
    for (int64_t i = 0; i < state->news_count; ++i) {
        const holding *own = &state->news[i];
        state->held[own->vertex * state->words + own->part / 64] &= ~(UINT64_C(1) << (own->part % 64));
    }
    for (int p = 0; p < state->parts; ++p) {
        state->rows[p] = state->told_rows[p];
    }
    for (int64_t i = 0; i < count; ++i) {
        assert(news[i].vertex < state->graph->vertices && news[i].part < state->parts);
        uint64_t *word = &state->held[news[i].vertex * state->words + news[i].part / 64];
        const uint64_t bit = UINT64_C(1) << (news[i].part % 64);
        state->rows[news[i].part] += (*word & bit) == 0 ? 1 : 0;
        *word |= bit;
    }
    state->news_count = 0;
    for (int p = 0; p < state->parts; ++p) {
        state->told_rows[p] = state->rows[p];
        state->told_load[p] = state->load[p];
        state->room[p] = (state->most_load - state->load[p]) / state->team->size;
    }
}

/* status: of what this rank did since the last word. */
static weft_status tell(stream_state *state, weft_status status)
{
    if (state->team->size == 1) {
        return status;
    }
    void *all = NULL;
    int64_t bytes = 0;
    WEFT_TRY(row_team_agree(state->team, status));
    for (int p = 0; p < state->parts; ++p) {
        state->load[p] -= state->told_load[p];
    }
    WEFT_TRY(row_team_sum(state->team, state->load, state->parts));
    for (int p = 0; p < state->parts; ++p) {
        state->load[p] += state->told_load[p];
    }
    status = row_team_gather(state->team, state->news, state->news_count * (int64_t)sizeof(holding), &all, &bytes);
    if (status == WEFT_OK) {
        hear_all(state, all, bytes / (int64_t)sizeof(holding));
    }
    weft_free(all);
    return status;
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
        if (state->room[p] > 0 && state->rows[p] < state->rows_limit && (state->evenest < 0 || gain > best)) {
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
    if (state->room[part] <= 0 || (!both && state->rows[part] >= pair->rows_limit)) {
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

/* Edges of pairs whose ends are at home in a part, of this rank's rows. */
static void count_at_home(const stream_state *state, int64_t *count)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (state->home[u] == state->home[v] && is_first(graph, v, e, u)) {
                count[state->home[v]] += pair_edges(graph, v, e, u);
            }
        }
    }
}

/* Where a part has not room for all that are at home in it, each rank has its share. */
static weft_status share_room_at_home(stream_state *state)
{
    const row_team *team = state->team;
    int64_t *own = NULL, *all = NULL;
    for (int p = 0; p < state->parts; ++p) {
        state->room[p] = state->most_load;
    }
    if (team->size == 1) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW_ZERO(&own, state->parts, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&all, state->parts, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    count_at_home(state, own);
    for (int p = 0; p < state->parts; ++p) {
        all[p] = own[p];
    }
    WEFT_TRY_GOTO(row_team_sum(team, all, state->parts), status, done);
    for (int p = 0; p < state->parts; ++p) {
        if (all[p] > state->most_load) {
            state->room[p] = (int64_t)((double)state->most_load * ((double)own[p] / (double)all[p]));
        }
    }
done:
    weft_free(own);
    weft_free(all);
    return status;
}

static weft_status place_at_home(stream_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            const uint16_t home = state->home[v];
            *part_of(state, e) = PARTITION_NO_PART;
            if (state->home[u] == home && state->room[home] > 0 && is_first(graph, v, e, u)) {
                WEFT_TRY(place(state, e, u, v, home));
            }
        }
    }
    return WEFT_OK;
}

static weft_status place_rows(stream_state *state, int64_t begin, int64_t end, log_progress *progress)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = begin; v < end; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(progress, (double)(graph->offset[v] - state->first_edge));
        }
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (*part_of(state, e) == PARTITION_NO_PART && is_first(graph, v, e, u)) {
                WEFT_TRY(place(state, e, u, v, choose(state, u, v)));
            }
        }
    }
    return WEFT_OK;
}

static weft_status place_others(stream_state *state)
{
    const row_team *team = state->team;
    const int blocks = team->size > 1 ? TEAM_BLOCKS : 1;
    const int64_t edges = team->graph->offset[team->end] - state->first_edge;
    log_progress progress = log_progress_begin("stream, edges", "edges", (double)edges);
    for (int block = 0; block < blocks; ++block) {
        look(state);
        weft_status status =
            place_rows(state, row_team_block(team, block, blocks), row_team_block(team, block + 1, blocks), &progress);
        WEFT_TRY(tell(state, status));
    }
    log_progress_end(&progress);
    return WEFT_OK;
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

/* What was not the first of its pair follows it. Of a team parts [pairs] are those of pairs that begin in rows of lower ranks:
 * next[u] is where those of row u begin, as they lie in it. */
static weft_status mirror(stream_state *state, const uint16_t *parts)
{
    const weft_graph *graph = state->graph;
    int64_t *next = state->degree;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (u == v || *part_of(state, e) != PARTITION_NO_PART) {
                continue;
            }
            const bool repeated = e > graph->offset[v] && graph_source(graph, e - 1) == u;
            if (!repeated && u < state->team->begin) {
                *part_of(state, e) = parts[next[u]++];
                continue;
            }
            const int64_t from = repeated ? e - 1 : placed_entry(graph, u, v, next);
            WEFT_CHECK(
                from >= 0, WEFT_ERR_DATA,
                "%s: the graph says that it is symmetric, but row %lld has source %lld and row %lld lacks source "
                "%lld, or is not ascending: convert it again",
                graph->name, (long long)v, (long long)u, (long long)u, (long long)v);
            *part_of(state, e) = *part_of(state, from);
        }
    }
    return WEFT_OK;
}

static bool is_repeated(const weft_graph *graph, int64_t v, int64_t e)
{
    return e > graph->offset[v] && graph_source(graph, e - 1) == graph_source(graph, e);
}

/* Pairs of this rank's rows with an end in a row of another: to higher ranks those that begin here, from lower ones those that
 * began there. next: counted by the row where they began. */
static void count_pairs(const stream_state *state, int64_t *to, int64_t *from, int64_t *next)
{
    const row_team *team = state->team;
    const weft_graph *graph = state->graph;
    for (int64_t v = team->begin; v < team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if ((u >= team->begin && u < team->end) || is_repeated(graph, v, e)) {
                continue;
            }
            ++(u < v ? from : to)[row_team_of(team, u)];
            next[u] += u < v ? 1 : 0;
        }
    }
}

/* parts: by rank, then by row, then by source. */
static void fill_pairs(const stream_state *state, const int64_t *to, uint16_t *parts)
{
    const row_team *team = state->team;
    const weft_graph *graph = state->graph;
    for (int r = team->rank + 1; r < team->size; parts += to[r++]) {
        int64_t at = 0;
        for (int64_t v = team->begin; v < team->end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                const int64_t u = graph_source(graph, e);
                if (u >= team->first[r] && u < team->first[r + 1] && !is_repeated(graph, v, e)) {
                    parts[at++] = *part_of(state, e);
                }
            }
        }
        assert(at == to[r]);
    }
}

/* Do all ranks count the pairs between two of them alike? [scratch] all [size * size] */
static weft_status check_pairs(const stream_state *state, const int64_t *to, const int64_t *from, int64_t *all)
{
    const row_team *team = state->team;
    const int size = team->size;
    for (int i = 0; i < size * size; ++i) {
        all[i] = i / size == team->rank ? to[i % size] : 0;
    }
    WEFT_TRY(row_team_sum(team, all, (int64_t)size * size));
    weft_status status = WEFT_OK;
    for (int r = 0; r < size && status == WEFT_OK; ++r) {
        if (all[(int64_t)r * size + team->rank] != from[r]) {
            status = weft_fail(
                WEFT_ERR_DATA,
                "%s: the graph says that it is symmetric, but rows %lld to %lld have %lld pairs with rows %lld to "
                "%lld, and these have %lld with them: convert it again",
                state->graph->name, (long long)team->first[r], (long long)team->first[r + 1] - 1,
                (long long)all[(int64_t)r * size + team->rank], (long long)team->begin, (long long)team->end - 1,
                (long long)from[r]);
        }
    }
    return row_team_agree(team, status);
}

static int64_t sum_of(const int64_t *count, int size)
{
    int64_t sum = 0;
    for (int r = 0; r < size; ++r) {
        sum += count[r];
    }
    return sum;
}

/* degree becomes next of mirror. [out] parts (weft_free): those of pairs that began in rows of lower ranks. */
static weft_status exchange_pairs(stream_state *state, uint16_t **parts)
{
    const row_team *team = state->team;
    const int size = team->size;
    int64_t *next = state->degree;
    int64_t *to = NULL, *from = NULL, *all = NULL;
    uint16_t *send = NULL;
    weft_status status = WEFT_NEW_ZERO(&to, size, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&from, size, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&all, (int64_t)size * size, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    for (int64_t v = 0; v < team->begin; ++v) {
        next[v] = 0;
    }
    count_pairs(state, to, from, next);
    WEFT_TRY_GOTO(check_pairs(state, to, from, all), status, done);
    status = WEFT_NEW(&send, sum_of(to, size), WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(parts, sum_of(from, size), WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    fill_pairs(state, to, send);
    for (int r = 0; r < size; ++r) {
        to[r] *= (int64_t)sizeof **parts;
        from[r] *= (int64_t)sizeof **parts;
    }
    status = team->talk->alltoallv(team->talk->self, send, to, *parts, from);
    for (int64_t v = 0, at = 0; v < team->begin; ++v) {
        const int64_t count = next[v];
        next[v] = at;
        at += count;
    }
done:
    weft_free(send);
    weft_free(all);
    weft_free(from);
    weft_free(to);
    return status;
}

static weft_status follow_pairs(stream_state *state)
{
    uint16_t *parts = NULL;
    weft_status status = state->team->size > 1 ? exchange_pairs(state, &parts) : WEFT_OK;
    if (status == WEFT_OK) {
        for (int64_t v = state->team->begin; v < state->team->end; ++v) {
            state->degree[v] = state->graph->offset[v];
        }
        status = row_team_agree(state->team, mirror(state, parts));
    }
    weft_free(parts);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

uint64_t edge_stream_memory(int64_t vertices, int parts)
{
    const uint64_t words = (uint64_t)(parts + 63) / 64, later = words * sizeof(uint64_t);
    const uint64_t most = later > HOMES_BYTES_PER_VERTEX ? later : HOMES_BYTES_PER_VERTEX;
    return (uint64_t)vertices * (sizeof(int64_t) + sizeof(uint16_t) + most);
}

static weft_status state_create(stream_state *state)
{
    const int64_t n = state->graph->vertices;
    const int parts = state->parts;
    WEFT_TRY(WEFT_NEW_ZERO(&state->degree, n, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->home, n, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->load, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->rows, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->room, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->told_load, parts, WEFT_MEM_PARTITION));
    return WEFT_NEW_ZERO(&state->told_rows, parts, WEFT_MEM_PARTITION);
}

static void state_free(stream_state *state)
{
    weft_free(state->news);
    weft_free(state->told_rows);
    weft_free(state->told_load);
    weft_free(state->room);
    weft_free(state->rows);
    weft_free(state->load);
    weft_free(state->held);
    weft_free(state->home);
    weft_free(state->degree);
}

weft_status edge_stream_assign(const row_team *team, int parts, double balance, uint16_t *edge_part, double *at_home)
{
    weft_status status = WEFT_OK;
    const weft_graph *graph = team->graph;
    stream_state state = {.team = team,
                          .graph = graph,
                          .edge_part = edge_part,
                          .first_edge = graph->offset[team->begin],
                          .parts = parts,
                          .words = (parts + 63) / 64,
                          .most_load = (int64_t)(balance * (double)graph->edges / parts) + 1};
    WEFT_CHECK(team->size == 1 || graph->symmetric, WEFT_ERR_UNSUPPORTED,
               "%s is directed: ranks divide symmetric graphs together, this one takes one process", graph->name);
    WEFT_TRY_GOTO(row_team_agree(team, state_create(&state)), status, done);
    count_degrees(&state);
    WEFT_TRY_GOTO(homes_find(team, state.degree, parts, state.home), status, done);
    status = WEFT_NEW_ZERO(&state.held, graph->vertices * state.words, WEFT_MEM_PARTITION);
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    WEFT_TRY_GOTO(share_room_at_home(&state), status, done);
    WEFT_TRY_GOTO(tell(&state, place_at_home(&state)), status, done);
    if (at_home != NULL) {
        *at_home = (double)sum_of(state.load, parts) / (double)(graph->edges > 0 ? graph->edges : 1);
    }
    WEFT_TRY_GOTO(place_others(&state), status, done);
    status = follow_pairs(&state);
done:
    state_free(&state);
    return status;
}
