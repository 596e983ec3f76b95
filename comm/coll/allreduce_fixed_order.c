/*
 * comm/coll/allreduce_fixed_order.c: the all-reduce whose result is the serial sum in rank order, to the bit.
 *
 * Rank s owns slice s of the vector. Everybody sends slice s straight to its owner, which sums
 * ((x0 + x1) + x2) + ... + x(P-1); the owners send their finished slices to everybody:
 *
 *      P = 3        slice 0    slice 1    slice 2
 *      rank 0       owner      -> 1       -> 2        1. scatter, all at once
 *      rank 1       -> 0       owner      -> 2        2. each owner sums in rank order
 *      rank 2       -> 0       -> 1       owner       3. gather, all at once
 *
 * Neither the place of an element nor the timing matters: a run can be compared bit by bit with a serial one.
 *
 * Cost: 2 rounds of P - 1 messages each, 2 (P - 1) / P M bytes a rank. Memory: (P - 1) / P M.
 */
#include "comm/coll/coll.h"

typedef struct slice {
    int64_t begin, count;
} slice;

static slice slice_of(int64_t count, int size, int s)
{
    slice out = {0, 0};
    int64_t end = 0;
    hal_split_rows(count, size, s, &out.begin, &end);
    out.count = end - out.begin;
    return out;
}

/* Where rank q's copy of this rank's slice lies: one slot a peer, none for the rank itself. */
static char *slot_of(const coll_allreduce *args, char *slots, int64_t slice_bytes, char *own, int q)
{
    return q == args->rank ? own : slots + (q < args->rank ? q : q - 1) * slice_bytes;
}

void coll_fixed_order_build(comm_schedule *s, const coll_allreduce *args)
{
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    char *buffer = args->buffer;
    slice mine = slice_of(args->count, args->size, args->rank);
    char *own = buffer + mine.begin * element;
    void *slots = NULL;
    schedule_scratch(s, mine.count * element * (args->size - 1), &slots);
    schedule_round(s, "scatter");
    for (int k = 1; k < args->size; ++k) {
        int from = (args->rank + args->size - k) % args->size;
        int to = (args->rank + k) % args->size;
        slice theirs = slice_of(args->count, args->size, to);
        /* With no elements there are no slots. */
        void *slot = slots == NULL ? NULL : slot_of(args, slots, mine.count * element, own, from);
        schedule_receive(s, from, slot, mine.count * element);
        schedule_send(s, to, buffer + theirs.begin * element, theirs.count * element);
    }
    /* The running sum stays in rank 0's slot until every operand has been read; the last one may land in the vector. */
    char *sum = slots == NULL ? NULL : slot_of(args, slots, mine.count * element, own, 0);
    for (int q = 1; sum != NULL && q < args->size; ++q) {
        schedule_reduce(s, args->dtype, args->op, q == args->size - 1 ? own : sum, sum,
                        slot_of(args, slots, mine.count * element, own, q), mine.count);
    }
    schedule_round(s, "gather");
    for (int k = 1; k < args->size; ++k) {
        int from = (args->rank + args->size - k) % args->size;
        int to = (args->rank + k) % args->size;
        slice theirs = slice_of(args->count, args->size, from);
        schedule_receive(s, from, buffer + theirs.begin * element, theirs.count * element);
        schedule_send(s, to, own, mine.count * element);
    }
}

comm_cost coll_fixed_order_cost(const coll_place *place, int64_t count, int64_t element)
{
    int rank = place->rank;
    int size = place->size;
    comm_cost cost = {0};
    if (count == 0 || size == 1) {
        return cost;
    }
    int64_t slices = count < size ? count : size;
    int64_t mine = slice_of(count, size, rank).count;
    cost.messages_sent = slices - (mine > 0) + (mine > 0 ? size - 1 : 0);
    cost.bytes_sent = (count - mine + (size - 1) * mine) * element;
    coll_flat_path(&cost, place, 2 * (int64_t)(size - 1), 2 * (count - count / size) * element);
    cost.reduced = (count - count / size) * element;
    return cost;
}
