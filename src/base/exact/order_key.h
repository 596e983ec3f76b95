/* base/exact/order_key.h: float32 as whole numbers of 32 bits with the same order, for sorts and searches by digits. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Any x but NaN; -0 has the key of 0. */
static inline uint32_t order_key(float x)
{
    uint32_t bits;
    x += 0.0F;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

static inline float order_key_number(uint32_t key)
{
    const uint32_t bits = (key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
