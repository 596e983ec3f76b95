/*
 * app/bench/pair.h: two ways of doing the same thing, timed in turns over all ranks, or one of them alone.
 *
 * Every sample starts after a barrier and counts what the slowest rank took. A sample of a short operation holds enough
 * of them to last 50 microseconds. The two sides alternate within a repetition, and which goes first alternates too, so
 * that whatever else the machine does hits both.
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
    bench_quartiles seconds, other; /* of one operation; other.count is 0 when there is no other side */
    double ratio;                   /* median over repetitions of other / seconds; NaN without the other side */
} bench_pair;

/* Seconds of one of `inner` operations, the same on every rank. comm NULL: of this process. Collective. */
weft_status bench_sample(weft_comm *comm, const bench_side *side, int inner, double *seconds);

/* other: NULL when there is nothing to compare with. After one repetition to warm up; ends early, after at least three
 * repetitions, when a minute has passed. Collective. */
weft_status bench_pair_measure(weft_comm *comm, const bench_side *side, const bench_side *other, int repeats,
                               bench_pair *result);

#endif
