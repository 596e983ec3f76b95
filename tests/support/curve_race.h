/*
 * support/curve_race.h: searches on recorded learning curves: a scheduler, random configurations, a budget of epochs.
 *
 * Nothing is trained: a trial's report is the curve's value at that epoch. `workers` groups of ranks train an epoch
 * each per tick, until the budget is spent. The regret of a search is that of the best value that it saw, 0: the best
 * of all curves, 1: the median of their last epochs.
 */
#pragma once

#include "base/alloc.h"
#include "base/sample.h"
#include "io/npy.h"
#include "support/random.h"
#include "support/test.h"
#include "tune/sched/sched.h"

typedef struct curve_set {
    float *value; /* [tasks, curves, epochs] */
    int tasks, curves, epochs;
} curve_set;

/* False: there are no shared data. */
static inline bool curve_set_open(curve_set *set)
{
    const char *shared = getenv("WEFT_SHARED");
    char path[FILE_PATH_MAX];
    npz_file *npz = NULL;
    npy_array array;
    snprintf(path, sizeof path, "%s/data/hpo/lcbench-curves.npz", shared != NULL ? shared : "../shared");
    if (!file_exists(path)) {
        return false;
    }
    ASSERT_OK(npz_open(path, &npz));
    ASSERT_OK(npz_read(npz, npz_find(npz, "val_accuracy"), &array));
    ASSERT_OK(npy_array_to_f32("val_accuracy", &array, &set->value));
    set->tasks = (int)array.header.shape[0];
    set->curves = (int)array.header.shape[1];
    set->epochs = (int)array.header.shape[2];
    npy_array_free(&array);
    npz_close(npz);
    return true;
}

static inline float curve_at(const curve_set *set, int task, int curve, int epoch)
{
    return set->value[((int64_t)task * set->curves + curve) * set->epochs + epoch - 1];
}

/* Best of all values, and median of the last ones. */
static inline void curve_scale(const curve_set *set, int task, double *best, double *median)
{
    double *last = malloc((size_t)set->curves * sizeof *last);
    assert_non_null(last);
    *best = 0.0;
    for (int i = 0; i < set->curves; i++) {
        last[i] = curve_at(set, task, i, set->epochs);
        for (int e = 1; e <= set->epochs; e++) {
            *best = curve_at(set, task, i, e) > *best ? curve_at(set, task, i, e) : *best;
        }
    }
    sample_sort(last, set->curves);
    *median = sample_quantile(last, set->curves, 0.5);
    free(last);
}

enum { CURVE_WORKERS_MOST = 64 };

typedef struct curve_group {
    sched_work work;
    int64_t at;
} curve_group;

/* Trials are the curves in a random order. */
static inline int *curve_order(const curve_set *set, uint64_t *draws)
{
    int *order = malloc((size_t)set->curves * sizeof *order);
    assert_non_null(order);
    for (int i = 0; i < set->curves; i++) {
        const int j = (int)(test_random(draws) % (uint32_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

/* Regret of one search. `epochs`: the budget. [out] trials: that were started */
static inline double curve_race(const curve_set *set, int task, const sched_desc *desc, int workers, int64_t epochs,
                                uint64_t seed, int *trials)
{
    curve_group group[CURVE_WORKERS_MOST];
    sched *s = NULL;
    uint64_t draws = seed + 1;
    double best = 0.0, median = 0.0;
    int busy = 0;
    int *order = curve_order(set, &draws);
    curve_scale(set, task, &best, &median);
    sched_desc limited = *desc;
    limited.trials = set->curves;
    ASSERT_OK(sched_open(&limited, &s));
    while (epochs > 0) {
        sched_work work = {.action = SCHED_START};
        while (busy < workers && (work.action == SCHED_START || work.action == SCHED_RESUME)) {
            ASSERT_OK(sched_next(s, &work));
            if (work.action == SCHED_START || work.action == SCHED_RESUME) {
                group[busy++] = (curve_group){.work = work, .at = work.from};
            }
        }
        if (busy == 0) {
            break;
        }
        for (int i = busy - 1; i >= 0 && epochs > 0; i--, epochs--) {
            sched_decision decision;
            const int trial = group[i].work.trial;
            const double value = curve_at(set, task, order[trial], (int)++group[i].at);
            ASSERT_OK(sched_report(s, trial, group[i].at, value, &decision));
            if (decision != SCHED_CONTINUE) {
                group[i] = group[--busy];
            }
        }
    }
    *trials = sched_trials(s);
    const int leader = sched_leader(s);
    const double seen = sched_trial_at(s, leader)->best;
    sched_close(s);
    free(order);
    return (best - seen) / (best - median);
}
