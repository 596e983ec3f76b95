/*
 * base/integer/search.h: binary search.
 *
 *      int64_t place = offset[v];
 *      SEARCH_FIRST(place, offset[v + 1], column[at] < u);          place: the first entry of row v that is not below u
 */
#pragma once

#include <stdint.h>

/* Moves the variable `place` to the first `at` in [place, end) for which the condition `before` is false, or to `end`.
 * `before` is an expression of `at`, true up to some place and false from there on. */
#define SEARCH_FIRST(place, end, before)                                                                               \
    for (int64_t search_end = (end); (place) < search_end;) {                                                          \
        const int64_t at = (place) + (search_end - (place)) / 2;                                                       \
        if (before) {                                                                                                  \
            (place) = at + 1;                                                                                          \
        } else {                                                                                                       \
            search_end = at;                                                                                           \
        }                                                                                                              \
    }
