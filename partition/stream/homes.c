/* partition/stream/homes.c: see partition/stream/homes.h. */
#include "partition/stream/homes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"

enum { PASSES = 8, PROGRESS_ROWS = 4096, STILL = 128 }; /* passes end when fewer than one vertex in STILL moves */
enum { TEAM_BLOCKS = 8 };                               /* of a rank's rows, with a word to the others behind each */
#define EDGE_SLACK   1.05                               /* of a part over the mean */
#define VERTEX_SLACK 1.10
#define LEAST_LIMIT  0.125 /* of a cluster, in mean parts */

/* What a label may still take. */
typedef struct room {
    int64_t edges, members;
} room;

typedef struct move {
    int64_t vertex, label;
} move;

typedef struct homes_state {
    const row_team *team;
    const weft_graph *graph;
    const int64_t *degree;
    const double *asked; /* [labels] once labels are parts of different sizes; NULL: room is the same for all */
    int64_t labels;
    int64_t total;    /* sum of degrees */
    int64_t *label;   /* [n] cluster, later part */
    int64_t *edges;   /* [labels] sum of degrees; in a pass: what this rank may still add */
    int64_t *members; /* [labels] vertices with edges; the same */
    int64_t *count;   /* [labels] zero between rows */
    int64_t *found;   /* [longest row] labels of a row's sources, each once, in their order */
    move *moves;      /* of a team: [rows] of the block at hand */
    int64_t moved;
    log_progress progress;
    int64_t passes; /* over rows so far */
} homes_state;

/* The label of most sources of v among those that can take it; its own where none has more. */
static int64_t best_label(homes_state *state, int64_t v)
{
    const weft_graph *graph = state->graph;
    const int64_t own = state->label[v], begin = graph->offset[v], end = graph->offset[v + 1];
    int64_t best = own, found = 0;
    for (int64_t e = begin; e < end; ++e) {
        const int64_t label = state->label[graph_source(graph, e)];
        if (state->count[label]++ == 0) {
            state->found[found++] = label;
        }
    }
    int64_t most = state->count[own];
    for (int64_t i = 0; i < found; ++i) {
        const int64_t label = state->found[i];
        if (state->count[label] > most && state->edges[label] >= state->degree[v] && state->members[label] > 0) {
            most = state->count[label];
            best = label;
        }
    }
    for (int64_t i = 0; i < found; ++i) {
        state->count[state->found[i]] = 0;
    }
    return best;
}

static void add_up(homes_state *state)
{
    for (int64_t l = 0; l < state->labels; ++l) {
        state->edges[l] = state->members[l] = 0;
    }
    for (int64_t v = 0; v < state->graph->vertices; ++v) {
        state->edges[state->label[v]] += state->degree[v];
        state->members[state->label[v]] += state->degree[v] > 0 ? 1 : 0;
    }
}

/* What a label may have; most: one as large as the mean. */
static room room_of(const homes_state *state, room most, int64_t label)
{
    if (state->asked == NULL) {
        return most;
    }
    const double size = state->asked[label] * (double)state->labels;
    return (room){(int64_t)((double)most.edges * size), (int64_t)((double)most.members * size) + 1};
}

/* This rank's share of what labels may take besides what they have. */
static void share_room(homes_state *state, room most)
{
    add_up(state);
    for (int64_t l = 0; l < state->labels; ++l) {
        const room own = room_of(state, most, l);
        state->edges[l] = (own.edges - state->edges[l]) / state->team->size;
        state->members[l] = (own.members - state->members[l]) / state->team->size;
    }
}

static void walk_rows(homes_state *state, int64_t begin, int64_t end)
{
    const int64_t n = state->graph->vertices;
    state->moved = 0;
    for (int64_t v = begin; v < end; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(&state->progress, (double)(state->passes * n + v));
        }
        const int64_t own = state->label[v], best = best_label(state, v);
        if (best == own) {
            continue;
        }
        const int64_t member = state->degree[v] > 0 ? 1 : 0;
        state->edges[own] += state->degree[v];
        state->edges[best] -= state->degree[v];
        state->members[own] += member;
        state->members[best] -= member;
        assert(state->edges[best] >= 0 && state->members[best] >= 0);
        state->label[v] = best;
        if (state->moves != NULL) {
            state->moves[state->moved] = (move){v, best};
        }
        ++state->moved;
    }
}

/* What became of the others' vertices. [out] moved: by all ranks. */
static weft_status hear(homes_state *state, room most, int64_t *moved)
{
    void *all = NULL;
    int64_t bytes = 0;
    weft_status status = row_team_gather(state->team, state->moves, state->moved * (int64_t)sizeof(move), &all, &bytes);
    if (status == WEFT_OK) {
        const move *moves = all;
        *moved = bytes / (int64_t)sizeof(move);
        for (int64_t i = 0; i < *moved; ++i) {
            assert(moves[i].vertex < state->graph->vertices && moves[i].label < state->labels);
            state->label[moves[i].vertex] = moves[i].label;
        }
        share_room(state, most);
    }
    weft_free(all);
    return status;
}

/* [out] moved: vertices of all ranks that have another label now. */
static weft_status propagate_once(homes_state *state, room most, int64_t *moved)
{
    const row_team *team = state->team;
    *moved = 0;
    if (team->size == 1) {
        walk_rows(state, team->begin, team->end);
        *moved = state->moved;
    }
    for (int block = 0; team->size > 1 && block < TEAM_BLOCKS; ++block) {
        int64_t here = 0;
        walk_rows(state, row_team_block(team, block, TEAM_BLOCKS), row_team_block(team, block + 1, TEAM_BLOCKS));
        WEFT_TRY(hear(state, most, &here));
        *moved += here;
    }
    ++state->passes;
    return WEFT_OK;
}

static weft_status propagate(homes_state *state, room most)
{
    int64_t moved = INT64_MAX;
    share_room(state, most);
    for (int pass = 0; pass < PASSES && moved > state->graph->vertices / STILL; ++pass) {
        WEFT_TRY(propagate_once(state, most, &moved));
    }
    add_up(state);
    return WEFT_OK;
}

/* ---- clusters to parts ------------------------------------------------------------------------------------------- */

typedef struct share {
    double edges, members; /* of the mean part */
} share;

static double fullness(share s)
{
    return s.edges > s.members ? s.edges : s.members;
}

static share share_of(const homes_state *state, int64_t cluster, int parts)
{
    return (share){(double)state->edges[cluster] * parts / (double)state->total,
                   (double)state->members[cluster] * parts / (double)state->graph->vertices};
}

typedef struct sized_cluster {
    double size;
    int64_t cluster;
} sized_cluster;

static int fuller_first(const void *a, const void *b)
{
    const sized_cluster *x = a, *y = b;
    if (x->size != y->size) {
        return x->size < y->size ? 1 : -1;
    }
    return x->cluster < y->cluster ? -1 : 1;
}

/* A heap of parts, the emptiest at its root, of which alone the share grows. */
typedef struct part_heap {
    int parts;
    int *part;           /* [parts] */
    share *share;        /* [parts] of each part, by its number */
    const double *asked; /* [parts] what they are to have, or NULL */
} part_heap;

/* How full a part is; of parts of different sizes, less what it has room for. */
static double filled(const part_heap *heap, int part)
{
    const double full = fullness(heap->share[part]);
    return heap->asked != NULL ? full - heap->asked[part] * heap->parts : full;
}

static bool is_emptier(const part_heap *heap, int a, int b)
{
    const double x = filled(heap, heap->part[a]), y = filled(heap, heap->part[b]);
    return x < y || (x == y && heap->part[a] < heap->part[b]);
}

static void sift_root(part_heap *heap)
{
    for (int at = 0, child = 1; child < heap->parts; child = 2 * at + 1) {
        child += child + 1 < heap->parts && is_emptier(heap, child + 1, child) ? 1 : 0;
        if (!is_emptier(heap, child, at)) {
            return;
        }
        const int part = heap->part[at];
        heap->part[at] = heap->part[child];
        heap->part[child] = part;
        at = child;
    }
}

/* part_of [n]: what is written for each cluster. */
static void deal(const homes_state *state, const sized_cluster *order, int64_t clusters, part_heap *heap,
                 int64_t *part_of)
{
    for (int p = 0; p < heap->parts; ++p) { /* in order, the emptiest first: a heap */
        int at = p;
        for (heap->part[at] = p; at > 0 && is_emptier(heap, at, at - 1); --at) {
            heap->part[at] = heap->part[at - 1];
            heap->part[at - 1] = p;
        }
    }
    for (int64_t i = 0; i < clusters; ++i) {
        const share more = share_of(state, order[i].cluster, heap->parts);
        share *mine = &heap->share[heap->part[0]];
        part_of[order[i].cluster] = heap->part[0];
        mine->edges += more.edges;
        mine->members += more.members;
        sift_root(heap);
    }
}

/* [out] cluster [n]: the place of each vertex's label in the order. */
static void tell_clusters(const homes_state *state, const sized_cluster *order, int64_t clusters, uint16_t *cluster)
{
    const int64_t last = HOMES_CLUSTERS - 1;
    for (int64_t i = 0; i < clusters; ++i) {
        state->count[order[i].cluster] = i < last ? i : last;
    }
    for (int64_t v = 0; v < state->graph->vertices; ++v) {
        cluster[v] = (uint16_t)(state->degree[v] > 0 ? state->count[state->label[v]] : last);
    }
}

/* Labels become parts, and so do the sums over them. cluster [n] or NULL: what they were. */
static weft_status clusters_to_parts(homes_state *state, int parts, const double *asked, uint16_t *cluster)
{
    weft_status status = WEFT_OK;
    const int64_t n = state->graph->vertices;
    int64_t clusters = 0;
    sized_cluster *order = NULL;
    part_heap heap = {.parts = parts, .asked = asked};
    for (int64_t v = 0; v < n; ++v) {
        clusters += state->edges[v] > 0 ? 1 : 0;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&order, clusters, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&heap.part, parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&heap.share, parts, WEFT_MEM_PARTITION), status, done);
    clusters = 0;
    for (int64_t v = 0; v < n; ++v) {
        if (state->edges[v] > 0) {
            order[clusters++] = (sized_cluster){fullness(share_of(state, v, parts)), v};
        }
    }
    if (clusters > 0) {
        qsort(order, (size_t)clusters, sizeof order[0], fuller_first);
    }
    if (cluster != NULL) {
        tell_clusters(state, order, clusters, cluster);
    }
    deal(state, order, clusters, &heap, state->count);
    for (int64_t v = 0; v < n; ++v) {
        state->label[v] = state->degree[v] > 0 ? state->count[state->label[v]] : 0;
    }
    for (int64_t v = 0; v < n; ++v) {
        state->count[v] = 0;
    }
    state->labels = parts;
    state->asked = asked;
done:
    WEFT_FREE_ALL(heap.share, heap.part, order);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int64_t longest_block(const row_team *team)
{
    int64_t most = 0;
    for (int block = 0; block < TEAM_BLOCKS; ++block) {
        const int64_t rows = row_team_block(team, block + 1, TEAM_BLOCKS) - row_team_block(team, block, TEAM_BLOCKS);
        most = rows > most ? rows : most;
    }
    return most;
}

/* Of this rank's rows. */
static int64_t longest_row(const row_team *team)
{
    const int64_t *offset = team->graph->offset;
    int64_t longest = 0;
    for (int64_t v = team->begin; v < team->end; ++v) {
        const int64_t edges = offset[v + 1] - offset[v];
        longest = edges > longest ? edges : longest;
    }
    return longest;
}

static weft_status state_create(const row_team *team, const int64_t *degree, int parts, homes_state *state)
{
    const int64_t n = team->graph->vertices, most = n > parts ? n : parts;
    *state = (homes_state){.team = team, .graph = team->graph, .degree = degree, .labels = n};
    WEFT_TRY(WEFT_NEW(&state->label, n, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->edges, most, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->members, most, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->count, most, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->found, longest_row(team), WEFT_MEM_PARTITION));
    WEFT_TRY(team->size > 1 ? WEFT_NEW(&state->moves, longest_block(team), WEFT_MEM_PARTITION) : WEFT_OK);
    for (int64_t v = 0; v < n; ++v) {
        state->label[v] = v;
        state->total += degree[v];
    }
    return WEFT_OK;
}

static void state_free(homes_state *state)
{
    WEFT_FREE_ALL(state->label, state->edges, state->members, state->count, state->found, state->moves);
}

/* Of a cluster, in mean parts. */
static double cluster_limit(const double *asked, int parts)
{
    double least = 1.0;
    for (int p = 0; asked != NULL && p < parts; ++p) {
        least = asked[p] * parts < least ? asked[p] * parts : least;
    }
    return least > LEAST_LIMIT ? least : LEAST_LIMIT;
}

weft_status homes_find(const row_team *team, const int64_t *degree, int parts, const double *asked, uint16_t *home,
                       uint16_t *cluster)
{
    homes_state state;
    const int64_t n = team->graph->vertices;
    weft_status status = row_team_agree(team, state_create(team, degree, parts, &state));
    WEFT_TRY_GOTO(status, status, done);
    const double edges = (double)state.total / parts, members = (double)n / parts;
    state.progress = log_progress_begin("stream, homes of vertices", "rows", 2.0 * PASSES * (double)n);
    const double limit = cluster_limit(asked, parts);
    WEFT_TRY_GOTO(propagate(&state, (room){(int64_t)(limit * edges), (int64_t)(limit * members) + 1}), status, done);
    WEFT_TRY_GOTO(row_team_agree(team, clusters_to_parts(&state, parts, asked, cluster)), status, done);
    WEFT_TRY_GOTO(propagate(&state, (room){(int64_t)(EDGE_SLACK * edges), (int64_t)(VERTEX_SLACK * members) + 1}),
                  status, done);
    log_progress_end(&state.progress);
    for (int64_t v = 0; v < n; ++v) {
        assert(state.label[v] < parts);
        home[v] = (uint16_t)state.label[v];
    }
done:
    state_free(&state);
    return status;
}
