/*
 * gnn/layers/part_edges.h: the edges of a part on the backend, as CSR arrays of both directions, with the part's halos:
 * for layers that walk edges one by one.
 */
#pragma once

#include "gnn/edges/shared_edges.h"
#include "gnn/layers/aggregate.h"

typedef struct gnn_part_edges {
    weft_hal *hal;
    int64_t n_owned, n_local, entries;
    /* The device's: rows are destinations, and columns sources; out_*: the other way round. */
    int64_t *in_offset, *out_offset; /* [n_local + 1]; one array where the local edges are symmetric */
    int32_t *in_column, *out_column; /* [entries] */
    int64_t *id;                     /* [n_local] global ids */
    uint8_t *elsewhere; /* [n_local] 1: an owned vertex whose edges are all on other ranks; NULL on one rank */
    comm_halo *sources, *destinations; /* NULL on one rank */
    gnn_shared_edges shared;           /* with partial maxima in place of in_* and out_*, which are NULL then */
} gnn_part_edges;

/* What layers do with the edges. */
typedef struct gnn_edge_use {
    bool loops_count; /* else self-loops of the graph are left out, for layers that count every vertex itself */
    bool may_share;   /* partial maxima serve the layers, where rows have much in common */
    bool must_share;  /* the user asks for them */
} gnn_edge_use;

/* max_width: of the widest matrix that is exchanged. The part's CSR may be released afterwards. Collective. */
weft_status gnn_part_edges_create(weft_comm *comm, weft_hal *hal, const weft_part *part, int64_t max_width,
                                  const gnn_edge_use *use, gnn_part_edges *edges);
void gnn_part_edges_destroy(gnn_part_edges *edges);

/* Rows between roots and replicas (comm/halo.h), x: [n_local, width]. Nothing on one rank. Collective. */
weft_status gnn_exchange_sources(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x);
weft_status gnn_exchange_destinations(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x);
