/*
 * app/bench/bench_time.h: the timer of all benches: one operation, or two in turns, on all ranks.
 *
 * Every sample starts after a barrier and lasts as long as on the slowest rank. A sample repeats a short operation
 * until it lasts 50 microseconds. The two sides alternate within a repetition, and the side that goes first alternates
 * too, so that other load on the machine hits both.
 */
#ifndef WEFT_APP_BENCH_BENCH_TIME_H
#define WEFT_APP_BENCH_BENCH_TIME_H

#include "comm/comm.h"

/* Statistics of the seconds of `count` repetitions; NaN if count is 0. */
typedef struct bench_quartiles {
    int count;
    double least, q1, median, q3;
} bench_quartiles;

/* An operation to time. */
typedef struct bench_side {
    weft_status (*run)(void *self); /* NULL: there is no such operation */
    void *self;
    const double *seconds; /* set by each run, if a part of it alone counts; NULL: the whole run counts */
} bench_side;

typedef struct bench_pair {
    bench_quartiles seconds, other; /* of one run */
    double ratio;                   /* median over repetitions of other / seconds; NaN without the other side */
} bench_pair;

/* Linear interpolation between neighbours; sorts `value`. */
bench_quartiles bench_quartiles_of(double *value, int count);

/* [out] seconds: of one of `inner` runs, the same on every rank. comm NULL: this process alone. Collective. */
weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds);

/* Measures `repeats` repetitions after a warm-up. After a minute it stops, but not before three repetitions. other:
 * NULL if there is nothing to compare with. Collective. */
weft_status bench_time(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                       bench_pair *result);

#endif
