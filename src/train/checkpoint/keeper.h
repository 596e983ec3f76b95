/*
 * train/checkpoint/keeper.h: the keeper decides when a training writes a checkpoint, and puts a training back to one.
 *
 * A wish for a checkpoint (a signal, a time limit, an interval) may come up on any rank at any moment. Wishes are
 * summed over the ranks once a step, with the loss, so that all ranks stop and write after the same step. A wish that
 * comes up behind that sum is heard in the next step. If a checkpoint cannot be written, a warning says so and the one
 * before it stays; if the job should end with that checkpoint, the job ends with the failure instead.
 *
 * A keeper_content says what a checkpoint holds: replicas (train/checkpoint/keeper_state.h), or files of a kind of
 * model that has no parameters (train/fit/fit.h).
 *
 * Cost of a checkpoint of replicas: with --sync allreduce rank 0's own writing; otherwise every rank's parameters,
 * moments and residuals travel to rank 0, one rank after the other, as they do where a rank has parameters of its own
 * or a preconditioner remembers something. Nothing between checkpoints.
 */
#pragma once

#include "train/checkpoint/checkpoint.h"

/* The caller's plan for checkpoints: pointers stay the caller's. */
typedef struct train_checkpoints {
    const char *folder;           /* RUN_DIR/ckpt */
    const weft_options *options;  /* the manifest lists them; NULL: none */
    const input_moments *moments; /* moments of the model's inputs; NULL: none */
    const char *data_hash;        /* hash of the training data: up to 32 characters, whose meaning is the caller's */
    int threads;                  /* threads of a rank */
    int64_t every_epochs;         /* epochs between checkpoints; 0: epochs do not matter */
    int64_t every_steps;          /* steps between checkpoints; 0: steps do not matter */
    double every_s;               /* seconds between checkpoints; 0: time does not matter */
    bool passing;                 /* nobody goes on from the end: a training that is over writes none */
    /* The last checkpoint must be complete at this clock_seconds() of rank 0; 0: no limit. The keeper assumes a next
     * step as long as the last one, and evaluations and a checkpoint as long as the longest so far. */
    double stop_at;
    void *self;
    /* Returns true if a signal asked this rank to stop. NULL: nobody asks. */
    bool (*asked_to_stop)(void *self);
    /* Rank 0, before a checkpoint: brings the files beside it as far as the checkpoint. NULL: there are none. */
    weft_status (*before_write)(void *self);
    /* Rank 0: the checkpoint to go on from; NULL on other ranks, and where training begins at the beginning. */
    const checkpoint *resume;
} train_checkpoints;

/* What a checkpoint holds of a training beside its progress and results. */
typedef struct keeper_content {
    void *self;
    const char *name; /* the kind of content, up to 31 characters; NULL: parameters of replicas */
    /* Writes files into `folder` of rank 0 (NULL on the others). best: the run has a best epoch. [out] written: rank
     * 0's failure to write, WEFT_OK on the others; the returned status concerns ranks and messages alone.
     * Collective. */
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

/* The place of a training at the end of a step. */
typedef struct keeper_place {
    int64_t steps;   /* steps done over all runs */
    int64_t trained; /* epochs done over all runs if the step ends an epoch, else 0 */
    int evaluations; /* evaluations between the end of this step and the end of the next */
} keeper_place;

/* plan (NULL: no checkpoints) and content live as long as the keeper. */
void keeper_open(weft_comm *comm, const train_checkpoints *plan, const keeper_content *content, train_keeper *keeper);
void keeper_close(train_keeper *keeper); /* a zeroed one is fine */
/* [out] wish: this rank's wishes for the end of the step that is under way. The caller sums them over the ranks. */
void keeper_wish(train_keeper *keeper, keeper_place place, double wish[KEEPER_WISHES]);
/* sum: the wishes of all ranks. */
void keeper_hear(train_keeper *keeper, const double sum[KEEPER_WISHES]);
/* Notes the seconds of an evaluation, which is no part of a step. */
void keeper_evaluated(train_keeper *keeper, double seconds);

/*
 * After a step, an epoch, or a run (progress->run_ended): writes the checkpoint that the ranks wished for. over: the
 * training ends here, so nobody can stop it any more, and a last checkpoint is written if the plan has an interval.
 * WEFT_STOPPED: a rank wished to stop, and the checkpoint is written. Collective.
 */
weft_status keeper_keep(train_keeper *keeper, const train_progress *progress, bool over);

/* [out] progress, with result[runs], of the checkpoint to go on from, on all ranks. [out] resumed: false where there is
 * none. WEFT_ERR_USAGE: the checkpoint has content of another name, or more runs. Collective. */
weft_status keeper_find(const train_keeper *keeper, int runs, train_progress *progress, bool *resumed);
/* Restores the content of the checkpoint (keeper_content.restore). progress: from keeper_find. Collective. */
weft_status keeper_restore(train_keeper *keeper, const train_progress *progress);
/* After keeper_restore returned WEFT_ERR_DATA: takes the checkpoint before it, with a warning that names the defect.
 * Call keeper_find and keeper_restore again. WEFT_ERR_DATA: no earlier checkpoint is good. Collective. */
weft_status keeper_step_back(train_keeper *keeper);
