/* hal/cpu/kernels_exp.h: the exponential of kernels, and the curves made of it, which vectors of any width compute
 * alike. */
#pragma once

#include <stdint.h>

#include "hal/op_args.h"

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

/* 1 / (1 + exp(-x)), from the exponential that cannot overflow; a NaN passes. */
static inline float exp_sigmoid(float x)
{
    const float e = exp_negative(x < 0.0F ? x : -x);
    const float high = 1.0F / (1.0F + e);
    return x < 0.0F ? e * high : high;
}

/* The share of a normal distribution that is below x, within 1.5e-7, of density = exp(-x * x / 2): M. Abramowitz, I.
 * Stegun: Handbook of mathematical functions, 7.1.26. */
static inline float exp_normal_share(float x, float density)
{
    const float t = 1.0F / (1.0F + 0.231641900F * (x < 0.0F ? -x : x)); /* 0.3275911 / sqrt(2) */
    float p = 1.061405429F;
    p = p * t - 1.453152027F;
    p = p * t + 1.421413741F;
    p = p * t - 0.284496736F;
    p = p * t + 0.254829592F;
    const float tail = 0.5F * p * t * density;
    return x < 0.0F ? tail : 1.0F - tail;
}

/* A curve (hal/op_args.h) and its slope, of its output or of its input. */
static inline __attribute__((always_inline)) float curve_value(hal_curve curve, float x)
{
    switch (curve) {
    case HAL_CURVE_GELU:
        return x * exp_normal_share(x, exp_negative(-0.5F * x * x));
    case HAL_CURVE_SILU:
        return x * exp_sigmoid(x);
    case HAL_CURVE_SIGMOID:
        return exp_sigmoid(x);
    case HAL_CURVE_RELU6:
        return x < 0.0F ? 0.0F : x > 6.0F ? 6.0F : x;
    }
    return x;
}

static inline __attribute__((always_inline)) float curve_slope(hal_curve curve, float known)
{
    const float density = exp_negative(-0.5F * known * known);
    const float share = exp_sigmoid(known);
    switch (curve) {
    case HAL_CURVE_GELU:
        return exp_normal_share(known, density) + 0.398942280F * known * density;
    case HAL_CURVE_SILU:
        return share * (1.0F + known * (1.0F - share));
    case HAL_CURVE_SIGMOID:
        return known * (1.0F - known);
    case HAL_CURVE_RELU6:
        return known > 0.0F && known < 6.0F ? 1.0F : 0.0F;
    }
    return 1.0F;
}
