/*
 * tune/search/history.h: the trials of a search, by number, and the configurations that they run.
 *
 * Trials of equal values share a configuration, whose score is the mean of those that ended.
 */
#pragma once

#include "tune/space/space.h"

typedef enum trial_state { TRIAL_RUNNING, TRIAL_ENDED, TRIAL_STOPPED, TRIAL_FORGOTTEN } trial_state;

typedef struct search_trial {
    int config;
    trial_state state;
    double value; /* INFINITY: diverged */
    int64_t step; /* at which it was stopped */
} search_trial;

typedef struct search_config {
    int first;          /* its first trial */
    int ended, running; /* of its trials */
    int diverged;       /* of those that ended */
    double sum;         /* of the values of those that ended and did not diverge */
} search_config;

typedef struct search_history {
    const search_space *space;
    search_trial *trial;
    search_config *config;
    int *end_order;               /* [ended]: trials in the order in which they ended */
    double *values, *coordinates; /* [configs, dimensions] */
    int trials, configs, ended, stopped;
    int trial_room, config_room, order_room, values_room, coordinates_room;
} search_history;

/* [out] trial: its number. */
weft_status history_begin(search_history *history, const double *values, int *trial);
weft_status history_end(search_history *history, int64_t trial, trial_state state, double value, int64_t step);
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
