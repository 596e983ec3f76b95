/*
 * trees/data/tree_rows.h: a table as trees read it: columns of numbers, the classes of the target, splits and weights.
 *
 * The target is a column of words, which are the classes in the order of their bytes, of whole numbers, which are the
 * classes in their order, or of numbers that are to be predicted themselves. Other columns of words are categories.
 * Without a column of splits, rows are drawn for validation and test by their number, or by their group.
 */
#pragma once

#include "io/name_list.h"
#include "table/table.h"
#include "train/labels.h"
#include "trees/data/tree_columns.h"

enum { TREE_CLASSES_MAX = 1000 };

/* What the target is. */
typedef enum tree_aim {
    TREE_AIM_AUTO, /* numbers if some row's has a fraction, else classes */
    TREE_AIM_CLASSES,
    TREE_AIM_NUMBERS
} tree_aim;

typedef struct tree_rows_options {
    table_request request;
    double valid, test;  /* shares of the rows, drawn where no column says the split */
    const uint8_t *part; /* [paths] the split of each file's rows; NULL: by a column of splits, or drawn */
    uint64_t seed;
    tree_aim aim;
    char *const *column; /* [columns] names of the features, in this order; NULL: all columns that could be one */
    int columns;
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
    bool numbers;        /* the target is numbers; else classes */
    bool aimed;          /* there is a target */
    bool keeps_target;   /* its column stays when labels are taken from it */
    name_list classes;   /* none: no target, or numbers */
    int64_t *counted;    /* [classes] labelled rows of each class, of all ranks */
    train_labels labels; /* of this rank's rows; targets.counted is of all ranks */
    float *weight;       /* [data.rows]; NULL: 1 each */
    const uint64_t
        *group;    /* [data.rows] what is equal for the rows of a query, which stand together; NULL: no groups */
    uint64_t hash; /* of all rows */
} tree_rows;

/*
 * Free with tree_rows_close, also after a failure. WEFT_ERR_DATA: a column, row or class that trees cannot use, with
 * the cure. Collective.
 */
weft_status tree_rows_open(weft_comm *comm, const char *const *path, int paths, const tree_rows_options *options,
                           tree_rows *rows);
void tree_rows_close(tree_rows *rows);
/* Numbers of a feature are given back: its values are those of `binned` from now on. Local. */
void tree_rows_release(tree_rows *rows, int column, const tree_binned *binned);
/* The bins are gone: released features have no values any more. Local. */
void tree_rows_forget(tree_rows *rows);
/* Class i of the data becomes class_of[i] of a model with these names; -1: its rows have no label. Local, the same on
 * all ranks. */
weft_status tree_rows_relabel(tree_rows *rows, const int32_t *class_of, int64_t classes, char *const *names);
/* Categories take the codes that a model has for their words: [data.columns] ascending by bytes, or NULL: the model has
 * no words. Words that it does not have become missing. WEFT_ERR_DATA: a column of words that the model reads as
 * numbers, or the other way round. Local. */
weft_status tree_rows_recode(tree_rows *rows, const char *name, const name_list *words);
