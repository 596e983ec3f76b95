/*
 * comm/coll/node_stage.c: reduce-scatter and all-gather inside a node: through shared memory where there is any, else
 * by direct exchange of messages.
 *
 * Cost of each by messages: one round of n - 1 of them; on the critical path (n - 1) shards.
 */
#include "comm/coll/node_stage.h"

#include "comm/coll/direct.h"
#include "comm/coll/node_shared.h"

static coll_direct direct_of(const coll_allreduce *args)
{
    const comm_layout *layout = args->layout;
    return (coll_direct){.rank = layout->local_of[args->rank],
                         .size = coll_node_ranks(layout, layout->node_of[args->rank]),
                         .owners = layout->least,
                         .buffer = args->buffer,
                         .count = args->count,
                         .dtype = args->dtype,
                         .op = args->op};
}

int64_t node_stage_scratch(const coll_allreduce *args)
{
    coll_direct d = direct_of(args);
    return args->stage != NULL ? 0 : coll_direct_scratch(&d);
}

void node_stage_reduce_scatter(comm_schedule *s, const coll_allreduce *args, char *scratch)
{
    coll_direct d = direct_of(args);
    if (args->stage != NULL) {
        node_shared_reduce_scatter(s, args);
        return;
    }
    schedule_members(s, coll_node_members(args->layout, args->layout->node_of[args->rank]));
    coll_direct_reduce_scatter(s, &d, scratch);
    schedule_members(s, NULL);
}

void node_stage_all_gather(comm_schedule *s, const coll_allreduce *args)
{
    coll_direct d = direct_of(args);
    if (args->stage != NULL) {
        node_shared_all_gather(s, args);
        return;
    }
    schedule_members(s, coll_node_members(args->layout, args->layout->node_of[args->rank]));
    coll_direct_all_gather(s, &d, NULL);
    schedule_members(s, NULL);
}

coll_range node_stage_shard(const comm_layout *layout, int64_t count, int local)
{
    return local < layout->least ? coll_split(count, layout->least, local) : (coll_range){count, 0};
}

comm_cost node_stage_cost(const coll_place *place, int64_t count, int64_t element)
{
    const comm_layout *layout = place->layout;
    if (place->shared_memory) {
        return node_shared_cost(place, count, element);
    }
    coll_direct d = {.rank = layout->local_of[place->rank],
                     .size = coll_node_ranks(layout, layout->node_of[place->rank]),
                     .owners = layout->least,
                     .count = count};
    int64_t others = layout->most - 1;
    int64_t bytes = others * node_stage_shard(layout, count, 0).count * element;
    comm_cost cost = {0};
    comm_cost half = {.intra_rounds = others, .intra_bytes = bytes};
    coll_path_add(&cost, &half, coll_scatters(place->half) + coll_gathers(place->half));
    coll_direct_sent(&cost, &d, place->half, element);
    cost.reduced = coll_scatters(place->half) ? bytes : 0;
    return cost;
}
