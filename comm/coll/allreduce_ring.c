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
 * Cost: 2 (P - 1) rounds, 2 (P - 1) / P M bytes a rank. Memory: M / P.
 *
 * P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. JPDC 69(2), 2009,
 * doi:10.1016/j.jpdc.2008.09.002
 */
#include "comm/coll/coll.h"

typedef struct ring_block {
    int64_t begin, count;
} ring_block;

static ring_block block_of(int64_t count, int size, int b)
{
    ring_block block = {0, 0};
    int64_t end = 0;
    hal_split_rows(count, size, ((b % size) + size) % size, &block.begin, &end);
    block.count = end - block.begin;
    return block;
}

void coll_ring_build(comm_schedule *s, const coll_allreduce *args)
{
    int64_t element = (int64_t)weft_dtype_bytes(args->dtype);
    int size = args->size;
    int right = (args->rank + 1) % size;
    int left = (args->rank + size - 1) % size;
    char *buffer = args->buffer;
    void *tmp = NULL;
    schedule_scratch(s, block_of(args->count, size, 0).count * element, &tmp);
    for (int step = 0; step < size - 1; ++step) {
        ring_block sent = block_of(args->count, size, args->rank - step);
        ring_block got = block_of(args->count, size, args->rank - step - 1);
        char *mine = buffer + got.begin * element;
        schedule_round(s, "reduce-scatter");
        schedule_receive(s, left, tmp, got.count * element);
        schedule_send(s, right, buffer + sent.begin * element, sent.count * element);
        schedule_reduce(s, args->dtype, args->op, mine, tmp, mine, got.count);
    }
    for (int step = 0; step < size - 1; ++step) {
        ring_block sent = block_of(args->count, size, args->rank + 1 - step);
        ring_block got = block_of(args->count, size, args->rank - step);
        schedule_round(s, "all-gather");
        schedule_receive(s, left, buffer + got.begin * element, got.count * element);
        schedule_send(s, right, buffer + sent.begin * element, sent.count * element);
    }
}

comm_cost coll_ring_cost(const coll_place *place, int64_t count, int64_t element)
{
    int rank = place->rank;
    int size = place->size;
    comm_cost cost = {0};
    if (count == 0 || size == 1) {
        return cost;
    }
    /* Every block but one in each half: r + 1 is finished here, r + 2 is finished at the right neighbour. */
    int64_t blocks = count < size ? count : size;
    int64_t skipped_scatter = block_of(count, size, rank + 1).count;
    int64_t skipped_gather = block_of(count, size, rank + 2).count;
    cost.messages_sent = 2 * blocks - (skipped_scatter > 0) - (skipped_gather > 0);
    cost.bytes_sent = (2 * count - skipped_scatter - skipped_gather) * element;
    coll_flat_path(&cost, place, 2 * (int64_t)(size - 1), 2 * (count - count / size) * element);
    cost.reduced = (count - count / size) * element;
    return cost;
}
