/*
 * comm/coll/allreduce_fixed_order.c: the all-reduce whose result is the serial sum in rank order, to the bit.
 *
 * Rank s owns slice s of the vector: direct exchange (comm/coll/direct.h) among all ranks. Neither the place of an
 * element nor the timing matters: a run can be compared bit by bit with a serial one. With a wire type it is the
 * compressed exchange, whose error bound is given there.
 *
 * Between the halves rank r owns slice r. Cost: 2 rounds of P - 1 messages each, 2 (P - 1) / P M bytes a rank; of a
 * node of n ranks n (P - n) / P M leave and enter in each half. Memory: (P - 1) / P M.
 */
#include "comm/coll/direct.h"

#include "comm/core/wire.h"
#include <assert.h>

static coll_direct direct_of(const coll_allreduce *args)
{
    return (coll_direct){args->rank,  args->size,  args->size, args->buffer,
                         args->count, args->dtype, args->op,   args->wire};
}

static int64_t scratch_bytes(const coll_allreduce *args)
{
    coll_direct d = direct_of(args);
    return coll_direct_scratch(&d);
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->size > 1 && args->rank < args->size);
    coll_direct d = direct_of(args);
    if (coll_scatters(args->half)) {
        coll_direct_reduce_scatter(s, &d, args->scratch);
    }
    if (coll_gathers(args->half)) {
        coll_direct_all_gather(s, &d, args->scratch);
    }
}

static coll_range owned_range(const coll_allreduce *args)
{
    return coll_split(args->count, args->size, args->rank);
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    comm_cost cost = {0};
    if (count == 0 || place->size == 1) {
        return cost;
    }
    bool encoded = place->wire != COMM_WIRE_SAME;
    int64_t link = encoded ? wire_bytes(place->wire) : element;
    coll_direct d = {.rank = place->rank, .size = place->size, .owners = place->size, .count = count};
    comm_cost half = {0};
    coll_path_direct(&half, place, coll_split(count, place->size, 0).count * link);
    coll_path_add(&cost, &half, coll_scatters(place->half) + coll_gathers(place->half));
    coll_direct_sent(&cost, &d, place->half, link);
    /* Encoding and decoding read or write the whole vector once in each half. */
    if (coll_scatters(place->half)) {
        cost.reduced += (count - count / place->size) * element + (encoded ? count * element : 0);
    }
    if (coll_gathers(place->half)) {
        cost.reduced += encoded ? count * element : 0;
    }
    return cost;
}

const coll_algorithm allreduce_fixed_order = {.id = COMM_ALGO_FIXED_ORDER,
                                              .name = "fixed-order",
                                              .description = "sums in rank order on every element: bit-reproducible",
                                              .asked_only = true,
                                              .encodes = true,
                                              .scratch = scratch_bytes,
                                              .build = build_steps,
                                              .cost = cost_of,
                                              .owned = owned_range};
