/* embed/pool/key_order.c: order of keys; see the header. */
#include "embed/pool/key_order.h"

#include <string.h>

#include "base/integer/integers.h"
#include "machine/thread_ranges.h"

enum {
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    PREFIX_MOST = 3 * DIGIT_BITS,
    MANY_KEYS = 1 << (2 * DIGIT_BITS - 1), /* a prefix of two digits would be shared by many */
    FEW_KEYS = 32,
    THREADS_MOST = 64
};

/* ---- prefixes ---- */

/* Runs of bits of a key, from the highest, without bits that all keys share, such as those between id and field. */
typedef struct prefix {
    int pieces, bits;
    int shift[PREFIX_MOST], width[PREFIX_MOST];
    uint64_t rest; /* the bits that differ and are in no piece */
} prefix;

static prefix take_prefix(uint64_t differing, int most)
{
    prefix p = {.rest = differing};
    while (p.rest != 0 && p.bits < most) {
        const int top = 63 - __builtin_clzll(p.rest);
        const uint64_t zeros = ~(p.rest << (63 - top));
        const int width = (int)smaller(zeros == 0 ? most : __builtin_clzll(zeros), most - p.bits);
        p.shift[p.pieces] = top + 1 - width;
        p.width[p.pieces++] = width;
        p.bits += width;
        p.rest &= ~(((UINT64_C(1) << width) - 1) << (top + 1 - width));
    }
    return p;
}

static inline uint64_t prefix_of(const prefix *p, uint64_t key)
{
    uint64_t bits = 0;
    for (int i = 0; i < p->pieces; ++i) {
        bits = bits << p->width[i] | (key >> p->shift[i] & ((UINT64_C(1) << p->width[i]) - 1));
    }
    return bits;
}

static inline uint64_t word_of(const prefix *p, const uint64_t *key, int64_t position)
{
    return prefix_of(p, key[position]) << KEY_POSITION_BITS | (uint64_t)position;
}

static int prefix_bits(int64_t n)
{
    return n >= MANY_KEYS ? PREFIX_MOST : 2 * DIGIT_BITS;
}

/* ---- by threads ---- */

/* From counts by thread and digit to the first place of each thread's words of that digit. */
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

static void count_digits(const uint64_t *word, int64_t first, int64_t last, int shift, int64_t *count)
{
    memset(count, 0, DIGITS * sizeof *count);
    for (int64_t i = first; i < last; ++i) {
        count[word[i] >> shift & (DIGITS - 1)] += 1;
    }
}

static void move_words(const uint64_t *from, int64_t first, int64_t last, int shift, int64_t *place, uint64_t *to)
{
    for (int64_t i = first; i < last; ++i) {
        to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

static void pass(const uint64_t *from, uint64_t *to, int64_t n, int shift, int threads, int64_t (*count)[DIGITS])
{
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t first = split_even(n, t, team), last = split_even(n, t + 1, team);
        count_digits(from, first, last, shift, count[t]);
#pragma omp barrier
#pragma omp single
        first_places(count, team);
        move_words(from, first, last, shift, count[t], to);
    }
}

/* ---- keys of one prefix, by one thread ---- */

static void insert_words(const uint64_t *key, uint64_t *word, int64_t n)
{
    for (int64_t i = 1; i < n; ++i) {
        const uint64_t moved = word[i], own = key[key_position(moved)];
        int64_t at = i;
        for (; at > 0 && key[key_position(word[at - 1])] > own; --at) {
            word[at] = word[at - 1];
        }
        word[at] = moved;
    }
}

static void order_runs(const uint64_t *key, uint64_t *word, uint64_t *other, int64_t n);

/* The order of n words, which stand in the order of positions. */
static void order_few(const uint64_t *key, uint64_t *word, uint64_t *other, int64_t n)
{
    int64_t count[1][DIGITS];
    uint64_t differing = 0;
    if (n <= FEW_KEYS) {
        insert_words(key, word, n);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        differing |= key[key_position(word[i])] ^ key[key_position(word[0])];
    }
    if (differing == 0) {
        return;
    }
    const prefix p = take_prefix(differing, prefix_bits(n));
    for (int64_t i = 0; i < n; ++i) {
        word[i] = word_of(&p, key, key_position(word[i]));
    }
    for (int shift = 0; shift < p.bits; shift += DIGIT_BITS) {
        count_digits(word, 0, n, KEY_POSITION_BITS + shift, count[0]);
        first_places(count, 1);
        move_words(word, 0, n, KEY_POSITION_BITS + shift, count[0], other);
        memcpy(word, other, (size_t)n * sizeof *word);
    }
    if (p.rest != 0) {
        order_runs(key, word, other, n);
    }
}

static int64_t run_end(const uint64_t *word, int64_t first, int64_t n)
{
    int64_t last = first + 1;
    while (last < n && word[last] >> KEY_POSITION_BITS == word[first] >> KEY_POSITION_BITS) {
        last += 1;
    }
    return last;
}

static void order_runs(const uint64_t *key, uint64_t *word, uint64_t *other, int64_t n)
{
    for (int64_t first = 0, last; first < n; first = last) {
        last = run_end(word, first, n);
        if (last - first > 1) {
            order_few(key, word + first, other + first, last - first);
        }
    }
}

/* ---- all ---- */

/* Threads take runs of equal prefixes whole. */
static void order_rest(const uint64_t *key, uint64_t *word, uint64_t *other, int64_t n, int threads)
{
    int64_t border[THREADS_MOST + 1] = {0};
    for (int t = 1; t <= threads; ++t) {
        const int64_t even = split_even(n, t, threads);
        border[t] = larger(border[t - 1], even < n && even > 0 ? run_end(word, even - 1, n) : even);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; ++t) {
        order_runs(key, word + border[t], other + border[t], border[t + 1] - border[t]);
    }
}

uint64_t *key_order(const uint64_t *key, int64_t n, uint64_t *word, uint64_t *other)
{
    int64_t count[THREADS_MOST][DIGITS];
    const int threads = split_threads(n, (int)smaller(omp_get_max_threads(), THREADS_MOST));
    uint64_t differing = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : differing)
    for (int64_t i = 0; i < n; ++i) {
        differing |= key[i] ^ key[0];
    }
    const prefix p = take_prefix(differing, prefix_bits(n));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; ++i) {
        word[i] = word_of(&p, key, i);
    }
    for (int shift = 0; shift < p.bits; shift += DIGIT_BITS) {
        pass(word, other, n, KEY_POSITION_BITS + shift, threads, count);
        uint64_t *sorted = other;
        other = word;
        word = sorted;
    }
    if (p.rest != 0) {
        order_rest(key, word, other, n, threads);
    }
    return word;
}
