/*
 * comm/sparse/sparse_cost.c: what a sparse all-reduce costs.
 *
 * Bytes and messages are this rank's own, for exact selections; the critical path is the same number on every rank: the
 * largest shard, the largest node.
 */
#include "comm/sparse/sparse_internal.h"

enum { FLOAT_BYTES = 4 };

typedef struct shard_size {
    int64_t bytes;  /* dense */
    int64_t share;  /* entries of one sender */
    int64_t sent;   /* one sender's message */
    int64_t gather; /* what its owner sends to each rank of the node */
} shard_size;

static shard_size size_of(const comm_layout *layout, int64_t count, int64_t k, sparse_values values, int j)
{
    const hal_span span = hal_split_rows(count, layout->least, j);
    const int64_t share = sparse_share(k, layout->least, j);
    shard_size size = {.bytes = (span.end - span.begin) * FLOAT_BYTES,
                       .share = share,
                       .sent = NOTE_BYTES + wire_bytes(span.end - span.begin, share, values)};
    int64_t bundle = layout->nodes * (NOTE_BYTES + share * ENTRY_BYTES);
    size.gather = bundle < size.bytes ? bundle : size.bytes;
    return size;
}

/* The stages in the node through shared memory: all parts of a shard into the residual, then all shards. */
static void window_cost(comm_cost *cost, const comm_layout *layout, int64_t count, int64_t k)
{
    shard_size first = size_of(layout, count, k, SPARSE_FLOAT32, 0);
    cost->shared_syncs += 3;
    cost->shared_bytes += layout->most * first.bytes + (layout->least - 1) * first.gather;
    cost->reduced += first.bytes;
}

/* The stages in the node: sum and gather. */
static void node_cost(comm_cost *cost, const comm_layout *layout, int rank, int64_t count, int64_t k)
{
    int local = layout->local_of[rank];
    int node = layout->node_of[rank];
    int ranks = layout->first[node + 1] - layout->first[node];
    for (int j = 0; j < layout->least; ++j) {
        shard_size size = size_of(layout, count, k, SPARSE_FLOAT32, j);
        if (j != local) {
            cost->bytes_sent += size.bytes;
            cost->messages_sent += size.bytes > 0;
        } else {
            cost->bytes_sent += (ranks - 1) * (NOTE_BYTES + size.gather);
            cost->messages_sent += (ranks - 1) * (int64_t)(1 + (size.gather > 0));
        }
    }
    shard_size first = size_of(layout, count, k, SPARSE_FLOAT32, 0);
    int64_t others = layout->most - 1;
    cost->intra_rounds += 3 * others;
    cost->intra_bytes += others * (first.bytes + NOTE_BYTES + first.gather);
    cost->reduced += (others + 1) * first.bytes;
}

static void stages_cost(comm_cost *cost, const comm_layout *layout, int rank, bool windowed, int64_t count, int64_t k)
{
    if (windowed) {
        window_cost(cost, layout, count, k);
    } else {
        node_cost(cost, layout, rank, count, k);
    }
}

static comm_cost hierarchical_cost(const comm_layout *layout, int rank, bool windowed, int64_t count, int64_t k,
                                   sparse_values values)
{
    comm_cost cost = {0};
    shard_size first = size_of(layout, count, k, values, 0);
    int64_t others = layout->nodes - 1;
    stages_cost(&cost, layout, rank, windowed, count, k);
    if (layout->local_of[rank] < layout->least) {
        cost.bytes_sent += others * size_of(layout, count, k, values, layout->local_of[rank]).sent;
        cost.messages_sent += others;
    }
    cost.inter_rounds = others;
    cost.inter_bytes = others * layout->least * first.sent;
    cost.selected = first.bytes / FLOAT_BYTES;
    cost.scattered = layout->nodes * k;
    return cost;
}

/* bytes_sent: every entry of a selection has another owner, in equal parts, which take the most bytes; every owner
 * keeps as many as it selected, and shards go dense inside the node. */
static comm_cost ok_topk_cost(const comm_layout *layout, int rank, bool windowed, int64_t count, int64_t k)
{
    comm_cost cost = {0};
    shard_size first = size_of(layout, count, k, SPARSE_FLOAT32, 0);
    int64_t others = layout->nodes - 1;
    stages_cost(&cost, layout, rank, windowed, count, k);
    if (layout->local_of[rank] < layout->least) {
        shard_size mine = size_of(layout, count, k, SPARSE_FLOAT32, layout->local_of[rank]);
        int64_t domain = mine.bytes / FLOAT_BYTES;
        int64_t most = mine.share + mine.share / 4 + 1; /* reused thresholds let a quarter more pass */
        int node = layout->node_of[rank];
        int others_here = windowed ? 0 : layout->first[node + 1] - layout->first[node] - 1;
        cost.bytes_sent += others_here * (mine.bytes - mine.gather);
        int64_t positions = others * (int64_t)sizeof(int64_t);
        int64_t part = others > 0 ? (most + others - 1) / others : 0;
        cost.bytes_sent += others * (positions + 2 * NOTE_BYTES + wire_bytes(domain, part, SPARSE_FLOAT32) +
                                     wire_bytes(domain, most, SPARSE_FLOAT32));
        cost.messages_sent += 5 * others;
    }
    cost.inter_rounds = 4 * others;
    cost.inter_bytes =
        layout->least * 2 * others *
        (NOTE_BYTES + wire_bytes(first.bytes / FLOAT_BYTES, first.share / layout->nodes, SPARSE_FLOAT32));
    cost.selected = first.bytes / FLOAT_BYTES;
    cost.scattered = 2 * k;
    return cost;
}

static comm_cost all_gather_cost(const comm_layout *layout, int64_t count, int64_t k, sparse_values values)
{
    int64_t ranks = layout->first[layout->nodes];
    int64_t slot = NOTE_BYTES + wire_bytes(count, k, values);
    comm_cost cost = {.bytes_sent = (ranks - 1) * slot,
                      .messages_sent = ranks - 1,
                      .reduced = count * FLOAT_BYTES,
                      .selected = count,
                      .scattered = ranks * k};
    bool networked = layout->nodes > 1;
    *(networked ? &cost.inter_rounds : &cost.intra_rounds) = ranks - 1;
    *(networked ? &cost.inter_bytes : &cost.intra_bytes) = (ranks - 1) * slot;
    return cost;
}

comm_cost sparse_cost(const comm_layout *layout, int rank, sparse_exchange exchange, bool windowed, int64_t count,
                      int64_t k, sparse_values values)
{
    comm_cost cost = {0};
    switch (exchange) {
    case SPARSE_AUTO:
    case SPARSE_HIERARCHICAL:
        cost = hierarchical_cost(layout, rank, windowed, count, k, values);
        break;
    case SPARSE_OK_TOPK:
        cost = ok_topk_cost(layout, rank, windowed, count, k);
        break;
    case SPARSE_ALL_GATHER:
        cost = all_gather_cost(layout, count, k, values);
        break;
    }
    cost.reduced += count * FLOAT_BYTES; /* the vector is cleared for the entries */
    return cost;
}
