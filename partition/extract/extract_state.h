/* partition/extract/extract_state.h: what the steps of cutting one part hand on. */
#pragma once

#include "partition/extract/vertex_set.h"
#include "partition/part.h"

enum { SHARED, UNSHARED, REPLICAS }; /* groups of local ids: REPLICAS + q are those whose root is part q */

typedef struct extract_state {
    const weft_graph *graph;
    const weft_partition *partition; /* edge_part and root may be NULL: one part; edge_part alone: root tells it */
    weft_part *part;
    int threads;
    int words;                      /* 64-bit words of a row of peer marks */
    vertex_set own, source, target; /* roots here; endpoints of local edges */
    vertex_set held;                /* union of the three */
    uint64_t *peer_source;          /* [n_owned, words] by place in `own` */
    uint64_t *peer_target;
    bool by_id;        /* local ids of a group ascend with global ids: no order was given */
    int32_t *by_order; /* [n] vertex at each position, or NULL */
    int64_t *group;    /* [parts + 3] first local id of shared, of other owned, of replicas of part 0, 1, ... */
    int32_t *local;    /* [n_local] local id by place in `held` */
} extract_state;

static inline int root_of(const extract_state *state, int64_t v)
{
    return state->partition->root == NULL ? 0 : state->partition->root[v];
}

static inline int32_t local_id(const extract_state *state, int64_t v)
{
    return state->local[vertex_set_place(&state->held, v)];
}

/* Edges are looked through in blocks of so many. */
enum { EDGE_BLOCK = 1024 };

/* Finds the edges of this part among edges [first, first + count) of a row with such edges. [out] found [count]: their
 * offsets from `first`. Returns how many they are. The loop has no branch, because edges of different parts follow each
 * other at random. */
static inline int local_edges(const extract_state *state, int64_t first, int count, uint16_t found[EDGE_BLOCK])
{
    int edges = 0;
    if (state->partition->edge_part == NULL) {
        for (int i = 0; i < count; ++i) {
            found[i] = (uint16_t)i;
        }
        return count;
    }
    const uint16_t *edge_part = state->partition->edge_part + first;
    for (int i = 0; i < count; ++i) {
        found[edges] = (uint16_t)i;
        edges += edge_part[i] == state->part->part ? 1 : 0;
    }
    return edges;
}

/* Edges of the block that begins at `first`, in a row that ends at `end`. */
static inline int block_edges(int64_t first, int64_t end)
{
    return end - first < EDGE_BLOCK ? (int)(end - first) : EDGE_BLOCK;
}

/* WEFT_ERR_DATA: the partition is of another graph. */
weft_status extract_check(const weft_graph *graph, const weft_partition *partition);

/*
 * Who holds what: sets own, source and target, peer_source and peer_target, n_owned, and out_degree by place in `own`
 * where the graph is directed. From a pass over all edges, or from what is known of all parts.
 */
weft_status extract_scan(extract_state *state);
weft_status extract_look_up(extract_state *state, const part_holders *holders);

/* The local CSR with its weights, and whether it equals its transpose. After vertices are numbered. */
weft_status extract_rows(extract_state *state);
