/*
 * comm/coll/cut_scatter.c: the reduce-scatter into the caller's shares. comm/coll/cut.h has the idea and the cost.
 *
 * On the board each rank publishes the pieces for the other ranks of its node, in their order.
 */
#include <assert.h>
#include <string.h>

#include "comm/coll/cut.h"
#include "comm/core/comm_internal.h"
#include "hal/pack.h"

/* Returns true if a piece for, or from, this rank is a message and not on the board. */
static bool by_message(const coll_cut *cut, int rank)
{
    const int *node_of = comm_get_layout(cut->comm)->node_of;
    const int me = comm_rank(cut->comm);
    return rank != me && (cut->board == NULL || node_of[rank] != node_of[me]);
}

/* Returns true if this rank shares the board with the other one. */
static bool on_board(const coll_cut *cut, int rank)
{
    return rank != comm_rank(cut->comm) && !by_message(cut, rank);
}

/* Returns where `rank` publishes the piece for `owner`, both of this node. */
static int64_t place_of(const coll_cut *cut, int rank, int owner)
{
    assert(rank != owner);
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int *member = coll_node_members(layout, layout->node_of[rank]);
    int64_t place = 0;
    for (int i = 0; member[i] != owner; ++i) {
        place += member[i] == rank ? 0 : cut->bytes[member[i]];
    }
    return place;
}

static int64_t published_by(const coll_cut *cut, int rank)
{
    return coll_cut_node_bytes(cut, comm_get_layout(cut->comm)->node_of[rank]) - cut->bytes[rank];
}

int64_t coll_cut_scatter_board(const coll_cut *cut)
{
    return published_by(cut, comm_rank(cut->comm));
}

static weft_status publish_pieces(void *argument, uint64_t post)
{
    (void)post;
    const coll_cut *cut = argument;
    const int me = comm_rank(cut->comm);
    char *segment = board_segment(cut->board, comm_node_rank(cut->comm));
    for (int r = 0; r < comm_size(cut->comm); ++r) {
        if (on_board(cut, r) && cut->bytes[r] > 0) {
            memcpy(segment + place_of(cut, me, r), cut->buffer + cut->begin[r], (size_t)cut->bytes[r]);
            coll_cut_count_shared(cut, cut->bytes[r]);
        }
    }
    return WEFT_OK;
}

/* The operands, in the order of the ranks. */
static void find_operands(const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int me = comm_rank(cut->comm);
    const char *received = cut->received;
    for (int r = 0; r < comm_size(cut->comm); ++r) {
        if (by_message(cut, r)) {
            cut->from[r] = received;
            received += cut->bytes[me];
        } else if (r == me) {
            cut->from[r] = cut->buffer + cut->begin[me];
        } else {
            cut->from[r] = board_segment(cut->board, layout->local_of[r]) + place_of(cut, r, me);
            coll_cut_count_shared(cut, cut->bytes[me]);
        }
    }
}

static weft_status sum_share(void *argument, uint64_t post)
{
    (void)post;
    const coll_cut *cut = argument;
    const int me = comm_rank(cut->comm);
    void *to = cut->buffer + cut->begin[me];
    if (cut->bytes[me] > 0) {
        find_operands(cut);
        hal_pack_reduce_all(cut->dtype, (hal_reduction)cut->op, &to, 1, cut->from, comm_size(cut->comm),
                            cut->bytes[me] / (int64_t)weft_dtype_bytes(cut->dtype));
    }
    return WEFT_OK;
}

static int64_t messages_in(const coll_cut *cut)
{
    int64_t messages = 0;
    for (int r = 0; r < comm_size(cut->comm); ++r) {
        messages += by_message(cut, r);
    }
    return messages;
}

static void exchange_pieces(comm_schedule *s, coll_cut *cut)
{
    const int size = comm_size(cut->comm);
    const int me = comm_rank(cut->comm);
    char *received = cut->received;
    schedule_round(s, "pieces to their owners");
    for (int r = 0; r < size; ++r) {
        if (by_message(cut, r)) {
            schedule_receive(s, r, received, cut->bytes[me]);
            received += cut->bytes[me];
        }
    }
    for (int k = 1; k < size; ++k) {
        const int to = (me + k) % size;
        if (by_message(cut, to)) {
            schedule_send(s, to, cut->buffer + cut->begin[to], cut->bytes[to]);
        }
    }
}

void coll_cut_scatter_build(comm_schedule *s, coll_cut *cut)
{
    const int me = comm_rank(cut->comm);
    const bool meets = cut->board != NULL && comm_node_size(cut->comm) > 1;
    void *received = NULL;
    schedule_scratch(s, messages_in(cut) * cut->bytes[me] + 1, &received);
    cut->received = received;
    if (meets) {
        schedule_round(s, "inside the node");
        board_clear(s, cut->board);
        schedule_call(s, publish_pieces, cut);
        board_publish(s, cut->board);
    }
    exchange_pieces(s, cut);
    if (meets) {
        board_await(s, cut->board, BOARD_ALL);
    }
    schedule_call(s, sum_share, cut);
    if (meets) {
        board_leave(s, cut->board);
    }
}

/* The work of the busiest rank: operands that it reduces, and bytes that it writes to the board and reads from it. */
static void add_local_work(comm_cost *cost, const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int size = comm_size(cut->comm);
    for (int r = 0; r < size; ++r) {
        const int64_t mates = coll_node_ranks(layout, layout->node_of[r]) - 1;
        const int64_t reduced = (size - 1) * cut->bytes[r];
        const int64_t shared = cut->board == NULL ? 0 : published_by(cut, r) + mates * cut->bytes[r];
        cost->reduced = reduced > cost->reduced ? reduced : cost->reduced;
        cost->shared_bytes = shared > cost->shared_bytes ? shared : cost->shared_bytes;
    }
    cost->shared_syncs = cut->board != NULL;
}

comm_cost coll_cut_scatter_cost(const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const int size = comm_size(cut->comm);
    comm_cost cost = {.inter_rounds = size - layout->least};
    for (int r = 0; r < size; ++r) {
        cost.messages_sent += by_message(cut, r) && cut->bytes[r] > 0;
        cost.bytes_sent += by_message(cut, r) ? cut->bytes[r] : 0;
    }
    for (int node = 0; node < layout->nodes; ++node) {
        const int64_t ranks = coll_node_ranks(layout, node);
        const int64_t held = coll_cut_node_bytes(cut, node);
        const int64_t out = ranks * (coll_cut_total(cut) - held);
        const int64_t in = (size - ranks) * held;
        cost.inter_bytes = out > cost.inter_bytes ? out : cost.inter_bytes;
        cost.inter_bytes = in > cost.inter_bytes ? in : cost.inter_bytes;
    }
    cost.inter_paired = cost.inter_bytes;
    add_local_work(&cost, cut);
    if (cut->board == NULL) {
        cost.intra_rounds = layout->most - 1;
        cost.intra_bytes = coll_cut_total(cut);
    }
    return cost;
}
