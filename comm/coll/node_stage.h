/*
 * comm/coll/node_stage.h: the stages of a hierarchical all-reduce that stay inside a node.
 *
 * The vector is cut into as many shards as the smallest node has ranks, on every node alike. The reduce-scatter leaves
 * the node's sum of shard j with its j-th rank; the all-gather brings finished shards back to every rank of the node.
 * Ranks past the last shard give and receive but own nothing.
 *
 *      nodes of 3 and 2 ranks: 2 shards        node 0: ranks 0 and 1 own, rank 2 owns nothing      node 1: 3 and 4 own
 *
 * Node sums are taken in the order of the node's ranks, on every element alike. They go through shared memory
 * (comm/coll/node_shared.h) or, without it, through messages, with the same bits.
 */
#pragma once

#include "comm/coll/coll.h"

/* args: of the whole communicator, with its layout. */
int64_t node_stage_scratch(const coll_allreduce *args);
void node_stage_reduce_scatter(comm_schedule *s, const coll_allreduce *args, char *scratch);
void node_stage_all_gather(comm_schedule *s, const coll_allreduce *args);
/* The shard of a local rank; empty past the last one. */
coll_range node_stage_shard(const comm_layout *layout, int64_t count, int local);
/* The cost of the stages that the half of the place holds. */
comm_cost node_stage_cost(const coll_place *place, int64_t count, int64_t element);
