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

/* A table of its own; format: TABLE_MD, or TABLE_CSV: lines "index,NAME,ROWS,VALUE,,,", for limits of intervals too. */
void index_table_print(FILE *out, const index_table_desc *desc, table_format format);
/* Two lines: the order of the rows and the probabilities, and answers at the threshold. */
void index_table_print_brief(FILE *out, const index_table_desc *desc);
void index_table_write(json_writer *json, const index_table_desc *desc);
