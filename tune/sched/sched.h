/*
 * tune/sched/sched.h: schedulers of hyper-parameter search: which trial trains next, how far, and when it ends.
 *
 * A scheduler is a state machine without clock, file or thread: the same calls in the same order give the same
 * decisions and the same sched_digest, so a journal of the calls (tune/journal) is all that a search has to keep.
 *
 *     WEFT_TRY(sched_open(&desc, &sched));
 *     WEFT_TRY(sched_next(sched, &work));                       a group of ranks is free: what does it do?
 *     WEFT_TRY(sched_report(sched, work.trial, epoch, accuracy, &decision));
 *
 * Resource is what training costs, in a unit that the caller counts in whole numbers (epochs, rounds of boosting). Each
 * trial begins at 0 and is trained in full at max_resource. Trials are numbered 0, 1, ... in the order of their start.
 *
 * kind           a trial that reports                                                source
 * fifo           goes on to max_resource
 * median         stops if its best is worse than the median of the others' means       Ray, MedianStoppingRule
 * median-optuna  stops if its best is worse than the median of completed trials        Optuna, MedianPruner
 * asha-stop      stops if it is outside the best 1/reduction at a rung                 Ray, ASHAScheduler
 * asha-optuna    the same, by counting                                                 Optuna, SuccessiveHalvingPruner
 * asha           pauses at each rung; the best 1/reduction are resumed                 Li et al., MLSys 2020
 * pasha          as asha, with rungs added while the order of trials changes           Bohdal et al., ICLR 2023
 * hyperband      pauses at each rung of its bracket until all trials of the rung came  Li et al., JMLR 18(185), 2018
 * pbt            pauses at each interval; the worst go on from the best                Jaderberg et al., 2017
 *
 * Rungs are grace, grace * reduction, grace * reduction^2, ... below max_resource, and max_resource. A value that is no
 * finite number means that the trial diverged: it is stopped, and counts as the worst of the rung to which it was
 * going (asha-stop, asha-optuna and the medians leave it out, as their sources do). Under pbt it goes on from another
 * trial.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"

#define SCHED_KINDS(X)                                                                                                 \
    X(SCHED_KIND_FIFO, "fifo")                                                                                         \
    X(SCHED_MEDIAN, "median")                                                                                          \
    X(SCHED_MEDIAN_OPTUNA, "median-optuna")                                                                            \
    X(SCHED_HYPERBAND, "hyperband")                                                                                    \
    X(SCHED_ASHA, "asha")                                                                                              \
    X(SCHED_ASHA_STOP, "asha-stop")                                                                                    \
    X(SCHED_ASHA_OPTUNA, "asha-optuna")                                                                                \
    X(SCHED_PASHA, "pasha")                                                                                            \
    X(SCHED_PBT, "pbt")
typedef enum sched_kind { SCHED_KINDS(CHOICE_VALUE) } sched_kind;

#define SCHED_DECISIONS(X)                                                                                             \
    X(SCHED_CONTINUE, "continue")                                                                                      \
    X(SCHED_PAUSE, "pause")                                                                                            \
    X(SCHED_STOP, "stop")                                                                                              \
    X(SCHED_COMPLETE, "complete")
/* CONTINUE: train on. PAUSE: keep a checkpoint, for sched_next may resume the trial. STOP: it never goes on. COMPLETE:
 * it reached max_resource. */
typedef enum sched_decision { SCHED_DECISIONS(CHOICE_VALUE) } sched_decision;

#define SCHED_ACTIONS(X)                                                                                               \
    X(SCHED_START, "start")                                                                                            \
    X(SCHED_RESUME, "resume")                                                                                          \
    X(SCHED_WAIT, "wait")                                                                                              \
    X(SCHED_DONE, "done")
/* WAIT: nothing until a running trial reports. DONE: nothing at all, unless sched_limit allows more trials. */
typedef enum sched_action { SCHED_ACTIONS(CHOICE_VALUE) } sched_action;

typedef enum sched_state { SCHED_RUNNING, SCHED_PAUSED, SCHED_STOPPED, SCHED_COMPLETED, SCHED_REMOVED } sched_state;

/* Fields that the kind does not use must be 0: sched_open refuses what would do nothing. */
typedef struct sched_desc {
    sched_kind kind;
    bool maximise;        /* the larger value is the better one */
    int64_t max_resource; /* of a full training, 1 to 2^40 */
    int64_t grace;        /* first rung, or first resource at which a trial may stop; 0: sched_default_grace */
    int64_t reduction;    /* 2 and above; 0: 3. Of the kinds with rungs */
    int64_t brackets;     /* hyperband: the first so many brackets only, 1: synchronous halving; 0: all */
    int64_t interval;     /* pbt: resource between two exchanges */
    int trials;           /* most trials that are started; 0: any number. pbt: the population, 4 and above */
    uint64_t seed;        /* pbt */
} sched_desc;

typedef struct sched_work {
    sched_action action;
    int trial;     /* START: its number. RESUME: which. -1 otherwise */
    int64_t from;  /* resource of the checkpoint at which training begins; 0: at the start */
    int64_t until; /* resource to which it may train without a decision in between: where it pauses or is complete */
    int source;    /* pbt: the trial whose checkpoint, of resource `from`, is taken; -1: its own */
    bool whole;    /* START by sched_start_whole */
} sched_work;

typedef struct sched_trial {
    sched_state state;
    bool diverged;
    bool whole;         /* started by sched_start_whole */
    int rung;           /* rungs at which it has been recorded */
    int bracket;        /* hyperband: number of its bracket */
    int source;         /* pbt: trial from which it last took weights; -1: none */
    int64_t resource;   /* of the last report; 0: none yet */
    int64_t until;      /* see sched_work */
    double value, best; /* last and best finite value; NaN: none */
    int64_t best_resource;
} sched_trial;

typedef struct sched sched;

/* Every function: one thread at a time. WEFT_ERR_USAGE: a field is out of range or does nothing. WEFT_ERR_RESOURCE:
 * memory; after it the scheduler can only be closed. */
weft_status sched_open(const sched_desc *desc, sched **out);
void sched_close(sched *s); /* NULL is allowed */

/* What a free group of ranks does next. START and RESUME make the trial a running one; WAIT and DONE change nothing. */
weft_status sched_next(sched *s, sched_work *work);

/* Starts a trial beyond the limit that trains to max_resource without a pause, such as a leading configuration with
 * another seed; rungs do not hear of it. Of the kinds asha and pasha. */
weft_status sched_start_whole(sched *s, sched_work *work);

/*
 * A running trial has trained to `resource` and measured `value`. Reports may leave out resources, also rungs; one at
 * or below the trial's last resource, as it comes after a restart from a checkpoint, changes nothing and is answered
 * CONTINUE. WEFT_ERR_USAGE: there is no such trial, or it does not run, or resource is below 1.
 */
weft_status sched_report(sched *s, int trial, int64_t resource, double value, sched_decision *decision);

/* Takes a running or paused trial out for good: it failed, or was cancelled. WEFT_ERR_USAGE: no such trial, or it has
 * ended. */
weft_status sched_remove(sched *s, int trial);

/* Sets how many trials are started in all; 0: any number. A finished search goes on if there may be more.
 * WEFT_ERR_USAGE: pbt, whose population is fixed. */
weft_status sched_limit(sched *s, int trials);

int sched_trials(const sched *s);
/* Trials that train now. */
int sched_running(const sched *s);
/* Facts of trial 0 .. sched_trials - 1; valid until the next call that changes the scheduler. */
const sched_trial *sched_trial_at(const sched *s, int trial);
/* The description with defaults filled in. */
const sched_desc *sched_desc_of(const sched *s);
/* The trial with the best value of all reports, the first of equal ones; -1: none has reported a finite value. */
int sched_leader(const sched *s);
/* A number of the whole state: schedulers that would decide alike from now on have the same. */
uint64_t sched_digest(const sched *s);

/* The first rung if nobody says one: 6 % of max_resource, rounded, or `warmup`, the resource at which the learning
 * rate has stopped to rise, where that is more; 2 at least, for the order of trials after one epoch says little:
 * halving from epoch 1 of 52 on has twice the regret of halving from epoch 3 on (docs/howto-scheduler.md). */
int64_t sched_default_grace(int64_t max_resource, int64_t warmup);

/* Resource of rung k = 0, 1, ...; 0: there is none. Of the kinds asha, asha-stop, asha-optuna and pasha. */
int64_t sched_rung_resource(const sched *s, int k);

/* ---- pbt ---- */

typedef struct sched_exploit {
    int trial, source;          /* the trial that went on, and from whose weights */
    int64_t resource;           /* of both */
    double value, source_value; /* of both; value is NaN if the trial had diverged */
} sched_exploit;

/* Every exchange of weights so far, in order. */
const sched_exploit *sched_lineage(const sched *s, int *count);

typedef struct sched_change {
    bool resample; /* true: take a new value, the `uniform` quantile of the parameter's own distribution */
    double factor; /* else multiply by it: 1.2 or 0.8; a parameter of words goes to its next one, or the one before */
    double uniform;
} sched_change;

/* How the configuration of a trial that was just resumed from a source changes in one dimension of the space. */
sched_change sched_explore(const sched *s, int trial, int dimension);
