/*
 * gnn/edges/shared_edges.h: the edges of a part by what its rows have in common (hal/share.h), for largest rows, of
 * which a partial maximum serves many destinations.
 *
 *      x [n_local + sums, d]     rows of vertices | partial maxima, which stand behind them
 *      forward                   level by level, then the vertices: the largest of the rows that an entry names
 *      backward                  the vertices, whose gradient is known; from the highest level down, then the sources
 *
 * Nothing is subtracted and each edge of the graph is on one path, so ties add up as they do over plain edges. A
 * gradient goes down where a partial maximum equals what reads it. Both directions are lists of the same rows: of
 * levels, then of the vertices.
 */
#pragma once

#include "hal/share.h"
#include "partition/part.h"
#include "tensor/tensor.h"

typedef struct gnn_shared_edges {
    weft_hal *hal;
    int64_t sums; /* partial maxima; 0: the part is as it was */
    int levels;
    int64_t *level; /* [levels + 1] first partial maximum of each */
    /* [levels + 1] of each level, last of the vertices: forward what its rows read, backward what reads them */
    tensor_edges *forward, *backward;
    int64_t *offset[2];
    int32_t *column[2];
} gnn_shared_edges;

/* Returns how many partial maxima a part so large may have, which memory is planned for: graphs of groups have 0.25 to
 * 0.55 a vertex. */
static inline int64_t gnn_partial_most(int64_t n_local)
{
    return n_local - n_local / 4;
}

/* asked: the user wants it, else a sample decides. On small parts, where nothing is shared, and where there would be
 * more than gnn_partial_most, sums is 0. elsewhere: as in gnn_part_edges. */
weft_status gnn_shared_edges_create(weft_hal *hal, const weft_part *part, bool asked, const uint8_t *elsewhere,
                                    gnn_shared_edges *shared);
void gnn_shared_edges_destroy(gnn_shared_edges *shared); /* zeros are fine */

/* x [n_local + sums, d], whose rows of vertices are set, gets its partial maxima; out [n_local, d]: the largest
 * rows. */
weft_status gnn_shared_largest(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *out);
/* ties [n_local + sums, d], of the type of parameters: of the vertices, and behind them of partial maxima. y
 * [n_local, d]: the largest rows. */
weft_status gnn_shared_ties(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *y,
                            const weft_tensor *ties);
/* y [n_local + sums, d]: the largest rows and a copy of the partial maxima; dy, as large: shares of the gradient of the
 * first n_local, the others are written. dx [n_local, d]. */
weft_status gnn_shared_backward(const gnn_shared_edges *shared, const weft_tensor *x, const weft_tensor *y,
                                const weft_tensor *dy, const weft_tensor *dx);
