/*
 * base/permutation.c: see base/permutation.h.
 *
 * A balanced Feistel network of six rounds is a bijection of [0, 4^h), the smallest such range that holds n; values
 * that fall outside [0, n) are sent through again until they fall inside (cycle walking, fewer than 4 steps on
 * average), which keeps it a bijection of [0, n). J. Black, P. Rogaway: Ciphers with arbitrary finite domains. CT-RSA
 * 2002, doi:10.1007/3-540-45760-7_9. Not meant for secrecy.
 */
#include "base/permutation.h"

#include <assert.h>

#include "base/philox.h"

enum { ROUNDS = 6 };

permutation permutation_make(uint64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch)
{
    permutation order = {.n = n, .half_bits = 1};
    while (order.half_bits < 32 && ((uint64_t)1 << (2 * order.half_bits)) < n) {
        ++order.half_bits;
    }
    assert(n >= 1);
    philox_block low = philox4x32(philox_counter(0, 0, purpose, epoch), seed);
    philox_block high = philox4x32(philox_counter(1, 0, purpose, epoch), seed);
    for (int round = 0; round < ROUNDS; ++round) {
        order.key[round] = round < 4 ? low.word[round] : high.word[round - 4];
    }
    return order;
}

/* The finaliser of MurmurHash3: every input bit reaches every output bit. */
static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    return x;
}

uint64_t permute(const permutation *order, uint64_t i)
{
    unsigned bits = order->half_bits;
    assert(i < order->n);
    uint32_t mask = bits >= 32 ? 0xffffffffu : ((uint32_t)1 << bits) - 1u;
    do {
        uint32_t left = (uint32_t)(i >> bits) & mask;
        uint32_t right = (uint32_t)i & mask;
        for (int round = 0; round < ROUNDS; ++round) {
            uint32_t next = left ^ (mix(right ^ order->key[round]) & mask);
            left = right;
            right = next;
        }
        i = ((uint64_t)left << bits) | right;
    } while (i >= order->n);
    return i;
}
