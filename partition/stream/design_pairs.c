/* partition/stream/design_pairs.c: see partition/stream/design_pairs.h. */
#include "partition/stream/design_pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"

enum { SLICE_BITS = 6, SLICES = 1 << SLICE_BITS };
enum { FORESEEN = 4 << 20 };       /* edges that a forecast looks at, about */
enum { EVENING = 64, TURNS = 16 }; /* at most: passes over slices, and numberings of groups */
enum { EVEN_ENOUGH = 64 };         /* of the mean part, one in so many edges more needs no other numbering */

static uint64_t scattered(int64_t v)
{
    return (uint64_t)v * UINT64_C(0x9E3779B97F4A7C15);
}

static int slice_of(int64_t v)
{
    return (int)(scattered(v) >> (64 - SLICE_BITS));
}

static bool is_lower(const int64_t *degree, int64_t u, int64_t v)
{
    return degree[u] < degree[v] || (degree[u] == degree[v] && u < v);
}

/* The group at some place among groups of these sizes, one behind the other. */
static int group_at(const double *size, int groups, double at)
{
    int group = 0;
    while (group < groups - 1 && at >= size[group]) {
        at -= size[group++];
    }
    return group;
}

/* ---- forecast ---------------------------------------------------------------------------------------------------- */

static uint32_t some_holders(const block_design *design, int64_t v)
{
    return design->holders[group_at(design->share, design->points, 0x1p-64 * (double)scattered(v))];
}

weft_status design_foresee(const row_team *team, const int64_t *degree, const uint16_t *home,
                           const block_design *design, design_forecast *forecast)
{
    enum { ROWS, BY_HOMES, BY_DESIGN, COUNTS };
    const weft_graph *graph = team->graph;
    const int64_t step = 1 + graph->edges / FORESEEN;
    int64_t count[COUNTS] = {0};
    for (int64_t v = (team->begin + step - 1) / step * step; v < team->end; v += step) {
        const uint32_t own = some_holders(design, v);
        uint32_t homes = 0, parts = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            if (u != v) {
                const uint32_t both = own & some_holders(design, u);
                homes |= UINT32_C(1) << home[is_lower(degree, u, v) ? u : v];
                parts |= both & -both;
            }
        }
        ++count[ROWS];
        count[BY_HOMES] += __builtin_popcount(homes);
        count[BY_DESIGN] += __builtin_popcount(parts);
    }
    WEFT_TRY(row_team_sum(team, count, COUNTS));
    const double rows = count[ROWS] > 0 ? (double)count[ROWS] : 1.0;
    *forecast = (design_forecast){(double)count[BY_HOMES] / rows, (double)count[BY_DESIGN] / rows};
    return WEFT_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct grouping {
    const block_design *design;
    double room[BLOCK_DESIGN_POINTS]; /* [points] vertices that each group may still take */
    int64_t *size;                    /* [clusters] vertices */
    int *group;                       /* [clusters] of those that are whole, else -1 */
} grouping;

/* The largest first, each to the group where it fits most closely, if it fits. */
static void place_whole(grouping *state, int64_t clusters)
{
    for (int64_t c = 0; c < clusters; ++c) {
        int best = -1;
        for (int g = 0; g < state->design->points; ++g) {
            const bool fits = state->room[g] >= (double)state->size[c];
            best = fits && (best < 0 || state->room[g] < state->room[best]) ? g : best;
        }
        state->group[c] = best;
        if (best >= 0) {
            state->room[best] -= (double)state->size[c];
        }
    }
}

/* Of clusters that are not whole size becomes how much lies before them, in their order. */
static void line_up(grouping *state, int64_t clusters)
{
    int64_t before = 0;
    for (int64_t c = 0; c < clusters; ++c) {
        const int64_t own = state->group[c] < 0 ? state->size[c] : 0;
        state->size[c] = before;
        before += own;
    }
}

weft_status design_group(int64_t n, const uint16_t *cluster, const block_design *design, uint16_t *point)
{
    weft_status status = WEFT_OK;
    grouping state = {.design = design};
    int64_t clusters = 0;
    for (int64_t v = 0; v < n; ++v) {
        clusters = cluster[v] >= clusters ? cluster[v] + 1 : clusters;
    }
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state.size, clusters, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.group, clusters, WEFT_MEM_PARTITION), status, done);
    for (int g = 0; g < design->points; ++g) {
        state.room[g] = design->share[g] * (double)n;
    }
    for (int64_t v = 0; v < n; ++v) {
        ++state.size[cluster[v]];
    }
    place_whole(&state, clusters);
    line_up(&state, clusters);
    for (int64_t v = 0; v < n; ++v) {
        const int64_t c = cluster[v];
        const double at = (double)state.size[c]++;
        point[v] = (uint16_t)(state.group[c] >= 0 ? state.group[c] : group_at(state.room, design->points, at));
    }
done:
    WEFT_FREE_ALL(state.group, state.size);
    return status;
}

/* ---- which slice goes where -------------------------------------------------------------------------------------- */

/* A cell is a slice of two groups; its pairs go together. */
typedef struct pair_plan {
    const row_team *team;
    const int64_t *degree;
    const uint16_t *key; /* [n] group and slice */
    block_design design;
    int cells;
    int64_t *weight; /* [cells] edges */
    uint8_t *part;   /* [cells] */
} pair_plan;

typedef struct heavy_cell {
    int64_t weight; /* of both ways round */
    int cell;
} heavy_cell;

static int cell_of(const pair_plan *plan, int64_t u, int64_t v)
{
    const int a = plan->key[u], b = plan->key[v], lower = is_lower(plan->degree, u, v) ? a : b;
    return ((a >> SLICE_BITS) * plan->design.points + (b >> SLICE_BITS)) * SLICES + lower % SLICES;
}

/* The same slice of the two groups the other way round. */
static int cell_across(const pair_plan *plan, int cell)
{
    const int points = plan->design.points, pair = cell / SLICES;
    return (pair % points * points + pair / points) * SLICES + cell % SLICES;
}

static uint32_t parts_of(const pair_plan *plan, int cell)
{
    const int points = plan->design.points, pair = cell / SLICES;
    return plan->design.holders[pair / points] & plan->design.holders[pair % points];
}

static void give(const pair_plan *plan, const heavy_cell *cell, int part, int64_t *load)
{
    plan->part[cell->cell] = plan->part[cell_across(plan, cell->cell)] = (uint8_t)part;
    load[part] += cell->weight;
}

static int heavier_first(const void *a, const void *b)
{
    const heavy_cell *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight < y->weight ? 1 : -1;
    }
    return x->cell - y->cell;
}

static int lightest_of(uint32_t parts, const int64_t *load)
{
    int best = __builtin_ctz(parts);
    for (uint32_t bits = parts; bits != 0; bits &= bits - 1) {
        best = load[__builtin_ctz(bits)] < load[best] ? __builtin_ctz(bits) : best;
    }
    return best;
}

/* Cells with one part to go to, into load; returns how many others there are. [out] order: those, the heaviest
 * first. */
static int give_forced(const pair_plan *plan, heavy_cell *order, int64_t *load)
{
    int choices = 0;
    for (int c = 0; c < plan->cells; ++c) {
        const int across = cell_across(plan, c);
        const uint32_t parts = parts_of(plan, c);
        const heavy_cell cell = {plan->weight[c] + (across != c ? plan->weight[across] : 0), c};
        assert(parts != 0);
        if (across >= c && (parts & (parts - 1)) == 0) {
            give(plan, &cell, __builtin_ctz(parts), load);
        } else if (across >= c) {
            order[choices++] = cell;
        }
    }
    if (choices > 0) {
        qsort(order, (size_t)choices, sizeof order[0], heavier_first);
    }
    return choices;
}

/* Every cell to a part; returns the most edges of a part. order [cells]: scratch. */
static int64_t deal(const pair_plan *plan, heavy_cell *order)
{
    int64_t load[BLOCK_DESIGN_PARTS] = {0}, most = 0;
    const int choices = give_forced(plan, order, load);
    for (int i = 0; i < choices; ++i) {
        give(plan, &order[i], lightest_of(parts_of(plan, order[i].cell), load), load);
    }
    for (int pass = 0, moved = 1; pass < EVENING && moved > 0; ++pass) {
        moved = 0;
        for (int i = 0; i < choices; ++i) {
            const int from = plan->part[order[i].cell], to = lightest_of(parts_of(plan, order[i].cell), load);
            if (load[from] > load[to] + order[i].weight) {
                load[from] -= order[i].weight;
                give(plan, &order[i], to, load);
                ++moved;
            }
        }
    }
    for (int p = 0; p < plan->design.parts; ++p) {
        most = load[p] > most ? load[p] : most;
    }
    return most;
}

/* Which group of vertices is which of the design, of those with the same share; turn 0 leaves them. */
static void renumber(const block_design *from, int turn, block_design *to)
{
    int order[BLOCK_DESIGN_POINTS];
    for (int g = 0; g < from->points; ++g) {
        const uint64_t any = scattered((int64_t)turn * BLOCK_DESIGN_POINTS + g) >> 32;
        const int other = turn > 0 ? (int)(any % (uint64_t)(g + 1)) : g;
        const int at = from->share[other] == from->share[g] ? other : g;
        order[g] = g;
        order[g] = order[at];
        order[at] = g;
    }
    *to = *from;
    for (int g = 0; g < from->points; ++g) {
        to->holders[g] = from->holders[order[g]];
    }
}

/* Groups that share many edges had better not all meet in one part: the numbering that leaves the largest part with the
 * fewest edges. [out] most: those. */
static weft_status choose_parts(pair_plan *plan, const block_design *design, int64_t *most)
{
    const int64_t even = plan->team->graph->edges / design->parts;
    heavy_cell *order = NULL;
    int best = 0;
    *most = INT64_MAX;
    WEFT_TRY(WEFT_NEW(&order, plan->cells, WEFT_MEM_PARTITION));
    for (int turn = 0; turn<TURNS && * most> even + even / EVEN_ENOUGH; ++turn) {
        renumber(design, turn, &plan->design);
        const int64_t here = deal(plan, order);
        best = here < *most ? turn : best;
        *most = here < *most ? here : *most;
    }
    renumber(design, best, &plan->design);
    deal(plan, order);
    weft_free(order);
    return WEFT_OK;
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* Of edges of own rows: what they add to weight [cells], or where they go to, edge_part; the other is NULL. */
static void walk(const pair_plan *plan, int64_t begin, int64_t end, int64_t *weight, uint16_t *edge_part)
{
    const weft_graph *graph = plan->team->graph;
    for (int64_t v = begin; v < end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            const int64_t u = graph_source(graph, e);
            const int cell = cell_of(plan, u, v);
            if (weight != NULL) {
                weight[cell] += u != v ? 1 : 0;
            } else {
                edge_part[e] = u != v ? plan->part[cell] : PARTITION_NO_PART;
            }
        }
    }
}

/* weights [threads, cells], zero, or NULL; edge_part [edges of own rows]: the other. */
static void walk_all(const pair_plan *plan, int threads, int64_t *weights, uint16_t *edge_part)
{
    const row_team *team = plan->team;
    const int64_t rows = team->end - team->begin, *offset = team->graph->offset + team->begin;
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), count = omp_get_num_threads();
        walk(plan, team->begin + split_rows(offset, rows, t, count),
             team->begin + split_rows(offset, rows, t + 1, count),
             weights != NULL ? weights + (int64_t)t * plan->cells : NULL,
             edge_part != NULL ? edge_part - offset[0] : NULL);
    }
}

static weft_status weigh(const pair_plan *plan, int threads)
{
    int64_t *all = NULL;
    weft_status status = WEFT_NEW_ZERO(&all, (int64_t)threads * plan->cells, WEFT_MEM_PARTITION);
    WEFT_TRY(row_team_agree(plan->team, status));
    walk_all(plan, threads, all, NULL);
    for (int t = 0; t < threads; ++t) {
        for (int c = 0; c < plan->cells; ++c) {
            plan->weight[c] += all[(int64_t)t * plan->cells + c];
        }
    }
    weft_free(all);
    return row_team_sum(plan->team, plan->weight, plan->cells);
}

/* What nobody looks at pair by pair shows in the sums. */
static weft_status check_symmetry(const pair_plan *plan)
{
    bool same = true;
    for (int c = 0; c < plan->cells; ++c) {
        same = same && plan->weight[c] == plan->weight[cell_across(plan, c)];
    }
    WEFT_CHECK(same || !plan->team->graph->symmetric, WEFT_ERR_DATA,
               "the graph says that it is symmetric, but some edges have no reverse: convert it again");
    return WEFT_OK;
}

weft_status design_assign(const row_team *team, const int64_t *degree, const block_design *design, int threads,
                          int64_t most_load, uint16_t *point, uint16_t *edge_part, bool *fits)
{
    weft_status status = WEFT_OK;
    const weft_graph *graph = team->graph;
    const int useful = split_threads(graph->offset[team->end] - graph->offset[team->begin], threads);
    int64_t most = 0;
    pair_plan plan = {.team = team,
                      .degree = degree,
                      .key = point,
                      .design = *design,
                      .cells = design->points * design->points * SLICES};
    for (int64_t v = 0; v < graph->vertices; ++v) {
        assert(point[v] < design->points);
        point[v] = (uint16_t)(point[v] * SLICES + slice_of(v));
    }
    status = WEFT_NEW_ZERO(&plan.weight, plan.cells, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&plan.part, plan.cells, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    WEFT_TRY_GOTO(weigh(&plan, useful), status, done);
    WEFT_TRY_GOTO(row_team_agree(team, check_symmetry(&plan)), status, done);
    WEFT_TRY_GOTO(row_team_agree(team, choose_parts(&plan, design, &most)), status, done);
    *fits = most <= most_load;
    if (*fits) {
        walk_all(&plan, useful, NULL, edge_part);
    }
done:
    WEFT_FREE_ALL(plan.part, plan.weight);
    return status;
}

/* ---- a team's word to each other --------------------------------------------------------------------------------- */

static void note_held(const row_team *team, const uint16_t *edge_part, uint64_t *held)
{
    const weft_graph *graph = team->graph;
    const int64_t first = graph->offset[team->begin];
    for (int64_t v = team->begin; v < team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            if (edge_part[e - first] != PARTITION_NO_PART) {
                const uint64_t bit = UINT64_C(1) << edge_part[e - first];
                held[v] |= bit;
                held[graph_source(graph, e)] |= bit;
            }
        }
    }
}

/* from [size, own rows]: what the ranks know of this rank's rows. */
static void unite(const row_team *team, const uint64_t *from, uint64_t *held)
{
    const int64_t rows = team->end - team->begin;
    for (int r = 0; r < team->size; ++r) {
        for (int64_t i = 0; i < rows; ++i) {
            held[team->begin + i] |= from[r * rows + i];
        }
    }
}

weft_status design_tell_held(const row_team *team, const uint16_t *edge_part, uint64_t *held)
{
    const row_team_talk *talk = team->talk;
    const int64_t rows = team->end - team->begin;
    int64_t *bytes = NULL; /* [2, size] of each rank's rows, and of this rank's from each */
    uint64_t *from = NULL;
    note_held(team, edge_part, held);
    if (team->size == 1) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&bytes, 2 * (int64_t)team->size, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&from, team->size * rows, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    for (int r = 0; r < team->size; ++r) {
        bytes[r] = (team->first[r + 1] - team->first[r]) * (int64_t)sizeof *held;
        bytes[team->size + r] = rows * (int64_t)sizeof *held;
    }
    WEFT_TRY_GOTO(talk->alltoallv(talk->self, held, bytes, from, bytes + team->size), status, done);
    unite(team, from, held);
    if (rows > 0) { /* else there may be no arrays */
        memcpy(from, held + team->begin, (size_t)bytes[team->rank]);
    }
    status = talk->allgatherv(talk->self, from, bytes[team->rank], held, bytes);
done:
    WEFT_FREE_ALL(from, bytes);
    return status;
}
