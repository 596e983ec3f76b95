/*
 * app/predict/index_table.h: indexes of two classes (train/indexes/binary_indexes.h) on paper and in files: rows "NAME
 * value low high", and an object "indexes" (docs/formats.md has its keys).
 */
#pragma once

#include <stdio.h>

#include "app/table/grid.h"
#include "io/json.h"
#include "train/indexes/binary_indexes.h"

typedef struct index_table_desc {
    const binary_indexes *indexes; /* made */
    const char *split;             /* word of the rows that are judged */
    const char *positive;          /* name of the second class; NULL: it is class 1 */
} index_table_desc;

/* An index with its key in files and its label for people; a limit that is NaN is not printed. */
typedef struct index_row {
    const char *key, *label;
    index_value value;
    bool exact; /* printed with all digits, because it may be given again */
} index_row;

enum { INDEX_ANSWER_ROWS = 6 };

/* [out] row: [INDEX_ANSWER_ROWS] what answers come to at the threshold. Returns how many there are. */
int index_answer_rows(const binary_indexes *indexes, index_row *row);

/* A table of its own; format: TABLE_MD, or TABLE_CSV: lines "index,NAME,ROWS,VALUE,,,", for limits of intervals too. */
void index_table_print(FILE *out, const index_table_desc *desc, table_format format);
/* Two lines: the order of the rows and the probabilities, and answers at the threshold. */
void index_table_print_brief(FILE *out, const index_table_desc *desc);
/* An object of value, low and high. */
void index_write_value(json_writer *json, const char *key, index_value value);
/* Members of an open object; `drawn`: with the curves and bins of drawings. */
void index_write(json_writer *json, const binary_indexes *indexes, bool drawn);
