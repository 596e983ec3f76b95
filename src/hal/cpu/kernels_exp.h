/* hal/cpu/kernels_exp.h: the exponential of kernels, which vectors of any width compute alike. */
#pragma once

#include <stdint.h>

/*
 * exp(x) for x <= 0, within 2 ulp; 0 below -87.3, NaN passes. x = k ln 2 + r with |r| <= ln 2 / 2, a polynomial for
 * exp(r), and k put into the exponent's bits.
 */
static inline float exp_negative(float x)
{
    const float to_integer = 12582912.0F; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    float clamped = x < -88.0F ? -88.0F : x;
    union {
        float value;
        uint32_t bits;
    } shifted = {.value = clamped * 1.44269504F + to_integer};
    float k = shifted.value - to_integer;
    float r = clamped - k * 0.693145752F - k * 1.42860677e-6F;
    float p = 1.98756915e-4F;
    p = p * r + 1.39819995e-3F;
    p = p * r + 8.33345191e-3F;
    p = p * r + 4.16657959e-2F;
    p = p * r + 1.66666655e-1F;
    p = p * r + 5.00000012e-1F;
    p = p * r * r + r + 1.0F;
    union {
        uint32_t bits;
        float value;
    } power = {.bits = (shifted.bits + 127u) << 23};
    return x < -87.3F ? 0.0F : p * power.value;
}
