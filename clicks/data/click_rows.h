/*
 * clicks/data/click_rows.h: a table as models of clicks read it: fields of ids, numbers, and what was clicked.
 *
 *     fields    columns of words and of ids: each cell is an id of its field, a missing one an id, too; columns whose
 *               cells hold several ids (click_bags.h), a missing one none; and the pairs INDEX:VALUE of a LIBSVM file,
 *               of which all are one field, with the index as an id and the value as its weight
 *     numbers   columns of numbers: by standard scaling, behind a logarithm or not; a missing one becomes 0
 *     target    two words, of which the later in the order of their bytes is a click; or numbers, 1 and 0, or those
 *               from `positive` on
 *
 * Ids are hashes of words, so that they are the same whatever other words a table has; `hash_bits` folds them. Every
 * rank has all rows: those of a store are mapped, files are read by each rank, or become a store first (caller).
 *
 * Rows that are made (clicks/synth) stand nowhere: `teacher` makes those that are asked for, and of `table` and the
 * lists of rows nothing but the number of rows is filled in. The first rows train, then come those of validation,
 * then of test.
 */
#pragma once

#include "clicks/click_batch.h"
#include "clicks/data/click_bags.h"
#include "clicks/data/click_scaling.h"
#include "clicks/synth/click_teacher.h"
#include "io/name_list.h"
#include "table/table.h"
#include "train/model.h"

extern weft_mem_tag WEFT_MEM_CLICKS[1]; /* batches, labels and lists of rows of tables of clicks */

typedef struct click_rows_options {
    table_request request;
    double valid, test;       /* shares of the rows, drawn where no column or file says the split */
    const uint8_t *part;      /* [paths] the split of each file's rows; NULL: by a column of splits, or drawn */
    uint64_t seed;            /* of the split */
    double positive;          /* a target of numbers counts as a click from this on; NaN: it is 0 or 1 */
    int hash_bits;            /* ids of a field are one of 2^bits; 0: their hash as it is */
    const name_list *bags;    /* columns whose cells hold several ids; NULL: none */
    const char *separator;    /* between them */
    click_pooling pooling;    /* of several ids */
    const name_list *fields;  /* columns in this order, as a trained model has them; NULL: those of the table */
    const name_list *numbers; /* the same of numbers */
    int threads;              /* that make rows to find the offset of the teacher of made rows, >= 1; others: any */
    bool trained;             /* a model answers: all rows are evaluated, and none trains */
} click_rows_options;

/* The name of the field that a LIBSVM file's pairs are, and what stands in the place of its column. */
#define CLICK_GIVEN_NAME "index:value"
enum { CLICK_GIVEN = -1 };

typedef struct click_field {
    int column;
    bool several;          /* cells hold several ids */
    click_bag_cells cells; /* of such a column */
    uint64_t *word_key;    /* keys of a category's words by their codes, or of the words of `cells`; NULL: of neither */
    uint64_t missing_key;
    int64_t ids;     /* different ones: of words at most, of rows that are made as is expected */
    int64_t longest; /* ids of a row, at most */
    int64_t *sized;  /* [longest + 1] how many rows have so many ids; NULL: all have one */
} click_field;

typedef struct click_rows {
    weft_table table;
    click_teacher *teacher; /* of rows that are made; NULL: rows are the table's */
    bool all_evaluated;     /* of rows that are made: as click_rows_options.trained */
    int fields;
    int64_t numbers;
    name_list field_name, number_name;
    click_field *field; /* [fields] */
    int *number;        /* [numbers] columns of the table */
    int hash_bits;
    click_pooling pooling;
    bool bags;     /* a field of a row may have none or several ids */
    bool weighted; /* ids have weights */
    bool labelled;
    uint8_t *label; /* [table.rows] 1: a click, 0: none, CLICK_NO_LABEL */
    uint8_t *split; /* [table.rows] TRAIN_SPLIT_NONE without a label */
    int64_t *train; /* [counted[0]] rows that train, ascending */
    int64_t *eval;  /* [evaluated] rows of an evaluation: those of validation, then of test; all where `trained` */
    int64_t evaluated;
    int64_t counted[TRAIN_SPLITS]; /* labelled rows of each split */
    int64_t clicks[TRAIN_SPLITS];  /* clicks among them; of rows that are made as many as are expected */
    uint64_t hash;                 /* of all rows and columns */
} click_rows;

enum { CLICK_NO_LABEL = 255 };

/*
 * Free with click_rows_close, also after a failure. Every rank opens the same rows. WEFT_ERR_DATA: a column or a cell
 * that clicks cannot be learned from, with row, column, value and cure. Collective.
 */
weft_status click_rows_open(weft_comm *comm, const char *const *path, int paths, const click_rows_options *options,
                            click_rows *rows);
void click_rows_close(click_rows *rows); /* zeros are fine */

/* Ids that all rows have at most: words are counted, and ids that are hashes may all differ. */
int64_t click_rows_ids(const click_rows *rows);
/* Ids of a field of a row. Any thread. */
int64_t click_rows_size(const click_rows *rows, int64_t row, int field);
/* The most ids that any `samples` rows have together. */
int64_t click_rows_most(const click_rows *rows, int64_t samples);
/* How many of them differ: of words at most, of rows that are made as is expected. */
int64_t click_rows_distinct(const click_rows *rows, int64_t samples);
/* The row at a place among those that train, and among those of an evaluation. Any thread. */
int64_t click_rows_train(const click_rows *rows, int64_t place);
int64_t click_rows_eval(const click_rows *rows, int64_t place);
/* TRAIN_SPLIT_NONE without a label. Any thread. */
uint8_t click_rows_split(const click_rows *rows, int64_t row);
/* [out] key, weight: of a row's ids, field after field. value: [numbers], scaled. target: 1, 0, or NaN without a label.
 * weight: NULL, or left as it is, unless rows->weighted. Any thread. */
void click_rows_read(const click_rows *rows, const click_scaling *scaling, int64_t row, uint64_t *key, float *weight,
                     float *value, float *target);
/* [out] target: as above. logit: what the teacher knows of a row that is made, NaN of others. Any thread. */
void click_rows_answer(const click_rows *rows, int64_t row, float *target, float *logit);

/* Measures mean and deviation of the numbers of the rows that train; the same bits for every number of ranks.
 * Collective. */
weft_status click_rows_measure(weft_comm *comm, const click_rows *rows, click_scaling *scaling);
