/* base/integer/integers.h: the smaller and the larger of two integers, and rounding up to whole units. */
#pragma once

#include <stdint.h>

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* count, rounded up to whole units; both are positive, or count is 0. */
static inline int64_t whole(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit * unit;
}
