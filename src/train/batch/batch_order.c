/* train/batch/batch_order.c: see train/batch/batch_order.h. */
#include "train/batch/batch_order.h"

#include "base/integer/integers.h"
#include "base/philox.h"
#include "hal/hal.h"
#include "train/train_options.def"

/* A rank's samples of a step, counted from the first of its shard. */
static hal_span dealt_span(const batch_plan *b, int64_t step, int rank)
{
    return hal_split_rows(batch_deal_size(b->deal, rank), (int)batch_order_steps(b), (int)step);
}

/* A rank's samples of a part. [out] the span counts from the first of its shard. */
static hal_span dealt_part(const batch_plan *b, batch_turn turn, int rank)
{
    const hal_span step = dealt_span(b, turn.step, rank);
    const hal_span part = hal_split_rows(step.end - step.begin, turn.parts, turn.part);
    return (hal_span){step.begin + part.begin, step.begin + part.end};
}

/* Samples of a step. */
static int64_t rows_of(const batch_plan *b, int64_t step)
{
    if (b->deal != NULL) {
        int64_t rows = 0;
        for (int r = 0; r < b->deal->ranks; ++r) {
            const hal_span own = dealt_span(b, step, r);
            rows += own.end - own.begin;
        }
        return rows;
    }
    const int64_t left = b->samples - step * b->batch, rows = smaller(left, b->batch);
    const int64_t behind = left - rows;
    const bool may_join = b->least > 1 && !b->drop_last;
    return may_join && behind < b->least && behind == b->samples % b->batch ? left : rows;
}

int64_t batch_order_steps(const batch_plan *b)
{
    const int64_t whole = b->samples / b->batch, rest = b->samples % b->batch;
    const bool drops = b->drop_last && b->deal == NULL;
    const bool goes = drops || rest < b->least; /* out, or into the step before */
    return whole + (rest > 0 && (whole == 0 || !goes) ? 1 : 0);
}

int batch_order_parts(const batch_plan *b, int64_t step, int parts)
{
    const int64_t most = rows_of(b, step) / (b->least > 1 ? b->least : 1);
    return most < 1 ? 1 : (int)smaller(most, parts);
}

permutation batch_order(int64_t samples, uint64_t seed, uint32_t epoch)
{
    return permutation_make((uint64_t)samples, seed, WEFT_RNG_ORDER, epoch);
}

permutation batch_order_of(const batch_plan *b, int rank, uint64_t seed, uint32_t epoch)
{
    return batch_order(b->deal != NULL ? batch_deal_size(b->deal, rank) : b->samples, seed, epoch);
}

int64_t batch_order_sample(const batch_plan *b, int rank, const permutation *order, int64_t position)
{
    if (b->deal == NULL) {
        return (int64_t)permute(order, (uint64_t)position);
    }
    const int64_t first = b->deal->first[rank];
    return b->deal->sample[first + (int64_t)permute(order, (uint64_t)(position - first))];
}

weft_status batch_order_check(const batch_plan *b, int parts)
{
    const int64_t least = larger(larger(b->least, b->share_least), 1);
    const int64_t steps = batch_order_steps(b);
    for (int r = 0; b->deal != NULL && least > 1 && r < b->deal->ranks; ++r) {
        const int64_t fewest = batch_deal_size(b->deal, r) / steps / parts;
        WEFT_CHECK(fewest >= least, WEFT_ERR_USAGE,
                   FLAG_SHARD_BY
                   ": rank %d has %lld samples, %lld in a part of some of the %lld steps of an epoch, where "
                   "a batch norm needs %lld: take a larger " FLAG_BATCH_SIZE " or another rule",
                   r, (long long)batch_deal_size(b->deal, r), (long long)fewest, (long long)steps, (long long)least);
    }
    return WEFT_OK;
}

/* The number of groups that rows are cut in; the last group takes the rest. */
static int64_t groups_of(int64_t rows, int64_t least)
{
    return least > 1 && rows >= least ? rows / least : least > 1 ? smaller(rows, 1) : rows;
}

/* Run `i` of `runs` runs of whole groups. */
static hal_span split_groups(int64_t rows, int64_t least, int runs, int i)
{
    const int64_t groups = groups_of(rows, least);
    const int64_t size = least > 1 ? least : 1;
    const hal_span own = hal_split_rows(groups, runs, i);
    return (hal_span){own.begin == groups ? rows : own.begin * size, own.end == groups ? rows : own.end * size};
}

/* An upper bound of the rows of such a run. */
static int64_t largest_run(int64_t rows, int64_t least, int runs)
{
    const int64_t size = least > 1 ? least : 1;
    const int64_t groups = (groups_of(rows, least) + runs - 1) / runs;
    return smaller(rows, groups * size + size - 1);
}

/* Of the first step, whose runs are the longest. Later steps may come in fewer parts, by the samples of all ranks. */
static int64_t dealt_most(const batch_plan *b, int parts)
{
    const int64_t last = batch_order_steps(b) - 1;
    const int fewest = (int)smaller(batch_order_parts(b, 0, parts), batch_order_parts(b, last, parts));
    int64_t most = 0;
    for (int r = 0; r < b->deal->ranks; ++r) {
        const hal_span own = dealt_part(b, (batch_turn){.parts = fewest}, r);
        most = larger(most, own.end - own.begin);
    }
    return most;
}

int64_t batch_order_most(const batch_plan *b, int parts, int ranks)
{
    const int64_t steps = batch_order_steps(b);
    int64_t most = 0;
    if (b->deal != NULL) {
        return dealt_most(b, parts);
    }
    for (int64_t step = 0; step<steps; step += steps> 1 ? steps - 1 : 1) { /* the first, and the last */
        const int64_t part = largest_run(rows_of(b, step), b->least, batch_order_parts(b, step, parts));
        const int64_t share = largest_run(part, b->share_least, ranks);
        most = share > most ? share : most;
    }
    return most;
}

batch_share batch_order_share(int64_t samples, int64_t batch, int64_t step, int ranks, int rank)
{
    const batch_plan plan = {.samples = samples, .batch = batch > 0 ? batch : 1}; /* an empty epoch has batches of 0 */
    return batch_order_part(&plan, (batch_turn){.step = step, .parts = 1}, ranks, rank);
}

static batch_share dealt_share(const batch_plan *b, batch_turn turn, int rank)
{
    const hal_span own = dealt_part(b, turn, rank);
    batch_share share = {
        .batch = rows_of(b, turn.step), .begin = b->deal->first[rank] + own.begin, .count = own.end - own.begin};
    for (int r = 0; r < b->deal->ranks; ++r) {
        const hal_span part = dealt_part(b, turn, r);
        share.part += part.end - part.begin;
    }
    return share;
}

batch_share batch_order_part(const batch_plan *b, batch_turn turn, int ranks, int rank)
{
    if (b->deal != NULL) {
        return dealt_share(b, turn, rank);
    }
    const int64_t first = turn.step * b->batch, rows = rows_of(b, turn.step);
    const hal_span part = split_groups(rows, b->least, turn.parts, turn.part);
    const hal_span own = split_groups(part.end - part.begin, b->share_least, ranks, rank);
    return (batch_share){.batch = rows,
                         .part = part.end - part.begin,
                         .begin = first + part.begin + own.begin,
                         .count = own.end - own.begin};
}
