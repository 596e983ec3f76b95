/* embed/plan/embed_trial.c: see embed/plan/embed_trial.h. */
#include "embed/plan/embed_trial.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"

static const double worth = 0.95; /* of a mode's time: one that takes more does not replace it */

/* Modes have TURNS turns, one after the other, but for those that take `hopeless` times as long as another. A
 * turn goes through the batches until it has taken `turn_seconds`, MOST_ROUNDS times at most. */
enum { TURNS = 3, MOST_ROUNDS = 8 };
static const double turn_seconds = 0.03, hopeless = 1.5;

typedef struct trial_run {
    weft_comm *comm;
    const embed_trial_desc *how;
    embed_table *table;
    bool sums;     /* of samples, in the place of pooled rows */
    float *number; /* [samples, columns] sums, then zeros as their gradient */
    int64_t columns;
} trial_run;

/* Of pooled rows. */
static int64_t pooled_columns(const embed_desc *desc)
{
    return (int64_t)desc->fields * (desc->width + desc->linear) + desc->squares;
}

static int64_t bytes_sent(const weft_comm *comm)
{
    return (int64_t)comm_lane_stats(comm, COMM_LANE_ROWS).bytes_sent;
}

static weft_status pass(const trial_run *r, const embed_bags *bags)
{
    const int64_t ld = r->columns;
    WEFT_TRY(r->sums ? embed_sums_forward(r->table, r->how->sums, bags, NULL, true, r->number, ld)
                     : embed_forward(r->table, bags, true, r->number, ld));
    for (int64_t i = 0; i < bags->samples * ld; ++i) {
        r->number[i] = 0.0F;
    }
    return r->sums ? embed_sums_backward(r->table, r->number, ld, 0.1, NULL)
                   : embed_backward(r->table, r->number, ld, 0.1);
}

/* [out] seconds: of a batch, the mean of this rank's, without what reads it; then the most of all ranks. */
static weft_status go_through(const trial_run *r, double *seconds)
{
    double spent = 0;
    for (int i = 0; i < r->how->batches; ++i) {
        embed_bags bags;
        WEFT_TRY(r->how->batch(r->how->self, i, &bags));
        WEFT_TRY(comm_barrier(r->comm));
        const double begin = clock_seconds();
        WEFT_TRY(pass(r, &bags));
        spent += clock_seconds() - begin;
    }
    *seconds = spent / r->how->batches;
    return comm_allreduce(r->comm, seconds, 1, WEFT_DTYPE_F64, COMM_MAX);
}

/* The first time makes the rows, which training does once, so only its bytes are counted. */
static weft_status take_turn(const trial_run *r, trial_cost *cost)
{
    const int64_t before = bytes_sent(r->comm);
    double seconds, spent = 0;
    embed_figures begin, end;
    WEFT_TRY(go_through(r, &seconds));
    cost->sent = bytes_sent(r->comm) - before;
    WEFT_TRY(comm_allreduce(r->comm, &cost->sent, 1, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_TRY(embed_measure(r->table, &begin));
    for (int round = 0; round < MOST_ROUNDS && spent < turn_seconds; ++round) {
        WEFT_TRY(go_through(r, &seconds));
        spent += seconds * r->how->batches;
        cost->seconds = isnan(cost->seconds) || seconds < cost->seconds ? seconds : cost->seconds;
    }
    WEFT_TRY(embed_measure(r->table, &end));
    cost->made += end.made - begin.made;
    return WEFT_OK;
}

/* mode_of: of fields; NULL: all are in `mode`. */
static weft_status try_mode(trial_run *r, const embed_desc *desc, embed_mode mode, const uint8_t *mode_of,
                            trial_cost *cost)
{
    embed_desc d = *desc;
    d.mode = mode;
    d.mode_of = mode_of;
    d.ahead = false;
    r->sums = r->how->sums != NULL && mode_of == NULL && mode == EMBED_DES;
    d.squares = d.squares && !r->sums; /* they are among the sums */
    WEFT_TRY(embed_open(r->comm, &d, r->how->most, &r->table));
    r->columns = r->sums ? embed_sums_columns(r->table, r->how->sums) : pooled_columns(desc);
    weft_status status = WEFT_NEW(&r->number, larger(r->how->samples * r->columns, 1), WEFT_MEM_WORKSPACE);
    status = comm_agree(r->comm, status);
    status = status == WEFT_OK ? take_turn(r, cost) : status;
    weft_free(r->number);
    r->number = NULL;
    embed_close(r->table);
    return status;
}

/* 0: rows cannot be split by columns. */
static int split_stride(const trial_run *r, const embed_desc *desc)
{
    return embed_splits_columns(desc, comm_size(r->comm)) ? desc->width + desc->linear : 0;
}

/* What the batches have, field by field. */
static weft_status count_batches(const trial_run *r, const embed_desc *desc)
{
    embed_counts *one = NULL, *sum = r->how->counts;
    bag_index index = {.positions = 0};
    weft_status status = comm_agree(r->comm, WEFT_NEW(&one, desc->fields, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < r->how->batches && status == WEFT_OK; ++i) {
        embed_bags bags;
        WEFT_TRY_GOTO(r->how->batch(r->how->self, i, &bags), status, done);
        WEFT_TRY_GOTO(embed_counts_share(r->comm, &bags, split_stride(r, desc), desc->seed, &index, one), status, done);
        for (int f = 0; f < desc->fields; ++f) {
            one[f].weighted = desc->weighted;
            sum[f] = i == 0 ? one[f] : embed_counts_join(&sum[f], &one[f]);
        }
    }
done:
    bag_index_free(&index);
    weft_free(one);
    return status;
}

static void fill_formulas(const trial_run *r, const embed_desc *desc, embed_trial *trial)
{
    const int stride = desc->width + desc->linear;
    const int64_t batches = r->how->batches;
    const embed_counts all = embed_counts_sum(r->how->counts, desc->fields, NULL, EMBED_ALL_TO_ALL);
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        trial->cost[m] = (trial_cost){.seconds = NAN,
                                      .formula = embed_mode_bytes((embed_mode)m, &all, stride, trial->columns, false)};
    }
    trial->by_field = (trial_cost){
        .seconds = NAN,
        .formula = embed_modes_bytes(r->how->counts, desc->fields, r->how->mode_of, stride, desc->squares)};
    trial->counts = (embed_counts){.ranks = all.ranks,
                                   .batches = 1,
                                   .samples = all.samples / batches,
                                   .distinct = all.distinct / batches,
                                   .distinct_away = all.distinct_away / batches,
                                   .keys_away = all.keys_away / batches,
                                   .weighted = all.weighted,
                                   .keys = all.keys / batches,
                                   .stride = all.stride,
                                   .fields = all.fields,
                                   .kept = all.kept / batches};
}

static void choose_fastest(embed_trial *trial)
{
    double least = worth * trial->cost[EMBED_ALL_TO_ALL].seconds;
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        const double seconds = trial->cost[m].seconds;
        if (seconds < least || (isnan(least) && !isnan(seconds))) {
            trial->fastest = (embed_mode)m;
            least = seconds;
        }
    }
    trial->fields_are_best = trial->by_field.seconds < worth * trial->cost[trial->fastest].seconds;
}

/* Returns true if a mode that has had a turn may be the fastest of several. */
static bool contends(const embed_trial *trial, const trial_cost *cost)
{
    const trial_cost *all[EMBED_MODES_COUNT + 1] = {&trial->by_field};
    double least = INFINITY;
    int near = 0;
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        all[m + 1] = &trial->cost[m];
    }
    for (int m = 0; m <= EMBED_MODES_COUNT; ++m) {
        least = all[m]->seconds < least ? all[m]->seconds : least;
    }
    for (int m = 0; m <= EMBED_MODES_COUNT; ++m) {
        near += all[m]->seconds <= hopeless * least;
    }
    return near > 1 && cost->seconds <= hopeless * least;
}

/* A turn of each mode; differ: fields in the modes of mode_of have one, too. */
static weft_status take_turns(trial_run *r, const embed_desc *desc, int turn, bool differ, embed_trial *trial)
{
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        const bool can = r->how->tries[m] && (m != EMBED_COLUMNS || split_stride(r, desc) > 0);
        const bool tries = can && (turn == 0 || contends(trial, &trial->cost[m]));
        WEFT_TRY(tries ? try_mode(r, desc, (embed_mode)m, NULL, &trial->cost[m]) : WEFT_OK);
    }
    const bool tries = differ && (turn == 0 || contends(trial, &trial->by_field));
    return tries ? try_mode(r, desc, EMBED_ALL_TO_ALL, r->how->mode_of, &trial->by_field) : WEFT_OK;
}

weft_status embed_try_modes(weft_comm *comm, const embed_desc *desc, const embed_trial_desc *how, embed_trial *trial)
{
    trial_run r = {.comm = comm, .how = how};
    const int stride = desc->width + desc->linear;
    assert(how->batches >= 1);
    *trial = (embed_trial){.columns = how->sums != NULL ? stride + how->sums->squares : pooled_columns(desc)};
    WEFT_TRY(count_batches(&r, desc));
    const bool differ = embed_modes_cheapest(how->counts, desc->fields, stride, how->shares, how->mode_of);
    fill_formulas(&r, desc, trial);
    for (int turn = 0; turn < TURNS; ++turn) { /* a bound of memory is one group's */
        WEFT_TRY(take_turns(&r, desc, turn, differ && desc->memory_most == 0, trial));
    }
    choose_fastest(trial);
    return WEFT_OK;
}
