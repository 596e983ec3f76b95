/* io/half.h: 16-bit floats as files hold them, widened to float32; exact. */
#ifndef WEFT_IO_HALF_H
#define WEFT_IO_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* IEEE 754 binary16. */
static inline float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31;
    int fraction = half & 1023;
    float magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                      : exponent == 0 ? ldexpf((float)fraction, -24)
                                      : ldexpf((float)(fraction + 1024), exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

/* bfloat16: the upper half of a float32. */
static inline float bfloat16_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
