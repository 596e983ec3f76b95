/*
 * comm/coll/path.c: what a round of messages costs on its critical path, given which ranks share a node.
 *
 * A round in which no pair crosses between nodes runs inside nodes: one rank's bytes at a rank's rate. In any other
 * round the busiest network link is the slowest part: c ranks of one node that talk across at once put c times the
 * bytes through it. Links are full duplex, so the busier direction counts.
 *
 *      ranks 0 1 2 3 | 4 5 6 7       across bit 0: inside        across bit 2: four at once through each node's link
 *                                    around the ring: one in and one out of each node, however many ranks it has
 *
 * Cost: O(P) a round.
 */
#include "comm/coll/coll.h"

int coll_ceil_log2(int size)
{
    int steps = 0;
    while (((int64_t)1 << steps) < size) {
        ++steps;
    }
    return steps;
}

void coll_path_add(comm_cost *cost, const comm_cost *stage, int64_t times)
{
    cost->inter_rounds += times * stage->inter_rounds;
    cost->inter_bytes += times * stage->inter_bytes;
    cost->inter_paired += times * stage->inter_paired;
    cost->intra_rounds += times * stage->intra_rounds;
    cost->intra_bytes += times * stage->intra_bytes;
    cost->shared_syncs += times * stage->shared_syncs;
    cost->shared_bytes += times * stage->shared_bytes;
}

/* `crossing`: how many ranks of the busiest node talk across the network; 0: none of any node. paired: to whom they
 * hear from. */
static void add_rounds(comm_cost *cost, int64_t crossing, int64_t rounds, int64_t bytes, bool paired)
{
    comm_cost stage = {0};
    if (crossing > 0) {
        stage.inter_rounds = rounds;
        stage.inter_bytes = crossing * bytes;
        stage.inter_paired = paired ? stage.inter_bytes : 0;
    } else {
        stage.intra_rounds = rounds;
        stage.intra_bytes = bytes;
    }
    coll_path_add(cost, &stage, 1);
}

/* Who `rank` talks to in a round of pairs; -1: nobody. */
static int partner_of(const coll_fold *fold, int rank, int mask)
{
    bool folded = rank < 2 * fold->extra;
    if (mask == 0) {
        return folded ? rank ^ 1 : -1;
    }
    if (folded && rank % 2 == 0) {
        return -1;
    }
    return coll_fold_rank(fold, (folded ? rank / 2 : rank - fold->extra) ^ mask);
}

void coll_path_pairs(comm_cost *cost, const coll_place *place, const coll_fold *fold, int mask, int64_t bytes)
{
    const comm_layout *layout = place->layout;
    int64_t most = layout == NULL ? 1 : 0;
    for (int node = 0; layout != NULL && node < layout->nodes; ++node) {
        int64_t crossing[2] = {0, 0}; /* of a fold: senders, receivers */
        for (int i = layout->first[node]; i < layout->first[node + 1]; ++i) {
            int rank = layout->member[i];
            int partner = partner_of(fold, rank, mask);
            if (partner >= 0 && layout->node_of[partner] != node) {
                ++crossing[mask == 0 ? rank % 2 : 0];
            }
        }
        most = crossing[0] > most ? crossing[0] : most;
        most = crossing[1] > most ? crossing[1] : most;
    }
    add_rounds(cost, most, 1, bytes, mask != 0);
}

void coll_path_ring(comm_cost *cost, const coll_place *place, int64_t rounds, int64_t bytes)
{
    const comm_layout *layout = place->layout;
    int64_t most = layout == NULL ? 1 : 0;
    for (int node = 0; layout != NULL && node < layout->nodes; ++node) {
        int64_t crossing = 0; /* as many leave a node as enter it */
        for (int i = layout->first[node]; i < layout->first[node + 1]; ++i) {
            crossing += layout->node_of[(layout->member[i] + 1) % place->size] != node;
        }
        most = crossing > most ? crossing : most;
    }
    add_rounds(cost, most, rounds, bytes, place->size == 2); /* a ring of two is a pair */
}

void coll_path_direct(comm_cost *cost, const coll_place *place, int64_t bytes)
{
    const comm_layout *layout = place->layout;
    int64_t least = layout == NULL ? 1 : layout->least;
    int64_t most = layout == NULL ? 1 : layout->most;
    int64_t pairs = 0; /* of one node with the rest */
    for (int node = 0; layout != NULL && node < layout->nodes; ++node) {
        int64_t ranks = coll_node_ranks(layout, node);
        pairs = ranks * (place->size - ranks) > pairs ? ranks * (place->size - ranks) : pairs;
    }
    pairs = layout == NULL ? place->size - 1 : pairs;
    comm_cost stage = {.inter_rounds = place->size - least,
                       .inter_bytes = pairs * bytes,
                       .inter_paired = pairs * bytes,
                       .intra_rounds = most - 1,
                       .intra_bytes = (most - 1) * bytes};
    coll_path_add(cost, &stage, 1);
}
