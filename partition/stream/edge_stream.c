/* partition/stream/edge_stream.c: see partition/stream/edge_stream.h. */
#include "partition/stream/edge_stream.h"

#include <assert.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/shares.h"
#include "partition/stream/design_pairs.h"
#include "partition/stream/homes.h"
#include "partition/stream/row_pairs.h"

enum { PROGRESS_ROWS = 4096, LOOK = 64 }; /* pairs between two looks at all parts */
enum { AHEAD = 8 };                       /* entries between the fetch of what is known of a source and its use */
enum { TEAM_BLOCKS = 32 };                /* of a rank's rows, with a word to the others behind each */
#define EVEN_EDGES 0.5
#define EVEN_ROWS  0.5
#define ROWS_LIMIT 1.10
#define DESIGN_WORTH                                                                                                   \
    0.88 /* replicas that a design promises over those of homes: above it, scores and refinement get below */
#define ROWS_FIRST 8 /* vertices that a part may hold in any case */

/* A part that holds a vertex since the others heard last. */
typedef struct holding {
    int64_t vertex, part;
} holding;

typedef struct stream_state {
    const row_team *team;
    const weft_graph *graph;
    row_pairs pairs;
    uint16_t *edge_part; /* of the edges of the team's own rows */
    int64_t first_edge;  /* the first of them */
    int parts, words;
    const double *share; /* [parts], or NULL */
    int64_t *most_load;  /* [parts] edges that a part may have */
    int64_t *room;       /* [parts] edges that this rank may still add */
    int64_t *degree;     /* [n] */
    uint16_t *home;      /* [n] */
    uint16_t *cluster;   /* [n] where a design is looked for, else NULL */
    uint64_t *held;      /* [n, words] bit p: part p holds v */
    int64_t *load;       /* [parts] edges */
    int64_t *rows;       /* [parts] vertices */
    /* Of a team: load and rows as of the last word, and what this rank has to tell. */
    int64_t *told_load, *told_rows;
    holding *news;
    int64_t news_count, news_room;
    /* What the last look at all parts saw. */
    double least_load, top_load, least_rows, top_rows;
    int64_t *rows_limit; /* [parts] vertices that a part may hold and still take more */
    double *edges_term,
        *rows_term; /* [parts] what a part's edges and vertices, as they are now, are worth beside those */
    int evenest;    /* the part that adds most to evenness, -1: none has room */
    int64_t since;  /* pairs placed since */
} stream_state;

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

/* Of a part's count: what it would be in one as large as the mean. */
static double evenly(const stream_state *state, const int64_t *count, int part)
{
    return shares_even(state->share, state->parts, part, (double)count[part]);
}

static void value_edges(stream_state *state, int part)
{
    state->edges_term[part] = EVEN_EDGES * (state->top_load - evenly(state, state->load, part)) /
                              (1.0 + (state->top_load - state->least_load));
}

static void value_rows(stream_state *state, int part)
{
    state->rows_term[part] = EVEN_ROWS * (state->top_rows - evenly(state, state->rows, part)) /
                             (1.0 + (state->top_rows - state->least_rows));
}

static weft_status hold(stream_state *state, int64_t v, int part)
{
    if (holds(state, v, part)) {
        return WEFT_OK;
    }
    ++state->rows[part];
    value_rows(state, part);
    state->held[v * state->words + part / 64] |= UINT64_C(1) << (part % 64);
    return state->team->size > 1 ? note(state, v, part) : WEFT_OK;
}

static weft_status place(stream_state *state, int64_t e, int64_t u, int64_t v, int part)
{
    const int64_t edges = row_pairs_edges(&state->pairs, v, e, u);
    assert(part >= 0 && part < state->parts && edges > 0);
    WEFT_TRY(hold(state, u, part));
    WEFT_TRY(hold(state, v, part));
    state->load[part] += edges;
    state->room[part] -= edges;
    value_edges(state, part);
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
        state->room[p] = (state->most_load[p] - state->load[p]) / state->team->size;
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

static void look(stream_state *state)
{
    int64_t rows = 0;
    state->least_load = state->least_rows = INFINITY;
    state->top_load = state->top_rows = 0;
    for (int p = 0; p < state->parts; ++p) {
        const double load = evenly(state, state->load, p), held = evenly(state, state->rows, p);
        state->least_load = load < state->least_load ? load : state->least_load;
        state->top_load = load > state->top_load ? load : state->top_load;
        state->least_rows = held < state->least_rows ? held : state->least_rows;
        state->top_rows = held > state->top_rows ? held : state->top_rows;
        rows += state->rows[p];
    }
    state->evenest = -1;
    double best = 0;
    for (int p = 0; p < state->parts; ++p) {
        state->rows_limit[p] =
            (int64_t)shares_amount(state->share, state->parts, p, ROWS_LIMIT * (double)rows) + ROWS_FIRST;
        value_edges(state, p);
        value_rows(state, p);
        const double gain = state->edges_term[p] + state->rows_term[p];
        if (state->room[p] > 0 && state->rows[p] < state->rows_limit[p] && (state->evenest < 0 || gain > best)) {
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
    bool limited;              /* by what parts may hold and still take one of them */
} ends;

static void consider(const stream_state *state, const ends *pair, int part, choice *best)
{
    const bool has_u = holds(state, pair->u, part), has_v = holds(state, pair->v, part), both = has_u && has_v;
    if (state->room[part] <= 0 || (!both && pair->limited && state->rows[part] >= state->rows_limit[part])) {
        return;
    }
    const double score = (has_u ? pair->weight_u : 0) + (has_v ? pair->weight_v : 0) + state->edges_term[part] +
                         (both ? EVEN_ROWS : state->rows_term[part]);
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
        best = evenly(state, state->load, p) < evenly(state, state->load, best) ? p : best;
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
                 .limited = true};
    choice best = {.part = -1};
    consider_holders(state, &pair, &best);
    if (state->evenest >= 0) {
        consider(state, &pair, state->evenest, &best);
    }
    if (best.part < 0) {
        pair.limited = false;
        consider_holders(state, &pair, &best);
    }
    return best.part >= 0 ? best.part : emptiest(state);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Where edges begin is told by the rows where they end: of a directed graph by all ranks'. */
static weft_status count_degrees(stream_state *state)
{
    const row_team *team = state->team;
    const weft_graph *graph = state->graph;
    const bool all_rows = graph->symmetric;
    for (int64_t v = all_rows ? 0 : team->begin; v < (all_rows ? graph->vertices : team->end); ++v) {
        state->degree[v] += graph->offset[v + 1] - graph->offset[v];
        for (int64_t e = graph->offset[v]; !graph->symmetric && e < graph->offset[v + 1]; ++e) {
            ++state->degree[graph_source(graph, e)];
        }
    }
    return all_rows ? WEFT_OK : row_team_sum(team, state->degree, graph->vertices);
}

/* Edges of pairs whose ends are at home in a part, of this rank's rows. */
static void count_at_home(const stream_state *state, int64_t *count)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (state->home[u] == state->home[v] && row_pairs_first(&state->pairs, v, e, u)) {
                count[state->home[v]] += row_pairs_edges(&state->pairs, v, e, u);
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
        state->room[p] = state->most_load[p];
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
        if (all[p] > state->most_load[p]) {
            state->room[p] = (int64_t)((double)state->most_load[p] * ((double)own[p] / (double)all[p]));
        }
    }
done:
    WEFT_FREE_ALL(own, all);
    return status;
}

static weft_status place_at_home(stream_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const uint16_t home = state->home[v];
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            *part_of(state, e) = PARTITION_NO_PART;
        }
        for (int64_t e = row_pairs_begin(&state->pairs, v); e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (state->home[u] == home && state->room[home] > 0 && row_pairs_first(&state->pairs, v, e, u)) {
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
        for (int64_t e = row_pairs_begin(&state->pairs, v); e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            const int64_t ahead = graph_source(graph, e + AHEAD < graph->edges ? e + AHEAD : e);
            __builtin_prefetch(&state->held[ahead * state->words]);
            __builtin_prefetch(&state->degree[ahead]);
            if (*part_of(state, e) == PARTITION_NO_PART && row_pairs_first(&state->pairs, v, e, u)) {
                WEFT_TRY(place(state, e, u, v, choose(state, u, v)));
            }
        }
    }
    return WEFT_OK;
}

static int64_t sum_of(const int64_t *count, int size)
{
    int64_t sum = 0;
    for (int i = 0; i < size; ++i) {
        sum += count[i];
    }
    return sum;
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

/* ---- both -------------------------------------------------------------------------------------------------------- */

uint64_t edge_stream_memory(const row_team *team, int parts)
{
    const uint64_t words = (uint64_t)(parts + 63) / 64, later = words * sizeof(uint64_t);
    const uint64_t most = later > HOMES_BYTES_PER_VERTEX ? later : HOMES_BYTES_PER_VERTEX;
    return (uint64_t)team->graph->vertices * (sizeof(int64_t) + 2 * sizeof(uint16_t) + most) + row_pairs_memory(team);
}

/* Threads of the last step, whose memory homes have had: beside what parts hold. Ranks of a team are threads enough. */
static int threads_to_follow(const stream_state *state, int threads)
{
    const int64_t held = state->words * (int64_t)sizeof(uint64_t), left = HOMES_BYTES_PER_VERTEX - held;
    const int64_t most = left > 0 ? 1 + left / (int64_t)sizeof(int64_t) : 1;
    const int useful = split_threads(state->graph->edges, threads);
    return state->team->size > 1 ? 1 : useful < most ? useful : (int)most;
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
    WEFT_TRY(WEFT_NEW(&state->most_load, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->rows_limit, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->edges_term, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->rows_term, parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->told_load, parts, WEFT_MEM_PARTITION));
    return WEFT_NEW_ZERO(&state->told_rows, parts, WEFT_MEM_PARTITION);
}

static void state_free(stream_state *state)
{
    row_pairs_close(&state->pairs);
    WEFT_FREE_ALL(state->news, state->told_rows, state->told_load, state->rows_limit, state->most_load, state->room,
                  state->rows_term, state->edges_term, state->rows, state->load, state->held, state->cluster,
                  state->home, state->degree);
}

/* [out] worth: a design promises fewer replicas than homes do. */
static weft_status is_design_worth(const stream_state *state, const block_design *design, bool *worth)
{
    design_forecast forecast;
    WEFT_TRY(design_foresee(state->team, state->degree, state->home, design, &forecast));
    log_debug("stream: %.3f replicas a vertex by homes, %.3f by a design", forecast.by_homes, forecast.by_design);
    *worth = forecast.by_design < DESIGN_WORTH * forecast.by_homes;
    return WEFT_OK;
}

/* Whether designs are asked for, and there is one of that kind for such parts. */
static bool find_design(const edge_stream_options *options, block_design_kind kind, block_design *design)
{
    return options->way != STREAM_BY_SCORES && options->share == NULL &&
           block_design_find(options->parts, kind, design);
}

/* [out] placed: all pairs are. */
static weft_status place_by_design(stream_state *state, const edge_stream_options *options, const block_design *design,
                                   bool *placed)
{
    const row_team *team = state->team;
    uint16_t *point = NULL;
    weft_status status = WEFT_NEW(&point, state->graph->vertices, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? design_group(state->graph->vertices, state->cluster, design, point) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    status = design_assign(team, state->degree, design, options->threads, state->most_load[0], point, state->edge_part,
                           placed);
done:
    weft_free(point);
    return status;
}

/* [out] placed: all pairs are, by the leanest design that is worth it and leaves no part too many edges. */
static weft_status try_designs(stream_state *state, const edge_stream_options *options, bool *placed)
{
    block_design design;
    bool worth = true;
    *placed = false;
    for (block_design_kind kind = 0; kind < BLOCK_DESIGN_KINDS && worth && !*placed; ++kind) {
        if (!find_design(options, kind, &design)) {
            continue;
        }
        WEFT_TRY(is_design_worth(state, &design, &worth)); /* if it is not, one of more replicas is not either */
        if (worth) {
            WEFT_TRY(place_by_design(state, options, &design, placed));
        }
    }
    return WEFT_OK;
}

static weft_status place_by_scores(stream_state *state, const edge_stream_options *options, double *at_home)
{
    WEFT_TRY(row_pairs_open(state->team, &state->pairs));
    WEFT_TRY(share_room_at_home(state));
    WEFT_TRY(tell(state, place_at_home(state)));
    *at_home = (double)sum_of(state->load, state->parts) / (double)(state->graph->edges > 0 ? state->graph->edges : 1);
    WEFT_TRY(place_others(state));
    return options->first ? WEFT_OK
                          : row_pairs_follow(&state->pairs, threads_to_follow(state, options->threads),
                                             state->edge_part, state->degree);
}

weft_status edge_stream_assign(const row_team *team, const edge_stream_options *options, uint16_t *edge_part,
                               uint64_t **held, edge_stream_result *result)
{
    weft_status status = WEFT_OK;
    const weft_graph *graph = team->graph;
    const int parts = options->parts;
    edge_stream_result found = {.by_design = false};
    block_design design;
    const bool designs =
        find_design(options, BLOCK_DESIGN_EVEN, &design); /* there is one wherever there is a lean one */
    assert(!options->first || team->size == 1);
    if (options->way == STREAM_BY_DESIGN && !designs) { /* homes would be found in vain */
        assert(held == NULL && result != NULL);
        *result = found;
        return WEFT_OK;
    }
    stream_state state = {.team = team,
                          .graph = graph,
                          .edge_part = edge_part,
                          .first_edge = graph->offset[team->begin],
                          .parts = parts,
                          .words = (parts + 63) / 64,
                          .share = options->share};
    WEFT_TRY_GOTO(row_team_agree(team, state_create(&state)), status, done);
    for (int p = 0; p < parts; ++p) {
        const double edges = options->balance * (double)graph->edges;
        state.most_load[p] = (int64_t)shares_amount(options->share, parts, p, edges) + 1;
    }
    WEFT_TRY_GOTO(count_degrees(&state), status, done);
    if (designs) {
        status = WEFT_NEW(&state.cluster, graph->vertices, WEFT_MEM_PARTITION);
        WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    }
    WEFT_TRY_GOTO(homes_find(team, state.degree, parts, options->share, state.home, state.cluster), status, done);
    WEFT_TRY_GOTO(try_designs(&state, options, &found.by_design), status, done);
    weft_free(state.cluster);
    state.cluster = NULL;
    status = WEFT_NEW_ZERO(&state.held, graph->vertices * state.words, WEFT_MEM_PARTITION);
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    if (!found.by_design && options->way != STREAM_BY_DESIGN) {
        WEFT_TRY_GOTO(place_by_scores(&state, options, &found.at_home), status, done);
    } else if (found.by_design && held != NULL) {
        WEFT_TRY_GOTO(design_tell_held(team, edge_part, state.held), status, done);
    }
    if (result != NULL) {
        *result = found;
    }
    if (held != NULL) {
        *held = state.held;
        state.held = NULL;
    }
done:
    state_free(&state);
    return status;
}
