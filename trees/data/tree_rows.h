/*
 * trees/data/tree_rows.h: a table as trees read it: columns of numbers, the classes of the target, splits and weights.
 *
 * The target is a column of words, which are the classes in the order of their bytes, or of whole numbers, which are
 * the classes in their order. Other columns of words are categories. Without a column of splits, rows are drawn for
 * validation and test by their number.
 */
#pragma once

#include "io/name_list.h"
#include "table/table.h"
#include "train/labels.h"
#include "trees/data/tree_columns.h"

enum { TREE_CLASSES_MAX = 1000 };

typedef struct tree_rows_options {
    table_request request;
    double valid, test; /* shares of the rows, drawn where no column says the split */
    uint64_t seed;
    bool trained; /* only features and, if there are any, labels are read: a trained model answers */
} tree_rows_options;

typedef struct tree_rows {
    weft_table table;
    int *field;          /* [data.columns] the columns of the table that are features */
    tree_column *column; /* [data.columns] */
    tree_columns data;
    tree_codes *codes;   /* [features of the table] of those that are categories */
    name_list *words;    /* [features of the table] words of each code; NULL: no column is of categories */
    int features;        /* of the table */
    int64_t *id;         /* [data.rows] */
    name_list classes;   /* none: no target */
    int64_t *counted;    /* [classes] labelled rows of each class, of all ranks */
    train_labels labels; /* of this rank's rows; targets.counted is of all ranks */
    float *weight;       /* [data.rows]; NULL: 1 each */
    uint64_t hash;       /* of all rows */
} tree_rows;

/*
 * Free with tree_rows_close, also after a failure. WEFT_ERR_DATA: a column, row or class that trees cannot use, with
 * the cure. Collective.
 */
weft_status tree_rows_open(weft_comm *comm, const char *const *path, int paths, const tree_rows_options *options,
                           tree_rows *rows);
void tree_rows_close(tree_rows *rows);
/* Class i of the data becomes class_of[i] of a model with these names; -1: its rows have no label. Local, the same on
 * all ranks. */
weft_status tree_rows_relabel(tree_rows *rows, const int32_t *class_of, int64_t classes, char *const *names);
/* Features become those of these names, in their order. WEFT_ERR_DATA: the table lacks one. Local. */
weft_status tree_rows_choose(tree_rows *rows, const char *name, char *const *column, int columns);
/* Categories take the codes that a model has for their words: [data.columns] ascending by bytes, or NULL: the model has
 * no words. Words that it does not have become missing. WEFT_ERR_DATA: a column of words that the model reads as
 * numbers, or the other way round. Local. */
weft_status tree_rows_recode(tree_rows *rows, const char *name, const name_list *words);
