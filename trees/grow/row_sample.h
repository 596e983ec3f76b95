/*
 * trees/grow/row_sample.h: the rows that a tree is grown on, where large gradients count for more.
 *
 * The rows of the largest gradients are taken, `top` of all of them and those that equal the least of these. Of the
 * others a share of `other` of all rows is drawn, and their numbers are multiplied by (1 - top) / other, so that sums
 * keep their mean. The least gradient is found exactly, by two counts over 16 bits of the numbers, so the choice
 * depends neither on ranks nor on the dealing of the rows.
 *
 *   G. Ke et al.: LightGBM: a highly efficient gradient boosting decision tree. NIPS 2017 (gradient-based one-side
 *   sampling).
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/tree_columns.h"

typedef enum row_take { ROW_LEFT_OUT, ROW_TAKEN, ROW_AMPLIFIED } row_take;

/* Each row and each column has a place in [0, 1) of its own for a tree. of: what is drawn. */
double tree_place(uint64_t seed, int64_t id, int number, uint32_t of);
/* [out] take: [data->rows] a row_take each; rows that do not count are left out. gradient: [data->rows]. Collective. */
weft_status row_sample_by_gradient(weft_comm *comm, const tree_columns *data, const uint8_t *counts,
                                   const float *gradient, double top, double other, uint64_t seed, int number,
                                   uint8_t *take);
