/*
 * partition/cover/adjacency.h: the symmetrised graph without self-loops and duplicates, both directions listed.
 *
 * Borrowed from the graph where it is that already; built from the pairs otherwise (4 bytes an entry).
 */
#pragma once

#include "partition/cover/edge_pairs.h"

typedef struct adjacency {
    int64_t vertices, entries;
    const int64_t *offset;    /* [vertices + 1] */
    const int32_t *neighbour; /* [entries] */
    const int64_t *weight;    /* [vertices + 1] offsets whose differences the vertices weigh; NULL: those above */
    int64_t *own_offset;      /* what adjacency_free frees; NULL when borrowed */
    int32_t *own_neighbour;
} adjacency;

/* The graph must outlive it. */
weft_status adjacency_build(const weft_graph *graph, const pair_list *list, int threads, adjacency *adjacent);
/* Borrows the graph, whose pairs nobody listed yet, where every row strictly ascends and leaves its vertex out: then it
 * has neither self-loops nor duplicates. Returns false where it cannot be borrowed. */
bool adjacency_borrow(const weft_graph *graph, int threads, adjacency *adjacent);
void adjacency_free(adjacency *adjacent);

/* Returns the adjacency as a graph that has rows alone: no features, labels or names. */
static inline weft_graph adjacency_graph(const adjacency *adjacent)
{
    return (weft_graph){.vertices = adjacent->vertices,
                        .edges = adjacent->entries,
                        .symmetric = true,
                        .offset = adjacent->offset,
                        .source32 = adjacent->neighbour};
}

/* Returns true if the adjacency borrows the graph's own rows: entry i is then edge i of the graph. */
static inline bool adjacency_is_graph(const adjacency *adjacent)
{
    return adjacent->own_offset == NULL; /* of own rows without entries there are no neighbours either */
}
