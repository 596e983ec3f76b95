/* base/sort.c: see base/sort.h. */
#include "base/sort.h"

#include <assert.h>

#include "base/integer/search.h"

enum { INSERTION_MAX = 48, RADIX = 256 };

static void insertion_sort(int32_t *id, int64_t count)
{
    for (int64_t i = 1; i < count; ++i) {
        int32_t value = id[i];
        int64_t j = i;
        for (; j > 0 && id[j - 1] > value; --j) {
            id[j] = id[j - 1];
        }
        id[j] = value;
    }
}

/* Sort by the byte at `shift` and everything below it. */
static void radix_sort(int32_t *id, int64_t count, int shift) // NOLINT(misc-no-recursion): at most four levels
{
    if (count <= INSERTION_MAX) {
        insertion_sort(id, count);
        return;
    }
    int64_t end[RADIX] = {0}, next[RADIX];
    for (int64_t i = 0; i < count; ++i) {
        ++end[((uint32_t)id[i] >> shift) % RADIX];
    }
    int64_t sum = 0;
    for (int b = 0; b < RADIX; ++b) {
        next[b] = sum;
        sum += end[b];
        end[b] = sum;
    }
    for (int b = 0; b < RADIX; ++b) {
        while (next[b] < end[b]) {
            int32_t value = id[next[b]];
            int digit = (int)(((uint32_t)value >> shift) % RADIX);
            while (digit != b) {
                int32_t other = id[next[digit]];
                id[next[digit]++] = value;
                value = other;
                digit = (int)(((uint32_t)value >> shift) % RADIX);
            }
            id[next[b]++] = value;
        }
    }
    if (shift == 0) {
        return;
    }
    int64_t begin = 0;
    for (int b = 0; b < RADIX; ++b) {
        radix_sort(id + begin, end[b] - begin, shift - 8);
        begin = end[b];
    }
}

void sort_ids(int32_t *id, int64_t count, int64_t limit)
{
    int shift = 0;
    while (shift < 24 && limit > (INT64_C(256) << shift)) {
        shift += 8;
    }
    radix_sort(id, count, shift);
}

int64_t sort_distinct(int32_t *id, int64_t count, int64_t limit)
{
    sort_ids(id, count, limit);
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
        assert(id[i] >= 0 && id[i] < limit && (kept == 0 || id[kept - 1] <= id[i]));
        if (kept == 0 || id[kept - 1] != id[i]) {
            id[kept++] = id[i];
        }
    }
    return kept;
}

int64_t sorted_first(const int32_t *id, int64_t begin, int64_t end, int64_t least)
{
    SEARCH_FIRST(begin, end, id[at] < least);
    return begin;
}
