/*
 * app/predict/answer_table.h: what a model answers for rows that have names, such as files of images: a line a row,
 * with its likeliest classes.
 */
#pragma once

#include "app/table/grid.h"

enum { ANSWER_TOP_MAX = 10, ANSWER_COLUMNS_MAX = 1 + 3 * ANSWER_TOP_MAX, ANSWER_TITLE_BYTES = 32 };

/* Texts live as long as the answers. */
typedef struct answer_table_desc {
    const char *model, *data, *kind; /* names; of what kind the data are */
    const char *title;               /* the heading of the rows' names */
    int64_t malformed;               /* files of them that are left out */
    const char *probabilities;       /* a file .npy, float32 [rows, classes] */
    const char *const *row_name;     /* [rows] */
    char *const *class_name;         /* [classes]; NULL: numbers alone */
    int top;                         /* classes of a row, at most ANSWER_TOP_MAX and as many as there are */
} answer_table_desc;

typedef struct answer_table {
    table_grid head, lines;
    table_column title[4], column[ANSWER_COLUMNS_MAX];
    char word[ANSWER_COLUMNS_MAX][ANSWER_TITLE_BYTES];
} answer_table;

/* Into zeroed memory that does not move. Free with answer_table_destroy, also after a failure. WEFT_ERR_IO,
 * WEFT_ERR_DATA: the file; WEFT_ERR_RESOURCE. */
weft_status answer_table_make(const answer_table_desc *desc, answer_table *a);
void answer_table_destroy(answer_table *a);
