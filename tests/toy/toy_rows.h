/*
 * tests/toy/toy_rows.h: the rows of a table as a linear model reads them: the room of the kind that tests/toy/toy.c is.
 *
 * The target is a column of numbers: rows above 0 are of class 1, the others of class 0. Every other column is an input
 * and has a number in every row. Without a column of splits, row % 10 == 8 validates and row % 10 == 9 tests. A rank
 * holds a run of the rows (table/table.h).
 */
#pragma once

#include "comm/comm.h"
#include "table/table.h"
#include "train/labels.h"

enum { TOY_CLASSES = 2, TOY_SUMS = TOY_CLASSES + TRAIN_SPLITS + 1 };

typedef struct toy_rows {
    weft_table table;
    int64_t inputs;
    int64_t target, split;  /* columns; -1: there is none */
    int64_t sums[TOY_SUMS]; /* over all rows: labelled rows of each class, of each split, and a hash of the rows */
    int64_t *id;            /* [table.count] numbers of this rank's rows */
    float *value;           /* [table.count, inputs] */
    weft_tensor x;          /* value on the backend */
    train_labels labels;
} toy_rows;

/* Reads tables behind each other. WEFT_ERR_DATA: a column is none of numbers, with its name. Collective. */
weft_status toy_rows_open(weft_comm *comm, const char *const *path, int paths, toy_rows *rows);
/* Fills in x and targets. Local. */
weft_status toy_rows_upload(toy_rows *rows, weft_hal *hal);
void toy_rows_close(toy_rows *rows);
