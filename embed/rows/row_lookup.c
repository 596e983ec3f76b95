/* embed/rows/row_lookup.c: slots of keys in stripes; see the header for the layout. */
#include "embed/rows/row_lookup.h"

#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "base/philox.h"
#include "embed/rows/row_store.h"
#include "machine/thread_ranges.h"

enum { SLOTS_LEAST = 20, SLOTS_MANY = 1 << 12 };

/* Empty stripes of so many slots. */
static weft_status make_group(int64_t capacity, row_slot **block, row_stripe stripe[ROW_GROW_TOGETHER])
{
    WEFT_TRY(WEFT_NEW_ZERO(block, ROW_GROW_TOGETHER * capacity, WEFT_MEM_ROWS));
    for (int i = 0; i < ROW_GROW_TOGETHER; ++i) {
        stripe[i] = (row_stripe){.slot = *block + i * capacity, .capacity = capacity};
    }
    return WEFT_OK;
}

weft_status row_lookup_open(uint64_t seed, row_lookup *index)
{
    const philox_block block = philox4x32(philox_counter(0, 0, WEFT_RNG_ROWS, 0), seed);
    *index = (row_lookup){.secret = (uint64_t)block.word[0] << 32 | block.word[1]};
    for (int g = 0; g < ROW_GROUPS; ++g) {
        WEFT_TRY(make_group(SLOTS_LEAST, &index->group[g], &index->stripe[g * ROW_GROW_TOGETHER]));
    }
    return WEFT_OK;
}

void row_lookup_close(row_lookup *index)
{
    for (int g = 0; g < ROW_GROUPS; ++g) {
        weft_free(index->group[g]);
    }
}

int64_t row_lookup_slots(const row_lookup *index)
{
    int64_t slots = 0;
    for (int s = 0; s < ROW_STRIPES; ++s) {
        slots += index->stripe[s].capacity;
    }
    return slots;
}

int64_t row_stripe_more(int64_t capacity, int64_t keys)
{
    do {
        capacity += capacity / (capacity < SLOTS_MANY ? 2 : 4);
    } while (row_stripe_limit(capacity) < keys);
    return capacity;
}

int64_t row_lookup_expected(int64_t keys)
{
    const int64_t of_stripe = keys / ROW_STRIPES;
    return ROW_STRIPES *
           (row_stripe_limit(SLOTS_LEAST) < of_stripe ? row_stripe_more(SLOTS_LEAST, of_stripe) : SLOTS_LEAST);
}

int64_t row_lookup_bytes(const row_lookup *index)
{
    return row_lookup_slots(index) * (int64_t)sizeof(row_slot);
}

/* The key's slot, or the empty one behind the others of its home. */
static row_slot *probe(const row_stripe *stripe, uint64_t key, int64_t home)
{
    row_slot *slot = stripe->slot + home;
    const row_slot *end = stripe->slot + stripe->capacity;
    while (slot->mark != 0 && slot->key != key) {
        slot = slot + 1 == end ? stripe->slot : slot + 1;
    }
    return slot;
}

void row_lookup_find(const row_lookup *index, const uint64_t *key, int n, row_slot **slot)
{
    uint64_t hash[ROW_BLOCK];
    int64_t home[ROW_BLOCK];
    for (int i = 0; i < n; ++i) {
        hash[i] = row_hash(index, key[i]);
    }
    for (int i = 0; i < n; ++i) {
        const row_stripe *stripe = &index->stripe[row_stripe_of(hash[i])];
        home[i] = row_home(hash[i], stripe->capacity);
        __builtin_prefetch(stripe->slot + home[i]);
        __builtin_prefetch(stripe->slot + smaller(home[i] + 2, stripe->capacity - 1)); /* half of them: the next line */
    }
    for (int i = 0; i < n; ++i) {
        slot[i] = probe(&index->stripe[row_stripe_of(hash[i])], key[i], home[i]);
    }
}

void row_lookup_put(row_lookup *index, int s, const uint64_t *key, const uint64_t *mark, int64_t n)
{
    row_stripe *stripe = &index->stripe[s];
    row_slot *slot[ROW_BLOCK];
    for (int64_t first = 0; first < n; first += ROW_BLOCK) {
        const int block = (int)smaller(n - first, ROW_BLOCK);
        row_lookup_find(index, key + first, block, slot);
        for (int i = 0; i < block; ++i) {
            row_slot *place = slot[i];
            if (place->mark != 0 && place->key != key[first + i]) { /* a key of this block has taken it */
                place = probe(stripe, key[first + i], place - stripe->slot);
            }
            stripe->used += place->mark == 0;
            *place = (row_slot){.key = key[first + i], .mark = mark[first + i]};
        }
    }
}

static void refill(const row_lookup *index, const row_stripe *from, row_stripe *to)
{
    for (int64_t i = 0; i < from->capacity; ++i) {
        if (from->slot[i].mark != 0) {
            const uint64_t key = from->slot[i].key;
            *probe(to, key, row_home(row_hash(index, key), to->capacity)) = from->slot[i];
        }
    }
}

static weft_status grow_group(row_lookup *index, int g, int64_t capacity)
{
    row_stripe *old = &index->stripe[g * ROW_GROW_TOGETHER], grown[ROW_GROW_TOGETHER];
    row_slot *block = NULL;
    WEFT_TRY(make_group(capacity, &block, grown));
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < ROW_GROW_TOGETHER; ++i) {
        grown[i].used = old[i].used;
        refill(index, &old[i], &grown[i]);
    }
    weft_free(index->group[g]);
    index->group[g] = block;
    memcpy(old, grown, sizeof grown);
    return WEFT_OK;
}

weft_status row_lookup_grow(row_lookup *index, const int64_t capacity[ROW_GROUPS])
{
    for (int g = 0; g < ROW_GROUPS; ++g) {
        const bool grows = capacity[g] > row_lookup_group_slots(index, g);
        WEFT_TRY(grows ? grow_group(index, g, capacity[g]) : WEFT_OK);
    }
    return WEFT_OK;
}

/* Empties slot i and moves back those behind it that it kept from their homes. */
static void remove_slot(const row_lookup *index, row_stripe *stripe, int64_t i)
{
    const int64_t capacity = stripe->capacity;
    for (int64_t next = i + 1 == capacity ? 0 : i + 1; stripe->slot[next].mark != 0;
         next = next + 1 == capacity ? 0 : next + 1) {
        const int64_t home = row_home(row_hash(index, stripe->slot[next].key), capacity);
        const int64_t from_home = next - home + (next < home ? capacity : 0);
        const int64_t from_hole = next - i + (next < i ? capacity : 0);
        if (from_home >= from_hole) {
            stripe->slot[i] = stripe->slot[next];
            i = next;
        }
    }
    stripe->slot[i].mark = 0;
    stripe->used -= 1;
}

void row_lookup_sweep(row_lookup *index, int s, row_leaves *leaves, void *context)
{
    row_stripe *stripe = &index->stripe[s];
    for (int64_t i = 0; i < stripe->capacity; ++i) {
        while (stripe->slot[i].mark != 0 && leaves(&stripe->slot[i], context)) {
            remove_slot(index, stripe, i);
        }
    }
}
