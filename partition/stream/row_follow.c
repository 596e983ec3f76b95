/* partition/stream/row_follow.c: the second direction of every pair takes the part of the first. See
 * partition/stream/row_pairs.h. */

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/stream/row_pairs.h"

typedef struct follow_state {
    const row_pairs *pairs;
    const row_team *team;
    const weft_graph *graph;
    uint16_t *edge_part;
    int64_t *next; /* [n] */
    int64_t *to,
        *from;   /* [size] pairs that begin in this rank's rows and end in those of a rank, and the other way round */
    int64_t *at; /* [size] */
    uint16_t *send;  /* parts of the former, by rank */
    uint16_t *parts; /* of the latter: by rank, then by the row where they begin, then as they lie in it */
} follow_state;

static uint16_t *part_of(const follow_state *state, int64_t e)
{
    return &state->edge_part[e - state->graph->offset[state->team->begin]];
}

/* Is entry e of row v the first of a pair's run, and the other run in the row of another rank? */
static bool goes_across(const follow_state *state, int64_t v, int64_t e, int64_t u)
{
    return !row_team_owns(state->team, u) && !row_repeats(state->graph, v, e) &&
           (state->graph->symmetric || row_pairs_back(state->pairs, v, e, u) > 0);
}

/* The entry of row u < v with source v, where the pair was placed, or -1. Of a symmetric graph rows u are asked in the
 * order of v, so each moves on from where it was left: next[u]. */
static int64_t placed_entry(const weft_graph *graph, int64_t *next, int64_t u, int64_t v)
{
    if (!graph->symmetric) {
        return row_entry_of(graph, u, v);
    }
    while (next[u] < graph->offset[u + 1] && graph_source(graph, next[u]) < v) {
        ++next[u];
    }
    return next[u] < graph->offset[u + 1] && graph_source(graph, next[u]) == v ? next[u] : -1;
}

/* Rows [begin, end). next[u]: of this rank's rows where they begin, or no further than those of source `begin`; of
 * lower ranks' where the parts of pairs from row u begin. Returns an entry whose pair is nowhere, or -1. */
static int64_t follow_rows(const follow_state *state, int64_t begin, int64_t end, int64_t *next)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = begin; v < end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (u == v || *part_of(state, e) != PARTITION_NO_PART) {
                continue;
            }
            const bool repeated = row_repeats(graph, v, e);
            if (!repeated && u < state->team->begin) {
                *part_of(state, e) = state->parts[next[u]++];
                continue;
            }
            const int64_t from = repeated ? e - 1 : placed_entry(graph, next, u, v);
            if (from < 0) {
                return e;
            }
            *part_of(state, e) = *part_of(state, from);
        }
    }
    return -1;
}

enum { MOST_THREADS = 16 };

/* first[threads + 1]: the rows of each thread, with as many entries that follow. */
static void share_rows(const follow_state *state, int threads, int64_t *first)
{
    const row_team *team = state->team;
    const int64_t *offset = state->graph->offset;
    const int64_t all = offset[team->end] - offset[team->begin], half = state->graph->symmetric ? 2 : 1;
    int64_t cost = 0;
    int t = 0;
    for (int64_t v = team->begin; v < team->end && threads > 1; ++v) {
        for (; t < threads && cost >= split_even(all / half, t, threads); ++t) {
            first[t] = v;
        }
        cost += state->graph->symmetric ? row_pairs_begin(state->pairs, v) - offset[v] : offset[v + 1] - offset[v];
    }
    first[0] = team->begin;
    for (t = t > 0 ? t : 1; t <= threads; ++t) {
        first[t] = team->end;
    }
}

/* Threads have rows and a `next` of their own: the first one the scratch, the others `more`. */
static int64_t follow_all(const follow_state *state, int threads, int64_t *more)
{
    const weft_graph *graph = state->graph;
    const row_team *team = state->team;
    int64_t first[MOST_THREADS + 1], wrong = -1;
    share_rows(state, threads, first);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : wrong)
    for (int t = 0; t < threads; ++t) {
        const int64_t begin = first[t], end = first[t + 1];
        int64_t *next = t == 0 ? state->next : more + (t - 1) * graph->vertices;
        for (int64_t u = team->begin; u < end; ++u) {
            next[u] = u < begin ? graph_first_from(graph, u, begin) : graph->offset[u];
        }
        wrong = follow_rows(state, begin, end, next);
    }
    return wrong;
}

static weft_status follow(const follow_state *state, int threads)
{
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    int64_t *more = NULL;
    WEFT_TRY(WEFT_NEW(&more, (threads - 1) * state->graph->vertices, WEFT_MEM_PARTITION));
    const int64_t wrong = follow_all(state, threads, more);
    weft_free(more);
    if (wrong < 0) {
        return WEFT_OK;
    }
    const int64_t v = graph_row_of(state->graph, wrong), u = graph_source(state->graph, wrong);
    return weft_fail(WEFT_ERR_DATA,
                     "%s: the graph says that it is symmetric, but row %lld has source %lld and row %lld lacks source "
                     "%lld, or is not ascending: convert it again",
                     state->graph->name, (long long)v, (long long)u, (long long)u, (long long)v);
}

/* next: counted by the row where pairs begin. */
static void count_across(const follow_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = 0; v < state->team->begin; ++v) {
        state->next[v] = 0;
    }
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (goes_across(state, v, e, u)) {
                ++(u < v ? state->from : state->to)[row_team_of(state->team, u)];
                state->next[u] += u < v ? 1 : 0;
            }
        }
    }
}

static void put_parts(const follow_state *state)
{
    const weft_graph *graph = state->graph;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (u > v && goes_across(state, v, e, u)) {
                state->send[state->at[row_team_of(state->team, u)]++] = *part_of(state, e);
            }
        }
    }
}

/* Do both ranks count the pairs between them alike? */
static weft_status check_across(const follow_state *state)
{
    const row_team *team = state->team;
    WEFT_TRY(row_team_counts(team, state->to, state->at));
    weft_status status = WEFT_OK;
    for (int r = 0; r < team->rank && status == WEFT_OK; ++r) {
        if (state->at[r] != state->from[r]) {
            status = weft_fail(
                WEFT_ERR_DATA,
                "%s: rows %lld to %lld have %lld pairs with rows %lld to %lld, and these have %lld with them: %s: "
                "convert "
                "it again",
                state->graph->name, (long long)team->first[r], (long long)team->first[r + 1] - 1,
                (long long)state->at[r], (long long)team->begin, (long long)team->end - 1, (long long)state->from[r],
                state->graph->symmetric ? "the graph says that it is symmetric, and is not" : "rows do not ascend");
        }
    }
    return row_team_agree(team, status);
}

/* [out] parts, and next of lower ranks' rows. */
static weft_status exchange(follow_state *state)
{
    const row_team *team = state->team;
    weft_status status = WEFT_NEW_ZERO(&state->to, team->size, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&state->from, team->size, WEFT_MEM_PARTITION) : status;
    status = status == WEFT_OK ? WEFT_NEW(&state->at, team->size, WEFT_MEM_PARTITION) : status;
    WEFT_TRY(row_team_agree(team, status));
    count_across(state);
    WEFT_TRY(check_across(state));
    const int64_t received = row_team_starts(team, state->from, state->at);
    const int64_t sent = row_team_starts(team, state->to, state->at);
    status = WEFT_NEW(&state->send, sent, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&state->parts, received, WEFT_MEM_PARTITION) : status;
    WEFT_TRY(row_team_agree(team, status));
    put_parts(state);
    for (int r = 0; r < team->size; ++r) {
        state->to[r] *= (int64_t)sizeof *state->parts;
        state->from[r] *= (int64_t)sizeof *state->parts;
    }
    WEFT_TRY(team->talk->alltoallv(team->talk->self, state->send, state->to, state->parts, state->from));
    for (int64_t v = 0, at = 0; v < team->begin; ++v) {
        const int64_t count = state->next[v];
        state->next[v] = at;
        at += count;
    }
    return WEFT_OK;
}

weft_status row_pairs_follow(const row_pairs *pairs, int threads, uint16_t *edge_part, int64_t *next)
{
    const row_team *team = pairs->team;
    follow_state state = {.pairs = pairs, .team = team, .graph = team->graph, .edge_part = edge_part, .next = next};
    weft_status status = team->size > 1 ? exchange(&state) : WEFT_OK;
    status = status == WEFT_OK ? row_team_agree(team, follow(&state, threads)) : status;
    WEFT_FREE_ALL(state.parts, state.send, state.at, state.from, state.to);
    return status;
}
