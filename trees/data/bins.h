/*
 * trees/data/bins.h: the rows of a rank as bins, twice: row by row for histograms, which read whole rows, and column
 * by column for splits, which read one column. A bin is a byte, and two where a column has more than HAL_BINS of them:
 * the bins are wide then. Memory: 2 * rows * columns bytes, wide 4, and what a row is padded by.
 *
 * What a row adds to histograms, its pair of a gradient and a hessian, stands behind its bins, so that memory gives
 * both in one line:
 *
 *      row     bins of all columns | unused | pair        a multiple of ROW_BYTES
 *
 * Columns are cut one by one, and the numbers of each may be given back as soon as it is: then the bytes of a table of
 * float32 shrink to half while the bins grow.
 */
#pragma once

#include "tensor/tensor.h"
#include "trees/data/cuts.h"

typedef struct tree_bins {
    weft_tensor bin;     /* [rows, columns] uint8; wide: int16 that stands for a uint16 */
    weft_tensor pair;    /* [rows, 1] int32 behind the bins of each row, for who grows trees (hal_pair_of) */
    void *column;        /* [columns, rows] of the same type */
    int *cells;          /* [columns] bins of a column, with that of missing values, which is the last */
    weft_tensor first;   /* [columns + 1, 1] int32: the cells of a histogram before those of each column */
    tree_binned *binned; /* [columns] of columns that were released; NULL: none was */
    float *value;        /* of `binned`; NULL: none */
} tree_bins;

/* Who gives back the numbers of a column once they are binned: those of its first rows, then the column. */
typedef struct tree_release {
    void (*rows)(void *owner, int column, int64_t end);                 /* NULL: with the column */
    void (*column)(void *owner, int column, const tree_binned *binned); /* NULL: they stay */
    void *owner;
} tree_release;

/* release: called for columns of numbers, the last one first; `binned` lives as long as the bins. Free with
 * tree_bins_destroy, also after a failure. WEFT_ERR_UNSUPPORTED: there are more bins than can be numbered. Local. */
weft_status tree_bins_create(weft_hal *hal, const tree_columns *data, const tree_cuts *cuts,
                             const tree_release *release, tree_bins *bins);
static inline bool tree_bins_wide(const tree_bins *bins)
{
    return bins->bin.dtype == WEFT_DTYPE_I16;
}

/* The bins of a column: [rows] uint8, wide uint16. */
static inline const void *tree_bins_column(const tree_bins *bins, int column)
{
    return (const char *)bins->column + bins->bin.rows * column * (tree_bins_wide(bins) ? 2 : 1);
}

/* The bin of a row in a column, read from the rows. */
static inline int tree_bins_at(const tree_bins *bins, int64_t row, int column)
{
    const int64_t at = row * bins->bin.ld + column;
    return tree_bins_wide(bins) ? ((const uint16_t *)bins->bin.data)[at] : ((const uint8_t *)bins->bin.data)[at];
}

/* The cells of a histogram before those of a column. */
static inline int64_t tree_bins_first(const tree_bins *bins, int column)
{
    return ((const int32_t *)bins->first.data)[column];
}

void tree_bins_destroy(tree_bins *bins);
