/*
 * machine/thread_ranges.h: contiguous ranges of equal work for the threads of a parallel loop.
 */
#pragma once

#include <assert.h>
#include <omp.h>
#include <stdint.h>

#include "base/integer/search.h"

/* Parallel loops of the calling thread that do not name a number of threads have so many from now on. */
static inline void split_set_threads(int threads)
{
    omp_set_num_threads(threads);
}

/* The first item of thread t out of `threads` when all items cost the same. */
static inline int64_t split_even(int64_t items, int t, int threads)
{
    return items / threads * t + items % threads * t / threads;
}

/* The first row of thread t when row v costs its entries + 1: the smallest v with offset[v] + v >= share. */
static inline int64_t split_rows(const int64_t *offset, int64_t rows, int t, int threads)
{
    assert(rows >= 0 && t >= 0 && threads >= 1);
    int64_t share = split_even(offset[rows] - offset[0] + rows, t, threads);
    int64_t place = 0;
    SEARCH_FIRST(place, rows, offset[at] - offset[0] + at < share);
    return t >= threads ? rows : place;
}

/* In a parallel region: for each row of this thread, as split_rows cuts them. */
#define OWN_ROWS(row, offset, rows)                                                                                    \
    for (int64_t row = split_rows(offset, rows, omp_get_thread_num(), omp_get_num_threads()),                          \
                 own_end = split_rows(offset, rows, omp_get_thread_num() + 1, omp_get_num_threads());                  \
         row < own_end; ++row)

/* Threads worth starting for `work` elementary steps; at least 1. */
static inline int split_threads(int64_t work, int threads)
{
    int64_t useful = work / 32768 + 1;
    return useful < threads ? (int)useful : threads;
}
