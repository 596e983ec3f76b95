/*
 * comm/coll/allreduce_halving_doubling.c: the all-reduce for long vectors on a power of two of ranks.
 *
 * Reduce-scatter by recursive halving, then all-gather by recursive doubling. In halving round k a rank and its partner
 * across bit k split the range they share: each sends the half that the other keeps and reduces the half it keeps.
 *
 *      P = 4, blocks of the vector 0123; shown: what a rank holds, reduced over how many ranks
 *      rank        0         1         2         3
 *      bit 0    01:2      23:2      01:2      23:2
 *      bit 1     0:4       2:4       1:4       3:4       (block = the rank's number with its bits reversed)
 *      bit 1    01:4      23:4      01:4      23:4
 *      bit 0  0123:4    0123:4    0123:4    0123:4
 *
 * The first exchange, the largest one, is between neighbours, which mostly share a node. Every element is summed over
 * the same tree ((r0 + r1) + (r2 + r3)) + ..., whoever holds it: the result does not depend on where in the vector an
 * element lies and equals that of recursive doubling to the bit.
 *
 * Between the halves a rank owns its one block, bit-reversed as above; a rank whose neighbour acts for it owns nothing.
 * Cost: 2 log2 p rounds, 2 (p - 1) / p M bytes a rank; + 2 rounds and up to 2 M when P is no power of two. Through the
 * link of a node of n ranks (a power of two, one after the other) go the exchanges past bit log2 n only, of n ranks at
 * once: 2 (m - 1) / m M, as if the node were one rank.
 * Memory: half of M, or M when P is no power of two.
 *
 * R. Rabenseifner: Optimization of collective reduction operations. ICCS 2004, doi:10.1007/978-3-540-24685-5_1
 */
#include "comm/coll/coll.h"

#include <assert.h>

enum { LEVELS = 31 };

/* Blocks [first, last) and where they lie. */
typedef struct block_range {
    int first, last;
} block_range;

static int64_t range_begin(int64_t count, int blocks, int block)
{
    const hal_span own = hal_split_rows(count, blocks, block);
    return block == blocks ? count : own.begin;
}

static int64_t range_count(int64_t count, int blocks, block_range range)
{
    return range_begin(count, blocks, range.last) - range_begin(count, blocks, range.first);
}

/* held[k]: what the rank holds before halving round k; held[steps] is its one block. */
static void ranges_of(const coll_fold *fold, block_range held[LEVELS + 1])
{
    held[0] = (block_range){0, fold->power};
    for (int k = 0; k < fold->steps; ++k) {
        int middle = (held[k].first + held[k].last) / 2;
        bool upper = ((fold->virtual >> k) & 1) != 0;
        held[k + 1] = upper ? (block_range){middle, held[k].last} : (block_range){held[k].first, middle};
    }
}

/* The half of held[k] that the partner keeps. */
static block_range other_half(block_range whole, block_range kept)
{
    return kept.first == whole.first ? (block_range){kept.last, whole.last} : (block_range){whole.first, kept.first};
}

static int64_t scratch_bytes(const coll_allreduce *args)
{
    coll_fold fold = coll_fold_of(args->rank, args->size);
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    /* The first blocks are the longer ones, so the first half is the longest message. */
    block_range half = {0, (fold.power + 1) / 2};
    return fold.extra > 0 ? args->count * element : range_count(args->count, fold.power, half) * element;
}

static void halve(comm_schedule *s, const coll_allreduce *args, const coll_fold *fold, const block_range *held)
{
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    char *buffer = args->buffer;
    void *tmp = args->scratch;
    for (int k = 0, bit = 1; k < fold->steps; ++k, bit *= 2) {
        int partner = fold->virtual ^ bit;
        block_range kept = held[k + 1];
        block_range sent = other_half(held[k], kept);
        char *mine = buffer + range_begin(args->count, fold->power, kept.first) * element;
        int64_t count = range_count(args->count, fold->power, kept);
        bool lower = fold->virtual < partner;
        schedule_round(s, "reduce-scatter");
        schedule_receive(s, coll_fold_rank(fold, partner), tmp, count * element);
        schedule_send(s, coll_fold_rank(fold, partner),
                      buffer + range_begin(args->count, fold->power, sent.first) * element,
                      range_count(args->count, fold->power, sent) * element);
        schedule_reduce(s, args->dtype, args->op, mine, lower ? mine : tmp, lower ? tmp : mine, count);
    }
}

static void double_up(comm_schedule *s, const coll_allreduce *args, const coll_fold *fold, const block_range *held)
{
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    char *buffer = args->buffer;
    for (int k = fold->steps - 1, bit = fold->power / 2; k >= 0; --k, bit /= 2) {
        int partner = coll_fold_rank(fold, fold->virtual ^ bit);
        block_range mine = held[k + 1];
        block_range theirs = other_half(held[k], mine);
        schedule_round(s, "all-gather");
        schedule_receive(s, partner, buffer + range_begin(args->count, fold->power, theirs.first) * element,
                         range_count(args->count, fold->power, theirs) * element);
        schedule_send(s, partner, buffer + range_begin(args->count, fold->power, mine.first) * element,
                      range_count(args->count, fold->power, mine) * element);
    }
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->size > 1 && args->rank < args->size);
    coll_fold fold = coll_fold_of(args->rank, args->size);
    block_range held[LEVELS + 1] = {{0, 0}};
    if (fold.virtual >= 0) {
        ranges_of(&fold, held);
    }
    if (coll_scatters(args->half)) {
        coll_fold_in(s, &fold, args, args->scratch);
        if (fold.virtual >= 0) {
            halve(s, args, &fold, held);
        }
    }
    if (coll_gathers(args->half)) {
        if (fold.virtual >= 0) {
            double_up(s, args, &fold, held);
        }
        coll_fold_out(s, &fold, args);
    }
}

static coll_range owned_range(const coll_allreduce *args)
{
    coll_fold fold = coll_fold_of(args->rank, args->size);
    block_range held[LEVELS + 1];
    if (fold.virtual < 0) {
        return (coll_range){args->count, 0};
    }
    ranges_of(&fold, held);
    return (coll_range){range_begin(args->count, fold.power, held[fold.steps].first),
                        range_count(args->count, fold.power, held[fold.steps])};
}

/* What this rank sends: in the scatter what its partners keep, in the gather what it keeps. */
static void add_sent(comm_cost *cost, const coll_place *place, const coll_fold *fold, int64_t count, int64_t element)
{
    bool scatters = coll_scatters(place->half);
    bool gathers = coll_gathers(place->half);
    bool folded = place->rank < 2 * fold->extra;
    if (folded) {
        /* The even one sends before, the odd one after. */
        bool sends = fold->virtual < 0 ? scatters : gathers;
        cost->messages_sent += sends;
        cost->bytes_sent += sends ? count * element : 0;
    }
    if (fold->virtual < 0) {
        return;
    }
    block_range held[LEVELS + 1];
    ranges_of(fold, held);
    for (int k = 0; k < fold->steps; ++k) {
        int64_t sent = scatters ? range_count(count, fold->power, other_half(held[k], held[k + 1])) : 0;
        int64_t kept = gathers ? range_count(count, fold->power, held[k + 1]) : 0;
        cost->messages_sent += (sent > 0) + (kept > 0);
        cost->bytes_sent += (sent + kept) * element;
    }
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    coll_fold fold = coll_fold_of(place->rank, place->size);
    comm_cost cost = {0};
    comm_cost half = {0};
    if (count == 0) {
        return cost;
    }
    add_sent(&cost, place, &fold, count, element);
    if (fold.extra > 0) {
        coll_path_pairs(&half, place, &fold, 0, count * element);
    }
    for (int mask = 1; mask < fold.power; mask *= 2) {
        block_range longest = {0, fold.power / (2 * mask)};
        coll_path_pairs(&half, place, &fold, mask, range_count(count, fold.power, longest) * element);
    }
    coll_path_add(&cost, &half, coll_scatters(place->half) + coll_gathers(place->half));
    if (coll_scatters(place->half)) {
        cost.reduced = (count - count / fold.power + (fold.extra > 0 ? count : 0)) * element;
    }
    return cost;
}

const coll_algorithm allreduce_halving_doubling = {
    .id = COMM_ALGO_HALVING_DOUBLING,
    .name = "halving-doubling",
    .description = "reduce-scatter and all-gather by halves: long vectors on a power of two of ranks",
    .scratch = scratch_bytes,
    .build = build_steps,
    .cost = cost_of,
    .owned = owned_range};
