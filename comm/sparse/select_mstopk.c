/*
 * comm/sparse/select_mstopk.c: MSTopK: exactly k elements by N samplings of a threshold, without a sort.
 *
 *      A = |x|, mu = mean(A), top = max(A)
 *      t1 = +inf: upper threshold, at most k elements reach it (k1 of them)
 *      t2 = 0:    lower threshold, more than k elements reach it (k2)
 *      N times:   t between mu and top by bisection; count what reaches it; it replaces t1 or t2 when that comes closer
 *      out:       everything from t1 on, and a run of k - k1 elements of the band [t2, t1), in index order, from a
 *                 random start
 *
 * Where no more than k elements reach the mean, the bisection starts from 0 instead: the k-th magnitude lies below mu.
 * The random start is a function of the seed and of the number of the call.
 *
 * Cost: N + 5 passes over the vector. What it trades: which elements of the last band are taken.
 *
 * S. Shi et al.: Towards scalable distributed training of deep learning on public cloud clusters. MLSys 2021,
 * arXiv 2010.10458
 */
#include "base/philox.h"
#include "comm/sparse/select_internal.h"

enum { RNG_SELECT = 128 }; /* purpose of philox_counter */

static void part_sum(selector *s, select_part *part)
{
    part->sum = s->kernels->sum_magnitudes(s->x, part->begin, part->end, &part->top);
}

static void part_count(selector *s, select_part *part)
{
    part->found = s->kernels->count(s->x, part->begin, part->end, s->floor);
}

static int64_t count_from(selector *s, float threshold)
{
    int64_t total = 0;
    s->floor = hal_magnitude(threshold);
    select_each(s, part_count);
    for (int p = 0; p < s->parts; ++p) {
        total += s->part[p].found;
    }
    return total;
}

/* upper: t1, floor: t2; `above` and `equal` (the band) follow from the counts of both. */
static void part_band(selector *s, select_part *part)
{
    part->above = s->kernels->count(s->x, part->begin, part->end, s->upper);
    part->equal = s->kernels->count(s->x, part->begin, part->end, s->floor) - part->above;
}

static void part_emit(selector *s, select_part *part)
{
    int64_t to = part->to;
    int64_t at = 0;
    for (int64_t i = part->begin; i < part->end; ++i) {
        uint32_t bits = hal_magnitude(s->x[i]);
        bool takes = bits >= s->upper;
        if (!takes && bits >= s->floor) {
            takes = at >= part->skip && at < part->skip + part->ties;
            ++at;
        }
        if (takes) {
            s->index[to] = (int32_t)i;
            s->value[to++] = s->x[i];
        }
    }
}

/* Uniform in [0, bound), bound < 2^31. */
static int64_t random_below(const selector *s, int64_t bound)
{
    philox_block block = philox4x32(philox_counter(0, s->state.calls, RNG_SELECT, 0), s->options.seed);
    return (int64_t)(((uint64_t)block.word[0] * (uint64_t)bound) >> 32);
}

/* Sum and largest magnitude over all parts. */
static double add_parts(const selector *s, float *top)
{
    double sum = 0.0;
    uint32_t bits = 0;
    for (int p = 0; p < s->parts; ++p) {
        sum += s->part[p].sum;
        bits = s->part[p].top > bits ? s->part[p].top : bits;
    }
    memcpy(top, &bits, sizeof *top);
    return sum;
}

/* The two thresholds around the k-th, as bits, and what reaches them. */
typedef struct bracket {
    uint32_t t1, t2;
    int64_t k1, k2;
} bracket;

static bracket bisect(selector *s, int64_t count, int64_t k, double lowest, double top)
{
    bracket b = {.t1 = HAL_MAGNITUDE_INFINITY, .t2 = 0, .k1 = 0, .k2 = count};
    double low = 0.0;
    double high = 1.0;
    for (int n = 0; n < s->options.samplings; ++n) {
        double ratio = (low + high) / 2.0;
        int64_t reached = count_from(s, (float)(lowest + ratio * (top - lowest)));
        if (reached <= k) {
            high = ratio;
            b.t1 = reached > b.k1 ? s->floor : b.t1;
            b.k1 = reached > b.k1 ? reached : b.k1;
        } else {
            low = ratio;
            b.t2 = reached < b.k2 ? s->floor : b.t2;
            b.k2 = reached < b.k2 ? reached : b.k2;
        }
    }
    return b;
}

weft_status select_mstopk(selector *s, const float *x, int64_t count, int64_t k, int32_t *index, float *value)
{
    float top = 0.0f;
    select_cut(s, x, count);
    s->index = index;
    s->value = value;
    select_each(s, part_sum);
    WEFT_TRY(select_finite(s, count));
    double mean = add_parts(s, &top) / (double)count;
    double lowest = count_from(s, (float)mean) > k ? mean : 0.0;
    bracket b = bisect(s, count, k, lowest, (double)top);
    s->upper = b.t1;
    s->floor = b.t2;
    select_each(s, part_band);
    select_place(s, random_below(s, (b.k2 - b.k1) - (k - b.k1) + 1), k - b.k1);
    select_each(s, part_emit);
    return WEFT_OK;
}
