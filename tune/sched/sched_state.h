/*
 * tune/sched/sched_state.h: what the kinds of schedulers share: trials, ladders of rungs, curves.
 *
 * Inside, a score stands for a value: the larger one is the better, whatever the direction.
 */
#pragma once

#include "base/alloc.h"
#include "tune/sched/sched.h"

extern weft_mem_tag WEFT_MEM_SCHED[1];

enum { SCHED_RUNGS_MOST = 48 };

/* An entry waits to be promoted, or was, or belongs to a trial that ended. */
typedef enum rung_state { RUNG_WAITS, RUNG_PROMOTED, RUNG_GONE } rung_state;

typedef struct rung_entry {
    double score; /* -infinity: the trial diverged or was removed on its way */
    int trial;
    rung_state state;
} rung_entry;

typedef struct sched_rung {
    int64_t resource;
    int count, capacity;
    rung_entry *entry; /* [count] best first; of equal ones the lower number first */
} sched_rung;

/* The rungs of a bracket, ascending. */
typedef struct sched_ladder {
    int rungs;
    int planned, started; /* hyperband: trials that begin here, and that have */
    bool closed;          /* hyperband: promotions have begun, so no trial joins any more */
    sched_rung rung[SCHED_RUNGS_MOST];
} sched_ladder;

/* Reports of a trial, of the kinds that need them all. */
typedef struct curve_point {
    int64_t resource;
    double score;
} curve_point;

typedef struct sched_curve {
    int count, capacity;
    curve_point *point;
} sched_curve;

typedef struct sched_rule sched_rule;

struct sched {
    sched_desc desc;
    const sched_rule *rule;
    int trials, trial_capacity, running;
    sched_trial *trial;
    int curve_capacity;
    sched_curve *curve; /* [trials] if the rule keeps curves */
    int ladders, ladder_capacity;
    sched_ladder *ladder;
    /* pasha: index of the top rung in use, and distances of crossing curves there */
    int top;
    double epsilon;
    int distances, distance_capacity;
    double *distance;
    /* pbt */
    int exploits, exploit_capacity;
    sched_exploit *exploit;
};

struct sched_rule {
    bool rungs, curves, grace;
    weft_status (*open)(sched *s); /* may be NULL */
    /* The trial's facts are those of the report already. *decision is CONTINUE; it becomes COMPLETE afterwards if it
     * stays that and the trial has reached max_resource. */
    weft_status (*report)(sched *s, int trial, double score, sched_decision *decision);
    weft_status (*next)(sched *s, sched_work *work);
    /* A trial diverged (*decision is STOP) or was removed (NULL). May be NULL. */
    weft_status (*left)(sched *s, int trial, sched_decision *decision);
};

extern const sched_rule sched_rule_fifo, sched_rule_median, sched_rule_median_optuna, sched_rule_hyperband,
    sched_rule_asha, sched_rule_asha_stop, sched_rule_asha_optuna, sched_rule_pasha, sched_rule_pbt;

/* ---- trials ---- */

static inline double sched_score(const sched *s, double value)
{
    return s->desc.maximise ? value : -value;
}

bool sched_may_start(const sched *s);
/* Fills in work for a new trial, for a paused one, or for none: WAIT while others run, else DONE. */
weft_status sched_start(sched *s, int64_t until, sched_work *work);
void sched_resume(sched *s, int trial, int64_t until, sched_work *work);
void sched_idle(const sched *s, sched_work *work);
/* `next` of the kinds that never pause: another trial if there may be one. */
weft_status sched_next_whole(sched *s, sched_work *work);

/* ---- rungs ---- */

/* Makes the ladder grace, grace * reduction, ..., max_resource. */
weft_status ladder_open_plain(sched *s);
weft_status ladder_add(sched *s, sched_ladder **out);
/* Records a score; the entry has this state. */
weft_status rung_add(sched_rung *rung, int trial, double score, rung_state state);
/* The entry of a trial; NULL: it was not recorded. */
rung_entry *rung_find(const sched_rung *rung, int trial);
/* Best entry that waits among the first `count`; NULL: none does. */
rung_entry *rung_waiting(const sched_rung *rung, int64_t count);
/* Number of entries with a finite score. */
int rung_alive(const sched_rung *rung);
/* `report` and `left` of the kinds that pause at rungs: record at every rung that was reached; the entries below the
 * highest count as promoted. */
weft_status ladder_report(sched *s, int trial, double score, sched_decision *decision);
weft_status ladder_left(sched *s, int trial, sched_decision *decision);
/* Resumes the trial of this entry of rung k, up to the next rung. */
void ladder_promote(sched *s, const sched_ladder *ladder, int k, rung_entry *entry, sched_work *work);

/* `next` of the kinds that promote out of order. */
weft_status asha_next(sched *s, sched_work *work);
