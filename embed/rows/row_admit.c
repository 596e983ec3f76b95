/*
 * embed/rows/row_admit.c: keys that a batch brings: which get rows, and the memory for them.
 *
 * Keys are judged in ascending order by one thread, by what stood before the batch; then the index is filled by stripes
 * and rows by runs, with all threads. So neither threads nor the order of arrival matter: which keys are refused where
 * memory ends depends on the keys alone.
 */
#include <string.h>

#include "base/integer/integers.h"
#include "base/integer/mix.h"
#include "embed/rows/row_store_state.h"

enum { SWEEPS = 8 }; /* of an expiry's span, where memory ends in every batch: a sweep reads the whole index */

static weft_status reserve(row_fresh *f, int64_t n)
{
    if (n > f->capacity) {
        const int64_t most = n + n / 4;
        f->capacity = 0;
        WEFT_TRY(weft_realloc((void **)&f->place, (size_t)most, sizeof *f->place, WEFT_MEM_WORKSPACE));
        WEFT_TRY(weft_realloc((void **)&f->key, (size_t)most, sizeof *f->key, WEFT_MEM_WORKSPACE));
        WEFT_TRY(weft_realloc((void **)&f->mark, (size_t)most, sizeof *f->mark, WEFT_MEM_WORKSPACE));
        WEFT_TRY(weft_realloc((void **)&f->made, (size_t)most, sizeof *f->made, WEFT_MEM_WORKSPACE));
        WEFT_TRY(weft_realloc((void **)&f->made_key, (size_t)most, sizeof *f->made_key, WEFT_MEM_WORKSPACE));
        f->capacity = most;
    }
    return WEFT_OK;
}

/* ---- memory ---- */

static bool fits(const row_store *store, int64_t bytes)
{
    return store->desc.memory_most == 0 || bytes <= store->desc.memory_most;
}

/* Keys that the fullest stripe of group g is to hold. */
static int64_t keys_of_group(const row_store *store, const row_wants *wants, int g)
{
    int64_t most = 0;
    for (int s = g * ROW_GROW_TOGETHER; s < (g + 1) * ROW_GROW_TOGETHER; ++s) {
        most = larger(most, store->index.stripe[s].used + wants->slots[s]);
    }
    return most;
}

/* Slots for stripes of groups that are too small: of the series, or an eighth more where memory is short. */
static void plan_slots(const row_store *store, const row_wants *wants, int64_t capacity[ROW_GROUPS], bool *enough)
{
    const int64_t slot = ROW_GROW_TOGETHER * (int64_t)sizeof(row_slot); /* of each stripe of a group */
    int64_t bytes = row_store_held(store);
    for (int g = 0; g < ROW_GROUPS; ++g) {
        const int64_t now = row_lookup_group_slots(&store->index, g), need = keys_of_group(store, wants, g);
        capacity[g] = 0;
        if (need <= row_stripe_limit(now)) {
            continue;
        }
        const int64_t usual = row_stripe_more(now, need), least = larger(now + now / 8, (need / 7 + 1) * 10);
        for (int short_of = 0; short_of < 2 && capacity[g] == 0; ++short_of) {
            const int64_t slots = short_of ? smaller(least, usual) : usual;
            if (fits(store, bytes + slots * slot)) { /* the group exists twice while it grows */
                capacity[g] = slots;
                bytes += (slots - now) * slot;
            }
        }
        *enough = *enough && capacity[g] > 0;
    }
}

weft_status row_store_make_room(row_store *store, const row_wants *wants, bool *enough)
{
    row_slabs *slabs = &store->slabs;
    int64_t capacity[ROW_GROUPS];
    *enough = true;
    while (slabs->capacity - slabs->rows < wants->rows && *enough) {
        *enough = fits(store, row_store_held(store) + row_slabs_next_bytes(slabs));
        if (*enough) {
            WEFT_TRY(row_slabs_grow(slabs));
        }
    }
    plan_slots(store, wants, capacity, enough);
    return row_lookup_grow(&store->index, capacity);
}

static weft_status make_room_or_expire(row_store *store, const row_wants *wants)
{
    bool enough = false;
    WEFT_TRY(row_store_make_room(store, wants, &enough));
    const int64_t span = store->desc.expire_after / SWEEPS;
    if (!enough && store->desc.expire_after > 0 && store->batch - store->swept > span) {
        (void)row_store_expire(store);
        WEFT_TRY(row_store_make_room(store, wants, &enough));
    }
    return WEFT_OK;
}

/* ---- which keys ---- */

bool row_store_admits(const row_store *store, uint64_t key, uint64_t seen)
{
    const embed_desc *d = &store->desc;
    const uint64_t after = (uint64_t)d->admit_after;
    const bool draws = d->admit_chance > 0.0 && d->admit_chance < 1.0;
    if (seen < after || !draws) {
        return seen >= after;
    }
    const uint64_t of_key = mix64(key + (d->seed + 1) * UINT64_C(0xD1342543DE82EF95));
    const uint64_t least = (uint64_t)(d->admit_chance * 0x1p53);
    bool won = false;
    for (uint64_t i = 0; i <= seen - after && !won; ++i) {
        won = mix64(of_key + i * UINT64_C(0x9E3779B97F4A7C15)) >> 11 < least;
    }
    return won;
}

/* Fresh keys by stripes: begin[s] up to end[s] of store->fresh.key and mark. */
typedef struct row_parts {
    int64_t begin[ROW_STRIPES], end[ROW_STRIPES];
} row_parts;

/* [out] parts: room for all keys of each stripe, none of which is there. */
static void list_fresh(row_store *store, const uint64_t *key, int64_t n, const int64_t *row, row_wants *wants,
                       row_parts *parts)
{
    int64_t listed = 0, count[ROW_STRIPES] = {0};
    *wants = (row_wants){0};
    for (int64_t i = 0; i < n; ++i) {
        if (row[i] < ROW_NONE) {
            const bool absent = row[i] == ROW_ABSENT;
            const int s = row_stripe_of(row_hash(&store->index, key[i]));
            store->fresh.place[listed++] = i;
            wants->rows += !absent || row_store_admits(store, key[i], 0);
            wants->slots[s] += absent;
            count[s] += 1;
        }
    }
    for (int s = 0; s < ROW_STRIPES; ++s) {
        parts->begin[s] = s == 0 ? 0 : parts->begin[s - 1] + count[s - 1];
        parts->end[s] = parts->begin[s];
    }
}

/* The mark of a fresh key, 0: it is refused. slots: that its stripe has left; made: rows so far. */
static uint64_t judge(row_store *store, uint64_t key, int32_t times, int64_t *slots, int64_t *made, int64_t *row)
{
    const bool absent = *row == ROW_ABSENT, admitted = !absent || row_store_admits(store, key, 0);
    *row = ROW_NONE;
    if ((absent && *slots == 0) || (admitted && store->slabs.rows == store->slabs.capacity)) {
        store->refused += 1;
        return 0;
    }
    *slots -= absent;
    if (!admitted) {
        store->waiting += 1;
        return row_mark(ROW_WAITING + (uint64_t)times, store->batch);
    }
    store->waiting -= !absent;
    *row = row_slabs_take(&store->slabs);
    store->fresh.made[*made] = *row;
    store->fresh.made_key[*made] = key;
    *made += 1;
    return row_mark((uint64_t)*row + 1, store->batch);
}

/* Judges the listed keys in their order. Returns how many rows are to be made. */
static int64_t judge_all(row_store *store, const uint64_t *key, const int32_t *times, int64_t fresh, row_parts *parts,
                         int64_t *row)
{
    int64_t made = 0, slots[ROW_STRIPES];
    for (int s = 0; s < ROW_STRIPES; ++s) {
        slots[s] = row_stripe_limit(store->index.stripe[s].capacity) - store->index.stripe[s].used;
    }
    for (int64_t e = 0; e < fresh; ++e) {
        const int64_t i = store->fresh.place[e];
        const int s = row_stripe_of(row_hash(&store->index, key[i]));
        const uint64_t mark = judge(store, key[i], times[i], &slots[s], &made, &row[i]);
        if (mark != 0) {
            store->fresh.key[parts->end[s]] = key[i];
            store->fresh.mark[parts->end[s]++] = mark;
        }
    }
    return made;
}

weft_status row_store_admit(row_store *store, const uint64_t *key, const int32_t *times, int64_t n, int64_t fresh,
                            int64_t *row)
{
    row_wants wants;
    row_parts parts;
    WEFT_TRY(reserve(&store->fresh, fresh));
    list_fresh(store, key, n, row, &wants, &parts);
    WEFT_TRY(make_room_or_expire(store, &wants));
    const int64_t made = judge_all(store, key, times, fresh, &parts, row);
    const row_fresh *f = &store->fresh;
#pragma omp parallel num_threads(row_threads(fresh))
    {
        const int t = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t first = split_even(made, t, threads), last = split_even(made, t + 1, threads);
        store->kernels->make(&store->rule, &store->slabs, f->made + first, f->made_key + first, last - first);
#pragma omp for schedule(dynamic)
        for (int s = 0; s < ROW_STRIPES; ++s) {
            const int64_t begin = parts.begin[s];
            row_lookup_put(&store->index, s, f->key + begin, f->mark + begin, parts.end[s] - begin);
        }
    }
    store->made += made;
    return WEFT_OK;
}
