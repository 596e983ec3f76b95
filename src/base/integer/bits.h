/* base/integer/bits.h: counting bits without an instruction for it, which not every processor has that the program is
 * for: there the built-in is a call. */
#pragma once

#include <stdint.h>

static inline int bits_count(uint64_t word)
{
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int)(word * UINT64_C(0x0101010101010101) >> 56);
}
