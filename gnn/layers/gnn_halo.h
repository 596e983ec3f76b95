/*
 * gnn/layers/gnn_halo.h: how the rows of an aggregation cross ranks: all of them, a part of them an epoch, or none.
 *
 *      exact      every row on every leg: what comm/halo.h does, in the caller's matrix
 *      delay R    one of R bins (halo_bins.h) a leg and epoch, in turn; the rows of the others are those that came last
 *      none       training passes exchange nothing: a rank knows its own rows and no others
 *
 * What travels in training may be coded besides (hal_row_codec): rounded at random, keyed by the vertex's global id, the
 * leg, the epoch and the sender, so that bits do not depend on the order of anything.
 *
 * A delayed leg remembers what it received, once for each time that a training pass posts it, so layers need not know:
 * the n-th post of a pass is the same leg in every epoch.
 *
 *      FORWARD    replica's row    = the root's of the last refresh                        cache: a row a replica
 *      REVERSE    root's row      += the sum of the replicas' rows of the last refresh     cache: a row a shared root
 *
 * A vertex's replicas are in one bin, so a root adds sums of one epoch. The first pass, one that does not follow the
 * epoch of the pass before it (a new run, a resumed one) and every evaluation exchange all bins; in the others a leg's
 * rows are at most R - 1 epochs old, so a root's sum holds nothing older than 2 (R - 1), as its replicas' sums are made
 * of such rows themselves. Bytes: about 1 / R of the exact mode's. The idea of bins and of computing on with what is
 * there is from DistGNN (V. Md et al., SC 2021, doi:10.1145/3458817.3480856), which leaves out the other bins'
 * neighbours; keeping the last rows and gradients, from PipeGCN (C. Wan et al., ICLR 2022, arXiv 2203.10428).
 */
#ifndef WEFT_GNN_LAYERS_GNN_HALO_H
#define WEFT_GNN_LAYERS_GNN_HALO_H

#include "gnn/layers/halo_bins.h"
#include "tensor/tensor.h"

typedef struct gnn_halo gnn_halo;

/* What crosses ranks in training; evaluations exchange everything. */
typedef struct gnn_halo_options {
    int delay; /* R; 0 and 1: exact */
    bool none;
    hal_row_codec codec; /* rows in fewer bits, rounded at random */
} gnn_halo_options;

/* What a pass is, as far as its rows go. */
typedef struct gnn_halo_pass {
    bool training;
    int64_t epoch;
    uint64_t seed; /* of what is rounded at random */
} gnn_halo_pass;

/* One of a part's halos as comm wants it; it points into both. */
static inline comm_halo_desc gnn_halo_desc(const weft_part *part, const part_halo *lists)
{
    return (comm_halo_desc){.n_local = part->n_local,
                            .own_offset = lists->own_offset,
                            .own_row = lists->own_row,
                            .leaf_offset = lists->leaf_offset,
                            .leaf_row = lists->leaf_row,
                            .gid = part->gid};
}

/* lists: of `part`, which has replicas behind its owned rows; neither is kept. Until the first pass begins everything is
 * exchanged. Free with gnn_halo_destroy, also after a failure. Collective. */
weft_status gnn_halo_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                            const part_halo *lists, int64_t max_width, const gnn_halo_options *options,
                            gnn_halo **halo);
/* Before a pass over all layers, forward and backward; all ranks alike. Local. */
void gnn_halo_begin(gnn_halo *halo, const gnn_halo_pass *pass);
/*
 * x [n_local, width], for the time between both as in comm/halo.h; a forward leg without exchange makes the rows of
 * replicas zero. Allocates the cache of a delayed leg when it is posted for the first time. Collective.
 * WEFT_ERR_UNSUPPORTED: HALO_REVERSE_MAX in a training pass that does not exchange everything as it is: a maximum of
 * rows of several epochs, or rounded ones, is none of them; a codec with other types than float32.
 */
weft_status gnn_halo_post(gnn_halo *halo, halo_direction direction, weft_tensor *x);
weft_status gnn_halo_wait(gnn_halo *halo);
/* As comm_halo_arrived; true when nothing is under way. */
bool gnn_halo_arrived(const gnn_halo *halo);
/* Epochs since the oldest row that the pass begun last uses was computed. */
int64_t gnn_halo_staleness(const gnn_halo *halo);
void gnn_halo_destroy(gnn_halo *halo);

#endif
