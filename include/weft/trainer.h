/*
 * weft/trainer.h: train a model, as `weft train` does.
 *
 *     weft_options *options = NULL;
 *     weft_train_result result;
 *     ...weft_options_create("train", &options), weft_options_set(options, "data", "cora.weft")...
 *     if (weft_train(options, &result) == WEFT_OK && result.rank == 0) {
 *         printf("test %.2f %%\n", 100.0 * result.test_mean);
 *     }
 *
 * Nothing goes to standard output; progress goes to the log on stderr (option quiet silences it).
 * weft_train_watched() hands every epoch to the program, which may end the training with a checkpoint.
 */
#ifndef WEFT_TRAINER_H
#define WEFT_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/options.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of a training, the same on every rank except where it says otherwise. Scores are fractions from 0 to 1:
 * accuracy, or ROC-AUC where the option metric or the labels ask for it. Deviations are unbiased (0 for one run). */
typedef struct weft_train_result {
    int rank;                      /* this process, 0 to ranks - 1 */
    int ranks, threads;            /* threads: of this rank */
    int runs;                      /* option runs; 0 after a dry run */
    double test_mean, test_std;    /* over runs: the test score at the epoch of the best validation score */
    double valid_mean, valid_std;  /* over runs: the best validation score. NaN: no labelled vertex in the split */
    double epoch_s_median;         /* seconds of an epoch without evaluation, on this rank */
    double epoch_s_q1, epoch_s_q3; /* its quartiles */
    double seconds;                /* of the training loop, on this rank */
    int64_t epochs;                /* over all runs */
    int64_t parameters;            /* of the model; 0 after a dry run */
    double replication_factor;     /* of the partition; 0 with one rank */
    uint64_t predicted_peak_bytes; /* memory of this rank, predicted before it was taken */
    char run_dir[4096]; /* folder with metrics.jsonl, summary.json, weights.npz, predictions.npy; "" after a dry
                           run */
} weft_train_result;

/*
 * Train. Collective over all processes of the job; opens a context of its own (weft/context.h tells what that changes,
 * and why a program that trains more than once under a launcher keeps one open).
 *   options  [in]   of the command "train"; data is needed. Rank 0's count on every rank
 *   result   [out]  all zero on failure
 * Files are written to the folder run-dir, or to a new weft-run-NNNN below the current folder. With dry-run on, memory
 * and partition are planned and nothing is trained.
 *
 * WEFT_ERR_USAGE: an option is wrong, missing, or run-dir already holds a run (option force replaces it) or is another
 * job's at present;
 * WEFT_ERR_NOINPUT, WEFT_ERR_DATA: the graph is absent or malformed; WEFT_ERR_DIVERGED: the loss became infinite or NaN
 * in the named epoch (lower the learning rate); WEFT_ERR_RESOURCE: needs more memory than there is or memory-limit
 * allows (use more ranks on more nodes); WEFT_ERR_IO, WEFT_ERR_PERMISSION: the run's files cannot be written;
 * WEFT_ERR_LAUNCH: see weft_context_create; WEFT_ERR_STALL: a rank was not heard of for stall-timeout seconds;
 * WEFT_STOPPED: the time of option max-hours is over and a checkpoint is written, option resume goes on from it.
 *
 * Most failures are agreed on and return on every rank. One that a single rank meets in mid-training, such as a full
 * disk on rank 0, leaves the others waiting until stall-timeout: a program that does not want to wait ends the job
 * (MPI_Abort) when weft_train fails, as the command does. A process with a limit of file sizes (ulimit -f) is killed by
 * SIGXFSZ at the first write beyond it; a program that ignores that signal, as the command does, gets WEFT_ERR_IO.
 */
weft_status weft_train(const weft_options *options, weft_train_result *result);

/* One epoch of a training. Scores are fractions as in weft_train_result; NaN: the epoch was not evaluated, or the split
 * has no labels. */
typedef struct weft_train_epoch {
    int run;                   /* from 0 */
    int64_t epoch;             /* from 1 */
    double loss;               /* mean over the epoch's rows, each before its own update */
    double lr;                 /* learning rate of the last step; 0 where the model has none */
    double epoch_s;            /* seconds of the training steps */
    double train, valid, test; /* scores after the update */
} weft_train_epoch;

/* Functions of the program that a training calls, on the thread that called weft_train_watched; each may be NULL. */
typedef struct weft_train_watch {
    void *self; /* handed to both */
    /* After every epoch, on every rank. The epoch is valid during the call. */
    void (*on_epoch)(void *self, const weft_train_epoch *epoch);
    /* After every step, on every rank: true on any rank ends the training with a checkpoint, and WEFT_STOPPED. */
    bool (*asked_to_stop)(void *self);
} weft_train_watch;

/* weft_train(), and the program hears of each epoch. watch: NULL: as weft_train. Collective. */
weft_status weft_train_watched(const weft_options *options, const weft_train_watch *watch, weft_train_result *result);

#ifdef __cplusplus
}
#endif
#endif
