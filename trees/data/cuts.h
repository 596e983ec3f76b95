/*
 * trees/data/cuts.h: where the values of a column are cut into bins.
 *
 * A column with at most `values` different values in the rows that count has a bin for each of them; another one has
 * `values` bins of equally many rows. A cut is always a value of the data, and x lies in bin b where
 * cut[b - 1] <= x < cut[b].
 *
 *     values  1.0  2.5  2.5  7.0      cuts  2.5  7.0      bins  0  1  1  2      no value: the bin behind the last
 *
 * Quantiles are exact order statistics of all ranks' rows, found by three counts over 16, 8 and 8 bits of the numbers'
 * keys: O(rows) a column, 512 KiB of counts a column, above 256 bins 2 KiB for each of them, and one all-reduce of them
 * for each of the three. So the cuts are the same for every number of ranks and every dealing of the rows. Columns of
 * categories have TREE_CATEGORY_BINS bins at most.
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/categories.h"

enum {
    TREE_VALUES = 65535,    /* bins of values in a column, at most; one more is left for missing values */
    TREE_BYTE_VALUES = 255, /* those of a column whose bins are bytes */
};

typedef struct tree_cuts {
    int columns;
    int32_t *first; /* [columns + 1] where a column's cuts begin in `value` */
    float *value;   /* [first[columns]] cuts, ascending within a column; those of categories mean nothing */
    tree_categories categories;
} tree_cuts;

/*
 * values: bins of a column at most, 2 to TREE_VALUES. counts: [rows] not 0 for the rows whose values decide, those of
 * training. threads: of this rank. An infinite value counts like any other. Free with tree_cuts_destroy, also after a
 * failure. Collective.
 */
weft_status tree_cuts_find(weft_comm *comm, const tree_columns *data, const uint8_t *counts, int values, int threads,
                           tree_cuts *cuts);
void tree_cuts_destroy(tree_cuts *cuts);
/* Bytes that the search takes while it runs. */
int64_t tree_cuts_bytes(int columns, int values, int threads);

/* [out] bin[count]: of values of a column with these cuts, below TREE_BYTE_VALUES; that of NaN is cuts + 1. */
void tree_find_bins(const float *cut, int cuts, const float *value, int64_t count, uint8_t *bin);
/* [out] bin[count]: as tree_find_bins, for cuts of any number up to TREE_VALUES. */
void tree_find_wide_bins(const float *cut, int cuts, const float *value, int64_t count, uint16_t *bin);
