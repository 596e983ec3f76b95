/* embed/pool/key_sort.c: radix sort of keys; see the header. */
#include "embed/pool/key_sort.h"

#include "machine/thread_ranges.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, THREADS_MOST = 64 };

/* Bits in which keys differ. */
static uint64_t differing(const key_pair *pair, int64_t n, int threads)
{
    uint64_t bits = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : bits)
    for (int64_t i = 0; i < n; ++i) {
        bits |= pair[i].key ^ pair[0].key;
    }
    return bits;
}

/* Two pieces of a key, side by side: a digit goes on behind bits that all keys share, such as those between id and
 * field. */
typedef struct digit {
    int shift[2];
    uint64_t mask[2];
} digit;

static inline uint64_t digit_of(const digit *d, uint64_t key)
{
    return (key >> d->shift[0] & d->mask[0]) | (key >> d->shift[1] & d->mask[1]);
}

/* Takes the lowest of the bits that differ, which are not 0. */
static digit take_digit(uint64_t *bits)
{
    digit d = {0};
    int width = 0;
    for (int piece = 0; piece < 2 && *bits != 0 && width < DIGIT_BITS; ++piece) {
        const int first = __builtin_ctzll(*bits);
        const uint64_t window = *bits >> first & (((uint64_t)1 << (DIGIT_BITS - width)) - 1);
        const int taken = 64 - __builtin_clzll(window);
        const uint64_t mask = ((uint64_t)1 << taken) - 1;
        d.shift[piece] = first - width; /* the second piece lies above the first */
        d.mask[piece] = mask << width;
        *bits &= ~(mask << first);
        width += taken;
    }
    return d;
}

/* From counts by thread and digit to the first place of each thread's pairs of that digit. */
static void first_places(int64_t (*count)[DIGITS], int threads)
{
    int64_t place = 0;
    for (int d = 0; d < DIGITS; ++d) {
        for (int t = 0; t < threads; ++t) {
            const int64_t here = count[t][d];
            count[t][d] = place;
            place += here;
        }
    }
}

static void pass(const key_pair *from, key_pair *to, int64_t n, digit d, int threads, int64_t (*count)[DIGITS])
{
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t first = split_even(n, t, team), last = split_even(n, t + 1, team);
        int64_t *mine = count[t];
        for (int k = 0; k < DIGITS; ++k) {
            mine[k] = 0;
        }
        for (int64_t i = first; i < last; ++i) {
            mine[digit_of(&d, from[i].key)] += 1;
        }
#pragma omp barrier
#pragma omp single
        first_places(count, team);
        for (int64_t i = first; i < last; ++i) {
            to[mine[digit_of(&d, from[i].key)]++] = from[i];
        }
    }
}

key_pair *key_sort(key_pair *pair, key_pair *other, int64_t n)
{
    int64_t count[THREADS_MOST][DIGITS];
    int threads = split_threads(n, omp_get_max_threads());
    threads = threads < THREADS_MOST ? threads : THREADS_MOST;
    for (uint64_t bits = differing(pair, n, threads); bits != 0;) {
        pass(pair, other, n, take_digit(&bits), threads, count);
        key_pair *sorted = other;
        other = pair;
        pair = sorted;
    }
    return pair;
}
