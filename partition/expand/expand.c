/* partition/expand/expand.c: see partition/expand/expand.h. */
#include "partition/expand/expand.h"

#include <assert.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "machine/thread_ranges.h"
#include "partition/expand/vertex_queue.h"
#include "partition/partition.h"
#include "partition/shares.h"

enum { PROGRESS_STEPS = 4096 }; /* between two looks at the clock */

typedef struct expansion {
    const pair_list *list;
    const adjacency *adjacent;
    int parts, words, threads;
    const double *share; /* [parts], or NULL */
    int64_t hub_degree;
    uint64_t *held;        /* [vertices, words] bit p: part p holds v */
    int32_t *open;         /* [vertices] pairs that no part has and that are not between hubs */
    int64_t *load;         /* [parts] pairs */
    int64_t *rows;         /* [parts] vertices */
    int64_t *finished;     /* [parts] vertices whose last open pair closed there */
    int64_t *most_pairs;   /* [parts] while all grow */
    int64_t closed, total; /* pairs that growth has placed, and shall place */
    vertex_queue queue;
    permutation order; /* of the vertices a part may begin with */
    int64_t tried;     /* places of the order whose vertices are closed */
} expansion;

static int64_t degree_of(const expansion *state, int64_t v)
{
    return state->adjacent->offset[v + 1] - state->adjacent->offset[v];
}

static bool is_hub(const expansion *state, int64_t v)
{
    return degree_of(state, v) > state->hub_degree;
}

static bool holds(const expansion *state, int part, int64_t v)
{
    return (state->held[v * state->words + part / 64] >> (part % 64) & 1) != 0;
}

static bool share_a_part(const expansion *state, int64_t u, int64_t v)
{
    const uint64_t *a = state->held + u * state->words, *b = state->held + v * state->words;
    uint64_t common = 0;
    for (int w = 0; w < state->words; ++w) {
        common |= a[w] & b[w];
    }
    return common != 0;
}

static void hold(expansion *state, int part, int64_t v)
{
    uint64_t *word = &state->held[v * state->words + part / 64], bit = UINT64_C(1) << (part % 64);
    state->rows[part] += (*word & bit) == 0 ? 1 : 0;
    *word |= bit;
}

/* v becomes one of the part's, and its open pairs with those that are there already close. */
static void join(expansion *state, int part, int64_t v)
{
    const adjacency *adjacent = state->adjacent;
    const bool hub = is_hub(state, v);
    for (int64_t i = adjacent->offset[v]; i < adjacent->offset[v + 1]; ++i) {
        int64_t u = adjacent->neighbour[i];
        if (!holds(state, part, u) || share_a_part(state, u, v) || (hub && is_hub(state, u))) {
            continue;
        }
        ++state->load[part];
        ++state->closed;
        --state->open[v];
        if (--state->open[u] > 0) {
            vertex_queue_update(&state->queue, u, state->open[u]);
        } else {
            vertex_queue_remove(&state->queue, u);
            ++state->finished[part];
        }
    }
    hold(state, part, v);
    if (state->open[v] > 0) {
        vertex_queue_put(&state->queue, v, part, state->open[v]);
    } else {
        vertex_queue_remove(&state->queue, v);
        ++state->finished[part];
    }
}

/* A vertex for a part to begin with, or to go on with where its border is closed. */
static int64_t seed_vertex(expansion *state)
{
    int64_t v = 0;
    assert(state->closed < state->total);
    for (;; ++state->tried) {
        v = (int64_t)permute(&state->order, (uint64_t)state->tried);
        if (state->open[v] > 0) {
            return v;
        }
    }
}

/* One vertex brings its partners in, as long as the part stays within both limits. At least one pair is closed. */
static void grow(expansion *state, int part, int64_t most_pairs, int64_t most_rows)
{
    const adjacency *adjacent = state->adjacent;
    int64_t v = vertex_queue_take(&state->queue, part);
    if (v < 0) {
        v = seed_vertex(state);
        join(state, part, v);
    }
    const bool hub = is_hub(state, v);
    int64_t closed = state->closed;
    for (int64_t i = adjacent->offset[v]; i < adjacent->offset[v + 1] && state->open[v] > 0; ++i) {
        int64_t u = adjacent->neighbour[i];
        if (holds(state, part, u) || share_a_part(state, u, v) || (hub && is_hub(state, u))) {
            continue;
        }
        if (state->closed > closed && (state->load[part] >= most_pairs || state->rows[part] >= most_rows)) {
            break;
        }
        join(state, part, u);
    }
    if (state->open[v] > 0) {
        vertex_queue_put(&state->queue, v, part, state->open[v]);
    } else {
        vertex_queue_remove(&state->queue, v);
    }
}

/* Of a part's count: what it would be in one as large as the mean. */
static double evenly(const expansion *state, const int64_t *count, int part)
{
    return shares_even(state->share, state->parts, part, (double)count[part]);
}

/* A limit of the mean part as one of this part; INT64_MAX stays none. */
static int64_t limit_of(const expansion *state, int part, int64_t limit)
{
    const bool plain = state->share == NULL || limit == INT64_MAX;
    return plain ? limit : (int64_t)((double)limit * state->share[part] * state->parts) + 1;
}

static void grow_one_by_one(expansion *state, const expand_options *options)
{
    for (int p = 0; p < state->parts; ++p) {
        const int64_t share =
            state->share == NULL ? state->total / state->parts : (int64_t)((double)state->total * state->share[p]);
        const int64_t rows = limit_of(state, p, options->rows), finished = limit_of(state, p, options->finished);
        while (state->closed < state->total && state->load[p] < share && state->rows[p] < rows &&
               state->finished[p] < finished) {
            grow(state, p, share, rows);
        }
    }
}

/* The part with the fewest vertices of those with room for pairs, or with the fewest pairs when there is none. */
static int next_part(const expansion *state)
{
    int best = -1, emptiest = 0;
    for (int p = 0; p < state->parts; ++p) {
        bool has_room = state->load[p] < state->most_pairs[p];
        best = has_room && (best < 0 || evenly(state, state->rows, p) < evenly(state, state->rows, best)) ? p : best;
        emptiest = evenly(state, state->load, p) < evenly(state, state->load, emptiest) ? p : emptiest;
    }
    return best >= 0 ? best : emptiest;
}

static void grow_together(expansion *state)
{
    log_progress progress = log_progress_begin("expansion", "pairs", (double)state->total);
    for (int64_t step = 0; state->closed < state->total; ++step) {
        if (step % PROGRESS_STEPS == 0) {
            log_progress_update(&progress, (double)state->closed);
        }
        const int part = next_part(state);
        grow(state, part, state->most_pairs[part], INT64_MAX);
    }
    log_progress_end(&progress);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* Of the parts with room those that hold most ends of the pair; of them the one with the fewest pairs, or with
 * the fewest vertices where one will be added. */
static int cheapest_part(const expansion *state, int64_t u, int64_t v)
{
    const uint64_t *a = state->held + u * state->words, *b = state->held + v * state->words;
    int best = 0, most_ends = -1; /* one is found: the limits of all parts exceed the pairs */
    for (int p = 0; p < state->parts; ++p) {
        int ends = (int)(a[p / 64] >> (p % 64) & 1) + (int)(b[p / 64] >> (p % 64) & 1);
        if (ends < most_ends || state->load[p] >= state->most_pairs[p]) {
            continue;
        }
        const int64_t *fewest = ends == 2 ? state->load : state->rows;
        if (ends > most_ends || evenly(state, fewest, p) < evenly(state, fewest, best)) {
            best = p;
            most_ends = ends;
        }
    }
    return best;
}

/* The only part that holds both ends, or PARTITION_NO_PART when there are none or several. */
static uint16_t only_part(const expansion *state, int64_t u, int64_t v)
{
    const uint64_t *a = state->held + u * state->words, *b = state->held + v * state->words;
    int found = -1;
    for (int w = 0; w < state->words; ++w) {
        uint64_t common = a[w] & b[w];
        if (common == 0) {
            continue;
        }
        if (found >= 0 || (common & (common - 1)) != 0) {
            return PARTITION_NO_PART;
        }
        found = 64 * w + __builtin_ctzll(common);
    }
    return found >= 0 ? (uint16_t)found : PARTITION_NO_PART;
}

/* What growth closed and only one part can have; then the others and the pairs of hubs, within the limit. */
static void place_pairs(expansion *state, uint16_t *pair_part)
{
    const pair_list *list = state->list;
    const int parts = state->parts;
    int64_t *load = state->load;
    for (int p = 0; p < parts; ++p) {
        load[p] = 0;
    }
#pragma omp parallel for schedule(dynamic, 1024) num_threads(state->threads) reduction(+ : load[:parts])
    for (int64_t u = 0; u < list->vertices; ++u) {
        const bool hub = is_hub(state, u);
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            bool last = hub && is_hub(state, list->other[e]);
            pair_part[e] = last ? PARTITION_NO_PART : only_part(state, u, list->other[e]);
            if (pair_part[e] != PARTITION_NO_PART) {
                ++load[pair_part[e]];
            }
        }
    }
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            if (pair_part[e] != PARTITION_NO_PART) {
                continue;
            }
            int part = cheapest_part(state, u, list->other[e]);
            hold(state, part, u);
            hold(state, part, list->other[e]);
            ++state->load[part];
            pair_part[e] = (uint16_t)part;
        }
    }
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

/* Open pairs are all of a vertex, but for those of hubs between each other. */
static void count_open(expansion *state)
{
    const adjacency *adjacent = state->adjacent;
    int64_t closed = 0;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(state->threads) reduction(+ : closed)
    for (int64_t v = 0; v < adjacent->vertices; ++v) {
        int64_t hubs = 0;
        for (int64_t i = adjacent->offset[v]; is_hub(state, v) && i < adjacent->offset[v + 1]; ++i) {
            hubs += is_hub(state, adjacent->neighbour[i]) ? 1 : 0;
        }
        state->open[v] = (int32_t)(degree_of(state, v) - hubs);
        closed += hubs;
    }
    state->total = state->list->pairs - closed / 2;
}

static weft_status expansion_create(const pair_list *list, const adjacency *adjacent, const expand_options *options,
                                    expansion *state)
{
    int64_t n = list->vertices;
    *state = (expansion){.list = list,
                         .adjacent = adjacent,
                         .parts = options->parts,
                         .words = (options->parts + 63) / 64,
                         .threads = split_threads(2 * list->pairs, options->threads),
                         .share = options->share,
                         .hub_degree = (int64_t)(options->hub * 2.0 * (double)list->pairs / (double)(n + 1))};
    WEFT_TRY(WEFT_NEW_ZERO(&state->held, n * state->words, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->open, n, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->load, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW_ZERO(&state->rows, state->parts, WEFT_MEM_PARTITION));
    state->order = permutation_make((uint64_t)(n > 0 ? n : 1), options->seed, WEFT_RNG_PARTITION, 0);
    WEFT_TRY(WEFT_NEW_ZERO(&state->finished, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->most_pairs, state->parts, WEFT_MEM_PARTITION));
    for (int p = 0; p < state->parts; ++p) {
        const double pairs = options->balance * (double)list->pairs;
        state->most_pairs[p] = (int64_t)shares_amount(options->share, state->parts, p, pairs) + 1;
    }
    return vertex_queue_create(n, state->parts, &state->queue);
}

static void expansion_free(expansion *state)
{
    vertex_queue_free(&state->queue);
    WEFT_FREE_ALL(state->held, state->open, state->load, state->rows, state->finished, state->most_pairs);
}

weft_status expand_assign(const pair_list *list, const adjacency *adjacent, const expand_options *options,
                          uint16_t *pair_part, expand_result *result)
{
    weft_status status = WEFT_OK;
    expansion state;
    assert(list->vertices == adjacent->vertices && 2 * list->pairs == adjacent->entries);
    *result = (expand_result){0};
    WEFT_TRY_GOTO(expansion_create(list, adjacent, options, &state), status, done);
    count_open(&state);
    grow_one_by_one(&state, options);
    grow_together(&state);
    place_pairs(&state, pair_part);
    for (int p = 0; p < state.parts; ++p) {
        result->replicas += state.rows[p];
    }
    result->largest = (int64_t)ceil(shares_most(options->share, state.parts, state.rows));
done:
    expansion_free(&state);
    return status;
}
