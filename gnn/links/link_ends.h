/*
 * gnn/links/link_ends.h: rows of the ends of links, wherever they lie, and the gradients back to whoever owns them.
 *
 *     gather    each rank's rows of vertices [n_owned, d] become all rows [n, d] on every rank
 *     scatter   gradients of all rows, of this rank's links, become complete gradients of this rank's rows
 *
 * Negatives are drawn from all vertices, so nearly every row is wanted by every rank once links outnumber vertices: an
 * all-gather and a reduce-scatter move as little as lists of single rows would. Each sends (P - 1) / P n d numbers a
 * rank, and the two matrices take 8 n d bytes on every rank. Rows stand by rank, and `place` says where a vertex is.
 *
 * The gradient of a row adds up what its links give in the order of the links, so bits do not depend on threads.
 */
#pragma once

#include "comm/comm.h"
#include "tensor/tensor.h"

/* Links of this rank, with the places of both ends. */
typedef struct link_batch {
    int64_t links;
    const int32_t *a, *b; /* [links] */
    const int64_t *id;    /* [links] on the backend: numbers that no two links of the batch share, over all ranks */
    int64_t compared;     /* pairwise loss: links of the batch that are positive, each compared with `against` */
    int64_t against;      /* others: number k of link i is link compared (k + 1) + i. 0: links are judged one by one */
} link_batch;

typedef struct link_ends {
    weft_comm *comm;
    int64_t vertices, owned, begin, width; /* begin: place of this rank's first row */
    int32_t *place;                        /* [vertices] */
    float *row, *gradient;                 /* [vertices, width] by place */
    comm_plan *gather, *scatter;
    int64_t capacity; /* links that there is room for */
    int64_t *offset;  /* [vertices + 1] first entry of each place */
    int32_t *entry;   /* [2 capacity] link of an entry, by place; ~link: the place is its second end */
} link_ends;

/* gid: [owned] vertices of this rank's rows. links: of the largest batch. Free with link_ends_destroy, also after a
 * failure. Collective. */
weft_status link_ends_create(weft_comm *comm, int64_t vertices, const int64_t *gid, int64_t owned, int64_t width,
                             int64_t links, link_ends *ends);
void link_ends_destroy(link_ends *ends);
/* ends->row becomes the rows of all ranks. rows: [owned, width]. Collective. */
weft_status link_ends_gather(link_ends *ends, const weft_tensor *rows);
/*
 * ends->gradient becomes the sum over links of the gradients of their ends, and `rows` [owned, width] the complete ones
 * of this rank's rows: link i gives coefficient[i] times its other end's row, or with `factor` [links, width] the
 * product of factor and that row, element by element. Collective.
 */
weft_status link_ends_scatter(link_ends *ends, const link_batch *batch, const float *coefficient, const float *factor,
                              weft_tensor *rows);
