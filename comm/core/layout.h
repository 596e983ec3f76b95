/*
 * comm/core/layout.h: which ranks share a node.
 *
 * Hierarchical algorithms move data inside a node (shared memory) before and after they move it between nodes. They ask
 * this table, which every communicator has and which is the same on all of its ranks:
 *
 *      P = 5, two hosts     rank       0  1  2  3  4
 *                           node_of    0  0  0  1  1       nodes are numbered by their lowest rank
 *                           local_of   0  1  2  0  1
 *                           member     0  1  2 | 3  4      ranks node by node; node j: [first[j], first[j + 1])
 */
#pragma once

#include "comm/comm.h"

typedef struct comm_layout {
    int nodes;           /* m */
    int least, most;     /* ranks of the smallest and of the largest node */
    const int *node_of;  /* [P] */
    const int *local_of; /* [P] */
    const int *member;   /* [P] */
    const int *first;    /* [nodes + 1] */
} comm_layout;

/* Lives as long as the communicator, until comm_imitate_nodes. */
const comm_layout *comm_get_layout(const weft_comm *comm);

/*
 * Pretend that every `ranks` consecutive ranks of this node are a node of their own: for tests of hierarchical
 * algorithms on one machine. Collective; before any plan is made. WEFT_ERR_USAGE unless 1 <= ranks.
 */
weft_status comm_imitate_nodes(weft_comm *comm, int ranks);

/* The room's own: build from each rank's lowest rank on its node. leader: [P]; NULL: one
 * node of all. */
weft_status layout_create(const int *leader, int size, comm_layout **layout);
void layout_destroy(comm_layout *layout);
