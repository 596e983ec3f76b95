/*
 * train/checkpoint/keeper.h: when a training is written down, and how it goes on from there: the loop's side of checkpoints.
 *
 * Wishes (a signal, a time limit, an interval) come up on any rank at any moment. They ride on the all-reduce of the
 * loss, which every step has, so that all ranks stop and write after the same step without a message of their own; a
 * wish that comes later in the step is heard in the next one. A checkpoint that is due and cannot be written is a
 * warning, and the earlier one stays; one that shall end the job must be written, or the job ends with that failure.
 *
 * Cost of a checkpoint: with --sync allreduce rank 0's own writing; otherwise every rank's parameters, moments and
 * residuals travel to rank 0, one rank after the other. Nothing between checkpoints.
 */
#ifndef WEFT_TRAIN_CHECKPOINT_KEEPER_H
#define WEFT_TRAIN_CHECKPOINT_KEEPER_H

#include "train/checkpoint/checkpoint.h"
#include "train/replica.h"

/* The caller's plan for checkpoints: pointers stay the caller's. */
typedef struct train_checkpoints {
    const char *folder;          /* RUN_DIR/ckpt */
    const weft_options *options; /* listed in the manifest; NULL: none */
    const char *data_hash;       /* of what is trained on: up to 32 characters, whose meaning is the caller's */
    int threads;
    int64_t every_epochs; /* 0: not by count */
    double every_s;       /* 0: not by time */
    double stop_at;       /* clock_seconds(): end before this, by rank 0's clock; 0: no limit */
    void *self;
    bool (*asked_to_stop)(void *self);       /* by a signal; on any rank; NULL: never */
    weft_status (*before_write)(void *self); /* rank 0: what lies beside the checkpoint must be as far as it; NULL */
    const checkpoint *resume;                /* rank 0: go on from here; NULL: from the beginning, and on other ranks */
} train_checkpoints;

enum { KEEPER_WISHES = 2 };

typedef struct train_keeper {
    weft_comm *comm;
    const train_checkpoints *plan; /* NULL: no checkpoints */
    train_replica *replica;
    weft_tensor *best;
    double written_at, step_at; /* clock_seconds() of the last checkpoint, and of the last wish */
    bool due, stop;             /* heard in this step */
} train_keeper;

/* replica and best live as long as the keeper. */
void keeper_open(weft_comm *comm, const train_checkpoints *plan, train_replica *replica, weft_tensor *best,
                 train_keeper *keeper);
/* What this rank wants, to be summed over ranks, and the sums. trained: epochs over all runs once this step is done; 0:
 * it does not end one. */
void keeper_wish(train_keeper *keeper, int64_t trained, double wish[KEEPER_WISHES]);
void keeper_hear(train_keeper *keeper, const double sum[KEEPER_WISHES]);

/*
 * After a step, an epoch, or a run (progress->run_ended): write what was asked for. over: nothing follows, so that
 * stopping has no meaning and the last checkpoint is written whenever any are. WEFT_STOPPED after a good checkpoint
 * that was asked for in order to stop. Collective.
 */
weft_status keeper_keep(train_keeper *keeper, const train_progress *progress, bool over);

/* The progress to go on from, on all ranks: into progress and its result[runs]; *resumed: there is one. Collective. */
weft_status keeper_find(const train_keeper *keeper, int runs, train_progress *progress, bool *resumed);
/* Parameters, moments, the mode's memory and the best parameters, as they were. progress: from keeper_find. After
 * replica_reset. Collective. */
weft_status keeper_restore(train_keeper *keeper, const train_progress *progress);

#endif
