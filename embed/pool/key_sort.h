/*
 * embed/pool/key_sort.h: stable ascending sort of 64-bit keys with a number each, by threads.
 *
 * Radix sort from the lowest digit; digits lie where keys differ, 11 bits at most, so that keys of few fields and ids
 * take few passes. Each thread counts and moves a run of its own: the result is the same for any number of threads.
 */
#pragma once

#include <stdint.h>

typedef struct key_pair {
    uint64_t key;
    int64_t value;
} key_pair;

/* Sorts pair [n] with the help of other [n]. Returns whichever of the two holds the result. */
key_pair *key_sort(key_pair *pair, key_pair *other, int64_t n);
