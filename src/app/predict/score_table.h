/*
 * app/predict/score_table.h: what weft eval and weft predict tell: scores by split, and figures by class or by task.
 *
 * With classes: the confusion matrix over the chosen rows, and from it for each class, as scikit-learn defines
 * them,
 *
 *     precision = hits / predicted, recall = hits / support, F1 = 2 hits / (predicted + support), 0 where undefined;
 *     macro: mean over the classes that occur as label or as prediction; micro: over all rows, which is accuracy.
 *
 * With binary tasks: rows of either label and the area under the ROC curve by task; their mean leaves out tasks
 * that lack one of the labels. Memory: 8 bytes x classes^2.
 */
#pragma once

#include <stdio.h>

#include "app/predict/index_table.h"
#include "app/predict/subgroups.h"
#include "app/setup/context.h"
#include "train/score/metrics.h"

/* Another model's answers for the rows that are judged. */
typedef struct score_comparison {
    bool made;
    char model[FILE_PATH_MAX];
    int64_t rows;
    roc_difference areas; /* of the table's model, and of the other one */
} score_comparison;

typedef struct score_table {
    const char *model, *data; /* names, for reading */
    const char *kind, *rows;  /* what the data are (ops->data), and a row of them: "vertices" */
    const char *hash;         /* of the data, as --teacher checks it; NULL: none */
    const name_list *names;   /* of the model's classes; no text: it has none */
    bool labelled;            /* without labels everything below is empty */
    train_metric metric;
    double score[TRAIN_SPLITS];
    double ceiling[TRAIN_SPLITS]; /* of the workload; 0: unknown */
    int64_t counted[TRAIN_SPLITS];
    score_split split;
    int64_t classes;               /* or 0 */
    const char *const *class_name; /* [classes]; NULL: numbers */
    int64_t *confusion;            /* [classes, classes]: row = label, column = prediction */
    int64_t tasks;                 /* or 0 */
    int64_t *positive, *negative;
    double *auc;            /* [tasks] */
    binary_indexes indexes; /* of the chosen split; rank 0 */
    subgroups by;           /* none, until subgroups_make */
    score_comparison against;
} score_table;

/* logits: [rows, outputs] of this rank on the host, view: the same on the backend. threshold: of the indexes, on rank
 * 0. The same table on every rank. Collective. Free with score_table_destroy, also after a failure. */
weft_status score_table_make(const app_context *context, const train_targets *targets, train_metric metric,
                             score_split split, const index_threshold *threshold, const weft_tensor *view,
                             const float *logits, score_table *table);
void score_table_destroy(score_table *table);
/* The rows that are judged, for train/indexes: a split, or INDEX_ALL_ROWS. */
int score_split_judged(score_split split);
/* Returns true if a labelled row is among them. */
bool score_split_has(score_split split, const train_targets *targets, int64_t row);

typedef struct score_figures {
    int64_t support, predicted, hits;
    double precision, recall, f1;
} score_figures;

score_figures score_table_class(const score_table *table, int64_t class);
void score_table_averages(const score_table *table, score_figures *macro, score_figures *micro);
/* Mean over the tasks that have both labels; NaN without any. */
double score_table_auc(const score_table *table);

void score_table_print(FILE *out, const score_table *table, table_format format);
/* The object "indexes" of two classes; else nothing. Rank 0. */
void score_table_write_indexes(json_writer *json, const score_table *table);
/* Two lines of them; else nothing. Rank 0. */
void score_table_print_brief(FILE *out, const score_table *table);
/* "label,CLASS,CLASS,..." and a line a class: names as RFC 4180 has them, or numbers. */
void score_table_print_confusion(FILE *out, const score_table *table);
