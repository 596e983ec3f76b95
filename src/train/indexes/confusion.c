/* train/indexes/confusion.c: see train/indexes/confusion.h. */
#include "train/indexes/confusion.h"

#include <stdlib.h>

#include "base/philox.h"

index_confusion confusion_at(const score_levels *levels, double threshold)
{
    index_confusion c = {0, 0, 0, 0};
    for (int64_t k = 0; k < levels->count; ++k) {
        const score_level *l = &levels->level[k];
        const bool answered = score_probability(l->score) >= threshold;
        c.true_positives += answered ? l->positives : 0;
        c.false_positives += answered ? l->negatives : 0;
        c.false_negatives += answered ? 0 : l->positives;
        c.true_negatives += answered ? 0 : l->negatives;
    }
    return c;
}

index_value wilson_share(int64_t hits, int64_t rows)
{
    const double n = (double)rows, share = (double)hits / n, z2 = INDEX_NORMAL_QUANTILE * INDEX_NORMAL_QUANTILE;
    if (rows == 0) {
        return (index_value){NAN, NAN, NAN};
    }
    const double centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    const double half = INDEX_NORMAL_QUANTILE / (1.0 + z2 / n) * sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n));
    return (index_value){share, hits == 0 ? 0.0 : centre - half, hits == rows ? 1.0 : centre + half};
}

double youden_threshold(const score_levels *levels, double *youden)
{
    int64_t best = 0, hits = 0, alarms = 0;
    double threshold = NAN;
    for (int64_t k = levels->count - 1; k >= 0; --k) {
        const score_level *l = &levels->level[k];
        hits += l->positives;
        alarms += l->negatives;
        const int64_t here = hits * levels->negatives - alarms * levels->positives;
        if (here > best) {
            best = here;
            threshold = score_probability(l->score);
        }
    }
    *youden = best > 0 ? (double)best / ((double)levels->positives * (double)levels->negatives) : NAN;
    return threshold;
}

/* ---- F1 ---------------------------------------------------------------------------------------------------------- */

static double chance_of(int64_t n, int64_t k, double p)
{
    return exp(lgamma((double)n + 1.0) - lgamma((double)k + 1.0) - lgamma((double)(n - k) + 1.0) + (double)k * log(p) +
               (double)(n - k) * log1p(-p));
}

/* A binomial number by inversion of its law, from its mode outwards: about sqrt(n p (1 - p)) steps. */
static int64_t draw_binomial(int64_t n, double p, double uniform)
{
    if (n <= 0 || p <= 0.0 || p >= 1.0) {
        return n > 0 && p >= 1.0 ? n : 0;
    }
    const double odds = p / (1.0 - p);
    int64_t low = (int64_t)((double)(n + 1) * p), high;
    low = low > n ? n : low;
    high = low;
    double left = chance_of(n, low, p), right = left;
    const int64_t mode = low;
    uniform -= left;
    while (uniform > 0.0 && (low > 0 || high < n)) {
        left = low > 0 ? left * (double)low / ((double)(n - low + 1) * odds) : 0.0;
        right = high < n ? right * (double)(n - high) * odds / (double)(high + 1) : 0.0;
        low -= low > 0;
        high += high < n;
        if (uniform <= left) {
            return low;
        }
        uniform -= left;
        if (uniform <= right) {
            return high;
        }
        uniform -= right;
        if (left + right == 0.0) {
            break;
        }
    }
    return mode;
}

static double f1_by(int64_t hits, int64_t wrong, double undefined)
{
    return 2 * hits + wrong > 0 ? 2.0 * (double)hits / (double)(2 * hits + wrong) : undefined;
}

static double replicate(const index_confusion *c, uint32_t number)
{
    const int64_t cell[3] = {c->true_positives, c->false_positives, c->false_negatives};
    int64_t rows = cell[0] + cell[1] + cell[2] + c->true_negatives, left = rows, drawn[3];
    for (uint32_t i = 0; i < 3; ++i) {
        const philox_block block = philox4x32(philox_counter(i, number, WEFT_RNG_INDEXES, 0), 0);
        drawn[i] = draw_binomial(rows, (double)cell[i] / (double)(left > 0 ? left : 1),
                                 philox_uniform_double(block.word[0], block.word[1]));
        rows -= drawn[i];
        left -= cell[i];
    }
    return f1_by(drawn[0], drawn[1] + drawn[2], 0.0);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between neighbours in proportion. */
static double quantile_of(const double *sorted, int count, double share)
{
    const double place = share * (count - 1);
    const int below = (int)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

index_value f1_of(const index_confusion *c)
{
    double drawn[INDEX_REPLICATES];
    index_value f1 = {f1_by(c->true_positives, c->false_positives + c->false_negatives, NAN), NAN, NAN};
    if (!isnan(f1.value)) {
        for (uint32_t i = 0; i < INDEX_REPLICATES; ++i) {
            drawn[i] = replicate(c, i);
        }
        qsort(drawn, INDEX_REPLICATES, sizeof *drawn, by_value);
        f1.low = quantile_of(drawn, INDEX_REPLICATES, 0.025);
        f1.high = quantile_of(drawn, INDEX_REPLICATES, 0.975);
    }
    return f1;
}
