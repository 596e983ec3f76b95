/* app/trees/trees_job.h: what a job on a table holds, and the functions of its files. */
#pragma once

#include "app/trees/options/trees_options.h"
#include "app/trees/trees_workload.h"
#include "train/score/metrics.h"
#include "trees/boost/boost.h"
#include "trees/data/tree_rows.h"
#include "trees/forest/forest_json.h"
#include "trees/loss/rank_loss.h"

#define TREES_MODEL_FILE "model.json"

typedef struct trees_job {
    tree_rows rows;
    boost_options options;
    tree_loss loss;
    float *y;        /* [rows] the class, or the number */
    uint8_t *counts; /* [rows] */
    tree_targets targets;
    rank_groups groups; /* of the rows that a run under way orders; else zeros */
    tree_boost *boost;  /* of a run under way */
    weft_forest forest; /* what answers: the best of the run, or the trained model */
    weft_forest kept;   /* dart: the best evaluation so far, because later rounds change earlier trees; else none */
    int8_t *direction;  /* what options.growth points to */
    uint8_t *group;
    int best;            /* trees of the best evaluation so far */
    double binning;      /* seconds in which columns were cut into bins */
    forest_facts facts;  /* of a trained model; else none */
    name_list reads;     /* names of its columns, which are those of facts */
    float *margin;       /* [rows, forest.outputs] by `forest`; NULL: not made yet */
    float *shares;       /* [rows, outputs of the job, columns + 1] of an explanation; NULL: none was asked for */
    weft_tensor answers; /* [rows, outputs of the job] */
    train_metrics metrics;
    train_model model;
} trees_job;

static inline char *trees_column_name(const trees_job *job, int column)
{
    return job->rows.table.schema.field[job->rows.field[column]].name;
}

/* fit, save and load of the kind. */
weft_status trees_fit(workload *work, const fit_services *services, train_result *result);
/* trees_plan.c: bounds the memory of columns while a table is opened (table_request.room), unless numbers are read
 * again after they became bins. Collective. */
weft_status trees_plan_room(const workload *work, table_request *request);
/* trees_workload.c: takes what rows should answer, for training and for scores: before the first of either. Does
 * nothing if it is taken. Local. */
weft_status trees_take_answers(workload *work);
/* Makes work->memory, and refuses what does not fit. Collective. */
weft_status trees_plan_memory(workload *work);
/* Reads demands on columns into job->options. */
weft_status trees_constrain(workload *work);
weft_status trees_save(const workload *work, const char *path);
weft_status trees_load(workload *work, const char *path, const void *bytes, size_t count);
/* The forest of a trained model, and its facts, which say what columns are read. */
weft_status trees_read(trees_job *job, const saved_model *model);
weft_status trees_recognise(saved_model *model, const weft_options *given);
/* Answers from margins [rows, outputs of the forest]; those of two classes are 0 and the margin. */
weft_status trees_answer(trees_job *job, const float *margin, weft_tensor *logits);
/* Slots of the kind (workload_ops). */
weft_status trees_explain(const workload *work, const explain_request *how, int64_t step, const float **contribution,
                          int64_t *rows);
const char *trees_input_name(const workload *work, int64_t input);
weft_status trees_input_values(const workload *work, int64_t input, float *value);
weft_status trees_detail(const workload *work, workload_detail which, void **word, int64_t *width);
void trees_drawings(const workload *work, json_writer *json);
/* Returns true if numbers of the table are read again after they became bins: by other options, or to make groups. */
bool trees_keeps_numbers(const workload *work);
weft_status trees_column(const workload *work, const char *flag, const char *name, workload_column *column);
/* Seconds of a tree on 1 to 128 ranks, of a dry run; in trees_scaling.c. */
void trees_print_scaling(const workload *work, FILE *out);
void trees_note_labels(workload *work);
