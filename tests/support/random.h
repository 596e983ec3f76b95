/* support/random.h: numbers to test with, the same in every run: Knuth's MMIX, a 64-bit congruential generator. */
#pragma once

#include <stdint.h>

static inline uint64_t test_random_bits(uint64_t *state) /* the high ones are the good ones */
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state;
}

static inline uint32_t test_random(uint64_t *state) /* below 2^31 */
{
    return (uint32_t)(test_random_bits(state) >> 33);
}

static inline double test_uniform(uint64_t *state) /* [0, 1) */
{
    return (double)(test_random_bits(state) >> 11) * 0x1.0p-53;
}
