/*
 * comm/coll/allreduce_two_level.c: the "2-D" all-reduce for nodes of several ranks.
 *
 * A node's ranks share one network link, so a flat algorithm that lets each of them move the vector moves it n times.
 * Here the node first agrees on its sum, shard by shard, and the ranks with the same local number finish one shard each
 * between the nodes, all groups at once, so that every stream of a node works all the time:
 *
 *      2 nodes x 2 ranks       node 0: r0 r1          node 1: r2 r3
 *      1 in the node           r0: A0   r1: B0        r2: A1   r3: B1         node sums of shards A and B
 *      2 between nodes         r0 and r2: A0 + A1     r1 and r3: B0 + B1      a flat all-reduce a shard
 *      3 in the node           everybody: A B
 *
 * Stage 2 reuses the flat algorithms over m ranks, chosen by cost; with a wire type it is the compressed direct
 * exchange, and nothing else is rounded. On one node stage 2 is empty, with one rank a node stages 1 and 3 are; there
 * are as many shards as the smallest node has ranks. Bits: comm/coll/coll.h.
 *
 * Between the halves a rank owns the part of its shard that the flat algorithm leaves with it.
 * Cost: two meetings in shared memory, where the rank of a shard reads n of them and writes n, or 2 (n - 1) messages
 * and 2 (n - 1) / n M in the node (comm/coll/node_stage.h); between nodes what the flat algorithm takes of m ranks on a
 * shard, times the shards: 2 (m - 1) / m M through a node's link for the long ones. Memory: M for vectors that do not
 * lie in shared memory, and what the flat algorithm takes on a shard.
 *
 * H. Mikami et al.: Massively distributed SGD: ImageNet/ResNet-50 training in a flash. 2018, arXiv:1811.05233 (2-D
 * torus all-reduce)
 */
#include "comm/coll/inner.h"

#include "comm/coll/node_stage.h"
#include <assert.h>

/* This rank's shard as an all-reduce among the nodes. */
static coll_allreduce shard_of(const coll_allreduce *args)
{
    coll_range shard = node_stage_shard(args->layout, args->count, args->layout->local_of[args->rank]);
    char *data =
        args->buffer == NULL ? NULL : (char *)args->buffer + shard.begin * (int64_t)weft_dtype_bytes(args->dtype);
    return coll_inner_arguments(args, data, shard.count);
}

/* All groups take the algorithm that suits the longest shard. */
static const coll_algorithm *flat_of(const coll_place *place, int64_t count, int64_t element)
{
    const comm_layout *layout = place->layout;
    return coll_inner_algorithm(place, layout->least, node_stage_shard(layout, count, 0).count, element);
}

static const coll_algorithm *flat_of_args(const coll_allreduce *args)
{
    coll_place place = coll_place_of(args);
    return flat_of(&place, args->count, (int64_t)weft_dtype_bytes(args->dtype));
}

static int64_t scratch_bytes(const coll_allreduce *args)
{
    coll_allreduce shard = shard_of(args);
    int64_t inside = node_stage_scratch(args);
    int64_t between = coll_inner_scratch(flat_of_args(args), &shard);
    return inside > between ? inside : between;
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->layout != NULL && args->wire <= COMM_WIRE_FP16);
    coll_allreduce shard = shard_of(args);
    if (coll_scatters(args->half)) {
        node_stage_reduce_scatter(s, args, args->scratch);
    }
    coll_inner_build(s, flat_of_args(args), &shard, args);
    if (coll_gathers(args->half)) {
        node_stage_all_gather(s, args);
    }
}

static coll_range owned_range(const coll_allreduce *args)
{
    coll_range whole = node_stage_shard(args->layout, args->count, args->layout->local_of[args->rank]);
    coll_allreduce shard = shard_of(args);
    if (whole.count == 0 || args->layout->nodes == 1) {
        return whole;
    }
    coll_range owned = flat_of_args(args)->owned(&shard);
    owned.begin += whole.begin;
    return owned;
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    if (count == 0) {
        return (comm_cost){0};
    }
    const comm_layout *layout = place->layout;
    comm_cost cost = node_stage_cost(place, count, element);
    int64_t longest = node_stage_shard(layout, count, 0).count;
    int64_t mine = node_stage_shard(layout, count, layout->local_of[place->rank]).count;
    coll_inner_cost(&cost, flat_of(place, count, element), place, layout->least, longest, mine, element);
    return cost;
}

const coll_algorithm allreduce_two_level = {
    .id = COMM_ALGO_TWO_LEVEL,
    .name = "two-level",
    .description = "sums in the node, one all-reduce a local rank between nodes, gathers in the node",
    .hierarchy = true,
    .encodes = true,
    .scratch = scratch_bytes,
    .build = build_steps,
    .cost = cost_of,
    .owned = owned_range};
