/*
 * gnn/aggregate.h: neighbourhood sums over a partitioned graph, exact for any partition.
 *
 *     forward     y = post * (A (pre * x)) + diag * x          rows = destinations
 *     transposed  x = pre * (A^T (post * y)) + diag * y
 *
 * Only the root of a vertex holds its row before and after; what happens in between, for replicas on other ranks:
 *
 *     1  forward halo    root rows go to the replicas that feed a local edge        (source replicas)
 *     2  local product   every rank sums over its own edges
 *     3  reverse halo    partial sums of replicas return to their root and are added (destination replicas)
 *
 * and transposed with the two lists exchanged. Rows moved: one a replica and leg. The scale vectors are known on
 * replicas too (exchanged once), so nothing is scaled before sending. Sums over replicas are added in rank order:
 * deterministic.
 */
#ifndef WEFT_GNN_AGGREGATE_H
#define WEFT_GNN_AGGREGATE_H

#include "comm/halo.h"
#include "partition/part.h"
#include "tensor/tensor.h"

typedef enum gnn_normalisation {
    GNN_NORM_MEAN,      /* sum over in-neighbours / in-degree; isolated: 0 */
    GNN_NORM_MEAN_SELF, /* (sum + self) / (in-degree + 1): GraphSAGE "gcn" */
    GNN_NORM_SYMMETRIC  /* D^-1/2 (A + I) D^-1/2, D = in-degree + 1: Kipf, Welling 2017, arXiv 1609.02907 */
} gnn_normalisation;

typedef struct gnn_aggregator {
    weft_comm *comm;
    weft_hal *hal;
    weft_dtype dtype;
    int64_t n_owned, n_local, edges;
    hal_spmm *forward, *transposed;    /* one object when the local edges are symmetric */
    comm_halo *sources, *destinations; /* NULL on one rank */
    weft_tensor pre, post, diag;       /* [n_local, 1]; empty = 1, 1, 0. diag is 0 on replicas */
    double build_seconds;
} gnn_aggregator;

typedef struct gnn_aggregator_options {
    gnn_normalisation normalisation;
    hal_spmm_form form;
    int64_t max_width; /* widest matrix that will be aggregated */
} gnn_aggregator_options;

/* Builds both directions and the halos; the part's CSR may be released afterwards. Collective. */
weft_status gnn_aggregator_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const weft_part *part,
                                  const gnn_aggregator_options *options, gnn_aggregator *aggregator);
/*
 * out = aggregate(x) + beta * out on the owned rows, beta 0 or 1; both [n_local, d], the replicas' rows are scratch
 * (finite before the first call: create such matrices zeroed). x and out must not overlap. Collective.
 */
weft_status gnn_aggregate(gnn_aggregator *aggregator, bool transposed, weft_tensor *x, double beta, weft_tensor *out);
void gnn_aggregator_destroy(gnn_aggregator *aggregator);

#endif
