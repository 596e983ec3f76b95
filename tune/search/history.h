/*
 * tune/search/history.h: the trials of a search, by number, and the configurations that they run.
 *
 * Trials of equal values share a configuration, whose score is the mean of those that ended.
 */
#pragma once

#include "tune/search/front.h"
#include "tune/space/space.h"

/* PART: it has a value after a part of its training, and pauses there, trains on, or was stopped. */
typedef enum trial_state { TRIAL_RUNNING, TRIAL_PART, TRIAL_ENDED, TRIAL_FORGOTTEN } trial_state;

typedef struct search_trial {
    int config;
    trial_state state;
    double value; /* INFINITY: diverged */
    double share; /* of a full training, after which it has the value */
    bool again;   /* it runs a leading configuration again, as was planned */
} search_trial;

/* One value of a trial, after a share of a full training; 1: it ended. With several objectives the value is what
 * tune/search/scalar.h makes of them. */
typedef struct search_news {
    int trial;
    double share, value;
} search_news;

typedef struct search_config {
    int first;          /* its first trial */
    int ended, running; /* of its trials; one that runs has no value yet */
    int parts;          /* values after a part of a training, of all its trials */
    int diverged;       /* of those that ended */
    int again;          /* of those that ended, planned repeats; a searcher may propose equal values by chance, too */
    double sum;         /* of the values of those that ended and did not diverge */
} search_config;

typedef struct search_history {
    const search_space *space;
    search_trial *trial;
    search_config *config;
    search_news *news;            /* [told]: values in the order in which they were told */
    double *values, *coordinates; /* [configs, dimensions] */
    double *told_values;          /* [told, objectives] where there are several; less is better */
    int objectives;               /* 0 and 1: one */
    int trials, configs, told;
    int ended, parts; /* trials in these states */
    int trial_room, config_room, news_room, values_room, coordinates_room, told_room;
} search_history;

/* again: see search_trial. [out] trial: its number. */
weft_status history_begin(search_history *history, const double *values, bool again, int *trial);
/* state: TRIAL_PART, TRIAL_ENDED or TRIAL_FORGOTTEN; share: see search_trial. value [objectives]: the first one not
 * finite where the trial diverged. */
weft_status history_tell(search_history *history, int64_t trial, trial_state state, double share, const double *value);
void history_free(search_history *history);

static inline const double *history_coordinates(const search_history *history, int config)
{
    return history->coordinates + (int64_t)config * history->space->count;
}

static inline const double *history_values(const search_history *history, int config)
{
    return history->values + (int64_t)config * history->space->count;
}

static inline double history_coordinate(const search_history *history, int trial, int d)
{
    return history_coordinates(history, history->trial[trial].config)[d];
}

/* Adds a run that ended. */
void history_add(search_config *config, double value);
/* The mean of the runs that ended; INFINITY where most of them diverged. NaN: none ended. */
double history_score(const search_config *config);
