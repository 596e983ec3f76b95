/*
 * base/half.h: float32 to 16-bit floats and back, one number at a time: to nearest, ties to even; a NaN stays one.
 * bfloat16 also downwards and upwards.
 *
 *      float32    sign | 8 bits of exponent, bias 127 | 23 bits
 *      fp16       sign | 5 bits, bias 15 | 10 bits         IEEE 754 binary16, with the bits of the F16C instructions
 *      bfloat16   sign | 8 bits, bias 127 | 7 bits         the upper half of a float32
 *
 * bfloat16: rounding adds half of the lower half's range, plus one when the upper half is odd, and cuts; a carry moves
 * into the exponent and, past the largest number, to infinity. A NaN keeps its upper bits and is made quiet, so that
 * cutting cannot leave an infinity. Plain shifts and adds: compilers vectorise them for every instruction set.
 *
 * fp16: the exponent of normal numbers is rebiased and the lower 13 bits are rounded away; a carry moves into the
 * exponent and, past 65504, to infinity. Below 2^-14 the significand is shifted until the exponent is that of the
 * denormals, then rounded. A NaN keeps its upper bits and is made quiet.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/isa.h"

WEFT_DEVICE static inline uint16_t bf16_from_float(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

WEFT_DEVICE static inline float bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x = 0.0f;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The largest bfloat16 that is not above x, which is finite: cutting moves towards zero, below which magnitudes
 * grow. */
WEFT_DEVICE static inline uint16_t bf16_below(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + (bits >> 31) * 0xffffu) >> 16);
}

/* The smallest one that is not below x. */
WEFT_DEVICE static inline uint16_t bf16_above(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + (1 - (bits >> 31)) * 0xffffu) >> 16);
}

/* x / 2^shift to nearest, ties to even; 1 <= shift <= 31. */
WEFT_DEVICE static inline uint32_t fp16_round(uint32_t x, uint32_t shift)
{
    uint32_t half = (uint32_t)1 << (shift - 1);
    return (x + half - 1u + ((x >> shift) & 1u)) >> shift;
}

WEFT_DEVICE static inline uint16_t fp16_from_float(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t exponent = magnitude >> 23;
    uint32_t out = 0;
    if (magnitude > 0x7f800000u) {
        out = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    } else if (magnitude >= 0x47800000u) { /* 2^16 */
        out = 0x7c00u;
    } else if (exponent >= 113) { /* 2^-14: 65520 and more round to the pattern of infinity */
        out = fp16_round(magnitude - (112u << 23), 13);
    } else if (exponent >= 102) { /* 2^-25, half of the smallest denormal */
        out = fp16_round((magnitude & 0x7fffffu) | 0x800000u, 126u - exponent);
    }
    return (uint16_t)(sign | out);
}

WEFT_DEVICE static inline float fp16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1fu;
    uint32_t fraction = h & 0x3ffu;
    uint32_t bits = 0;
    float x = 0.0f;
    if (exponent == 31) {
        bits = 0x7f800000u | (fraction << 13) | (fraction != 0 ? 0x400000u : 0u);
    } else if (exponent > 0) {
        bits = ((exponent + 112u) << 23) | (fraction << 13);
    } else {
        x = (float)fraction * 0x1p-24f;
        memcpy(&bits, &x, sizeof bits);
    }
    bits |= sign;
    memcpy(&x, &bits, sizeof x);
    return x;
}
