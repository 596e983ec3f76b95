/*
 * app/bench/pair.h: the timer of all benches: one operation, or two in turns, on all ranks.
 *
 * Every sample starts after a barrier and lasts as long as on the slowest rank. A sample repeats a short operation
 * until it lasts 50 microseconds. The two sides alternate within a repetition, and the side that goes first alternates
 * too, so that other load on the machine hits both.
 */
#ifndef WEFT_APP_BENCH_PAIR_H
#define WEFT_APP_BENCH_PAIR_H

#include "app/bench/bench.h"
#include "comm/comm.h"

typedef struct bench_side {
    weft_status (*run)(void *argument);
    void *argument;
} bench_side;

typedef struct bench_pair {
    bench_quartiles seconds, other; /* seconds of one operation; other.count is 0 without another side */
    double ratio;                   /* median over repetitions of other / seconds; NaN without the other side */
} bench_pair;

/* [out] seconds: of one of `inner` operations, the same on every rank. comm NULL: this process alone. Collective. */
weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds);

/* Measures `repeats` repetitions after a warm-up. After a minute it stops, but not before three repetitions. other:
 * NULL if there is nothing to compare with. Collective. */
weft_status bench_pair_measure(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                               bench_pair *result);

#endif
