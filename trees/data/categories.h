/*
 * trees/data/categories.h: bins of columns of categories.
 *
 * Each category that a row of the training has gets a bin of its own, in the order of the codes. Where there are more
 * than a column has bins, the most frequent ones keep theirs, the lower code first among equally frequent ones, and the
 * others share the last bin. Frequencies are of all ranks' rows, so bins depend neither on ranks nor on the dealing.
 *
 * Memory: 2 bytes a category. One all-reduce of 8 bytes a category.
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/tree_columns.h"

enum {
    TREE_CATEGORY_BINS = 1023, /* bins of categories in a column, at most */
    TREE_NO_BIN = 65535        /* of a category that no row of the training has */
};

typedef struct tree_categories {
    int *bins;      /* [columns] bins of a column's categories; 0: a column of numbers */
    int64_t *first; /* [columns + 1] where the bins of a column's codes begin in `bin` */
    uint16_t *bin;  /* [first[columns]] */
} tree_categories;

/* values: bins of a column, 2 to TREE_CATEGORY_BINS. counts: [rows] not 0 for rows of the training. Free with
 * tree_categories_destroy, also after a failure. WEFT_ERR_UNSUPPORTED: a column has more than TREE_CODES_MAX
 * categories. Collective. */
weft_status tree_categories_find(weft_comm *comm, const tree_columns *data, const uint8_t *counts, int values,
                                 tree_categories *categories);
void tree_categories_destroy(tree_categories *categories); /* zeros are fine */
/* [out] bin[rows]: of rows first .. first + rows - 1 of a column of categories; `missing` where there is none. */
void tree_categories_fill(const tree_categories *categories, const tree_columns *data, int column, int64_t first,
                          int64_t rows, int missing, uint16_t *bin);
