/* base/exact/exp_series.h: the exponential function in plain arithmetic. */
#pragma once

#include <stdint.h>
#include <string.h>

/* exp(x) = 2^n exp(r) with |r| <= ln 2 / 2, whose series ends with r^12 / 12!: it is wrong by some 2^-52 of itself.
 * Written so that loops over rows become vectors: adding 1.5 * 2^52 rounds to a whole number and leaves it in the low
 * bits. */
static inline double exp_series(double x)
{
    const double to_whole = 6755399441055744.0;
    const double below = x > 700.0 ? 700.0 : x, bounded = below < -700.0 ? -700.0 : below;
    const double shifted = bounded * 1.4426950408889634 + to_whole;
    const double n = shifted - to_whole;
    const double r = (bounded - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double sum = 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52; /* the bits of 2^n */
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}
