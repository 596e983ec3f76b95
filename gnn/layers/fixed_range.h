/* gnn/layers/fixed_range.h: features whose columns span so wide a range that fixed point (fixed_sums.h) leaves little
 * of their smaller numbers. */
#pragma once

#include "comm/comm.h"
#include "tensor/tensor.h"

/* From this share on a column is worth a word. */
#define GNN_FIXED_COARSE 0.1

typedef struct gnn_fixed_range {
    int64_t column; /* the one with the largest share, counted from 0; -1: none has a number but 0 */
    double share;   /* of its numbers but 0, in a sample of rows, those that rounding changes by over 1/32 of them */
} gnn_fixed_range;

/* x: [rows of this rank, columns], float32. The same answer on all ranks. Collective. */
weft_status gnn_fixed_range_find(weft_comm *comm, const weft_tensor *x, gnn_fixed_range *range);
