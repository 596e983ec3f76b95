/*
 * trees/data/tree_columns.h: the columns that trees are grown on, as numbers.
 *
 * Every value is read as float32: reals as they are, whole numbers rounded, categories as their code in the model. A
 * missing value is NaN, and so is a category that the model does not know. Rows have ids over all ranks; whatever is
 * drawn for a row is a function of its id, so results do not depend on which rank holds it.
 */
#pragma once

#include <stdbool.h>

#include "table/column.h"

extern weft_mem_tag WEFT_MEM_TREES[1]; /* bins, histograms and trees */

/* A column holds at most this many categories, and codes in models stay below it. */
enum { TREE_CODES_MAX = 65536 };

/* The data of a column of categories. */
typedef struct tree_codes {
    const int32_t *code;   /* [rows] TABLE_NO_CODE: missing */
    const int32_t *become; /* [codes of the table] the model's code of each, or TABLE_NO_CODE; NULL: the same */
    int32_t codes;         /* of the model */
} tree_codes;

/* The data of a column of which the bins are left: every value is one that lies in the same bin. */
typedef struct tree_binned {
    const void *bin; /* [rows] uint8, wide uint16 */
    bool wide;
    const float *value; /* of each bin; NaN: of missing values */
} tree_binned;

/* Kind of such a column. */
#define TREE_BINNED TABLE_UNSEEN

typedef struct tree_column {
    table_kind kind;  /* real, integer, long, category or TREE_BINNED */
    const void *data; /* [rows] as table/column.h stores the kind; of categories one tree_codes, of bins one
                         tree_binned */
} tree_column;

typedef struct tree_columns {
    int64_t rows; /* of this rank */
    int columns;  /* the same on all ranks */
    const tree_column *column;
    const int64_t *id; /* [rows] from 0 to the rows of all ranks less 1; NULL: first, first + 1, ... */
    int64_t first;
    /* Brings the data of a column into memory, and perhaps takes those of others away. [out] together: how many columns
     * from this one on stand then, 1 at least, the same on all ranks. NULL: all stand. Local. */
    weft_status (*hold)(void *owner, int column, int *together);
    void *owner;
} tree_columns;

/* The id of a row of this rank. */
static inline int64_t tree_row_id(const tree_columns *data, int64_t row)
{
    return data->id != NULL ? data->id[row] : data->first + row;
}

/* As tree_columns.hold. */
static inline weft_status tree_columns_hold(const tree_columns *data, int column, int *together)
{
    *together = data->columns - column;
    return data->hold != NULL ? data->hold(data->owner, column, together) : WEFT_OK;
}

/* The model's code of a row; TABLE_NO_CODE: none. */
static inline int32_t tree_code(const tree_codes *codes, int64_t row)
{
    const int32_t code = codes->code[row];
    return code != TABLE_NO_CODE && codes->become != NULL ? codes->become[code] : code;
}

/* [out] value[count]: rows first .. first + count - 1 of a column. */
void tree_column_read(const tree_column *column, int64_t first, int64_t count, float *value);
/* [out] value[rows, columns]: rows first .. first + rows - 1, row by row. */
weft_status tree_columns_rows(const tree_columns *data, int64_t first, int64_t rows, float *value);
