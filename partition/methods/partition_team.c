/*
 * partition/methods/partition_team.c: see partition/partition_team.h.
 *
 * Of a symmetric graph both directions of a pair lie in one part, so the row of a vertex tells which parts hold it and how
 * many of its edges: roots and figures, too, come from a rank's own rows. Roots are chosen as in partition/methods/root.c;
 * where that looks at what is left of a part's room, a rank has its share of it, by how many of the vertices that could go there
 * are its own.
 */
#include "partition/partition_team.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "machine/placement.h"
#include "partition/methods/method.h"
#include "partition/partition_options.def"
#include "partition/stream/edge_stream.h"

#define ROOT_SLACK 1.05
enum { EVEN_ROUNDS = 4 };

typedef struct team_state {
    const row_team *team;
    const weft_graph *graph;
    const partition_share *share;
    int parts;
    int64_t *tally; /* [parts] edges of the row at hand in each; zero between rows */
    int *seen;      /* [parts] its parts */
    int64_t *count; /* [parts] roots of all ranks */
    int64_t *own;   /* [parts] what this rank adds to that */
    int64_t *room;  /* [parts] what it may add */
    int64_t *could; /* [2, parts] vertices that could go to a part: of this rank, of all */
} team_state;

static uint16_t *part_of(const team_state *state, int64_t e)
{
    return &state->share->edge_part[e - state->graph->offset[state->team->begin]];
}

/* The parts of v's edges but self-loops, ascending; their edges in tally. */
static int look_at(team_state *state, int64_t v)
{
    const weft_graph *graph = state->graph;
    int seen = 0;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
        if (graph_source(graph, e) == v) {
            continue;
        }
        const int part = *part_of(state, e);
        assert(part < state->parts);
        if (state->tally[part]++ == 0) {
            int at = seen++;
            for (; at > 0 && state->seen[at - 1] > part; --at) {
                state->seen[at] = state->seen[at - 1];
            }
            state->seen[at] = part;
        }
    }
    return seen;
}

static void forget(team_state *state, int seen)
{
    for (int i = 0; i < seen; ++i) {
        state->tally[state->seen[i]] = 0;
    }
}

/* Of the parts seen that with most edges among those with room, or -1. */
static int best_of(const team_state *state, int seen)
{
    int best = -1;
    for (int i = 0; i < seen; ++i) {
        const int part = state->seen[i];
        if (state->room[part] > 0 && (best < 0 || state->tally[part] > state->tally[best])) {
            best = part;
        }
    }
    return best;
}

static int roomiest_of(const team_state *state, int seen)
{
    int best = state->seen[0];
    for (int i = 1; i < seen; ++i) {
        best = state->room[state->seen[i]] > state->room[best] ? state->seen[i] : best;
    }
    return best;
}

static void add_own(team_state *state, int64_t v, int part)
{
    assert(part >= 0 && part < state->parts && v >= state->team->begin && v < state->team->end);
    state->share->root[v] = (uint16_t)part;
    ++state->own[part];
}

/* What all ranks added becomes part of count. */
static weft_status count_all(team_state *state)
{
    WEFT_TRY(row_team_sum(state->team, state->own, state->parts));
    for (int p = 0; p < state->parts; ++p) {
        state->count[p] += state->own[p];
        state->own[p] = 0;
    }
    return WEFT_OK;
}

static void place_unsplit(team_state *state)
{
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = look_at(state, v);
        if (seen == 1) {
            add_own(state, v, state->seen[0]);
        }
        for (int i = 0; seen > 1 && i < seen; ++i) {
            ++state->could[state->seen[i]];
        }
        forget(state, seen);
    }
}

/* could: of this rank, then all ranks' too. */
static weft_status sum_could(team_state *state)
{
    memcpy(state->could + state->parts, state->could, (size_t)state->parts * sizeof state->could[0]);
    return row_team_sum(state->team, state->could + state->parts, state->parts);
}

/* This rank's share of `amount` for a part. */
static int64_t share_of(const team_state *state, int64_t amount, int part)
{
    const int64_t own = state->could[part], all = state->could[state->parts + part];
    if (own == all) {
        return amount;
    }
    return (int64_t)((double)amount * ((double)own / (double)all));
}

static void place_split(team_state *state, int64_t limit)
{
    for (int p = 0; p < state->parts; ++p) {
        state->room[p] = share_of(state, limit - state->count[p], p);
    }
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = look_at(state, v);
        if (seen > 1) {
            const int best = best_of(state, seen);
            const int part = best >= 0 ? best : roomiest_of(state, seen);
            add_own(state, v, part);
            --state->room[part];
        }
        forget(state, seen);
    }
}

/* Isolated vertices fill the parts with the fewest roots: level by level, parts ascending. [scratch] isolated [size] */
static weft_status place_isolated(team_state *state, int64_t *isolated)
{
    const row_team *team = state->team;
    int64_t level = INT64_MAX, number = 0, all = 0;
    memset(isolated, 0, (size_t)team->size * sizeof isolated[0]);
    for (int64_t v = team->begin; v < team->end; ++v) {
        const int seen = look_at(state, v);
        isolated[team->rank] += seen == 0 ? 1 : 0;
        forget(state, seen);
    }
    WEFT_TRY(row_team_sum(team, isolated, team->size));
    for (int r = 0; r < team->size; ++r) {
        number -= r < team->rank ? isolated[r] : 0; /* of this rank's first */
        all += isolated[r];
    }
    for (int p = 0; p < state->parts; ++p) {
        level = state->count[p] < level ? state->count[p] : level;
    }
    int64_t v = team->begin;
    int part = 0;
    for (int64_t i = 0; i < all; ++i, ++number) {
        while (state->count[part] > level) {
            part = part + 1 < state->parts ? part + 1 : 0;
            level += part == 0 ? 1 : 0;
        }
        ++state->count[part];
        if (number < 0 || number >= isolated[team->rank]) {
            continue;
        }
        for (int seen = 1; seen > 0; ++v) {
            seen = look_at(state, v);
            forget(state, seen);
            if (seen == 0) {
                state->share->root[v] = (uint16_t)part;
            }
        }
    }
    return WEFT_OK;
}

/* Of split vertices: below the mean those that a part could get, above it those that it could give. */
static void count_movable(team_state *state, int64_t mean)
{
    memset(state->could, 0, (size_t)state->parts * sizeof state->could[0]);
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = look_at(state, v), root = state->share->root[v];
        for (int i = 0; seen > 1 && i < seen; ++i) {
            const int part = state->seen[i];
            state->could[part] += state->count[part] <= mean || part == root ? 1 : 0;
        }
        forget(state, seen);
    }
}

static int64_t move_roots(team_state *state)
{
    int64_t moved = 0;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int root = state->share->root[v];
        if (state->room[root] >= 0) {
            continue;
        }
        const int seen = look_at(state, v);
        const int to = seen > 1 ? best_of(state, seen) : -1;
        if (to >= 0) {
            --state->own[root];
            ++state->room[root];
            add_own(state, v, to);
            --state->room[to];
            ++moved;
        }
        forget(state, seen);
    }
    return moved;
}

/* Roots of split vertices go from parts above the mean to parts below it, until nothing moves. */
static weft_status even_out(team_state *state, int64_t mean)
{
    int64_t moved = 1;
    for (int round = 0; round < EVEN_ROUNDS && moved > 0; ++round) {
        count_movable(state, mean);
        WEFT_TRY(sum_could(state));
        for (int p = 0; p < state->parts; ++p) {
            state->room[p] = share_of(state, mean - state->count[p], p);
        }
        moved = move_roots(state);
        WEFT_TRY(row_team_sum(state->team, &moved, 1));
        WEFT_TRY(count_all(state));
    }
    return WEFT_OK;
}

/* From this rank's rows to all, and self-loops to the roots of their vertices. */
static weft_status share_roots(team_state *state)
{
    const row_team *team = state->team;
    const weft_graph *graph = state->graph;
    uint16_t *root = state->share->root;
    for (int64_t v = team->begin; v < team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            if (graph_source(graph, e) == v) {
                *part_of(state, e) = root[v];
            }
        }
    }
    if (team->size == 1) {
        return WEFT_OK;
    }
    void *all = NULL;
    int64_t bytes = 0;
    weft_status status =
        row_team_gather(team, root + team->begin, (team->end - team->begin) * (int64_t)sizeof *root, &all, &bytes);
    if (status == WEFT_OK && bytes > 0) {
        memcpy(root, all, (size_t)bytes);
    }
    weft_free(all);
    return status;
}

static weft_status choose_roots(team_state *state)
{
    const int64_t mean = (state->graph->vertices + state->parts - 1) / state->parts;
    int64_t *isolated = NULL;
    weft_status status = WEFT_NEW(&isolated, state->team->size, WEFT_MEM_PARTITION);
    WEFT_TRY_GOTO(row_team_agree(state->team, status), status, done);
    place_unsplit(state);
    WEFT_TRY_GOTO(count_all(state), status, done);
    WEFT_TRY_GOTO(sum_could(state), status, done);
    place_split(state, (int64_t)((double)mean * ROOT_SLACK) + 1);
    WEFT_TRY_GOTO(count_all(state), status, done);
    WEFT_TRY_GOTO(place_isolated(state, isolated), status, done);
    WEFT_TRY_GOTO(even_out(state, mean), status, done);
    status = share_roots(state);
done:
    weft_free(isolated);
    return status;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

enum { REPLICAS, SPLIT, CUT, SUMS };

/* Of this rank's rows: vertices held, edges and roots of each part, [parts] each, and [SUMS] more. */
static void measure_rows(team_state *state, int64_t *held, int64_t *edges, int64_t *roots, int64_t *sums)
{
    const weft_graph *graph = state->graph;
    const uint16_t *root = state->share->root;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = look_at(state, v);
        const bool at_root = state->tally[root[v]] > 0;
        ++roots[root[v]];
        held[root[v]] += at_root ? 0 : 1;
        for (int i = 0; i < seen; ++i) {
            ++held[state->seen[i]];
        }
        const int copies = seen + (at_root ? 0 : 1);
        sums[REPLICAS] += 2 * (copies - 1);
        sums[SPLIT] += copies > 1 ? 1 : 0;
        forget(state, seen);
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            ++edges[*part_of(state, e)];
            sums[CUT] += root[graph_source(graph, e)] != root[v] ? 1 : 0;
        }
    }
}

static weft_status measure(team_state *state, partition_report *report)
{
    const int parts = state->parts;
    const double n = (double)state->graph->vertices;
    int64_t *figures = NULL, all_held = 0;
    weft_status status = WEFT_NEW_ZERO(&figures, 3 * parts + SUMS, WEFT_MEM_PARTITION);
    WEFT_TRY_GOTO(row_team_agree(state->team, status), status, done);
    int64_t *held = figures, *edges = held + parts, *roots = edges + parts, *sums = roots + parts;
    measure_rows(state, held, edges, roots, sums);
    WEFT_TRY_GOTO(row_team_sum(state->team, figures, 3 * (int64_t)parts + SUMS), status, done);
    *report =
        (partition_report){.rows_per_layer = sums[REPLICAS], .split_vertices = sums[SPLIT], .cut_edges = sums[CUT]};
    for (int p = 0; p < parts; ++p) {
        all_held += held[p];
        report->empty_parts += held[p] == 0 ? 1 : 0;
    }
    report->replication_factor = n > 0 ? (double)all_held / n : 1.0;
    report->edge_balance = partition_balance_of(edges, parts, (double)state->graph->edges);
    report->root_balance = partition_balance_of(roots, parts, n);
    report->vertex_balance = partition_balance_of(held, parts, (double)all_held);
done:
    weft_free(figures);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static weft_status check(const row_team *team, const partition_options *options)
{
    const weft_graph *graph = team->graph;
    WEFT_CHECK(strcmp(options->method, "stream") == 0, WEFT_ERR_USAGE,
               FLAG_METHOD " %s divides a graph as one process: start it without mpirun, or use " FLAG_METHOD " stream",
               options->method);
    WEFT_CHECK(options->parts >= 2 && options->parts <= PARTITION_MAX_PARTS, WEFT_ERR_USAGE,
               FLAG_PARTS " %d: must be between 2 and %d", options->parts, PARTITION_MAX_PARTS);
    WEFT_CHECK(options->balance >= 1.0, WEFT_ERR_USAGE, FLAG_BALANCE " %g: must be at least 1", options->balance);
    WEFT_TRY(partition_check_rows(graph, team->begin, team->end, 1)); /* ranks share the cores */
    const uint64_t need = edge_stream_memory(graph->vertices, options->parts);
    const uint64_t left = options->memory_limit > 0 ? options->memory_limit : placement_memory_available();
    WEFT_CHECK(
        left == 0 || need <= left, WEFT_ERR_RESOURCE,
        "partitioning %lld vertices needs %.2f GiB a rank, %.2f GiB are left: use fewer ranks a node, or " FLAG_METHOD
        " random on one",
        (long long)graph->vertices, (double)need / (double)(1 << 30), (double)left / (double)(1 << 30));
    return WEFT_OK;
}

static weft_status state_create(team_state *state)
{
    WEFT_TRY(WEFT_NEW_ZERO(&state->tally, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->seen, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->count, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->own, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->room, state->parts, WEFT_MEM_PARTITION));
    return WEFT_NEW_ZERO(&state->could, 2 * (int64_t)state->parts, WEFT_MEM_PARTITION);
}

static void state_free(team_state *state)
{
    weft_free(state->could);
    weft_free(state->room);
    weft_free(state->own);
    weft_free(state->count);
    weft_free(state->seen);
    weft_free(state->tally);
}

void partition_share_free(partition_share *share)
{
    weft_free(share->edge_part);
    weft_free(share->root);
    *share = (partition_share){0};
}

weft_status partition_compute_team(const row_team *team, const partition_options *options, partition_share *share,
                                   partition_report *report)
{
    const weft_graph *graph = team->graph;
    const double start = clock_seconds();
    team_state state = {.team = team, .graph = graph, .share = share, .parts = options->parts};
    *share = (partition_share){0};
    WEFT_TRY(row_team_agree(team, check(team, options)));
    const int64_t edges = graph->offset[team->end] - graph->offset[team->begin];
    weft_status status = WEFT_NEW(&share->edge_part, edges, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&share->root, graph->vertices, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? state_create(&state) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    WEFT_TRY_GOTO(edge_stream_assign(team, options->parts, partition_pair_balance(options), share->edge_part, NULL),
                  status, done);
    WEFT_TRY_GOTO(choose_roots(&state), status, done);
    const double seconds = clock_seconds() - start;
    WEFT_TRY_GOTO(measure(&state, report), status, done);
    report->seconds = seconds;
    report->peak_rss_bytes = clock_peak_rss_bytes();
done:
    state_free(&state);
    return status;
}
