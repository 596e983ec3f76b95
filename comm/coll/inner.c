/* comm/coll/inner.c: the stage between nodes. Scratch: [ the group's ranks | the flat algorithm's own ]. */
#include "comm/coll/inner.h"

enum { ALIGN = 64 };

static int64_t member_bytes(int nodes)
{
    return (nodes * (int64_t)sizeof(int) + ALIGN - 1) / ALIGN * ALIGN;
}

/* The place of this rank among the nodes. */
static coll_place inner_place(const coll_place *place)
{
    coll_place out = *place;
    out.rank = place->layout->node_of[place->rank];
    out.size = place->layout->nodes;
    out.layout = NULL;
    return out;
}

coll_allreduce coll_inner_arguments(const coll_allreduce *args, void *data, int64_t count)
{
    coll_allreduce out = *args;
    out.rank = args->layout->node_of[args->rank];
    out.size = args->layout->nodes;
    out.layout = NULL;
    out.buffer = data;
    out.count = count;
    return out;
}

const coll_algorithm *coll_inner_algorithm(const coll_place *place, int groups, int64_t count, int64_t element)
{
    coll_place inner = inner_place(place);
    return coll_choose_inner(&inner, groups, count, element);
}

int64_t coll_inner_scratch(const coll_algorithm *flat, const coll_allreduce *inner)
{
    return inner->count == 0 || inner->size == 1 ? 0 : member_bytes(inner->size) + flat->scratch(inner);
}

void coll_inner_build(comm_schedule *s, const coll_algorithm *flat, coll_allreduce *inner, const coll_allreduce *args)
{
    if (inner->count == 0 || inner->size == 1) {
        return;
    }
    const comm_layout *layout = args->layout;
    int local = layout->local_of[args->rank];
    int *member = (int *)(void *)args->scratch;
    for (int node = 0; node < layout->nodes; ++node) {
        member[node] = coll_node_members(layout, node)[local];
    }
    inner->scratch = args->scratch + member_bytes(inner->size);
    schedule_members(s, member);
    flat->build(s, inner);
    schedule_members(s, NULL);
}

void coll_inner_cost(comm_cost *cost, const coll_algorithm *flat, const coll_place *place, int groups, int64_t longest,
                     int64_t mine, int64_t element)
{
    coll_place inner = inner_place(place);
    if (inner.size == 1) {
        return;
    }
    comm_cost path = flat->cost(&inner, longest, element);
    comm_cost sent = flat->cost(&inner, mine, element);
    path.inter_bytes *= groups; /* they share the node's link */
    path.inter_paired *= groups;
    coll_path_add(cost, &path, 1);
    cost->reduced += path.reduced;
    cost->bytes_sent += sent.bytes_sent;
    cost->messages_sent += sent.messages_sent;
}
