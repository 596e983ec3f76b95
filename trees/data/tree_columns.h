/*
 * trees/data/tree_columns.h: the columns that trees are grown on, as numbers.
 *
 * Every value is read as float32: reals as they are, whole numbers rounded, categories as their code. A missing value
 * is NaN. Rows have ids over all ranks; whatever is drawn for a row is a function of its id, so results do not depend
 * on which rank holds it.
 */
#pragma once

#include "table/column.h"

extern weft_mem_tag WEFT_MEM_TREES[1]; /* bins, histograms and trees */

typedef struct tree_column {
    table_kind kind;  /* real, integer, long or category */
    const void *data; /* [rows] as table/column.h stores the kind */
} tree_column;

typedef struct tree_columns {
    int64_t rows; /* of this rank */
    int columns;  /* the same on all ranks */
    const tree_column *column;
    const int64_t *id; /* [rows] from 0 to the rows of all ranks less 1 */
} tree_columns;

/* [out] value[count]: rows first .. first + count - 1 of a column. */
void tree_column_read(const tree_column *column, int64_t first, int64_t count, float *value);
