/*
 * train/checkpoint/keeper.h: when a training is written down, and how it goes on from there: a training's side of
 * checkpoints.
 *
 * Wishes (a signal, a time limit, an interval) come up on any rank at any moment. They ride on the all-reduce of the
 * loss, which every step has, so that all ranks stop and write after the same step without a message of their own; a
 * wish that comes later in the step is heard in the next one. A checkpoint that is due and cannot be written is a
 * warning, and the earlier one stays; one that shall end the job must be written, or the job ends with that failure.
 *
 * What a checkpoint holds is told by a keeper_content: replicas (train/checkpoint/keeper_state.h), or files of a kind's
 * own.
 *
 * Cost of a checkpoint of replicas: with --sync allreduce rank 0's own writing; otherwise every rank's parameters,
 * moments and residuals travel to rank 0, one rank after the other, as they do where a rank has parameters of its own
 * or a preconditioner remembers something. Nothing between checkpoints.
 */
#ifndef WEFT_TRAIN_CHECKPOINT_KEEPER_H
#define WEFT_TRAIN_CHECKPOINT_KEEPER_H

#include "train/checkpoint/checkpoint.h"

/* The caller's plan for checkpoints: pointers stay the caller's. */
typedef struct train_checkpoints {
    const char *folder;           /* RUN_DIR/ckpt */
    const weft_options *options;  /* listed in the manifest; NULL: none */
    const input_moments *moments; /* of the model's inputs; NULL: none */
    const char *data_hash;        /* of what is trained on: up to 32 characters, whose meaning is the caller's */
    int threads;
    int64_t every_epochs; /* 0: not by epochs */
    int64_t every_steps;  /* 0: not by steps */
    double every_s;       /* 0: not by time */
    /* clock_seconds(): by rank 0's clock the last checkpoint is to be complete before this; 0: no limit. Foreseen are a
     * step like the last one, and evaluations and a checkpoint like the longest so far. */
    double stop_at;
    void *self;
    bool (*asked_to_stop)(void *self);       /* by a signal; on any rank; NULL: never */
    weft_status (*before_write)(void *self); /* rank 0: what lies beside the checkpoint must be as far as it; NULL */
    const checkpoint *resume;                /* rank 0: go on from here; NULL: from the beginning, and on other ranks */
} train_checkpoints;

/* What a checkpoint holds of a training beside its progress and results. */
typedef struct keeper_content {
    void *self;
    const char *name; /* what kind of content it is, up to 31 characters; NULL: parameters of replicas */
    /* Write files into `folder` (rank 0; NULL on the others). best: there is a best epoch. [out] written: why rank 0
     * could not write (WEFT_OK on the others); the status is about ranks and messages alone. Collective. */
    weft_status (*gather)(void *self, const char *folder, bool best, weft_status *written);
    /* Everything becomes what it was at `progress`. ck: rank 0's checkpoint, NULL on the others. WEFT_ERR_DATA, on all
     * ranks: what the checkpoint holds cannot be, or does not fit. Collective. */
    weft_status (*restore)(void *self, const checkpoint *ck, const train_progress *progress);
    /* Adds to the manifest's facts. NULL: nothing. */
    void (*describe)(const void *self, checkpoint_facts *facts);
} keeper_content;

enum { KEEPER_WISHES = 2 };

typedef struct train_keeper {
    weft_comm *comm;
    const train_checkpoints *plan; /* NULL: no checkpoints */
    const keeper_content *content;
    const checkpoint *from;     /* rank 0: the checkpoint to go on from: plan->resume, or `older`; NULL: none */
    checkpoint *older;          /* the keeper's own, once plan->resume proved damaged; NULL: none */
    double written_at, step_at; /* clock_seconds() of the last checkpoint, and of the last wish */
    double aside_s;             /* seconds since the last wish that were no step: evaluations, checkpoints */
    double longest_evaluation_s, longest_write_s;
    bool due, stop; /* heard in this step */
} train_keeper;

/* Where a training stands once a step is done. */
typedef struct keeper_place {
    int64_t steps;   /* over all runs */
    int64_t trained; /* epochs over all runs, where the step ends one; else 0 */
    int evaluations; /* from the step's end to that of the step after it, with its own */
} keeper_place;

/* plan (NULL: no checkpoints) and content live as long as the keeper. */
void keeper_open(weft_comm *comm, const train_checkpoints *plan, const keeper_content *content, train_keeper *keeper);
void keeper_close(train_keeper *keeper); /* a zeroed one is fine */
/* What this rank wants after the step that is under way, to be summed over ranks, and the sums. */
void keeper_wish(train_keeper *keeper, keeper_place place, double wish[KEEPER_WISHES]);
void keeper_hear(train_keeper *keeper, const double sum[KEEPER_WISHES]);
/* An evaluation took so long. */
void keeper_evaluated(train_keeper *keeper, double seconds);

/*
 * After a step, an epoch, or a run (progress->run_ended): write what was asked for. over: nothing follows, so that
 * stopping has no meaning and the last checkpoint is written whenever any are. WEFT_STOPPED after a good checkpoint
 * that was asked for in order to stop. Collective.
 */
weft_status keeper_keep(train_keeper *keeper, const train_progress *progress, bool over);

/* The progress to go on from, on all ranks: into progress and its result[runs]; *resumed: there is one. WEFT_ERR_USAGE:
 * the checkpoint's content is of another name. Collective. */
weft_status keeper_find(const train_keeper *keeper, int runs, train_progress *progress, bool *resumed);
/* The content as it was there (keeper_content.restore). progress: from keeper_find. Collective. */
weft_status keeper_restore(train_keeper *keeper, const train_progress *progress);
/* After that: go on from the checkpoint before it, with a warning that names the defect, by keeper_find and
 * keeper_restore once more. WEFT_ERR_DATA: there is none. Collective. */
weft_status keeper_step_back(train_keeper *keeper);

#endif
