/*
 * comm/core/comm_facts.c: the facts that a communicator holds, so that no message is needed: rank, size, nodes, names,
 * counters and the next tag of a lane.
 */
#include "comm/core/comm_internal.h"

#include <assert.h>

int comm_rank(const weft_comm *comm)
{
    return comm->transport->rank;
}

int comm_size(const weft_comm *comm)
{
    return comm->transport->size;
}

int comm_node_rank(const weft_comm *comm)
{
    return comm->layout->local_of[comm_rank(comm)];
}

int comm_node_size(const weft_comm *comm)
{
    const comm_layout *layout = comm->layout;
    int node = layout->node_of[comm_rank(comm)];
    return layout->first[node + 1] - layout->first[node];
}

const char *comm_transport_name(const weft_comm *comm)
{
    return comm->transport->ops->name;
}

const char *comm_lane_name(comm_lane lane)
{
    static const char *const names[COMM_LANES] = {"control", "halo", "gradient", "factors",
                                                  "samples", "rows", "shadow",   "alarm"};
    return lane >= 0 && lane < COMM_LANES ? names[lane] : "unknown";
}

comm_stats comm_lane_stats(const weft_comm *comm, comm_lane lane)
{
    assert(lane >= 0 && lane < COMM_LANES);
    const comm_counters *counters = &comm->counters[lane];
    return (comm_stats){
        .bytes_sent = atomic_load_explicit(&counters->bytes_sent, memory_order_relaxed),
        .messages_sent = atomic_load_explicit(&counters->messages_sent, memory_order_relaxed),
        .shared_bytes = atomic_load_explicit(&counters->shared_bytes, memory_order_relaxed),
        .wait_seconds = 1e-9 * (double)atomic_load_explicit(&counters->wait_ns, memory_order_relaxed),
        .busy_seconds = 1e-9 * (double)atomic_load_explicit(&counters->busy_ns, memory_order_relaxed),
    };
}

int comm_next_tag(weft_comm *comm, comm_lane lane)
{
    assert(lane >= 0 && lane < COMM_LANES);
    int tag = comm->next_tag[lane];
    comm->next_tag[lane] = (tag + 1) % TRANSPORT_TAGS;
    return tag;
}
