/*
 * comm/core/timings.h: all-reduces timed on this machine, by algorithm and length, and what lies between them.
 *
 * One rate a resource (comm/core/cost.h) does not tell a vector in the caches from one in memory, nor one processor's
 * flags from another's. So inside a node every algorithm that could be chosen is timed as it runs, over the lengths
 * that occur; between two timed lengths seconds follow the straight line in logarithms. The model predicts the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

enum { TIMED_ALGORITHMS = COMM_ALGO_MASTER + 1, TIMED_SIZES = 14 };

typedef struct comm_timings {
    int32_t ranks;                                 /* of one node, all of the communicator's; 0: nothing was timed */
    double seconds[TIMED_ALGORITHMS][TIMED_SIZES]; /* of float32 vectors of timed_bytes(size) each; 0: not timed */
} comm_timings;

/* Length of timed vectors: 4 B, 16 B, ... 256 MiB for size 0 .. TIMED_SIZES - 1. */
int64_t timed_bytes(int size);

/*
 * Seconds of a vector of `bytes` by the algorithm. False when it was not timed, *seconds stays. Outside of the timed
 * lengths *at is the nearest of them and *seconds what it took; inside, *at == bytes.
 */
bool timings_find(const comm_timings *timings, comm_algorithm algorithm, int64_t bytes, double *seconds, int64_t *at);

/* Whether a choice still holds where chosen, the quickest by the timings, now takes chosen_seconds and the quickest of
 * the others best_seconds: both alike may be noise. */
bool timings_hold(double chosen_seconds, double best_seconds);
