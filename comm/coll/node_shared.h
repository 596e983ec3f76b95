/*
 * comm/coll/node_shared.h: the stages of a hierarchical all-reduce inside a node (comm/coll/node_stage.h), through
 * shared memory. Its state outlives the schedule's steps: the window with the flags and where everybody's vector lies.
 */
#pragma once

#include "comm/coll/coll.h"

/* Collective over all nodes. WEFT_ERR_RESOURCE: no shared memory, on all ranks. */
weft_status node_shared_create(weft_comm *comm, const coll_allreduce *args, node_shared **shared);
void node_shared_destroy(node_shared *shared); /* NULL is allowed */

/* The steps of the halves that args holds. */
void node_shared_reduce_scatter(comm_schedule *s, const coll_allreduce *args);
void node_shared_all_gather(comm_schedule *s, const coll_allreduce *args);
comm_cost node_shared_cost(const coll_place *place, int64_t count, int64_t element);
