/*
 * embed/pool/key_order.h: the stable ascending order of the keys of a batch, by threads.
 *
 *     word     prefix 33 bits | position 31 bits
 *     prefix   the highest of the bits in which keys differ: 22 of them, or 33 where there are many keys
 *
 * A radix sort moves words of 8 bytes, two times for most batches, however long keys are: few keys share a prefix with
 * another. Those that do are sorted by what follows in the same way, or by insertion where they are few. Each thread
 * counts and moves a run of its own: the result is the same for any number of threads.
 */
#pragma once

#include <stdint.h>

enum { KEY_POSITION_BITS = 31 };

/* Where the key of a word stands. */
static inline int64_t key_position(uint64_t word)
{
    return (int64_t)(word & ((UINT64_C(1) << KEY_POSITION_BITS) - 1));
}

/* key [n], n < 2^31; word [n], other [n]: work. Returns whichever of the two holds the words in the order of keys. */
uint64_t *key_order(const uint64_t *key, int64_t n, uint64_t *word, uint64_t *other);
