/*
 * train/fit/observer.h: who hears how a training goes.
 *
 * Observers are a list, called in its order on every rank; the observer decides which rank writes. Every call may be
 * NULL. An observer that fails ends the training, and those behind it are not called.
 *
 *     const train_observer log = {.self = &mine, .on_epoch = write_line};
 *     const train_observer first = {.self = report, .on_epoch = draw, .next = &log};
 */
#pragma once

#include "comm/comm.h"
#include "comm/sync/sync.h"
#include "train/checkpoint/checkpoint.h"
#include "train/model.h"
#include "train/precondition.h"
#include "train/skew/skew_rule.h"

/* Bytes and messages that this rank sent. */
typedef struct train_traffic {
    uint64_t bytes[COMM_LANES], messages[COMM_LANES];
    uint64_t group_bytes, group_messages; /* over the groups of ranks that a sync mode made for itself */
} train_traffic;

/* One epoch; a kind of training without steps or gradients leaves what it does not have at 0. */
typedef struct train_epoch {
    int run;             /* from 0 */
    int64_t epoch;       /* from 1 */
    int64_t step, steps; /* steps done, and steps of the epoch */
    double loss;         /* mean over the rows of the steps done, each before its own update */
    double lr;           /* learning rate of the last step */
    bool evaluated;
    double score[TRAIN_SPLITS]; /* train, valid, test after the update */
    double epoch_s;             /* seconds of the training steps of this start */
    double begin_s;             /* of a run's first epoch: seconds that its beginning took before */
    double eval_s;
    uint64_t comm_bytes;   /* this rank sent in the epoch, evaluation included */
    train_traffic traffic; /* comm_bytes by lane */
    uint64_t halo_bytes;   /* rows of replicas that this rank sent in the training steps, without evaluation */
    int64_t staleness;     /* train_model's, after the training steps */
    train_scaling scaling; /* after the training steps */
    bool preconditioned;   /* `precondition` is set: figures of the last step, seconds of the epoch */
    precondition_figures precondition;
    skew_figures skew;     /* of the last check of the skew guard */
    double comm_exposed_s; /* seconds in which this rank stood still for communication, evaluation included */
    sync_mode sync;        /* the mode that runs */
    sync_figures figures;  /* of the synchronisation, since the start */
    uint64_t allocations;  /* made during the epoch, without those of checkpoints within it */
} train_epoch;

typedef struct train_observer {
    void *self;
    /* Before the first epoch. from: the checkpoint's progress that the training goes on from, or NULL. */
    weft_status (*on_start)(void *self, const train_progress *from);
    /* After a step that is not an epoch's last: run, epoch, step, steps, loss and lr are set. */
    weft_status (*on_step)(void *self, const train_epoch *epoch);
    weft_status (*on_epoch)(void *self, const train_epoch *epoch);
    weft_status (*on_run)(void *self, int run, const train_run *result);
    const struct train_observer *next; /* the next of the list; NULL: the last */
} train_observer;

/* Call every observer of the list, which may be empty (NULL). */
weft_status train_tell_start(const train_observer *list, const train_progress *from);
weft_status train_tell_step(const train_observer *list, const train_epoch *epoch);
weft_status train_tell_epoch(const train_observer *list, const train_epoch *epoch);
weft_status train_tell_run(const train_observer *list, int run, const train_run *result);
