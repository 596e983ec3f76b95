/* trees/loss/leaf_quantiles.h: weighted quantiles of the rows of each leaf, exact over all ranks. */
#pragma once

#include "comm/comm.h"
#include "trees/data/tree_columns.h"

typedef struct leaf_rows {
    int64_t rows;          /* of this rank */
    const int32_t *leaf;   /* [rows] from 0 to leaves - 1; NULL: all rows are of leaf 0 */
    const float *value;    /* [rows] finite; only of rows that count */
    const float *weight;   /* [rows] at least 0; NULL: 1 each */
    const uint8_t *counts; /* [rows] 0: the row is left out */
} leaf_rows;

/*
 * [out] quantile[leaves]: the least value at which the weights of the rows up to it are at least `share` of the leaf's;
 * left as it was where a leaf has no weight. Weights are summed as whole numbers, so that the bits do not depend on
 * ranks and on the order of rows. share: between 0 and 1. WEFT_ERR_DATA: a value or a weight is not finite. Collective.
 */
weft_status leaf_quantiles(weft_comm *comm, const leaf_rows *rows, int32_t leaves, double share, float *quantile);
