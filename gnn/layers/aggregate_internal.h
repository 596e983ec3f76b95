/* gnn/layers/aggregate_internal.h: what the files of gnn/layers/aggregate.h share: aggregator_create.c, which makes an
 * aggregator, and aggregate.c, which runs its passes. */
#pragma once

#include "gnn/layers/aggregate.h"

enum { GNN_HALOS = 2 * GNN_SCOPES };

/* [out] halo: every halo of the aggregator once. Returns their number. */
int aggregate_list_halos(const gnn_aggregator *aggregator, gnn_halo *halo[GNN_HALOS]);
/* A leg from post to wait; without a halo nothing happens. */
weft_status aggregate_exchange(gnn_halo *halo, halo_direction direction, bool backward, weft_tensor *x);
