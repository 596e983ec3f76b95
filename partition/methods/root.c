/* partition/methods/root.c: see partition/methods/root.h. */
#include "partition/methods/root.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"

#define ROOT_SLACK 1.05
enum { EVEN_ROUNDS = 4, BISECTIONS = 64 };

typedef struct root_state {
    const row_team *team;
    const replica_table *table;
    int parts;
    const double *share; /* [parts], or NULL */
    uint16_t *root;      /* [n] */
    int *seen;           /* [parts] those of the vertex at hand */
    int64_t *count;      /* [parts] roots of all ranks */
    int64_t *own;        /* [parts] what this rank adds to that */
    int64_t *room;       /* [parts] what it may add */
    int64_t *mean;       /* [parts] roots that each part shall have */
    int64_t *could;      /* [2, parts] vertices that could go to a part: of this rank, of all */
} root_state;

/* Of v's parts that with most of its edges among those with room, or -1. */
static int best_of(const root_state *state, int64_t v, int seen)
{
    const int32_t *edges = state->table->edges + replica_at(state->table, v);
    int best = -1, most = 0;
    for (int i = 0; i < seen; ++i) {
        const int part = state->seen[i];
        if (state->room[part] > 0 && edges[i] > most) {
            best = part;
            most = edges[i];
        }
    }
    return best;
}

static int roomiest_of(const root_state *state, int seen)
{
    int best = state->seen[0];
    for (int i = 1; i < seen; ++i) {
        best = state->room[state->seen[i]] > state->room[best] ? state->seen[i] : best;
    }
    return best;
}

static void add_own(root_state *state, int64_t v, int part)
{
    assert(part >= 0 && part < state->parts && row_team_owns(state->team, v));
    state->root[v] = (uint16_t)part;
    ++state->own[part];
}

/* What all ranks added becomes part of count. */
static weft_status count_all(root_state *state)
{
    WEFT_TRY(row_team_sum(state->team, state->own, state->parts));
    for (int p = 0; p < state->parts; ++p) {
        state->count[p] += state->own[p];
        state->own[p] = 0;
    }
    return WEFT_OK;
}

static void place_unsplit(root_state *state)
{
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = replica_parts(state->table, v, state->seen);
        if (seen == 1) {
            add_own(state, v, state->seen[0]);
        }
        for (int i = 0; seen > 1 && i < seen; ++i) {
            ++state->could[state->seen[i]];
        }
    }
}

/* could: of this rank, then all ranks' too. */
static weft_status sum_could(root_state *state)
{
    memcpy(state->could + state->parts, state->could, (size_t)state->parts * sizeof state->could[0]);
    return row_team_sum(state->team, state->could + state->parts, state->parts);
}

/* This rank's share of `amount` for a part. */
static int64_t share_of(const root_state *state, int64_t amount, int part)
{
    const int64_t own = state->could[part], all = state->could[state->parts + part];
    if (own == all) {
        return amount;
    }
    return (int64_t)((double)amount * ((double)own / (double)all));
}

static void place_split(root_state *state)
{
    for (int p = 0; p < state->parts; ++p) {
        const int64_t limit = (int64_t)((double)state->mean[p] * ROOT_SLACK) + 1;
        state->room[p] = share_of(state, limit - state->count[p], p);
    }
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = replica_parts(state->table, v, state->seen);
        if (seen > 1) {
            const int best = best_of(state, v, seen);
            const int part = best >= 0 ? best : roomiest_of(state, seen);
            add_own(state, v, part);
            --state->room[part];
        }
    }
}

static bool is_isolated(const root_state *state, int64_t v)
{
    return state->table->first[v] == state->table->first[v + 1];
}

/* Isolated vertices fill the parts with the fewest roots: level by level, parts ascending. */
static void place_evenly(root_state *state)
{
    int64_t level = INT64_MAX;
    int part = 0;
    for (int p = 0; p < state->parts; ++p) {
        level = state->count[p] < level ? state->count[p] : level;
    }
    for (int64_t v = 0; v < state->team->graph->vertices; ++v) {
        if (!is_isolated(state, v)) {
            continue;
        }
        while (state->count[part] > level) {
            part = part + 1 < state->parts ? part + 1 : 0;
            level += part == 0 ? 1 : 0;
        }
        state->root[v] = (uint16_t)part;
        ++state->count[part];
    }
}

/* Roots that part p lacks to its share of `level`. */
static int64_t lacking(const root_state *state, double level, int part)
{
    const int64_t lacks = (int64_t)ceil(level * state->share[part]) - state->count[part];
    return lacks > 0 ? lacks : 0;
}

static int64_t lacking_of_all(const root_state *state, double level)
{
    int64_t lacks = 0;
    for (int p = 0; p < state->parts; ++p) {
        lacks += lacking(state, level, p);
    }
    return lacks;
}

/* The same by shares: up to one level, found by bisection, that all parts have their share of. */
static void place_by_shares(root_state *state)
{
    const int64_t n = state->team->graph->vertices;
    int64_t isolated = 0;
    for (int64_t v = 0; v < n; ++v) {
        isolated += is_isolated(state, v) ? 1 : 0;
    }
    double low = 0.0, high = 1.0;
    while (lacking_of_all(state, high) < isolated) {
        high *= 2.0;
    }
    for (int step = 0; step < BISECTIONS; ++step) {
        const double middle = (low + high) / 2.0;
        low = lacking_of_all(state, middle) < isolated ? middle : low;
        high = low == middle ? high : middle;
    }
    for (int p = 0; p < state->parts; ++p) {
        state->room[p] = lacking(state, high, p);
    }
    int part = 0;
    for (int64_t v = 0; v < n; ++v) {
        if (!is_isolated(state, v)) {
            continue;
        }
        while (state->room[part] == 0) {
            ++part;
        }
        state->root[v] = (uint16_t)part;
        --state->room[part];
        ++state->count[part];
    }
}

/* Of split vertices: below the mean those that a part could get, above it those that it could give. */
static void count_movable(root_state *state)
{
    memset(state->could, 0, (size_t)state->parts * sizeof state->could[0]);
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int seen = replica_parts(state->table, v, state->seen), root = state->root[v];
        for (int i = 0; seen > 1 && i < seen; ++i) {
            const int part = state->seen[i];
            state->could[part] += state->count[part] <= state->mean[part] || part == root ? 1 : 0;
        }
    }
}

static int64_t move_roots(root_state *state)
{
    int64_t moved = 0;
    for (int64_t v = state->team->begin; v < state->team->end; ++v) {
        const int root = state->root[v];
        if (state->room[root] >= 0) {
            continue;
        }
        const int seen = replica_parts(state->table, v, state->seen);
        const int to = seen > 1 ? best_of(state, v, seen) : -1;
        if (to >= 0) {
            --state->own[root];
            ++state->room[root];
            add_own(state, v, to);
            --state->room[to];
            ++moved;
        }
    }
    return moved;
}

/* Roots of split vertices go from parts above their mean to parts below it, until nothing moves. */
static weft_status even_out(root_state *state)
{
    int64_t moved = 1;
    for (int round = 0; round < EVEN_ROUNDS && moved > 0; ++round) {
        count_movable(state);
        WEFT_TRY(sum_could(state));
        for (int p = 0; p < state->parts; ++p) {
            state->room[p] = share_of(state, state->mean[p] - state->count[p], p);
        }
        moved = move_roots(state);
        WEFT_TRY(row_team_sum(state->team, &moved, 1));
        WEFT_TRY(count_all(state));
    }
    return WEFT_OK;
}

/* An edge without a part is a self-loop. */
static void place_self_loops(const root_state *state, int threads, uint16_t *edge_part)
{
    const row_team *team = state->team;
    const int64_t *offset = team->graph->offset + team->begin, rows = team->end - team->begin;
#pragma omp parallel num_threads(split_threads(offset[rows] - offset[0], threads))
    {
        const int t = omp_get_thread_num(), of = omp_get_num_threads();
        const int64_t end = split_rows(offset, rows, t + 1, of);
        for (int64_t i = split_rows(offset, rows, t, of); i < end; ++i) {
            for (int64_t e = offset[i] - offset[0]; e < offset[i + 1] - offset[0]; ++e) {
                if (edge_part[e] == PARTITION_NO_PART) {
                    edge_part[e] = state->root[team->begin + i];
                }
            }
        }
    }
}

/* From this rank's rows to all. */
static weft_status share_roots(const root_state *state)
{
    const row_team *team = state->team;
    const int64_t rows = team->end - team->begin;
    void *all = NULL;
    int64_t bytes = 0;
    if (team->size == 1) {
        return WEFT_OK;
    }
    weft_status status =
        row_team_gather(team, state->root + team->begin, rows * (int64_t)sizeof *state->root, &all, &bytes);
    if (status == WEFT_OK && bytes > 0) {
        memcpy(state->root, all, (size_t)bytes);
    }
    weft_free(all);
    return status;
}

static weft_status state_create(root_state *state)
{
    WEFT_TRY(WEFT_NEW(&state->seen, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->count, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->own, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->room, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->mean, state->parts, WEFT_MEM_PARTITION));
    for (int p = 0; p < state->parts; ++p) {
        state->mean[p] = shares_count(state->share, state->parts, p, state->team->graph->vertices);
    }
    return WEFT_NEW_ZERO(&state->could, 2 * (int64_t)state->parts, WEFT_MEM_PARTITION);
}

static void state_free(root_state *state)
{
    WEFT_FREE_ALL(state->could, state->mean, state->room, state->own, state->count, state->seen);
}

weft_status partition_choose_roots(const replica_table *table, int parts, const double *share, int threads,
                                   uint16_t *edge_part, uint16_t *root)
{
    const row_team *team = table->team;
    root_state state = {.team = team, .table = table, .parts = parts, .share = share, .root = root};
    weft_status status = row_team_agree(team, state_create(&state));
    WEFT_TRY_GOTO(status, status, done);
    place_unsplit(&state);
    WEFT_TRY_GOTO(count_all(&state), status, done);
    WEFT_TRY_GOTO(sum_could(&state), status, done);
    place_split(&state);
    WEFT_TRY_GOTO(count_all(&state), status, done);
    if (share == NULL) {
        place_evenly(&state);
    } else {
        place_by_shares(&state);
    }
    WEFT_TRY_GOTO(even_out(&state), status, done);
    place_self_loops(&state, threads, edge_part);
    status = share_roots(&state);
done:
    state_free(&state);
    return status;
}
