/*
 * comm/codec/bf16.h: float32 to bfloat16 and back, one number at a time.
 *
 * bfloat16 is the upper half of a float32: rounding adds half of the lower half's range, plus one when the upper half
 * is odd, and cuts; a carry moves into the exponent and, past the largest number, to infinity. A NaN keeps its upper
 * bits and is made quiet, so that cutting cannot leave an infinity. Plain shifts and adds: compilers vectorise them for
 * every instruction set.
 */
#ifndef WEFT_COMM_CODEC_BF16_H
#define WEFT_COMM_CODEC_BF16_H

#include <stdint.h>
#include <string.h>

static inline uint16_t bf16_from_float(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

static inline float bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x = 0.0f;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
