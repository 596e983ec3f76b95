/* partition/cover/evict.c: see partition/cover/evict.h. */
#include "partition/cover/evict.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/shares.h"

enum { WALKS = 2, MOST_PAIRS = 192, WORTH = 500, PROGRESS_ROWS = 4096 };
#define VERTEX_LIMIT 1.1

static const int pairs_of_walk[WALKS] = {48, MOST_PAIRS};

typedef struct evict_state {
    const adjacency *adjacent;
    uint16_t *entry_part; /* [entries] */
    int parts;
    part_counts *counts;
    int *holder; /* [parts] parts that hold the vertex at hand */
    int holders;
    const double *share; /* [parts], or NULL */
    int64_t *load_cap;   /* [parts] pairs */
    int64_t *held_cap;   /* [parts] vertices above which a part is to lose some */
} evict_state;

/* A replica that may go: its pairs, and where each would. */
typedef struct eviction {
    int count, replicas;    /* pairs found; replicas that would arise, those that vanish taken off */
    int64_t at[MOST_PAIRS]; /* entries */
    int to[MOST_PAIRS];
} eviction;

static void list_holders(evict_state *state, int64_t v)
{
    const part_counts *counts = state->counts;
    const bool dense = counts_is_dense(counts, v);
    const int32_t slots = dense ? state->parts : counts->row[v].used;
    state->holders = 0;
    for (int32_t i = 0; i < slots; ++i) {
        const int64_t slot = counts->row[v].first + i;
        if (counts->count[slot] > 0) {
            state->holder[state->holders++] = dense ? i : counts->part[slot];
        }
    }
}

/* Where a pair {v, u} of `from` goes best while `taken` more go somewhere: [out] adds: a replica of u. -1: nowhere. */
static int best_place(const evict_state *state, int64_t v, int64_t u, int from, int taken, int *adds)
{
    int best = -1;
    int32_t most = -1;
    for (int i = 0; i < state->holders; ++i) {
        const int part = state->holder[i];
        if (part == from || state->counts->load[part] + taken >= state->load_cap[part] ||
            counts_get(state->counts, v, part) == 0) {
            continue;
        }
        const int32_t there = counts_get(state->counts, u, part);
        if (there > most && (there > 0 || state->counts->held[part] < state->held_cap[part])) {
            best = part;
            most = there;
        }
    }
    *adds = most > 0 ? 0 : 1;
    return best;
}

/* The pairs of v in part `from`, while what is counted of their partners is fetched. */
static void find_leaving(const evict_state *state, int64_t v, int from, int count, eviction *plan)
{
    const adjacency *adjacent = state->adjacent;
    const part_counts *counts = state->counts;
    const int32_t *neighbour = adjacent->neighbour;
    plan->count = 0;
    for (int64_t i = adjacent->offset[v]; i < adjacent->offset[v + 1] && plan->count < count; ++i) {
        if (state->entry_part[i] == from) {
            __builtin_prefetch(&counts->row[neighbour[i]]);
            plan->at[plan->count++] = i;
        }
    }
    for (int i = 0; i < plan->count; ++i) {
        __builtin_prefetch(&counts->count[counts->row[neighbour[plan->at[i]]].first]);
    }
}

/* Can v leave part `from`, where it has `count` pairs? */
static bool find_places(const evict_state *state, int64_t v, int from, int count, eviction *plan)
{
    const int32_t *neighbour = state->adjacent->neighbour;
    find_leaving(state, v, from, count, plan);
    plan->replicas = -1;
    for (int i = 0; i < plan->count; ++i) {
        const int64_t u = neighbour[plan->at[i]];
        int adds = 0;
        plan->to[i] = best_place(state, v, u, from, i, &adds);
        if (plan->to[i] < 0) {
            return false;
        }
        plan->replicas += adds - (counts_get(state->counts, u, from) == 1 ? 1 : 0);
    }
    return plan->replicas < 0 || (plan->replicas == 0 && state->counts->held[from] > state->held_cap[from]);
}

/* The entry of row v with this neighbour, which is there. Where neighbours are spread evenly it is near where it would
 * be if they all were: steps away from there double, and then halve. */
static int64_t entry_of(const adjacency *adjacent, int64_t v, int64_t neighbour)
{
    const int32_t *row = adjacent->neighbour + adjacent->offset[v];
    const int64_t degree = adjacent->offset[v + 1] - adjacent->offset[v];
    int64_t begin = (int64_t)((double)degree * (double)neighbour / (double)adjacent->vertices), end = begin + 1;
    for (int64_t step = 1; begin > 0 && row[begin] > neighbour; step *= 2) {
        end = begin;
        begin = begin > step ? begin - step : 0;
    }
    for (int64_t step = 1; end < degree && row[end] <= neighbour; step *= 2) {
        begin = end;
        end = end + step < degree ? end + step : degree;
    }
    int64_t place = begin + 1;
    SEARCH_FIRST(place, end, row[at] <= neighbour);
    assert(row[place - 1] == neighbour);
    return adjacent->offset[v] + place - 1;
}

static void carry_out(evict_state *state, int64_t v, int from, const eviction *plan)
{
    for (int i = 0; i < plan->count; ++i) {
        const int64_t u = state->adjacent->neighbour[plan->at[i]];
        counts_move(state->counts, v, u, from, plan->to[i]);
        state->entry_part[plan->at[i]] = (uint16_t)plan->to[i];
        state->entry_part[entry_of(state->adjacent, u, v)] = (uint16_t)plan->to[i];
    }
}

/* Each row names other vertices, each once, ascending: with as many entries as pairs have ends none is left out. */
static weft_status check_rows(const adjacency *adjacent, int threads)
{
    int64_t wrong = -1;
#pragma omp parallel num_threads(split_threads(adjacent->entries, threads)) reduction(max : wrong)
    OWN_ROWS(v, adjacent->offset, adjacent->vertices) {
        for (int64_t e = adjacent->offset[v]; e < adjacent->offset[v + 1]; ++e) {
            const int64_t u = adjacent->neighbour[e];
            wrong = u == v || (e > adjacent->offset[v] && u <= adjacent->neighbour[e - 1]) ? v : wrong;
        }
    }
    WEFT_CHECK(
        wrong < 0, WEFT_ERR_DATA,
        "row %lld of the graph names itself, or a vertex twice, or does not ascend, and the graph says otherwise: "
        "convert it again",
        (long long)wrong);
    return WEFT_OK;
}

static void limit_vertices(const evict_state *state)
{
    const double most = VERTEX_LIMIT * (double)state->counts->replicas;
    for (int p = 0; p < state->parts; ++p) {
        state->held_cap[p] = (int64_t)shares_amount(state->share, state->parts, p, most) + 1;
    }
}

/* One walk: replicas of at most so many pairs. */
static void evict_all(evict_state *state, int most_pairs)
{
    const adjacency *adjacent = state->adjacent;
    eviction plan;
    log_progress progress = log_progress_begin("taking replicas out", "vertices", (double)adjacent->vertices);
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(&progress, (double)v);
        }
        list_holders(state, v);
        for (int i = 0; i < state->holders && state->holders > 1; ++i) {
            const int part = state->holder[i];
            const int32_t count = counts_get(state->counts, v, part);
            if (count > 0 && count <= most_pairs && find_places(state, v, part, count, &plan)) {
                assert(plan.count == count);
                carry_out(state, v, part, &plan);
            }
        }
    }
    log_progress_end(&progress);
}

weft_status evict_replicas(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                           part_counts *counts, uint16_t *pair_part, uint16_t *entry_part, refine_result *result)
{
    weft_status status = WEFT_OK;
    const weft_graph rows = adjacency_graph(adjacent);
    evict_state state = {.adjacent = adjacent,
                         .counts = counts,
                         .entry_part = entry_part,
                         .parts = counts->parts,
                         .share = options->share};
    assert(list->vertices == adjacent->vertices && 2 * list->pairs == adjacent->entries);
    WEFT_TRY_GOTO(check_rows(adjacent, options->threads), status, done);
    WEFT_TRY_GOTO(pair_list_spread(list, pair_part, &rows, PARTITION_NO_PART, options->threads, entry_part), status,
                  done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.holder, state.parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.load_cap, state.parts, WEFT_MEM_PARTITION), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&state.held_cap, state.parts, WEFT_MEM_PARTITION), status, done);
    for (int p = 0; p < state.parts; ++p) {
        const double most = options->balance * (double)list->pairs;
        state.load_cap[p] = (int64_t)shares_amount(state.share, state.parts, p, most);
    }
    bool goes_on = true;
    for (int walk = 0; walk < WALKS && goes_on; ++walk) {
        const int64_t before = counts->replicas;
        limit_vertices(&state);
        evict_all(&state, pairs_of_walk[walk]);
        log_debug("replicas taken out: %lld of %lld", (long long)(before - counts->replicas), (long long)before);
        goes_on = before - counts->replicas > before / WORTH;
    }
    pair_list_collect(list, entry_part, &rows, options->threads, pair_part);
    result->replicas = counts->replicas;
    result->largest = counts_largest(counts, state.share);
done:
    WEFT_FREE_ALL(state.held_cap, state.load_cap, state.holder);
    return status;
}

weft_status refine_and_evict(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                             uint16_t *pair_part, uint16_t *entry_part, refine_result *result)
{
    weft_status status = WEFT_OK;
    part_counts counts;
    WEFT_TRY(counts_create(list, pair_part, options->parts, options->threads, &counts));
    WEFT_TRY_GOTO(refine_pairs(list, options, &counts, pair_part, result), status, done);
    status = evict_replicas(list, adjacent, options, &counts, pair_part, entry_part, result);
done:
    counts_free(&counts);
    return status;
}
