/* comm/coll/cut_bcast.c: the planned broadcast. comm/coll/cut.h has the idea and the cost. */
#include <assert.h>
#include <string.h>

#include "comm/coll/cut.h"
#include "comm/core/comm_internal.h"

static bool on_nodes(const coll_cut *cut)
{
    return cut->board != NULL || comm_get_layout(cut->comm)->most == 1;
}

/* Returns the rank that receives for a node: the root on its own node, else the first. */
static int leader_of(const coll_cut *cut, int node)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    return layout->node_of[cut->root] == node ? cut->root : coll_node_members(layout, node)[0];
}

static int own_leader(const coll_cut *cut)
{
    return leader_of(cut, comm_get_layout(cut->comm)->node_of[comm_rank(cut->comm)]);
}

int64_t coll_cut_bcast_board(const coll_cut *cut)
{
    return own_leader(cut) == comm_rank(cut->comm) ? coll_cut_total(cut) : 0;
}

static weft_status publish_vector(void *argument, uint64_t post)
{
    (void)post;
    const coll_cut *cut = argument;
    memcpy(board_segment(cut->board, comm_node_rank(cut->comm)), cut->buffer, (size_t)coll_cut_total(cut));
    coll_cut_count_shared(cut, coll_cut_total(cut));
    return WEFT_OK;
}

static weft_status read_vector(void *argument, uint64_t post)
{
    (void)post;
    const coll_cut *cut = argument;
    const int leader = comm_get_layout(cut->comm)->local_of[own_leader(cut)];
    memcpy(cut->buffer, board_segment(cut->board, leader), (size_t)coll_cut_total(cut));
    coll_cut_count_shared(cut, coll_cut_total(cut));
    return WEFT_OK;
}

/* The leaders of the nodes, as ranks of a group whose numbers are the nodes'. */
static void between_leaders(comm_schedule *s, coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    for (int node = 0; node < layout->nodes; ++node) {
        cut->leader[node] = leader_of(cut, node);
    }
    schedule_members(s, cut->leader);
    coll_bcast_build(s, layout->node_of[comm_rank(cut->comm)], layout->nodes, layout->node_of[cut->root], cut->buffer,
                     coll_cut_total(cut));
    schedule_members(s, NULL);
}

void coll_cut_bcast_build(comm_schedule *s, coll_cut *cut)
{
    assert(coll_cut_total(cut) == cut->bytes[cut->root]);
    const int rank = comm_rank(cut->comm);
    if (!on_nodes(cut)) {
        coll_bcast_build(s, rank, comm_size(cut->comm), cut->root, cut->buffer, coll_cut_total(cut));
        return;
    }
    const bool leads = own_leader(cut) == rank;
    if (leads) {
        between_leaders(s, cut);
    }
    if (comm_node_size(cut->comm) == 1) {
        return;
    }
    schedule_round(s, "inside the node");
    if (leads) {
        board_clear(s, cut->board);
        schedule_call(s, publish_vector, cut);
        board_publish(s, cut->board);
    } else {
        board_await(s, cut->board, comm_get_layout(cut->comm)->local_of[own_leader(cut)]);
        schedule_call(s, read_vector, cut);
        board_leave(s, cut->board);
    }
}

comm_cost coll_cut_bcast_cost(const coll_cut *cut)
{
    const comm_layout *layout = comm_get_layout(cut->comm);
    const bool nodes = on_nodes(cut);
    const int rank = comm_rank(cut->comm);
    const int size = nodes ? layout->nodes : comm_size(cut->comm);
    const int from = nodes ? layout->node_of[cut->root] : cut->root;
    const int number = ((nodes ? layout->node_of[rank] : rank) - from + size) % size;
    const int64_t total = coll_cut_total(cut);
    const int64_t rounds = coll_ceil_log2(size);
    comm_cost cost = {.messages_sent = nodes && own_leader(cut) != rank ? 0 : coll_bcast_children(number, size)};
    cost.bytes_sent = cost.messages_sent * total;
    if (layout->nodes > 1) {
        cost.inter_rounds = rounds;
        cost.inter_bytes = rounds * total;
    } else {
        cost.intra_rounds = rounds;
        cost.intra_bytes = rounds * total;
    }
    if (cut->board != NULL) {
        cost.shared_syncs = 1;
        cost.shared_bytes = 2 * total; /* the leader writes the vector, then the others read it */
    }
    return cost;
}
