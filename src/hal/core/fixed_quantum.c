/* hal/core/fixed_quantum.c: the scales of sums in fixed point; see hal/hal.h. */
#include <assert.h>
#include <math.h>

#include "hal/hal.h"

/* A quantum, its inverse and its products with sums are ordinary numbers of float32. */
enum { LEAST_EXPONENT = -100, MOST_EXPONENT = 96 };

int32_t hal_fixed_most(int64_t entries)
{
    const int64_t most = entries > 1 ? INT32_MAX / entries : INT32_MAX;
    return most < INT16_MAX ? (int32_t)most : INT16_MAX;
}

float hal_fixed_quantum(float largest, int32_t most)
{
    assert(most >= 1 && most <= INT16_MAX && !(largest < 0.0f));
    if (!isfinite(largest)) {
        return NAN;
    }
    if (largest == 0.0f) {
        return 1.0f;
    }
    int exponent;
    frexp((double)largest / most, &exponent); /* 2^(exponent - 1) <= largest / most < 2^exponent, but for rounding */
    exponent -= (double)largest <= ldexp(most, exponent - 1);
    exponent = exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT;
    return exponent <= MOST_EXPONENT ? ldexpf(1.0f, exponent) : NAN;
}
