/*
 * comm/coll/cut.h: collectives on a vector that the caller cuts into one share for each rank.
 *
 *      P = 4, two nodes      | share 0   | share 1 | share 2      | share 3 |      shares may be empty
 *                              rank 0      rank 1    rank 2         rank 3
 *                              node 0      node 0    node 1         node 1
 *
 * The ranks of a node meet on a board in shared memory (comm/coll/board.h), so a share crosses to each other node once:
 *
 *      all-gather       every rank sends its share to one rank of each other node, the carrier; then each rank
 *                       publishes the shares that it holds, and reads the others from the board
 *      broadcast        the root sends the vector to one rank of each other node, down a binomial tree, which
 *                       publishes it
 *      reduce-scatter   every rank sends each share to its owner, through the board inside the node; the owner sums in
 *                       the order of the ranks
 *
 * Without shared memory (coll_cut.board is NULL although a node has several ranks) the all-gather goes around a ring of
 * all ranks, the broadcast down a tree of all ranks, and all pieces of the reduce-scatter are messages.
 *
 * Bits. A sum is ((x0 + x1) + x2) + ... in the order of the ranks, whatever the nodes and the shares are.
 *
 * Cost of rank r, M bytes of the vector, M_r of its share, m nodes, P ranks, n of them on its node:
 *
 *                       messages sent                            bytes sent
 *      all-gather       m - 1, or 0 if M_r = 0                   (m - 1) M_r
 *      on the ring      not empty shares but that of r + 1       M - M_(r+1)
 *      broadcast        one a child in the tree                  M a child
 *      reduce-scatter   not empty shares of other nodes          M - M of the node's shares
 */
#pragma once

#include "comm/coll/board.h"
#include "comm/coll/coll.h"

/* What the steps of one planned operation refer to. It lives as long as their schedule. */
typedef struct coll_cut {
    weft_comm *comm;
    coll_board *board; /* NULL: the ranks of a node exchange messages, or every node has one rank */
    int64_t room;      /* bytes that this rank's segment of the board takes */
    char *buffer;      /* the whole vector */
    int64_t *bytes;    /* [P] of each share */
    int64_t *begin;    /* [P + 1] byte at which each share begins */
    int64_t *at;       /* [n] work space: places in the segments of this node's ranks */
    int *leader;       /* [m] of a broadcast: the rank that receives for each node */
    const void **from; /* [P] work space: the operands of a sum */
    char *received;    /* pieces that other ranks sent to be summed, in the order of the ranks */
    weft_dtype dtype;
    comm_op op;
    comm_lane lane;
    int root; /* of a broadcast: the rank whose share is the whole vector */
} coll_cut;

/* Other shares, where the operation is not under way. count: [P] elements of each share; copied. */
void coll_cut_set(coll_cut *cut, const int64_t *count);
/* Fills in the arrays. count: [P] elements of each share; copied. The caller has set all fields but the arrays.
 * Local. Call coll_cut_free() also after a failure. */
weft_status coll_cut_init(coll_cut *cut, const int64_t *count);
void coll_cut_free(coll_cut *cut);

/* Bytes that this rank publishes on the board. */
int64_t coll_cut_gather_board(const coll_cut *cut);
int64_t coll_cut_bcast_board(const coll_cut *cut);
int64_t coll_cut_scatter_board(const coll_cut *cut);

/* The steps of this rank. */
void coll_cut_gather_build(comm_schedule *s, coll_cut *cut);
void coll_cut_bcast_build(comm_schedule *s, coll_cut *cut);
void coll_cut_scatter_build(comm_schedule *s, coll_cut *cut);

/* The work of this rank. */
comm_cost coll_cut_gather_cost(const coll_cut *cut);
comm_cost coll_cut_bcast_cost(const coll_cut *cut);
comm_cost coll_cut_scatter_cost(const coll_cut *cut);

/* Returns the bytes of all shares of a node. */
int64_t coll_cut_node_bytes(const coll_cut *cut, int node);
/* Counts bytes that this rank wrote to the board or read from it. */
void coll_cut_count_shared(const coll_cut *cut, int64_t bytes);

static inline int64_t coll_cut_total(const coll_cut *cut)
{
    return cut->begin[comm_size(cut->comm)];
}
