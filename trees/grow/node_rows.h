/*
 * trees/grow/node_rows.h: which rows of this rank are in which node: one list of row numbers, in which the rows of a
 * node stand together, ascending.
 *
 * A split moves the rows that go left in front of the others and keeps both orders, so that the bins of a node are read
 * from low addresses to high ones. Memory: 4 bytes a row, and as many that the caller lends.
 */
#pragma once

#include "trees/data/bins.h"
#include "trees/grow/split.h"

typedef struct node_rows {
    weft_tensor row; /* [capacity, 1] int32 */
    int32_t *spare;  /* [capacity] the caller sets it, to any numbers, before a split */
    int64_t capacity;
} node_rows;

weft_status node_rows_create(weft_hal *hal, int64_t capacity, node_rows *rows);
void node_rows_destroy(node_rows *rows); /* zeros are fine */
/* Divides rows[begin, end). Returns the number of rows that went left. */
int64_t node_rows_split(node_rows *rows, int64_t begin, int64_t end, const tree_bins *bins, const tree_split *split,
                        int threads);

/* Does a row go left? */
static inline bool row_goes_left(const tree_split *split, const tree_bins *bins, int64_t row)
{
    return split_goes_left(split, bins->cells[split->feature] - 1, tree_bins_at(bins, row, split->feature));
}
