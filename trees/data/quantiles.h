/* trees/data/quantiles.h: exact order statistics of columns over all ranks. */
#pragma once

#include "comm/comm.h"
#include "trees/data/tree_columns.h"

/* Bytes that the search takes for each column. */
int64_t tree_quantile_bytes(int values);

/*
 * [out] quantile[many, values]: with n values of column[i] in the rows that count, over all ranks, number k is the one
 * at place n k / values of their order, from 0. n is at least 1. values: at most TREE_VALUES. Collective.
 */
weft_status tree_quantiles(weft_comm *comm, const tree_columns *data, const uint8_t *counts, const int *column,
                           int many, int values, int threads, float *quantile);
