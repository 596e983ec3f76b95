/*
 * gnn/layers/part_edges.h: the edges of a part on the backend, as CSR arrays of both directions, with the part's halos:
 * for layers that walk edges one by one.
 */
#pragma once

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
} gnn_part_edges;

/* max_width: of the widest matrix that is exchanged. loops_count: else self-loops of the graph are left out, for layers
 * that count every vertex itself. The part's CSR may be released afterwards. Collective. */
weft_status gnn_part_edges_create(weft_comm *comm, weft_hal *hal, const weft_part *part, int64_t max_width,
                                  bool loops_count, gnn_part_edges *edges);
void gnn_part_edges_destroy(gnn_part_edges *edges);

/* Rows between roots and replicas (comm/halo.h), x: [n_local, width]. Nothing on one rank. Collective. */
weft_status gnn_exchange_sources(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x);
weft_status gnn_exchange_destinations(const gnn_part_edges *edges, halo_direction direction, const weft_tensor *x);
