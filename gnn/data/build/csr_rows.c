/*
 * gnn/data/build/csr_rows.c: see gnn/data/build/csr_rows.h. In-place radix sort by bytes, the "American flag" sort of
 * McIlroy, Bostic and McIlroy, Engineering Radix Sort, Computing Systems 1993; short rows by insertion.
 */
#include "gnn/data/build/csr_rows.h"

#include <assert.h>

enum { SMALL = 48, DIGITS = 256 };

static void insertion_sort(int32_t *a, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        int32_t x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}

/* Sort by the byte at `shift`, then each bucket by the byte below it: at most four levels deep. */
static void sort_row(int32_t *a, int64_t count, int shift) /* NOLINT(misc-no-recursion) */
{
    if (count <= SMALL) {
        insertion_sort(a, count);
        return;
    }
    int64_t next[DIGITS], end[DIGITS] = {0};
    for (int64_t i = 0; i < count; i++) {
        end[a[i] >> shift & 255]++;
    }
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; d++) {
        next[d] = sum;
        sum += end[d];
        end[d] = sum;
    }
    for (int d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            int32_t x = a[next[d]];
            int digit = x >> shift & 255;
            while (digit != d) { /* carry x to its bucket, pick up what lies there */
                int32_t y = a[next[digit]];
                a[next[digit]++] = x;
                x = y;
                digit = x >> shift & 255;
            }
            a[next[d]++] = x;
        }
    }
    for (int d = 0; d < DIGITS && shift > 0; d++) {
        int64_t start = d > 0 ? end[d - 1] : 0;
        sort_row(a + start, end[d] - start, shift - 8);
    }
}

int64_t csr_row_finish(int32_t *a, int64_t count, int64_t vertices)
{
    sort_row(a, count, vertices > 1 << 24 ? 24 : vertices > 1 << 16 ? 16 : vertices > 1 << 8 ? 8 : 0);
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        assert(a[i] >= 0 && a[i] < vertices && (i == 0 || a[kept - 1] <= a[i]));
        if (i == 0 || a[i] != a[i - 1]) {
            a[kept++] = a[i];
        }
    }
    return kept;
}
