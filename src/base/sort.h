/*
 * base/sort.h: ascending sort of non-negative 32-bit ids, in place.
 *
 * Insertion sort below 48 elements, above it one pass of in-place radix exchange (American flag sort) on the highest
 * byte that can be set, then the buckets. At most four levels: O(n) whatever the input, no allocation, so rows may be
 * sorted inside parallel regions.
 *
 * P. M. McIlroy, K. Bostic, M. D. McIlroy: Engineering radix sort. Computing Systems 6(1), 1993.
 */
#pragma once

#include <stdint.h>

/* limit: every id is below it (a smaller limit saves levels). */
void sort_ids(int32_t *id, int64_t count, int64_t limit);

/* Sorts as sort_ids does and moves one of each id to the front. Returns how many there are. */
int64_t sort_distinct(int32_t *id, int64_t count, int64_t limit);

/* Returns the first place in [begin, end) of ascending ids whose id is not below `least`, or end. */
int64_t sorted_first(const int32_t *id, int64_t begin, int64_t end, int64_t least);
