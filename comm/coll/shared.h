/*
 * comm/coll/shared.h: the all-reduce inside a node, through shared memory (comm/coll/allreduce_shared.c).
 *
 * Its state outlives the schedule's steps: the window with the flags and where everybody's vector lies.
 */
#pragma once

#include "comm/coll/coll.h"
#include "comm/core/window.h"

/* Longest vector that is reduced in slots, with one meeting; measured on two ranks. */
enum { SHARED_SLOT_BYTES = 1 << 13 };

/* The ranks of the communicator share one node and there are at least two. */
bool coll_shared_possible(const comm_layout *layout, int size);

/* The window and the places of one operation. Collective. WEFT_ERR_RESOURCE: no shared memory, on all ranks. */
weft_status coll_shared_create(weft_comm *comm, const coll_allreduce *args, coll_shared **shared);
void coll_shared_destroy(coll_shared *shared); /* NULL is allowed */

/* For vectors of up to SHARED_SLOT_BYTES that change with every post: the schedule is built once, the vector is set
 * before a post. */
weft_status coll_shared_create_small(weft_comm *comm, coll_shared **shared);
void coll_shared_build_small(comm_schedule *s, coll_shared *shared);
void coll_shared_aim(coll_shared *shared, void *buffer, int64_t count, weft_dtype dtype, comm_op op);
