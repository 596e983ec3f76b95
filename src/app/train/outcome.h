/*
 * app/train/outcome.h: what a training reached, judged by figures alone: the warnings below its result.
 *
 * The baseline of accuracy is a classifier that answers the largest class of the training split for every row; of
 * equally large classes, the one with most validation rows. Its accuracy on a split is that class's share of the split.
 * The baseline of ROC-AUC is a guess, 0.5. The rules are one table, and each is a function of the facts:
 *
 *     empty split     no labelled rows in the validation or the test split
 *     one class       the training split has labels of one class alone
 *     undefined       ROC-AUC of a split in which no task has both labels
 *     hardly better   the score is less than a tenth of the way from the baseline to 1; or, of accuracy, less than two
 *                     standard errors of the baseline's share above it, sqrt(p (1 - p) / n); or both are 1
 *     early           the best epoch is one of the first three, or of the first twentieth, of 20 or more
 *     jump            a loss more than twice the smallest before it, by more than a twentieth of the first epoch's
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { OUTCOME_LINES = 8, OUTCOME_BYTES = 640 };

/* The losses of a job as they come, runs from 0 one after the other. Start from all zero. */
typedef struct outcome_losses {
    int run;             /* that is watched, from 1; 0: none yet */
    double first, least; /* of that run */
    bool jumped;         /* that run, already */
    int runs_jumped;     /* over all runs */
    int worst_run;       /* of the largest jump, from 0 */
    int64_t worst_epoch;
    double from, to; /* its losses: the smallest before it, and at it */
} outcome_losses;

void outcome_watch(outcome_losses *losses, int run, int64_t epoch, double loss);

/* Is the best of these epochs early enough to wonder? A score of 1 cannot rise any more. */
bool outcome_is_early(int64_t best_epoch, int64_t epochs, double best_score);

typedef struct outcome_facts {
    const char *metric;    /* metric_kind.text */
    bool numbers;          /* targets are numbers */
    bool shares;           /* accuracy: the baseline is a share of `test_rows` */
    int64_t train_classes; /* classes with a labelled row in the training split; 0: labels are tasks */
    double valid, test;    /* means over the runs */
    double valid_baseline, test_baseline;
    int64_t valid_rows, test_rows; /* labelled */
    const char *rows;              /* the word for rows, in the plural: "vertices" */
    const char *split_cure;        /* how data get a validation split that has some */
    const char *test_cure;         /* and a test split */
    const char *guess_cure;        /* what else makes a score that is no better than a guess; "": nothing */
    int runs;
    int early_runs, early_run;      /* how many were best early; the first of them, from 0 */
    int64_t early_epoch, early_end; /* of that one: its best epoch and its last */
    outcome_losses losses;
    double lr;
    bool no_rate;            /* training was not by gradients: advice on rates and dropout would be void */
    bool normed, normalized; /* --norm and --normalize are in use, or the kind has no such option */
    bool input_dropped;      /* --input-dropout is in use */
    bool old_gradients;      /* rows of gradients are used again in later epochs */
    double drift;            /* of the ranks' parameters (train/replica.h) */
    bool mixed;              /* the ranks compute on different backends, which round differently */
} outcome_facts;

/* [out] line; the count. */
int outcome_warn(const outcome_facts *facts, char line[OUTCOME_LINES][OUTCOME_BYTES]);
