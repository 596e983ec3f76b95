/* partition/cover/refine.c: see partition/cover/refine.h. */
#include "partition/cover/refine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/partition.h"
#include "partition/shares.h"

enum {
    BATCH = 1 << 20, /* pairs whose wishes are found against the same counts */
    PRICED = 16,     /* batches of a pass at least, where parts have prices: those follow what moves */
    REPRICE = 256,   /* pairs moved for balance between two looks at the prices */
    AHEAD = 8        /* pairs between the prefetch of a row and its use */
};
#define HELD_SLACK   1.3
#define PRICED_SLACK 1.1 /* the same where parts have prices */
#define MIN_GAIN     0.002
#define MOST_PRICE   3.0
#define LEAST_PRICE  0.25
#define NEVER        8.0f /* more than any cost: a price times 1 / (c + 1) twice is at most 6 */

typedef struct refine_state {
    const pair_list *list;
    uint16_t *pair_part;
    int parts, threads;
    double price_power;
    part_counts *counts;
    const double *share; /* [parts], or NULL */
    int64_t *load_cap;   /* [parts] pairs */
    int64_t *held_cap;   /* [parts] vertices with which a part accepts no new ones */
    uint16_t *wish;      /* [BATCH] */
    int64_t stride;      /* parts rounded up to whole lanes; parts beyond the last are full */
    float *price;        /* [stride] of a vertex in each part, in replicas */
    float *full;         /* [stride] NEVER where no pair fits, else 0 */
    float *grow;         /* [stride] NEVER where no vertex fits, else 0 */
    float *near;         /* [threads, stride] price / (c_u + 1) of the row at hand */
} refine_state;

/* The row to which pair e belongs. */
static int64_t row_of(const pair_list *list, int64_t e)
{
    int64_t row = 0;
    SEARCH_FIRST(row, list->vertices - 1, list->offset[at + 1] <= e);
    return row;
}

static void move_pair(refine_state *state, int64_t e, int64_t u, int64_t v, int to)
{
    int from = state->pair_part[e];
    assert(to >= 0 && to < state->parts && from < state->parts && state->counts->load[from] > 0);
    counts_move(state->counts, u, v, from, to);
    state->pair_part[e] = (uint16_t)to;
}

/* A vertex costs more where many are: (held / mean) to the power. */
static void set_prices(refine_state *state)
{
    if (state->price_power <= 0) {
        return;
    }
    const double replicas = (double)(state->counts->replicas + 1);
    for (int p = 0; p < state->parts; ++p) {
        double mean = shares_amount(state->share, state->parts, p, replicas);
        double price = pow((double)state->counts->held[p] / mean, state->price_power);
        state->price[p] = (float)fmin(MOST_PRICE, fmax(LEAST_PRICE, price));
    }
    for (int t = 0; t < state->threads; ++t) {
        memcpy(state->near + t * state->stride, state->price, (size_t)state->stride * sizeof state->price[0]);
    }
}

/* ---- balance ---------------------------------------------------------------------------------------------------- */

typedef struct landing {
    int part;     /* -1: none */
    int replicas; /* it would add */
    float cost;   /* at the part's price */
    double load;
} landing;

/* Pairs of a part as if parts were equal. */
static double even_load(const refine_state *state, int part)
{
    return shares_even(state->share, state->parts, part, (double)state->counts->load[part]);
}

static void consider(const refine_state *state, int64_t u, int64_t v, int part, landing *best)
{
    if (state->counts->load[part] >= state->load_cap[part]) {
        return;
    }
    double load = even_load(state, part);
    int added = (counts_get(state->counts, u, part) == 0 ? 1 : 0) + (counts_get(state->counts, v, part) == 0 ? 1 : 0);
    float cost = (float)added * state->price[part];
    if (best->part < 0 || cost < best->cost || (cost == best->cost && load < best->load)) {
        *best = (landing){.part = part, .replicas = added, .cost = cost, .load = load};
    }
}

static void consider_held(const refine_state *state, int64_t u, int64_t v, int64_t row, landing *best)
{
    const part_counts *counts = state->counts;
    if (counts_is_dense(counts, row)) {
        for (int p = 0; p < state->parts; ++p) {
            if (counts->count[counts->row[row].first + p] > 0) {
                consider(state, u, v, p, best);
            }
        }
        return;
    }
    for (int32_t i = 0; i < counts->row[row].used; ++i) {
        consider(state, u, v, counts->part[counts->row[row].first + i], best);
    }
}

/* Replicas that the move of {u, v} to *to adds on balance, at least -2; 3 when there is nowhere to go. */
static int cheapest_landing(const refine_state *state, int64_t e, int64_t u, int64_t v, int emptiest, int *to)
{
    landing best = {.part = -1};
    consider_held(state, u, v, u, &best);
    consider_held(state, u, v, v, &best);
    consider(state, u, v, emptiest, &best);
    *to = best.part;
    if (best.part < 0) {
        return 3;
    }
    int from = state->pair_part[e];
    return best.replicas - (counts_get(state->counts, u, from) == 1 ? 1 : 0) -
           (counts_get(state->counts, v, from) == 1 ? 1 : 0);
}

static int emptiest_part(const refine_state *state)
{
    int emptiest = 0;
    for (int p = 1; p < state->parts; ++p) {
        emptiest = even_load(state, p) < even_load(state, emptiest) ? p : emptiest;
    }
    return emptiest;
}

static bool is_overloaded(const refine_state *state)
{
    for (int p = 0; p < state->parts; ++p) {
        if (state->counts->load[p] > state->load_cap[p]) {
            return true;
        }
    }
    return false;
}

static void balance_pairs(refine_state *state)
{
    const pair_list *list = state->list;
    int64_t moved = 0;
    for (int allowed = 0; allowed <= 2 && is_overloaded(state); ++allowed) {
        int emptiest = emptiest_part(state);
        for (int64_t u = 0; u < list->vertices; ++u) {
            for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
                int to = -1, from = state->pair_part[e];
                if (state->counts->load[from] <= state->load_cap[from] ||
                    cheapest_landing(state, e, u, list->other[e], emptiest, &to) > allowed) {
                    continue;
                }
                if (moved++ % REPRICE == 0) {
                    set_prices(state);
                }
                move_pair(state, e, u, list->other[e], to);
                emptiest = to == emptiest ? emptiest_part(state) : emptiest;
            }
        }
    }
}

/* ---- refinement ------------------------------------------------------------------------------------------------- */

typedef float lanes_f __attribute__((vector_size(4 * COUNTS_LANES)));
typedef int32_t lanes_i __attribute__((vector_size(4 * COUNTS_LANES)));

/* The cheapest part of a dense row: costs are positive, so their bits order as integers do; the low six carry the part.
 * Written with vector types because this loop is half of the time of a pass. */
static int best_dense(const refine_state *state, const int32_t *count, const float *near)
{
    lanes_i best, part;
    for (int lane = 0; lane < COUNTS_LANES; ++lane) {
        best[lane] = INT32_MAX;
        part[lane] = lane;
    }
    for (int p = 0; p < state->parts; p += COUNTS_LANES) {
        lanes_i c, bits, extra;
        lanes_f n, f, price, sum;
        memcpy(&c, count + p, sizeof c);
        memcpy(&n, near + p, sizeof n);
        memcpy(&f, state->full + p, sizeof f);
        memcpy(&price, state->price + p, sizeof price);
        memcpy(&extra, state->grow + p, sizeof extra);
        sum = n + price / (__builtin_convertvector(c, lanes_f) + 1.0f);
        extra &= (lanes_i)(sum > price); /* above it: u or v is not there yet */
        bits = (lanes_i)(sum + f + (lanes_f)extra);
        bits = (bits & ~(COUNTS_DENSE - 1)) | part;
        lanes_i less = bits < best;
        best = (bits & less) | (best & ~less);
        part += COUNTS_LANES;
    }
    int32_t least = best[0];
    for (int lane = 1; lane < COUNTS_LANES; ++lane) {
        least = best[lane] < least ? best[lane] : least;
    }
    return least & (COUNTS_DENSE - 1);
}

/* The same over a list, and over the best part of u alone (`alone`, or -1). */
static int best_listed(const refine_state *state, int64_t v, const float *near, int alone)
{
    const part_counts *counts = state->counts;
    int best = alone;
    float best_cost = alone < 0 ? NEVER : near[alone] + state->price[alone];
    for (int64_t i = counts->row[v].first; i < counts->row[v].first + counts->row[v].used; ++i) {
        int part = counts->part[i];
        float price = state->price[part], sum = near[part] + price / (float)(counts->count[i] + 1);
        float cost = sum + state->full[part] + (sum > price ? state->grow[part] : 0.0f);
        if (cost < best_cost) {
            best = part;
            best_cost = cost;
        }
    }
    return best;
}

/* near[p] = price / (c_u(p) + 1) for all p; returns u's cheapest part for a partner that is nowhere yet, or -1. */
static int set_near(const refine_state *state, int64_t u, float *near)
{
    const part_counts *counts = state->counts;
    int alone = -1;
    bool dense = counts_is_dense(counts, u);
    int32_t slots = dense ? state->parts : counts->row[u].used;
    for (int32_t i = 0; i < slots; ++i) {
        int part = dense ? i : counts->part[counts->row[u].first + i];
        float price = state->price[part];
        near[part] = price / (float)(counts->count[counts->row[u].first + i] + 1);
        bool open = near[part] < price && state->full[part] + state->grow[part] < NEVER;
        if (open && (alone < 0 || near[part] + price < near[alone] + state->price[alone])) {
            alone = part;
        }
    }
    return alone;
}

static void clear_near(const refine_state *state, int64_t u, float *near)
{
    const part_counts *counts = state->counts;
    bool dense = counts_is_dense(counts, u);
    int32_t slots = dense ? state->parts : counts->row[u].used;
    for (int32_t i = 0; i < slots; ++i) {
        int part = dense ? i : counts->part[counts->row[u].first + i];
        near[part] = state->price[part];
    }
}

/* What a move of {u, v} to `part` would gain in the measure of refine.h; <= 0: nothing. */
static float gain_of(const refine_state *state, int64_t u, int64_t v, int from, int part)
{
    const part_counts *counts = state->counts;
    float now = 1.0f / (float)counts_get(counts, u, from) + 1.0f / (float)counts_get(counts, v, from);
    int32_t cu = counts_get(counts, u, part), cv = counts_get(counts, v, part);
    float price = state->price[part];
    return state->price[from] * now - price / (float)(cu + 1) - price / (float)(cv + 1);
}

/* Wishes of pairs [begin, end) of the batch that starts at `base`. */
static void find_wishes(const refine_state *state, int64_t base, int64_t begin, int64_t end, float *near)
{
    const pair_list *list = state->list;
    const part_counts *counts = state->counts;
    int64_t e = begin;
    for (int64_t u = begin < end ? row_of(list, begin) : 0; e < end; ++u) {
        int64_t row_end = list->offset[u + 1] < end ? list->offset[u + 1] : end;
        if (e >= row_end) {
            continue;
        }
        int alone = set_near(state, u, near);
        for (; e < row_end; ++e) {
            int64_t v = list->other[e];
            __builtin_prefetch(&counts->row[list->other[e + 2 * AHEAD < end ? e + 2 * AHEAD : e]]);
            __builtin_prefetch(&counts->count[counts->row[list->other[e + AHEAD < end ? e + AHEAD : e]].first]);
            int from = state->pair_part[e], best = from;
            int32_t cu = counts_get(counts, u, from), cv = counts_get(counts, v, from);
            if (cu < counts->row[u].degree || cv < counts->row[v].degree) {
                best = counts_is_dense(counts, v) ? best_dense(state, counts->count + counts->row[v].first, near)
                                                  : best_listed(state, v, near, alone);
            }
            assert(best < state->parts);
            bool moves = best >= 0 && best != from && gain_of(state, u, v, from, best) > 0;
            state->wish[e - base] = moves ? (uint16_t)best : PARTITION_NO_PART;
        }
        clear_near(state, u, near);
    }
}

static bool is_granted(const refine_state *state, int64_t u, int64_t v, int from, int to)
{
    if (state->counts->load[to] >= state->load_cap[to] || gain_of(state, u, v, from, to) <= 0) {
        return false;
    }
    bool grows = counts_get(state->counts, u, to) == 0 || counts_get(state->counts, v, to) == 0;
    return !grows || state->counts->held[to] < state->held_cap[to];
}

static int64_t grant_wishes(refine_state *state, int64_t base, int64_t end)
{
    const pair_list *list = state->list;
    int64_t moved = 0, u = row_of(list, base);
    for (int64_t e = base; e < end; ++e) {
        const int to = state->wish[e - base];
        if (e + AHEAD < end && state->wish[e + AHEAD - base] != PARTITION_NO_PART) {
            __builtin_prefetch(&state->counts->count[state->counts->row[list->other[e + AHEAD]].first], 1);
        }
        if (to == PARTITION_NO_PART) {
            continue;
        }
        while (list->offset[u + 1] <= e) {
            ++u;
        }
        int64_t v = list->other[e];
        if (is_granted(state, u, v, state->pair_part[e], to)) {
            move_pair(state, e, u, v, to);
            ++moved;
        }
    }
    return moved;
}

/* Where the work stands, for --verbose. */
static void describe(const refine_state *state, const char *stage, int64_t moved)
{
    const part_counts *counts = state->counts;
    const double most_load = shares_most(state->share, state->parts, counts->load);
    log_debug("%s: %lld replicas, vertices max/mean %.3f, pairs max/mean %.3f, %lld pairs moved", stage,
              (long long)state->counts->replicas,
              (double)counts_largest(counts, state->share) * state->parts / (double)(state->counts->replicas + 1),
              most_load * state->parts / (double)(state->list->pairs + 1), (long long)moved);
}

static int64_t refine_once(refine_state *state)
{
    const bool priced = state->price_power > 0;
    int64_t moved = 0, pairs = state->list->pairs, batch = priced ? pairs / PRICED + 1 : BATCH;
    batch = batch < BATCH ? batch : BATCH;
    const double held = (priced ? PRICED_SLACK : HELD_SLACK) * (double)state->counts->replicas;
    for (int p = 0; p < state->parts; ++p) {
        state->held_cap[p] = (int64_t)shares_amount(state->share, state->parts, p, held) + 1;
    }
    for (int64_t base = 0; base < pairs; base += batch) {
        int64_t end = base + batch < pairs ? base + batch : pairs;
        set_prices(state);
        for (int p = 0; p < state->parts; ++p) {
            state->full[p] = state->counts->load[p] < state->load_cap[p] ? 0.0f : NEVER;
            state->grow[p] = state->counts->held[p] < state->held_cap[p] ? 0.0f : NEVER;
        }
#pragma omp parallel num_threads(split_threads(end - base, state->threads))
        {
            int t = omp_get_thread_num(), team = omp_get_num_threads();
            find_wishes(state, base, base + split_even(end - base, t, team), base + split_even(end - base, t + 1, team),
                        state->near + t * state->stride);
        }
        moved += grant_wishes(state, base, end);
    }
    return moved;
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static weft_status refine_create(refine_state *state, double balance)
{
    const pair_list *list = state->list;
    int64_t batch = list->pairs < BATCH ? list->pairs : BATCH;
    state->stride = counts_stride(state->parts);
    WEFT_TRY(WEFT_NEW(&state->price, state->stride, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->full, state->stride, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->grow, state->stride, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->near, state->threads * state->stride, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->wish, batch, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->load_cap, state->parts, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&state->held_cap, state->parts, WEFT_MEM_PARTITION));
    for (int64_t i = 0; i < state->threads * state->stride; ++i) {
        state->near[i] = 1.0f;
    }
    for (int64_t p = 0; p < state->stride; ++p) {
        state->price[p] = 1.0f;
        state->full[p] = NEVER;
        state->grow[p] = NEVER;
    }
    for (int p = 0; p < state->parts; ++p) {
        const int64_t fair = shares_count(state->share, state->parts, p, list->pairs);
        const int64_t most = (int64_t)shares_amount(state->share, state->parts, p, balance * (double)list->pairs);
        state->load_cap[p] = most < fair ? fair : most;
    }
    return WEFT_OK;
}

/* Whether another pass is worth its time. With prices replicas may rise while the largest part shrinks: moves count. */
static bool goes_on(const refine_state *state, int64_t before, int64_t moved)
{
    return state->price_power > 0
               ? (double)moved > MIN_GAIN * (double)state->list->pairs
               : (double)(before - state->counts->replicas) > MIN_GAIN * (double)state->counts->replicas;
}

weft_status refine_pairs(const pair_list *list, const refine_options *options, part_counts *counts, uint16_t *pair_part,
                         refine_result *result)
{
    weft_status status = WEFT_OK;
    refine_state state = {.list = list,
                          .pair_part = pair_part,
                          .counts = counts,
                          .parts = options->parts,
                          .threads = options->threads,
                          .share = options->share,
                          .price_power = options->price_power};
    *result = (refine_result){0};
    WEFT_TRY_GOTO(refine_create(&state, options->balance), status, done);
    describe(&state, "before balancing", 0);
    balance_pairs(&state);
    describe(&state, "balanced", 0);
    log_progress progress = log_progress_begin("refining the partition", "passes", options->passes);
    int64_t before = INT64_MAX, moved = INT64_MAX;
    while (result->passes < options->passes && goes_on(&state, before, moved)) {
        before = counts->replicas;
        moved = refine_once(&state);
        result->moved += moved;
        describe(&state, "refined", moved);
        ++result->passes;
        log_progress_update(&progress, result->passes);
    }
    log_progress_end(&progress);
    result->replicas = counts->replicas;
    result->largest = counts_largest(counts, state.share);
done:
    WEFT_FREE_ALL(state.held_cap, state.load_cap, state.wish, state.near, state.grow, state.full, state.price);
    return status;
}
