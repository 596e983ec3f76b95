/* base/permutation.h: a random-looking order of [0, n) in constant memory, the same everywhere. */
#pragma once

#include <stdint.h>

/* A bijection of [0, n), computed without a table. */
typedef struct permutation {
    uint64_t n;
    unsigned half_bits;
    uint32_t key[6];
} permutation;

/* n >= 1. purpose: of base/philox.h; epoch: 0, or one order for each. */
permutation permutation_make(uint64_t n, uint64_t seed, uint32_t purpose, uint32_t epoch);
uint64_t permute(const permutation *order, uint64_t i); /* i < n */
