/* comm/core/timings.c: see comm/core/timings.h. */
#include "comm/core/timings.h"

#include <assert.h>
#include <math.h>

int64_t timed_bytes(int size)
{
    assert(size >= 0 && size < TIMED_SIZES);
    return INT64_C(4) << (2 * size);
}

/* The timed length at or beside `size` in steps of `step`; out of range when there is none. */
static int next_timed(const double *seconds, int size, int step)
{
    while (size >= 0 && size < TIMED_SIZES && seconds[size] <= 0.0) {
        size += step;
    }
    return size;
}

bool timings_find(const comm_timings *timings, comm_algorithm algorithm, int64_t bytes, double *seconds, int64_t *at)
{
    assert((int)algorithm >= 0 && (int)algorithm < TIMED_ALGORITHMS);
    const double *timed = timings->seconds[algorithm];
    int above = 0;
    while (above < TIMED_SIZES && timed_bytes(above) < bytes) {
        ++above;
    }
    int below = above < TIMED_SIZES && timed_bytes(above) == bytes ? above : above - 1;
    below = next_timed(timed, below, -1);
    above = next_timed(timed, above, 1);
    if (below < 0 && above >= TIMED_SIZES) {
        return false;
    }
    if (below < 0 || above >= TIMED_SIZES || below == above) {
        const int only = below < 0 ? above : below;
        *seconds = timed[only];
        *at = timed_bytes(only);
        return true;
    }
    const double low = log((double)timed_bytes(below));
    const double share = (log((double)bytes) - low) / (log((double)timed_bytes(above)) - low);
    *seconds = exp((1.0 - share) * log(timed[below]) + share * log(timed[above]));
    *at = bytes;
    return true;
}

bool timings_hold(double chosen_seconds, double best_seconds)
{
    const double loss = 2.0;
    return chosen_seconds <= loss * best_seconds;
}
