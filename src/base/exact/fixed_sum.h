/*
 * base/exact/fixed_sum.h: sums of real numbers in whole numbers of 64 bits, whose order does not matter.
 *
 * A number is rounded to a multiple of 2^-shift, with the largest shift at which `count` numbers of magnitude `most`
 * stay below 2^62. The sum of n numbers is then wrong by at most n 2^-(shift + 1), which is most * n * count / 2^62.
 */
#pragma once

#include <math.h>
#include <stdint.h>

typedef struct fixed_sum {
    double scale, step; /* 2^shift and its inverse */
} fixed_sum;

static inline fixed_sum fixed_sum_of(double most, int64_t count)
{
    int exponent = 0;
    (void)frexp(most * (double)(count > 1 ? count : 1), &exponent);
    const int shift = most > 0.0 ? 61 - exponent : 0;
    return (fixed_sum){.scale = ldexp(1.0, shift), .step = ldexp(1.0, -shift)};
}

static inline int64_t fixed_of(const fixed_sum *sum, double x)
{
    return (int64_t)llrint(x * sum->scale);
}

static inline double fixed_value(const fixed_sum *sum, int64_t total)
{
    return (double)total * sum->step;
}
