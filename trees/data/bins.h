/*
 * trees/data/bins.h: the rows of a rank as bins, a byte each, twice: row by row for histograms, which read whole rows,
 * and column by column for splits, which read one column. Memory: 2 * rows * columns bytes.
 *
 * Columns are cut one by one, and the numbers of each may be given back as soon as it is: then the bytes of a table of
 * float32 shrink to half while the bins grow.
 */
#pragma once

#include "tensor/tensor.h"
#include "trees/data/cuts.h"

typedef struct tree_bins {
    weft_tensor bin;     /* [rows, columns] uint8 */
    uint8_t *column;     /* [columns, rows] */
    int *cells;          /* [columns] bins of a column, with that of missing values, which is the last */
    tree_binned *binned; /* [columns] of columns that were released; NULL: none was */
} tree_bins;

/* Who gives back the numbers of a column once they are binned. */
typedef struct tree_release {
    void (*column)(void *owner, int column, const tree_binned *binned); /* NULL: they stay */
    void *owner;
} tree_release;

/* release: called for columns of numbers, in their order; `binned` lives as long as the bins. Free with
 * tree_bins_destroy, also after a failure. Local. */
weft_status tree_bins_create(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts,
                             const tree_release *release, tree_bins *bins);
/* The bins of a column: [rows]. */
static inline const uint8_t *tree_bins_column(const tree_bins *bins, int column)
{
    return bins->column + bins->bin.rows * column;
}
void tree_bins_destroy(tree_bins *bins);
