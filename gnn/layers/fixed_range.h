/* gnn/layers/fixed_range.h: features whose columns span so wide a range that fixed point (fixed_sums.h) leaves little
 * of their typical numbers. */
#pragma once

#include "comm/comm.h"
#include "tensor/tensor.h"

/* From this ratio on a typical number has 16 steps or fewer. */
#define GNN_FIXED_RANGE 1000.0

typedef struct gnn_fixed_range {
    int64_t column; /* the one with the widest range, counted from 0; -1: no column has a number but 0 */
    double ratio;   /* its largest magnitude over the root of its mean square */
} gnn_fixed_range;

/* x: [rows of this rank, columns], float32; rows: of all ranks. The same answer on all ranks. Collective. */
weft_status gnn_fixed_range_find(weft_comm *comm, const weft_tensor *x, int64_t rows, gnn_fixed_range *range);
