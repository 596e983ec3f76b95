/*
 * app/predict/subgroups.h: --by: indexes of groups of rows by columns of the data, "sex" or "sex;age:65,75".
 *
 * Columns are parted by ';'. Of a column of numbers, limits behind ':' make groups; without them every number is one.
 */
#pragma once

#include "app/workload/workload.h"
#include "base/nearest.h"
#include "train/indexes/index_groups.h"

enum { SUBGROUP_COLUMNS_MAX = 8, SUBGROUP_LIMITS_MAX = 16 };

typedef struct subgroup_column {
    char name[NEAREST_WORD_MAX];
    index_groups groups; /* rank 0 */
} subgroup_column;

typedef struct subgroups {
    int columns;
    subgroup_column column[SUBGROUP_COLUMNS_MAX];
} subgroups;

/* What can be refused before a model is trained: the text, columns that are not there. text: of --by. After build.
 * Collective. */
weft_status subgroups_check(const workload *work, const char *text);
/*
 * text: of --by; "": no column. logits: [work->targets->rows, outputs]. judged: a split, or INDEX_ALL_ROWS. threshold:
 * of the indexes of all judged rows, on rank 0. WEFT_ERR_USAGE: no such column, limits that do not rise, or too many
 * groups; data that have no columns, or answers of other than two classes. Free with subgroups_free, also after a
 * failure. Collective.
 */
weft_status subgroups_make(const workload *work, const char *text, const float *logits, int judged,
                           const index_threshold *threshold, subgroups *result);
void subgroups_free(subgroups *groups);

/* Rank 0; nothing without columns. split: word of the rows that are judged. */
void subgroups_print_md(FILE *out, const subgroups *groups, const char *split);
/* Lines "group,COLUMN GROUP,ROWS,AUC,PRECISION,SENSITIVITY,F1". */
void subgroups_print_csv(FILE *out, const subgroups *groups);
/* An array "by". */
void subgroups_write(json_writer *json, const subgroups *groups);
