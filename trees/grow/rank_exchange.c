/* trees/grow/rank_exchange.c: see trees/grow/rank_exchange.h. */
#include "trees/grow/rank_exchange.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "trees/data/tree_columns.h"

_Static_assert(offsetof(tree_split, right) == SPLIT_HEAD_BYTES, "a record of a split without a set is its head");
_Static_assert(sizeof(tree_split) == SPLIT_WIDE_BYTES, "a record of a split");
_Static_assert(offsetof(tree_split, right) + HAL_BINS / 8 == SPLIT_BYTES, "a record with a set of bins of a byte");

/* Records may lie anywhere in messages, and end before the sets of splits where there are none. */
static void take_better(char *into, const char *other, int64_t bytes)
{
    tree_split a = {0}, b = {0};
    memcpy(&a, into, (size_t)bytes);
    memcpy(&b, other, (size_t)bytes);
    if (b.gain > 0.0 && split_is_better(&b, &a)) {
        memcpy(into, other, (size_t)bytes);
    }
}

static inline void merge(void *into, const void *other, int64_t bytes, int64_t record)
{
    for (int64_t i = 0; i < bytes; i += record) {
        take_better((char *)into + i, (const char *)other + i, record);
    }
}

static void merge_heads(void *into, const void *other, int64_t bytes)
{
    merge(into, other, bytes, SPLIT_HEAD_BYTES);
}

static void merge_sets(void *into, const void *other, int64_t bytes)
{
    merge(into, other, bytes, SPLIT_BYTES);
}

static void merge_wide(void *into, const void *other, int64_t bytes)
{
    merge(into, other, bytes, SPLIT_WIDE_BYTES);
}

weft_status exchange_create(weft_comm *comm, int category_bins, rank_exchange *x)
{
    *x = (rank_exchange){.comm = comm, .record_bytes = growth_record_bytes(category_bins)};
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    weft_status local = weft_malloc(EXCHANGE_BYTES, 1, WEFT_MEM_TREES, (void **)&x->number);
    local = local == WEFT_OK ? weft_malloc(EXCHANGE_BYTES, 1, WEFT_MEM_TREES, (void **)&x->record) : local;
    WEFT_TRY(comm_agree(comm, local));
    comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                .algorithm = COMM_ALGO_RECURSIVE_DOUBLING,
                                .dtype = WEFT_DTYPE_F64,
                                .op = COMM_MAX,
                                .count = 3,
                                .buffer = x->largest,
                                .name = "largest gradients"};
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &x->most));
    desc.dtype = WEFT_DTYPE_I64;
    desc.op = COMM_SUM;
    desc.count = EXCHANGE_BYTES / (int64_t)sizeof *x->number;
    desc.buffer = x->number;
    desc.name = "sums of trees";
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &x->sum));
    desc.dtype = WEFT_DTYPE_U8;
    desc.op = COMM_MAX;
    desc.count = EXCHANGE_BYTES / x->record_bytes * x->record_bytes;
    desc.buffer = x->record;
    desc.merge = x->record_bytes == SPLIT_HEAD_BYTES ? merge_heads
                 : x->record_bytes == SPLIT_BYTES    ? merge_sets
                                                     : merge_wide;
    desc.name = "best splits";
    return comm_allreduce_plan(comm, &desc, &x->best);
}

void exchange_destroy(rank_exchange *x)
{
    comm_plan_destroy(x->most);
    comm_plan_destroy(x->sum);
    comm_plan_destroy(x->best);
    WEFT_FREE_ALL(x->number, x->record);
    *x = (rank_exchange){.comm = NULL};
}

weft_status exchange_agree(rank_exchange *x, weft_status local)
{
    const double begun = clock_seconds();
    growth_add_call(&x->work, AGREE_BYTES);
    const weft_status status = comm_agree(x->comm, local);
    x->seconds.exchange += clock_seconds() - begun;
    return status;
}

weft_status exchange_run(rank_exchange *x, comm_plan *plan)
{
    const double begun = clock_seconds();
    WEFT_TRY(comm_post(plan));
    const weft_status status = comm_wait(plan);
    x->seconds.exchange += clock_seconds() - begun;
    return status;
}

weft_status exchange_most(rank_exchange *x, double largest[3])
{
    growth_add_call(&x->work, sizeof x->largest);
    if (x->most == NULL) {
        return WEFT_OK;
    }
    memcpy(x->largest, largest, sizeof x->largest);
    WEFT_TRY(exchange_run(x, x->most));
    memcpy(largest, x->largest, sizeof x->largest);
    return WEFT_OK;
}

weft_status exchange_sum(rank_exchange *x, int64_t *number, int64_t count)
{
    const int64_t most = EXCHANGE_BYTES / (int64_t)sizeof *number;
    growth_add_vector(&x->work, count, sizeof *number);
    for (int64_t at = 0; at < count && x->sum != NULL; at += most) {
        const int64_t part = count - at < most ? count - at : most;
        memcpy(x->number, number + at, (size_t)part * sizeof *number);
        WEFT_TRY(comm_plan_shorten(x->sum, part));
        WEFT_TRY(exchange_run(x, x->sum));
        memcpy(number + at, x->number, (size_t)part * sizeof *number);
    }
    return WEFT_OK;
}

weft_status exchange_best(rank_exchange *x, tree_split *split, int64_t count)
{
    const int64_t most = EXCHANGE_BYTES / x->record_bytes;
    const size_t record = (size_t)x->record_bytes;
    growth_add_vector(&x->work, count, x->record_bytes);
    for (int64_t at = 0; at < count && x->best != NULL; at += most) {
        const int64_t part = count - at < most ? count - at : most;
        for (int64_t i = 0; i < part; ++i) {
            memcpy(x->record + (size_t)i * record, &split[at + i], record);
        }
        WEFT_TRY(comm_plan_shorten(x->best, part * x->record_bytes));
        WEFT_TRY(exchange_run(x, x->best));
        for (int64_t i = 0; i < part; ++i) {
            memcpy(&split[at + i], x->record + (size_t)i * record, record);
        }
    }
    return WEFT_OK;
}
