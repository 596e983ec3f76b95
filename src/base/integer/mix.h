/* base/integer/mix.h: a number of which every bit depends on every bit of another: what hashes of keys end with. It is
 * the end of splitmix64, a bijection: G. Steele, D. Lea, C. Flood, OOPSLA 2014, doi:10.1145/2660193.2660195. */
#pragma once

#include <stdint.h>

static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}
