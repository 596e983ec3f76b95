/* comm/group/plan.h: what every planned operation keeps, whichever function made it. */
#pragma once

#include "comm/coll/cut.h"
#include "comm/coll/node_shared.h"
#include "comm/coll/shared.h"

/* More elements than any machine holds, so that bytes times rounds stay far below 2^63. */
#define MOST_ELEMENTS ((int64_t)1 << 46)

struct comm_plan {
    comm_schedule schedule;
    comm_algorithm algorithm; /* of an all-reduce; AUTO: the operation has only one */
    comm_cost cost;
    coll_range owned;    /* elements that are complete on this rank after the wait */
    coll_shared *shared; /* of an all-reduce that runs in shared memory, else NULL */
    node_shared *stage;  /* of a two-level all-reduce that uses shared memory, else NULL */
    coll_cut cut;        /* of an operation on the caller's shares, else zero */
    coll_allreduce args; /* of an all-reduce */
    coll_merge merge;    /* of one by the caller's function */
    int64_t most;        /* elements for which an all-reduce was made */
};

const char *plan_op_name(comm_op op);
