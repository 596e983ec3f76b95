/*
 * app/setup/table_numbers.h: a table of which every column is numbers, for kinds of workload that learn one number from
 * a matrix.
 *
 * Each rank has the rows that table/table.h gives it. The target may be missing in some rows, which then are of no
 * split; inputs have a number in every row. Without a column of splits all rows train.
 */
#pragma once

#include "app/setup/context.h"
#include "table/table.h"
#include "train/labels.h"

typedef struct table_numbers {
    weft_table table;
    int64_t inputs;
    int64_t *id;         /* [table.count] numbers of this rank's rows */
    float *value;        /* [inputs, table.count] */
    weft_tensor x;       /* [table.count, inputs] on the backend */
    train_labels labels; /* targets are numbers */
    bool labelled;       /* there is a target */
    uint64_t hash;       /* of all rows */
} table_numbers;

/* Reads tables behind each other. Close also after a failure. WEFT_ERR_DATA: a column is not of numbers, with its name.
 * Collective. */
weft_status table_numbers_open(const app_context *context, const char *const *path, int paths, table_numbers *numbers);
/* Makes x, and uploads the labels where `labelled` says so. Local. */
weft_status table_numbers_upload(table_numbers *numbers, weft_hal *hal, bool labelled);
void table_numbers_close(table_numbers *numbers);
