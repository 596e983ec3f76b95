/*
 * embed/rows/row_lookup.h: from keys to the numbers of their rows: open addressing with linear probing.
 *
 *     hash        a bijection of 64 bits, seeded: keys with equal low bits are as good as any others
 *     stripe      hash >> 58: 64 tables that grow by themselves; a thread changes whole stripes
 *     home slot   the rest of the hash, scaled to the stripe's slots: slots are in the order of hashes, so that a table
 *                 of any size serves and growing reads and writes from front to back
 *     slot        key u64 | what 40 bits, stamp 24 bits: a cache line holds four
 *
 *     what        0: empty    1 to 2^39 - 1: row + 1    2^39 + n: no row yet, seen n times
 *     stamp       the batch of the last sighting, modulo 2^24
 *
 * At most 7 of 10 slots are taken: a key that is there is found after 2.2 slots on average, an absent one after 6.
 * Eight stripes are a group, which has one block, so that it lies in huge pages, and grows as a whole.
 * Sizes of stripes are one series: half more, and a quarter more of large ones. So a key of many takes 23 to 29 bytes,
 * and the number of keys tells how many. Counts are exact: cells of a few bits would be smaller (3 bytes a key), but
 * which keys they confuse depends on which other keys a rank owns.
 *
 * Functions on one stripe may run beside those on others; row_lookup_find beside any that change nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    ROW_STRIPES = 64,
    ROW_GROW_TOGETHER = 8, /* stripes of a group */
    ROW_GROUPS = ROW_STRIPES / ROW_GROW_TOGETHER,
    ROW_STAMP_BITS = 24,
    ROW_BLOCK = 64
};
#define ROW_STAMP_MASK ((UINT64_C(1) << ROW_STAMP_BITS) - 1)
#define ROW_WAITING    (UINT64_C(1) << 39)
#define ROW_COUNT_MOST (ROW_WAITING - 1)

typedef struct row_slot {
    uint64_t key;
    uint64_t mark; /* what << 24 | stamp; 0: empty */
} row_slot;

typedef struct row_stripe {
    row_slot *slot; /* [capacity] */
    int64_t capacity, used;
} row_stripe;

typedef struct row_lookup {
    uint64_t secret;
    row_stripe stripe[ROW_STRIPES]; /* those of a group have equal capacities */
    row_slot *group[ROW_GROUPS];    /* slots of a group's stripes, one stripe after the other */
} row_lookup;

static inline uint64_t row_mark(uint64_t what, int64_t batch)
{
    return what << ROW_STAMP_BITS | ((uint64_t)batch & ROW_STAMP_MASK);
}

static inline uint64_t row_what(const row_slot *slot)
{
    return slot->mark >> ROW_STAMP_BITS;
}

/* Batches since the last sighting. */
static inline int64_t row_age(const row_slot *slot, int64_t batch)
{
    return (int64_t)(((uint64_t)batch - slot->mark) & ROW_STAMP_MASK);
}

/* The mixer of MurmurHash3 (A. Appleby, public domain) on the key and the secret. */
static inline uint64_t row_hash(const row_lookup *index, uint64_t key)
{
    uint64_t h = key ^ index->secret;
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

static inline int row_stripe_of(uint64_t hash)
{
    return (int)(hash >> 58);
}

static inline int64_t row_home(uint64_t hash, int64_t capacity)
{
    return (int64_t)((unsigned __int128)(hash << 6) * (uint64_t)capacity >> 64);
}

/* Keys that so many slots of a stripe hold before it grows. */
static inline int64_t row_stripe_limit(int64_t capacity)
{
    return capacity / 10 * 7;
}

/* Slots of a stripe of so many that grows to hold `keys`: the next of the series that is large enough. */
int64_t row_stripe_more(int64_t capacity, int64_t keys);

weft_status row_lookup_open(uint64_t seed, row_lookup *index);
void row_lookup_close(row_lookup *index);
int64_t row_lookup_bytes(const row_lookup *index);
int64_t row_lookup_slots(const row_lookup *index);
static inline int64_t row_lookup_group_slots(const row_lookup *index, int group) /* of each of its stripes */
{
    return index->stripe[group * ROW_GROW_TOGETHER].capacity;
}
/* Slots of an index of so many keys. */
int64_t row_lookup_expected(int64_t keys);

/* slot [n <= ROW_BLOCK]: of each key its slot, or the empty one where it would stand. */
void row_lookup_find(const row_lookup *index, const uint64_t *key, int n, row_slot **slot);

/* Puts keys of one stripe with their marks, over those they have. The stripe has room. */
void row_lookup_put(row_lookup *index, int stripe, const uint64_t *key, const uint64_t *mark, int64_t n);

/* Grows stripes of groups to capacity[g] slots each where that is more than they have. A group exists twice while it
 * grows. WEFT_ERR_RESOURCE: that group and those behind it are as they were. */
weft_status row_lookup_grow(row_lookup *index, const int64_t capacity[ROW_GROUPS]);

/* Removes slots of a stripe for which `leaves` returns true, which is asked once or twice a slot. */
typedef bool row_leaves(row_slot *slot, void *context);
void row_lookup_sweep(row_lookup *index, int stripe, row_leaves *leaves, void *context);
