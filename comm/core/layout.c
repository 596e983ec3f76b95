/* comm/core/layout.c: the table of nodes, made from each rank's leader (the lowest rank of its node). */
#include "comm/core/layout.h"

#include "base/alloc.h"
#include "comm/core/comm_internal.h"

/* The layout and its four arrays in one block. */
typedef struct layout_block {
    comm_layout layout;
    int cell[];
} layout_block;

static int leader_of(const int *leader, int rank)
{
    return leader == NULL ? 0 : leader[rank];
}

weft_status layout_create(const int *leader, int size, comm_layout **out)
{
    layout_block *block = NULL;
    *out = NULL;
    WEFT_TRY(weft_malloc(1, sizeof *block + (4 * (size_t)size + 1) * sizeof(int), WEFT_MEM_COMM, (void **)&block));
    int *node_of = block->cell;
    int *local_of = node_of + size;
    int *member = local_of + size;
    int *first = member + size;
    int nodes = 0;
    int placed = 0;
    block->layout =
        (comm_layout){.least = size, .node_of = node_of, .local_of = local_of, .member = member, .first = first};
    for (int r = 0; r < size; ++r) {
        if (leader_of(leader, r) != r) {
            continue;
        }
        first[nodes] = placed;
        for (int q = r; q < size; ++q) {
            if (leader_of(leader, q) == r) {
                node_of[q] = nodes;
                local_of[q] = placed - first[nodes];
                member[placed++] = q;
            }
        }
        int ranks = placed - first[nodes];
        block->layout.least = ranks < block->layout.least ? ranks : block->layout.least;
        block->layout.most = ranks > block->layout.most ? ranks : block->layout.most;
        ++nodes;
    }
    if (placed != size) {
        weft_free(block);
        return weft_fail(WEFT_ERR_INTERNAL, "layout: %d of %d ranks have a leader that leads itself", placed, size);
    }
    first[nodes] = size;
    block->layout.nodes = nodes;
    *out = &block->layout;
    return WEFT_OK;
}

void layout_destroy(comm_layout *layout)
{
    weft_free(layout); /* first member of its block */
}

const comm_layout *comm_get_layout(const weft_comm *comm)
{
    return comm->layout;
}

/* Collective: every rank hands in its leader. */
weft_status comm_layout_exchange(weft_comm *comm, int leader)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    int *leaders = NULL;
    comm_layout *layout = NULL;
    weft_status local = WEFT_NEW(&leaders, size, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm->meet->allgather(comm, &leader, (int64_t)sizeof leader, leaders), status, done);
    WEFT_TRY_GOTO(comm->meet->agree(comm, layout_create(leaders, size, &layout)), status, done);
    layout_destroy(comm->layout);
    comm->layout = layout;
    layout = NULL;
done:
    layout_destroy(layout);
    weft_free(leaders);
    return status;
}

weft_status comm_imitate_nodes(weft_comm *comm, int ranks)
{
    WEFT_CHECK(ranks >= 1, WEFT_ERR_USAGE, "nodes of %d ranks cannot be imitated: at least 1", ranks);
    const comm_layout *old = comm->layout;
    int size = comm_size(comm);
    int *leader = NULL;
    comm_layout *layout = NULL;
    weft_status status = WEFT_NEW(&leader, size, WEFT_MEM_COMM);
    for (int q = 0; q < size && status == WEFT_OK; ++q) {
        int group = old->local_of[q] / ranks;
        leader[q] = old->member[old->first[old->node_of[q]] + group * ranks];
    }
    status = status == WEFT_OK ? layout_create(leader, size, &layout) : status;
    status = comm->meet->agree(comm, status);
    if (status == WEFT_OK) {
        layout_destroy(comm->layout);
        comm->layout = layout;
        layout = NULL;
    }
    layout_destroy(layout);
    weft_free(leader);
    return status;
}
