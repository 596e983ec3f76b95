/*
 * comm/sparse/select_radix.c: the exact k largest magnitudes, mostly in one pass over the vector.
 *
 *   1. A sample of up to 2^15 elements guesses a threshold a little below the k-th magnitude.
 *   2. One pass compacts what reaches the guess (a bit more than k candidates) and checks that everything is finite.
 *   3. A radix search among the candidates finds the k-th magnitude; they are emitted, ties by lowest index.
 *
 * The guess never decides: with fewer than k candidates, or more than there is room for, the threshold comes from the
 * bits of the whole vector instead:
 *
 *      sign | exponent 8, mantissa 7 | mantissa 16         pass 1: histogram of the high 15 bits: bin of the k-th
 *                2^15 bins               2^16 bins         pass 2: histogram of the low 16 bits inside that bin
 *                                                          pass 3: emit
 *
 * Cost: one pass and O(k), or three passes. Large densities (above a tenth) take the three passes.
 */
#include <math.h>

#include "comm/sparse/select_internal.h"

enum {
    SAMPLE_LEAST = 1 << 10,
    SAMPLE_MOST = 1 << 15,
    DIGIT_HIGH = 20,
    DIGIT_MIDDLE = 10,
    RADIX_BINS = 1 << 11,
    NARROW_FROM = 1 << 14
};

/* ---- the k-th of an array ------------------------------------------------------------------------------------- */

/* The bin that holds the k-th from the top; *above: entries in the bins over it. */
static uint32_t bin_of_kth(const uint32_t *bins, uint32_t last, int64_t k, int64_t *above)
{
    int64_t over = 0;
    uint32_t bin = last;
    while (bin > 0 && over + bins[bin] < k) {
        over += bins[bin--];
    }
    *above = over;
    return bin;
}

uint32_t select_kth(uint32_t *value, int64_t n, int64_t k, int64_t *above)
{
    static const struct {
        int shift;
        uint32_t bins;
    } digit[] = {{DIGIT_HIGH, RADIX_BINS}, {DIGIT_MIDDLE, 1 << 10}, {0, 1 << 10}};
    uint32_t bins[RADIX_BINS];
    uint32_t found = 0;
    *above = 0;
    for (int d = 0; d < 3; ++d) {
        uint32_t mask = digit[d].bins - 1;
        int64_t over = 0;
        memset(bins, 0, sizeof bins);
        for (int64_t i = 0; i < n; ++i) {
            ++bins[(value[i] >> digit[d].shift) & mask];
        }
        uint32_t bin = bin_of_kth(bins, mask, k - *above, &over);
        *above += over;
        int64_t kept = 0;
        for (int64_t i = 0; i < n; ++i) {
            uint32_t v = value[i];
            value[kept] = v;
            kept += ((v >> digit[d].shift) & mask) == bin;
        }
        n = kept;
        found |= bin << digit[d].shift;
    }
    return found;
}

/* ---- the guess ------------------------------------------------------------------------------------------- */

/* A magnitude that a few more than k elements should reach; 0: everything is a candidate; HAL_MAGNITUDE_INFINITY: no
 * guess is worth trying. One sample at a scrambled place in each of equal runs, so that periodic data do not align
 * with it. */
static uint32_t guess_floor(selector *s, int64_t count, int64_t k)
{
    if (count <= SELECT_SMALL) {
        return 0;
    }
    int64_t samples = count / 128 < SAMPLE_LEAST ? SAMPLE_LEAST : count / 128;
    samples = samples < SAMPLE_MOST ? samples : SAMPLE_MOST;
    samples = samples < s->part_capacity ? samples : s->part_capacity;
    double expected = (double)samples * (double)k / (double)count;
    int64_t rank = (int64_t)(expected + 4.0 * sqrt(expected)) + 4;
    if (rank * 10 > samples) {
        return HAL_MAGNITUDE_INFINITY;
    }
    int64_t run = count / samples;
    for (int64_t i = 0; i < samples; ++i) {
        uint64_t scrambled = ((uint64_t)i * 0x9e3779b97f4a7c15u) >> 32;
        s->work[i] = hal_magnitude(s->x[i * run + (int64_t)((scrambled * (uint64_t)run) >> 32)]);
    }
    int64_t above = 0;
    uint32_t floor = select_kth(s->work, samples, rank, &above);
    return floor > 0 ? floor : 1; /* zeros are candidates only where nothing else is left */
}

/* ---- candidates ------------------------------------------------------------------------------------------- */
static void part_compare(selector *s, select_part *part)
{
    int64_t above = 0;
    int64_t equal = 0;
    for (int64_t i = 0; i < part->found; ++i) {
        uint32_t bits = hal_magnitude(part->value[i]);
        above += bits > s->floor;
        equal += bits == s->floor;
    }
    part->above = above;
    part->equal = equal;
}

static void part_emit_candidates(selector *s, select_part *part)
{
    int64_t to = part->to;
    int64_t ties = part->ties;
    for (int64_t i = 0; i < part->found; ++i) {
        uint32_t bits = hal_magnitude(part->value[i]);
        if (bits > s->floor || (bits == s->floor && ties-- > 0)) {
            s->index[to] = part->index[i];
            s->value[to++] = part->value[i];
        }
    }
}

/* The bin of the k-th over all parts' histograms. */
static uint32_t bin_over_parts(const selector *s, uint32_t bins, int64_t k, int64_t *above)
{
    int64_t over = 0;
    for (uint32_t b = bins; b-- > 0;) {
        int64_t here = 0;
        for (int p = 0; p < s->parts; ++p) {
            here += s->part[p].bins[b];
        }
        if (over + here >= k) {
            *above = over;
            return b;
        }
        over += here;
    }
    *above = over;
    return 0;
}

/* bin: the lowest of any candidate; upper: the highest. */
static void part_candidate_bins(selector *s, select_part *part)
{
    memset(part->bins + s->bin, 0, (s->upper - s->bin + 1) * sizeof *part->bins);
    for (int64_t i = 0; i < part->found; ++i) {
        ++part->bins[hal_magnitude(part->value[i]) >> 16];
    }
}

/* Candidates of one bin, or all, to this part's run of the work space; `equal` counts them. */
static void part_collect(selector *s, select_part *part)
{
    uint32_t *to = s->work + (part - s->part) * s->part_capacity;
    int64_t n = 0;
    for (int64_t i = 0; i < part->found; ++i) {
        uint32_t bits = hal_magnitude(part->value[i]);
        to[n] = bits;
        n += s->upper == HAL_MAGNITUDE_INFINITY || bits >> 16 == s->bin;
    }
    part->equal = n;
}

/* Many candidates: all threads find the bin of the k-th, which leaves few. */
static int64_t narrow_candidates(selector *s, uint32_t guess, int64_t k)
{
    int64_t above = 0;
    s->bin = guess >> 16;
    s->upper = s->bin;
    for (int p = 0; p < s->parts; ++p) {
        s->upper = s->part[p].top >> 16 > s->upper ? s->part[p].top >> 16 : s->upper;
    }
    select_each(s, part_candidate_bins);
    s->bin = bin_over_parts(s, s->upper + 1, k, &above);
    return above;
}

static uint32_t among_candidates(selector *s, uint32_t guess, int64_t total, int64_t k)
{
    int64_t n = 0;
    int64_t above = 0;
    int64_t above_in_bin = 0;
    if (total > NARROW_FROM) {
        above = narrow_candidates(s, guess, k);
    } else {
        s->upper = HAL_MAGNITUDE_INFINITY; /* collect them all */
    }
    select_each(s, part_collect);
    for (int p = 0; p < s->parts; ++p) {
        memmove(s->work + n, s->work + p * s->part_capacity, (size_t)s->part[p].equal * sizeof *s->work);
        n += s->part[p].equal;
    }
    s->floor = select_kth(s->work, n, k - above, &above_in_bin);
    select_each(s, part_compare);
    select_place(s, 0, k - above - above_in_bin);
    select_each(s, part_emit_candidates);
    return s->floor;
}

/* ---- the whole vector ------------------------------------------------------------------------------------- */
static void part_high_bits(selector *s, select_part *part)
{
    memset(part->bins, 0, SELECT_HIGH_BINS * sizeof *part->bins);
    for (int64_t i = part->begin; i < part->end; ++i) {
        ++part->bins[hal_magnitude(s->x[i]) >> 16];
    }
    part->top = 0;
    part->above = 0;
    for (uint32_t b = HAL_MAGNITUDE_INFINITY >> 16; b < SELECT_HIGH_BINS; ++b) {
        part->top = part->bins[b] > 0 ? HAL_MAGNITUDE_INFINITY : part->top;
    }
}

static void part_low_bits(selector *s, select_part *part)
{
    for (uint32_t b = s->bin + 1; b < SELECT_HIGH_BINS; ++b) {
        part->above += part->bins[b];
    }
    memset(part->bins, 0, SELECT_LOW_BINS * sizeof *part->bins);
    for (int64_t i = part->begin; i < part->end; ++i) {
        uint32_t bits = hal_magnitude(s->x[i]);
        if (bits >> 16 == s->bin) {
            ++part->bins[bits & 0xffffu];
        }
    }
}

static void part_emit_vector(selector *s, select_part *part)
{
    int64_t to = part->to;
    int64_t ties = part->ties;
    for (int64_t i = part->begin; i < part->end; ++i) {
        uint32_t bits = hal_magnitude(s->x[i]);
        if (bits > s->floor || (bits == s->floor && ties-- > 0)) {
            s->index[to] = (int32_t)i;
            s->value[to++] = s->x[i];
        }
    }
}

static weft_status among_all(selector *s, int64_t count, int64_t k, uint32_t *threshold)
{
    int64_t above = 0;
    int64_t above_low = 0;
    select_each(s, part_high_bits);
    WEFT_TRY(select_finite(s, count));
    s->bin = bin_over_parts(s, SELECT_HIGH_BINS, k, &above);
    select_each(s, part_low_bits);
    uint32_t low = bin_over_parts(s, SELECT_LOW_BINS, k - above, &above_low);
    s->floor = s->bin << 16 | low;
    for (int p = 0; p < s->parts; ++p) {
        select_part *part = &s->part[p];
        for (uint32_t b = low + 1; b < SELECT_LOW_BINS; ++b) {
            part->above += part->bins[b];
        }
        part->equal = part->bins[low];
    }
    select_place(s, 0, k - above - above_low);
    select_each(s, part_emit_vector);
    *threshold = s->floor;
    return WEFT_OK;
}

weft_status select_radix(selector *s, const float *x, int64_t count, int64_t k, int32_t *index, float *value,
                         uint32_t *threshold)
{
    int64_t total = 0;
    select_cut(s, x, count);
    s->index = index;
    s->value = value;
    uint32_t guess = guess_floor(s, count, k);
    if (guess < HAL_MAGNITUDE_INFINITY && select_candidates(s, guess, &total)) {
        WEFT_TRY(select_finite(s, count));
        if (total >= k) {
            *threshold = among_candidates(s, guess, total, k);
            return WEFT_OK;
        }
    }
    return among_all(s, count, k, threshold);
}
