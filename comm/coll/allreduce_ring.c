/*
 * comm/coll/allreduce_ring.c: the all-reduce for long vectors on any number of ranks.
 *
 * The vector is cut into P blocks. P - 1 rounds pass partial sums to the right, then P - 1 rounds pass the finished
 * blocks:
 *
 *      P = 3, round by round: what rank r sends to r + 1 (block, reduced over how many ranks)
 *      rank     0      1      2
 *      scatter  0:1    1:1    2:1
 *               2:2    0:2    1:2         now rank r holds block r + 1 complete
 *      gather   1:3    2:3    0:3
 *               0:3    1:3    2:3
 *
 * Block b is summed in the order b, b + 1, ..., b + P - 1 (mod P): all ranks get the same bits, but an element's sum
 * depends on the block it lies in, so another bucket layout gives other roundings.
 *
 * Between the halves rank r owns block r + 1 (mod P).
 * Cost: 2 (P - 1) rounds, 2 (P - 1) / P M bytes a rank, and as much through the link of a node whose ranks follow one
 * another in the ring. Memory: M / P.
 *
 * P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. JPDC 69(2), 2009,
 * doi:10.1016/j.jpdc.2008.09.002
 */
#include "comm/coll/coll.h"

#include <assert.h>

static coll_range block_of(int64_t count, int size, int b)
{
    return coll_split(count, size, ((b % size) + size) % size);
}

static int64_t scratch_bytes(const coll_allreduce *args)
{
    return block_of(args->count, args->size, 0).count * (int64_t)weft_dtype_bytes(args->dtype);
}

/* One round: block `sent` to the right, block `got` from the left into `to`. */
static void pass_on(comm_schedule *s, const coll_allreduce *args, coll_range sent, coll_range got, void *to)
{
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    schedule_receive(s, (args->rank + args->size - 1) % args->size, to, got.count * element);
    schedule_send(s, (args->rank + 1) % args->size, (char *)args->buffer + sent.begin * element, sent.count * element);
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->size > 1 && args->rank < args->size);
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    int size = args->size;
    int rank = args->rank;
    char *buffer = args->buffer;
    for (int step = 0; coll_scatters(args->half) && step < size - 1; ++step) {
        coll_range got = block_of(args->count, size, rank - step - 1);
        char *mine = buffer + got.begin * element;
        schedule_round(s, "reduce-scatter");
        pass_on(s, args, block_of(args->count, size, rank - step), got, args->scratch);
        schedule_reduce(s, args->dtype, args->op, mine, args->scratch, mine, got.count);
    }
    for (int step = 0; coll_gathers(args->half) && step < size - 1; ++step) {
        coll_range got = block_of(args->count, size, rank - step);
        schedule_round(s, "all-gather");
        pass_on(s, args, block_of(args->count, size, rank + 1 - step), got, buffer + got.begin * element);
    }
}

static coll_range owned_range(const coll_allreduce *args)
{
    return block_of(args->count, args->size, args->rank + 1);
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    int size = place->size;
    comm_cost cost = {0};
    if (count == 0 || size == 1) {
        return cost;
    }
    int64_t blocks = count < size ? count : size; /* that hold anything */
    int64_t passed = (count - count / size) * element;
    if (coll_scatters(place->half)) {
        /* Every block but the one that is finished here. */
        int64_t skipped = block_of(count, size, place->rank + 1).count;
        cost.messages_sent += blocks - (skipped > 0);
        cost.bytes_sent += (count - skipped) * element;
        cost.reduced = passed;
        coll_path_ring(&cost, place, size - 1, passed);
    }
    if (coll_gathers(place->half)) {
        /* Every block but the one that is finished at the right neighbour. */
        int64_t skipped = block_of(count, size, place->rank + 2).count;
        cost.messages_sent += blocks - (skipped > 0);
        cost.bytes_sent += (count - skipped) * element;
        coll_path_ring(&cost, place, size - 1, passed);
    }
    return cost;
}

const coll_algorithm allreduce_ring = {
    .id = COMM_ALGO_RING,
    .name = "ring",
    .description = "reduce-scatter and all-gather around a ring: long vectors on any number of ranks",
    .scratch = scratch_bytes,
    .build = build_steps,
    .cost = cost_of,
    .owned = owned_range};
