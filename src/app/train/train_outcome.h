/*
 * app/train/train_outcome.h: what a training reached, measured: the baseline, figures by class or task of the
 * predictions that were written, and the facts behind the warnings of app/train/outcome.h.
 *
 * Class counts and the confusion matrix are integers, summed over the ranks' own rows, so they are exact on any number
 * of ranks. Memory: 24 bytes a class, and 8 bytes x classes^2 up to OUTCOME_CLASSES_MAX of them.
 */
#pragma once

#include "app/predict/score_table.h"
#include "app/train/outcome.h"
#include "app/workload/workload.h"
#include "io/json.h"
#include "train/fit/fit.h"

enum {
    OUTCOME_CLASSES_MAX = 1024, /* of which a table is made; weft eval makes one of any number */
    OUTCOME_CLASSES_TOLD = 256, /* whose figures stand in summary.json */
    OUTCOME_MATRIX_MAX = 64,    /* classes of a confusion matrix there */
    OUTCOME_PAIRS_MAX = 20      /* pairs of classes that are confused most */
};

typedef struct train_outcome {
    const char *split_cure; /* the workload's; set as rows */
    const char *test_cure;  /* the same */
    const char *guess_cure; /* the same */
    const char *rows;       /* the workload's word for them: "vertices"; set before it is measured */
    train_habits habits;    /* of the training's options */
    bool mixed;             /* the ranks compute on different backends */
    bool no_rate;           /* training was not by gradients */
    train_metric metric;
    int64_t counted[TRAIN_SPLITS]; /* labelled rows */
    int64_t classes;               /* or 0 */
    int64_t *by_class;             /* [TRAIN_SPLITS, classes] labelled rows */
    int64_t largest;               /* class of the training split; -1: none */
    double baseline[TRAIN_SPLITS]; /* NaN: an empty split */
    bool tabled;
    score_table table;     /* of the test split, or the first of validation and training that has rows */
    outcome_losses losses; /* rank 0 */
} train_outcome;

/* From the logits that were written, as score_table_make takes them. Collective. */
weft_status train_outcome_measure(const workload *work, train_metric metric, const weft_tensor *view,
                                  const float *logits, train_outcome *outcome);
void train_outcome_destroy(train_outcome *outcome);

/* Rank 0, of a training that is resumed: the losses of the epochs before. What cannot be read is not watched. */
void train_outcome_recall(train_outcome *outcome, const char *metrics);

/* Warnings of app/train/outcome.h about a finished training. [out] line; returns the count. Rank 0. */
int train_outcome_warnings(const train_outcome *outcome, const weft_options *options, const train_result *result,
                           char line[OUTCOME_LINES][OUTCOME_BYTES]);
/* Rank 0, of a finished training. A line each on stdout; an object "outcome" of summary.json. */
void train_outcome_print(const train_outcome *outcome, const weft_options *options, const train_result *result);
void train_outcome_write(json_writer *json, const train_outcome *outcome, const weft_options *options,
                         const train_result *result);
