/*
 * comm/coll/inner.h: a flat all-reduce among one rank of each node, as a stage of a hierarchical one.
 *
 * The group's member of node j is the rank with this rank's local number there; its number in the group is j.
 */
#pragma once

#include "comm/coll/coll.h"

/* The stage's arguments from those of the whole: `count` elements at `data`. */
coll_allreduce coll_inner_arguments(const coll_allreduce *args, void *data, int64_t count);
/* What `groups` groups run side by side, on at most `count` elements each. */
const coll_algorithm *coll_inner_algorithm(const coll_place *place, int groups, int64_t count, int64_t element);
int64_t coll_inner_scratch(const coll_algorithm *flat, const coll_allreduce *inner);
/* Nothing for an empty vector or one node. args: of the whole, with its scratch. */
void coll_inner_build(comm_schedule *s, const coll_algorithm *flat, coll_allreduce *inner, const coll_allreduce *args);
/* Adds the stage: the path of `groups` groups on `longest` elements each, and what this rank sends for its `mine`. */
void coll_inner_cost(comm_cost *cost, const coll_algorithm *flat, const coll_place *place, int groups, int64_t longest,
                     int64_t mine, int64_t element);
