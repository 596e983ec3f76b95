/*
 * train/fit/fit.h: runs and epochs of a training, whatever an epoch does.
 *
 * A kind of model that is not trained by gradients, such as boosted trees, fills in a fit_method, and gets from
 * fit_rounds what every training has: runs with seeds of their own, evaluations, the best epoch, --patience, observers
 * (the run folder's lines are one of them), and checkpoints: by interval, by a signal, before a time is up, and the way
 * back from one.
 *
 *     for run in runs                     seed + run
 *         begin
 *         for epoch in epochs
 *             epoch                       one pass over the data, one tree, one sweep ...
 *             evaluate, keep_best         every eval_every epochs, and after the last
 *             observers                   a line of metrics.jsonl
 *             save                        where a checkpoint is due, or somebody asked to stop
 *     use_best
 *
 * The loop by gradients (train/loop/loop.h) is a fit_method, too: it opens a fit_run of its own, as it looks for wishes
 * to stop after every step. Every function below is collective; statuses of a method's functions need not be agreed
 * between the ranks where they concern one rank alone: fit_rounds agrees on them.
 *
 *     weft_status fit(workload *work, const fit_services *services, train_result *result)
 *     {
 *         const fit_method method = {.self = work->self, .name = "trees", .begin = begin, .epoch = grow, ...};
 *         return fit_rounds(services, &method, result);
 *     }
 */
#pragma once

#include "train/checkpoint/keeper.h"
#include "train/fit/observer.h"
#include "train/fit/result.h"
#include "train/score/metrics.h"

/* What a training is given, by options that every kind has. Pointers stay the caller's. */
typedef struct fit_services {
    weft_comm *comm;
    const train_observer *observers;      /* the first of the list, or NULL */
    const train_checkpoints *checkpoints; /* NULL: no checkpoint is written, and nobody can ask to stop */
    int64_t epochs;                       /* of a run */
    int runs;
    uint64_t seed;      /* run r uses seed + r */
    int64_t eval_every; /* epochs between evaluations; 0: after the last epoch only */
    int64_t patience;   /* evaluations without a better validation score that end a run; 0: never */
    train_metric metric;
} fit_services;

/* How a kind of model is trained. */
typedef struct fit_method {
    void *self;
    const char *name; /* what its checkpoints are of, up to FIT_NAME_MAX characters; NULL: parameters of a replica */
    int64_t steps;    /* of an epoch; 0: 1 */
    /* The model becomes what it is before the first epoch of a run. */
    weft_status (*begin)(void *self, uint64_t seed);
    /* One epoch, or what is left of it after a checkpoint; fills in record->loss. */
    weft_status (*epoch)(void *self, uint64_t seed, train_epoch *record);
    /* Fills in record->score: train, valid and test, the same on all ranks; NaN for a split without rows. */
    weft_status (*evaluate)(void *self, uint64_t seed, train_epoch *record);
    /* The model as it is now is the best of the run; and it becomes again what it was then. */
    weft_status (*keep_best)(void *self);
    weft_status (*use_best)(void *self);
    /* Everything that a checkpoint must hold, as files in `folder`, which is empty and rank 0's (NULL on the others);
     * and back from such files. WEFT_ERR_DATA from load: the files cannot be of this model. */
    weft_status (*save)(void *self, const char *folder);
    weft_status (*load)(void *self, const char *folder);

    /* ---- NULL or false: it has no such thing ---- */

    const keeper_content *content; /* what a checkpoint holds, in place of save and load */
    bool hears;                    /* epoch asks for wishes itself, and calls fit_keep_within after each step */
    /* A run is over. [out] drift: how far the ranks' models parted. */
    weft_status (*end)(void *self, double *drift);
    /* Figures of the synchronisation so far. [out] running: its mode. */
    sync_figures (*figures)(void *self, sync_mode *running);
} fit_method;

enum { FIT_NAME_MAX = 31 };

/* A training under way. Not moved while it is open. */
typedef struct fit_run {
    const fit_services *services;
    const fit_method *method;
    train_keeper keeper;
    keeper_content content; /* of save and load */
    train_progress progress;
    train_times times;
    uint64_t kept_allocations; /* by checkpoints within the epoch */
    double begin_s;            /* seconds that the run's beginning took; 0: they are in an epoch's record */
    bool resumed;              /* the next run is a checkpoint's, and everything stands as it did there */
    double drift;              /* the largest of the runs' ends */
} fit_run;

/*
 * Train: the model ends at the best epoch of the last run. [out] result: result->run is the caller's (weft_free).
 * WEFT_STOPPED: ended early after a good checkpoint, as somebody asked (train/checkpoint/keeper.h); the result has the
 * epochs so far. WEFT_ERR_USAGE: the checkpoint is another method's, or lies within an epoch of another number of
 * steps.
 */
weft_status fit_rounds(const fit_services *services, const fit_method *method, train_result *result);

/* ---- for a method that looks for wishes within its epochs ---- */

/* fit->times is open (train_times_open), the rest zeroed; services and method live as long as it. Local. */
void fit_open(const fit_services *services, const fit_method *method, fit_run *fit);
void fit_close(fit_run *fit); /* a zeroed one is fine */
/* All runs. Into a zeroed result, which has its statistics where the status is WEFT_OK or WEFT_STOPPED. */
weft_status fit_all(fit_run *fit, train_result *result);
/* Returns where the step that is under way leads to, for keeper_wish. */
keeper_place fit_place(const fit_run *fit);
/* After a step that is not the epoch's last: the checkpoint that was asked for. Its memory is no allocation of the
 * epoch. */
weft_status fit_keep_within(fit_run *fit);
