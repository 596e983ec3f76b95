/*
 * comm/coll/cut_gather.c: the all-gather of the caller's shares. comm/coll/cut.h has the idea and the cost.
 *
 *      nodes {0 1 2} {3 4}      the share of rank 2 goes to rank 3, its carrier in the second node
 *                               rank 3 publishes shares 0, 2 and 3; rank 4 publishes shares 1 and 4
 */
#include <assert.h>
#include <string.h>

#include "comm/coll/cut.h"
#include "comm/core/comm_internal.h"

/* Returns the rank that holds the share of `rank` in a node before the node's ranks meet. */
static int carrier_of(const comm_layout *layout, int rank, int node)
{
    assert(node >= 0 && node < layout->nodes);
    const int local = layout->local_of[rank] % coll_node_ranks(layout, node);
    return layout->node_of[rank] == node ? rank : coll_node_members(layout, node)[local];
}

static int node_of(const coll_cut *cut)
{
    return comm_get_layout(cut->comm)->node_of[comm_rank(cut->comm)];
}

static bool goes_round(const coll_cut *cut)
{
    return cut->board == NULL && comm_get_layout(cut->comm)->most > 1;
}

int64_t coll_cut_gather_board(const coll_cut *cut)
{
    const int size = comm_size(cut->comm);
    int64_t bytes = 0;
    for (int r = 0; r < size; ++r) {
        const bool mine = carrier_of(comm_get_layout(cut->comm), r, node_of(cut)) == comm_rank(cut->comm);
        bytes += mine ? cut->bytes[r] : 0;
    }
    return bytes;
}

/* Copies shares between the buffer and the board: those that this rank carries to its segment, or the others from
 * theirs. */
static void copy_shares(const coll_cut *cut, bool publish)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int me = comm_node_rank(cut->comm);
    memset(cut->at, 0, (size_t)comm_node_size(cut->comm) * sizeof *cut->at);
    int64_t copied = 0;
    for (int r = 0; r < comm_size(cut->comm); ++r) {
        const int q = layout->local_of[carrier_of(layout, r, node_of(cut))];
        char *on_board = board_segment(cut->board, q) + cut->at[q];
        char *here = cut->buffer + cut->begin[r];
        cut->at[q] += cut->bytes[r];
        if (cut->bytes[r] > 0 && (q == me) == publish) {
            memcpy(publish ? on_board : here, publish ? here : on_board, (size_t)cut->bytes[r]);
            copied += cut->bytes[r];
        }
    }
    coll_cut_count_shared(cut, copied);
}

static weft_status publish_shares(void *argument, uint64_t post)
{
    (void)post;
    copy_shares(argument, true);
    return WEFT_OK;
}

static weft_status read_shares(void *argument, uint64_t post)
{
    (void)post;
    copy_shares(argument, false);
    return WEFT_OK;
}

/* One round: the own share to its carriers, and the shares that this rank carries. */
static void cross(comm_schedule *s, const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int rank = comm_rank(cut->comm);
    const int mine = node_of(cut);
    schedule_round(s, "between nodes");
    for (int k = 1; k < layout->nodes; ++k) {
        const int to = (mine + k) % layout->nodes;
        const int from = (mine + layout->nodes - k) % layout->nodes;
        schedule_send(s, carrier_of(layout, rank, to), cut->buffer + cut->begin[rank], cut->bytes[rank]);
        for (int i = 0; i < coll_node_ranks(layout, from); ++i) {
            const int r = coll_node_members(layout, from)[i];
            if (carrier_of(layout, r, mine) == rank) {
                schedule_receive(s, r, cut->buffer + cut->begin[r], cut->bytes[r]);
            }
        }
    }
}

void coll_cut_gather_build(comm_schedule *s, coll_cut *cut)
{
    const int rank = comm_rank(cut->comm);
    if (goes_round(cut)) {
        coll_allgather_build(s, rank, comm_size(cut->comm), NULL, cut->buffer, (coll_shares){.count = cut->bytes});
        return;
    }
    if (comm_get_layout(cut->comm)->nodes > 1) {
        cross(s, cut);
    }
    if (comm_node_size(cut->comm) > 1) {
        schedule_round(s, "inside the node");
        board_clear(s, cut->board);
        schedule_call(s, publish_shares, cut);
        board_publish(s, cut->board);
        board_await(s, cut->board, BOARD_ALL);
        schedule_call(s, read_shares, cut);
        board_leave(s, cut->board);
    }
}

static comm_cost ring_cost(const coll_cut *cut)
{
    const int size = comm_size(cut->comm);
    const int right = (comm_rank(cut->comm) + 1) % size;
    const coll_place place = {.size = size, .layout = comm_get_layout(cut->comm)};
    int64_t least = coll_cut_total(cut);
    comm_cost cost = {.bytes_sent = coll_cut_total(cut) - cut->bytes[right]};
    for (int r = 0; r < size; ++r) {
        cost.messages_sent += r != right && cut->bytes[r] > 0;
        least = cut->bytes[r] < least ? cut->bytes[r] : least;
    }
    coll_path_ring(&cost, &place, size - 1, coll_cut_total(cut) - least);
    return cost;
}

comm_cost coll_cut_gather_cost(const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int64_t mine = cut->bytes[comm_rank(cut->comm)];
    const int64_t others = layout->nodes - 1;
    if (goes_round(cut)) {
        return ring_cost(cut);
    }
    comm_cost cost = {.messages_sent = mine > 0 ? others : 0, .bytes_sent = others * mine, .inter_rounds = others};
    for (int node = 0; node < layout->nodes; ++node) {
        const int64_t held = coll_cut_node_bytes(cut, node);
        const int64_t out = others * held;
        const int64_t in = coll_cut_total(cut) - held;
        cost.inter_bytes = out > cost.inter_bytes ? out : cost.inter_bytes;
        cost.inter_bytes = in > cost.inter_bytes ? in : cost.inter_bytes;
    }
    cost.inter_paired = cost.inter_bytes;
    if (cut->board != NULL) {
        cost.shared_syncs = 1;
        cost.shared_bytes = coll_cut_total(cut);
    }
    return cost;
}
