/*
 * comm/coll/allreduce_master.c: one rank a node, its master, speaks for the node.
 *
 * The node's vectors are reduced to its first rank down a binomial tree, the masters run a flat all-reduce, and the
 * result goes back up the tree:
 *
 *      nodes of 4      0 <- 1, 2 <- 3 | 0 <- 2 | master 0 with the other nodes' masters | 0 -> 2, 1; 2 -> 3
 *
 * The network sees one vector a node and the node few rounds: for short vectors on nodes of many ranks. For long ones
 * the other n - 1 ranks stand idle while the masters talk (comm/coll/allreduce_two_level.c keeps all of them busy). The
 * paper moves rings inside the node and between masters; trees cost fewer rounds on the short vectors this is for, and
 * between masters the flat algorithm is chosen by cost. With a wire type the masters' exchange is the compressed one.
 * It has no halves: only masters hold anything in between.
 *
 * Cost: 2 ceil(log2 n) rounds of M in the node; between nodes a flat all-reduce of m ranks. Memory: M, or what the flat
 * algorithm takes.
 *
 * X. Jia et al.: Highly scalable deep learning training system with mixed-precision: training ImageNet in four minutes.
 * 2018, arXiv:1807.11205
 */
#include "comm/coll/inner.h"

#include <assert.h>

static const coll_algorithm *flat_of_args(const coll_allreduce *args)
{
    coll_place place = coll_place_of(args);
    return coll_inner_algorithm(&place, 1, args->count, (int64_t)weft_dtype_bytes(args->dtype));
}

static int64_t scratch_bytes(const coll_allreduce *args)
{
    coll_allreduce inner = coll_inner_arguments(args, args->buffer, args->count);
    int64_t inside = coll_vector_bytes(args);
    int64_t between = coll_inner_scratch(flat_of_args(args), &inner);
    return inside > between ? inside : between;
}

/* ((x0 + x1) + (x2 + x3)) + ...: a rank hands on its subtree to the rank with its lowest set bit cleared. */
static void reduce_to_master(comm_schedule *s, const coll_allreduce *args, int local, int ranks)
{
    int64_t bytes = coll_vector_bytes(args);
    for (int bit = 1; bit < ranks; bit *= 2) {
        schedule_round(s, "to the master");
        if ((local & bit) != 0) {
            schedule_send(s, local - bit, args->buffer, bytes);
            return;
        }
        if (local + bit < ranks) {
            schedule_receive(s, local + bit, args->scratch, bytes);
            schedule_reduce(s, args->dtype, args->op, args->buffer, args->buffer, args->scratch, args->count);
        }
    }
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->layout != NULL && args->half == COMM_WHOLE);
    const comm_layout *layout = args->layout;
    int node = layout->node_of[args->rank];
    int local = layout->local_of[args->rank];
    int ranks = coll_node_ranks(layout, node);
    schedule_members(s, coll_node_members(layout, node));
    reduce_to_master(s, args, local, ranks);
    schedule_members(s, NULL);
    if (local == 0) {
        coll_allreduce inner = coll_inner_arguments(args, args->buffer, args->count);
        coll_inner_build(s, flat_of_args(args), &inner, args);
    }
    schedule_members(s, coll_node_members(layout, node));
    coll_bcast_build(s, local, ranks, 0, args->buffer, coll_vector_bytes(args));
    schedule_members(s, NULL);
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    comm_cost cost = {0};
    if (count == 0) {
        return cost;
    }
    const comm_layout *layout = place->layout;
    int local = layout->local_of[place->rank];
    int depth = coll_ceil_log2(layout->most);
    cost.intra_rounds = 2 * depth;
    cost.intra_bytes = 2 * depth * count * element;
    cost.reduced = depth * count * element;
    cost.messages_sent =
        (local > 0) + coll_bcast_children(local, coll_node_ranks(layout, layout->node_of[place->rank]));
    cost.bytes_sent = cost.messages_sent * count * element;
    coll_inner_cost(&cost, coll_inner_algorithm(place, 1, count, element), place, 1, count, local == 0 ? count : 0,
                    element);
    return cost;
}

const coll_algorithm allreduce_master = {
    .id = COMM_ALGO_MASTER,
    .name = "master",
    .description = "reduces to one rank a node, which speaks for it: short vectors on nodes of many ranks",
    .hierarchy = true,
    .encodes = true,
    .scratch = scratch_bytes,
    .build = build_steps,
    .cost = cost_of};
