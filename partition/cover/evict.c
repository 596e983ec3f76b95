/* partition/cover/evict.c: see partition/cover/evict.h. */
#include "partition/cover/evict.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/partition.h"

enum { MOST_PAIRS = 64, WALKS = 2, PROGRESS_ROWS = 4096 };
#define VERTEX_LIMIT 1.1

typedef struct evict_state {
    const pair_list *list;
    const adjacency *adjacent;
    uint16_t *pair_part;
    int parts;
    part_counts *counts;
    int64_t *load;      /* [parts] pairs */
    int64_t *held;      /* [parts] vertices */
    int64_t *next;      /* [vertices] the pair of each vertex with the next larger one, in the order of the walk */
    int64_t *pair;      /* [most neighbours] pairs of the vertex at hand */
    uint16_t *own_part; /* [most neighbours] their parts */
    int *holder;        /* [parts] parts that hold it */
    int holders;
    int64_t replicas, load_cap, held_cap;
} evict_state;

/* A replica that may go: its pairs, and where each would. */
typedef struct eviction {
    int count, replicas;    /* pairs found; replicas that would arise, those that vanish taken off */
    int64_t at[MOST_PAIRS]; /* among the neighbours */
    int to[MOST_PAIRS];
} eviction;

static void leave(evict_state *state, int64_t v, int part)
{
    counts_decrement(state->counts, v, part);
    if (counts_get(state->counts, v, part) == 0) {
        --state->held[part];
        --state->replicas;
    }
}

static void join(evict_state *state, int64_t v, int part)
{
    if (counts_get(state->counts, v, part) == 0) {
        ++state->held[part];
        ++state->replicas;
    }
    counts_increment(state->counts, v, part);
}

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
        if (part == from || state->load[part] + taken >= state->load_cap || counts_get(state->counts, v, part) == 0) {
            continue;
        }
        const int32_t there = counts_get(state->counts, u, part);
        if (there > most && (there > 0 || state->held[part] < state->held_cap)) {
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
    const int32_t *neighbour = adjacent->neighbour + adjacent->offset[v];
    const int64_t degree = adjacent->offset[v + 1] - adjacent->offset[v];
    plan->count = 0;
    for (int64_t i = 0; i < degree && plan->count < count; ++i) {
        if (state->own_part[i] == from) {
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
    const int32_t *neighbour = state->adjacent->neighbour + state->adjacent->offset[v];
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
    return plan->replicas < 0 || (plan->replicas == 0 && state->held[from] > state->held_cap);
}

static void carry_out(evict_state *state, int64_t v, int from, const eviction *plan)
{
    const int32_t *neighbour = state->adjacent->neighbour + state->adjacent->offset[v];
    for (int i = 0; i < plan->count; ++i) {
        const int64_t at = plan->at[i];
        leave(state, v, from);
        leave(state, neighbour[at], from);
        join(state, v, plan->to[i]);
        join(state, neighbour[at], plan->to[i]);
        --state->load[from];
        ++state->load[plan->to[i]];
        state->own_part[at] = (uint16_t)plan->to[i];
        state->pair_part[state->pair[at]] = (uint16_t)plan->to[i];
    }
}

/* The pairs of v in the order of its neighbours: of smaller ones those that came next, then its own. Each is somewhere else in
 * memory: what follows is fetched meanwhile. */
static void find_pairs(evict_state *state, int64_t v)
{
    const pair_list *list = state->list;
    const adjacency *adjacent = state->adjacent;
    int64_t own = list->offset[v], *pair = state->pair;
    for (int64_t i = adjacent->offset[v]; i < adjacent->offset[v + 1]; ++i, ++pair) {
        const int64_t u = adjacent->neighbour[i];
        *pair = u < v ? state->next[u]++ : own++;
        if (*pair < list->pairs) {
            __builtin_prefetch(&list->other[*pair]);
            __builtin_prefetch(&state->pair_part[*pair]);
        }
    }
}

static weft_status find_parts(evict_state *state, int64_t v)
{
    const pair_list *list = state->list;
    const adjacency *adjacent = state->adjacent;
    const int32_t *neighbour = adjacent->neighbour + adjacent->offset[v];
    for (int64_t i = 0; i < adjacent->offset[v + 1] - adjacent->offset[v]; ++i) {
        const int64_t u = neighbour[i], low = u < v ? u : v, high = u < v ? v : u, pair = state->pair[i];
        WEFT_CHECK(
            pair < list->offset[low + 1] && list->other[pair] == high, WEFT_ERR_DATA,
            "the graph says that it is symmetric, but vertices %lld and %lld are neighbours in one direction only, "
            "or rows do not ascend: convert it again",
            (long long)low, (long long)high);
        state->own_part[i] = state->pair_part[pair];
    }
    return WEFT_OK;
}

static int64_t vertex_limit(const evict_state *state)
{
    return (int64_t)(VERTEX_LIMIT * (double)state->replicas / state->parts) + 1;
}

static weft_status evict_all(evict_state *state)
{
    const adjacency *adjacent = state->adjacent;
    eviction plan;
    log_progress progress = log_progress_begin("taking replicas out", "vertices", (double)adjacent->vertices);
    state->held_cap = vertex_limit(state);
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        state->next[v] = state->list->offset[v];
    }
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        if (v % PROGRESS_ROWS == 0) {
            log_progress_update(&progress, (double)v);
        }
        find_pairs(state, v);
        WEFT_TRY(find_parts(state, v));
        list_holders(state, v);
        for (int i = 0; i < state->holders && state->holders > 1; ++i) {
            const int part = state->holder[i];
            const int32_t count = counts_get(state->counts, v, part);
            if (count > 0 && count <= MOST_PAIRS && find_places(state, v, part, count, &plan)) {
                assert(plan.count == count);
                carry_out(state, v, part, &plan);
            }
        }
    }
    log_progress_end(&progress);
    return WEFT_OK;
}

static weft_status evict_create(evict_state *state, double balance)
{
    const pair_list *list = state->list;
    const adjacency *adjacent = state->adjacent;
    int64_t most = 0;
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        const int64_t degree = adjacent->offset[v + 1] - adjacent->offset[v];
        most = degree > most ? degree : most;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&state->load, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->held, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->holder, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->next, list->vertices, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->pair, most, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->own_part, most, WEFT_MEM_PARTITION));
    for (int64_t e = 0; e < list->pairs; ++e) {
        ++state->load[state->pair_part[e]];
    }
    for (int64_t v = 0; v < list->vertices; ++v) {
        list_holders(state, v);
        for (int i = 0; i < state->holders; ++i) {
            ++state->held[state->holder[i]];
        }
        state->replicas += state->holders;
    }
    state->load_cap = (int64_t)(balance * (double)list->pairs / state->parts);
    return WEFT_OK;
}

static void evict_free(evict_state *state)
{
    weft_free(state->load);
    weft_free(state->held);
    weft_free(state->holder);
    weft_free(state->next);
    weft_free(state->pair);
    weft_free(state->own_part);
}

static int64_t largest(const evict_state *state)
{
    int64_t most = 0;
    for (int p = 0; p < state->parts; ++p) {
        most = state->held[p] > most ? state->held[p] : most;
    }
    return most;
}

weft_status evict_replicas(const pair_list *list, const adjacency *adjacent, double balance, part_counts *counts,
                           uint16_t *pair_part, refine_result *result)
{
    weft_status status = WEFT_OK;
    evict_state state = {
        .list = list, .adjacent = adjacent, .counts = counts, .pair_part = pair_part, .parts = counts->parts};
    assert(list->vertices == adjacent->vertices && 2 * list->pairs == adjacent->entries);
    WEFT_TRY_GOTO(evict_create(&state, balance), status, done);
    for (int walk = 0; walk < WALKS && (walk == 0 || largest(&state) > vertex_limit(&state)); ++walk) {
        const int64_t before = state.replicas;
        WEFT_TRY_GOTO(evict_all(&state), status, done);
        log_debug("replicas taken out: %lld of %lld", (long long)(before - state.replicas), (long long)before);
    }
    result->replicas = state.replicas;
    result->largest = largest(&state);
done:
    evict_free(&state);
    return status;
}

weft_status refine_and_evict(const pair_list *list, const adjacency *adjacent, const refine_options *options,
                             uint16_t *pair_part, refine_result *result)
{
    weft_status status = WEFT_OK;
    part_counts counts;
    WEFT_TRY(counts_create(list, pair_part, options->parts, options->threads, &counts));
    WEFT_TRY_GOTO(refine_pairs(list, options, &counts, pair_part, result), status, done);
    status = evict_replicas(list, adjacent, options->balance, &counts, pair_part, result);
done:
    counts_free(&counts);
    return status;
}
