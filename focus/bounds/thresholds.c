/* focus/bounds/thresholds.c: see focus/bounds/thresholds.h. */
#include "focus/bounds/thresholds.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "focus/bounds/binomial.h"
#include "focus/index/focus_index.h"

static int by_code(const void *a, const void *b)
{
    const focus_label *x = a, *y = b;
    return (x->code > y->code) - (x->code < y->code);
}

/* ---- recall ---- */

bool focus_recall_exact(focus_label *sample, int64_t count, double recall, double delta, int32_t *lo)
{
    int64_t positives = 0, seen = 0;
    qsort(sample, (size_t)count, sizeof *sample, by_code);
    for (int64_t i = 0; i < count; ++i) {
        positives += sample[i].positive;
    }
    /* Which of the sampled positives is the threshold depends on their number alone, not on their scores. */
    const int64_t order = binomial_order(positives, 1.0 - recall, delta);
    *lo = FOCUS_ALL;
    for (int64_t i = 0; i < count && order > 0; ++i) {
        seen += sample[i].positive;
        if (sample[i].positive && seen == order) {
            *lo = sample[i].code;
            return true;
        }
    }
    return false;
}

/* Mean of mass over all draws, of positives on one side of a place, with its bound of a normal law. */
static double bound_of(const focus_label *sample, int64_t count, int64_t from, int64_t to, double delta, bool upper)
{
    double sum = 0.0, square = 0.0;
    for (int64_t i = from; i < to; ++i) {
        const double mass = sample[i].positive ? sample[i].mass : 0.0;
        sum += mass;
        square += mass * mass;
    }
    const double n = (double)count, mean = sum / n;
    const double deviation = sqrt(fmax(square / n - mean * mean, 0.0));
    const double width = sqrt(2.0 * log(1.0 / (2.0 * delta))) / sqrt(n) * deviation;
    return upper ? mean + width : fmax(mean - width, 0.0);
}

/* The first place of the highest code from which on positives have the share `target` of all positives' mass. */
static int64_t place_of(const focus_label *sample, int64_t count, double target)
{
    double all = 0.0, above = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        all += sample[i].positive ? sample[i].mass : 0.0;
    }
    int64_t i = count;
    while (i > 0 && (above < target * all || (i < count && sample[i].code == sample[i - 1].code))) {
        --i;
        above += sample[i].positive ? sample[i].mass : 0.0;
    }
    return i;
}

bool focus_recall_importance(focus_label *sample, int64_t count, double recall, double delta, int32_t *lo)
{
    qsort(sample, (size_t)count, sizeof *sample, by_code);
    *lo = FOCUS_ALL;
    const int64_t first = place_of(sample, count, recall);
    if (first == 0 || first == count) { /* no positives, or none below any threshold that would do */
        return false;
    }
    const double above = bound_of(sample, count, first, count, delta / 2.0, true);
    const double below = bound_of(sample, count, 0, first, delta / 2.0, false);
    const double target = above / (above + below);
    const int64_t place = target < 1.0 ? place_of(sample, count, target) : 0;
    if (place == 0) {
        return false;
    }
    *lo = sample[place].code;
    return true;
}

/* ---- precision ---- */

/* What decides at a threshold: negatives of `taken` draws from it on may be the share `most` of the items there. */
typedef struct precision_rule {
    double most, delta;
    int64_t wrong;       /* negatives that all answers allow; -1: `most` holds at every threshold */
    int64_t items;       /* that were sampled from */
    const int64_t *from; /* [65537] items from each code on; NULL: in proportion to the sample */
} precision_rule;

static bool holds(const precision_rule *rule, int64_t count, int64_t taken, int64_t negatives, uint16_t code)
{
    if (rule->wrong < 0) {
        return binomial_below(taken, rule->most, negatives) <= rule->delta;
    }
    const double there =
        rule->from != NULL ? (double)rule->from[code] : (double)rule->items * (double)taken / (double)count;
    const double share = (double)rule->wrong / there;
    return share >= 1.0 || binomial_below(taken, share, negatives) <= rule->delta;
}

/* Thresholds are codes of sorted draws, from `first` draws on in steps; numbers of draws do not depend on labels. */
static void try_thresholds(const focus_label *sample, int64_t count, int64_t first, const precision_rule *rule,
                           int32_t *hi)
{
    const int64_t step = count / 32 > 1 ? count / 32 : 1;
    int64_t negatives = 0, next = first;
    for (int64_t taken = 1; taken <= count; ++taken) {
        const int64_t i = count - taken;
        negatives += !sample[i].positive;
        const bool tied = i > 0 && sample[i - 1].code == sample[i].code;
        if (taken < next || tied) {
            continue;
        }
        if (!holds(rule, count, taken, negatives, sample[i].code)) {
            return;
        }
        *hi = sample[i].code;
        next = taken + step < count ? taken + step : count;
    }
}

void focus_precision_exact(focus_label *sample, int64_t count, double precision, double delta, int32_t *hi)
{
    *hi = FOCUS_NONE;
    if (precision >= 1.0 || count == 0) {
        return;
    }
    qsort(sample, (size_t)count, sizeof *sample, by_code);
    /* The first threshold has so many draws from it on that some of them may be negative. */
    const int64_t least = (int64_t)ceil(log(delta) / log(precision)), first = 3 * least < count ? 3 * least : count;
    const precision_rule rule = {.most = 1.0 - precision, .delta = delta, .wrong = -1};
    if (count >= least) {
        try_thresholds(sample, count, first, &rule, hi);
    }
}

void focus_precision_answers(focus_label *sample, int64_t count, int64_t items, const int64_t *from, double precision,
                             double delta, int32_t *hi)
{
    enum { PARTS = 5 };
    int64_t negatives = 0;
    *hi = FOCUS_NONE;
    if (precision >= 1.0 || count == 0) {
        return;
    }
    qsort(sample, (size_t)count, sizeof *sample, by_code);
    for (int64_t i = 0; i < count; ++i) {
        negatives += !sample[i].positive;
    }
    const double positives = (double)items * (1.0 - binomial_upper(count, negatives, delta / PARTS));
    const precision_rule rule = {.delta = delta * (PARTS - 1) / PARTS,
                                 .wrong = (int64_t)(positives * (1.0 - precision) / precision),
                                 .items = items,
                                 .from = from};
    try_thresholds(sample, count, count / 32 > 1 ? count / 32 : 1, &rule, hi);
}

/* ---- draws ---- */

enum { IMPORTANCE_DRAW = 1 << 30 /* index of a counter: permutations take those from 0 on */ };

static int by_place(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t focus_draw_uniform(int64_t items, int64_t count, uint64_t seed, uint32_t class, int64_t *place)
{
    const int64_t drawn = count < items ? count : items;
    if (drawn == 0) {
        return 0;
    }
    const permutation order = permutation_make((uint64_t)items, seed, WEFT_RNG_FOCUS, class);
    for (int64_t i = 0; i < drawn; ++i) {
        place[i] = (int64_t)permute(&order, (uint64_t)i);
    }
    qsort(place, (size_t)drawn, sizeof *place, by_place);
    return drawn;
}

weft_status focus_draw_importance(const uint16_t *code, int64_t items, int64_t count, uint64_t seed, uint32_t class,
                                  int64_t *place, double *mass)
{
    double *sum = NULL; /* of sqrt(probability) of the items up to each */
    WEFT_TRY(WEFT_NEW(&sum, items, WEFT_MEM_FOCUS));
    for (int64_t i = 0; i < items; ++i) {
        const double root = sqrt(1.0 / (1.0 + exp(-focus_log_odds(code[i]))));
        sum[i] = (i > 0 ? sum[i - 1] : 0.0) + root;
    }
    const double all = sum[items - 1];
    for (int64_t i = 0; i < count; ++i) {
        const philox_block block =
            philox4x32(philox_counter(IMPORTANCE_DRAW, (uint64_t)i, WEFT_RNG_FOCUS, class), seed);
        const double u = philox_uniform_double(block.word[0], block.word[1]);
        int64_t low = 0, high = items - 1;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            *(sum[middle] > u * all ? &high : &low) = sum[middle] > u * all ? middle : middle + 1;
        }
        const double v = philox_uniform_double(block.word[2], block.word[3]);
        place[i] = v < 0.1 ? (int64_t)(v / 0.1 * (double)items) : low;
        place[i] = place[i] < items ? place[i] : items - 1;
        const double root = sum[place[i]] - (place[i] > 0 ? sum[place[i] - 1] : 0.0);
        mass[i] = 1.0 / ((double)items * (0.9 * root / all + 0.1 / (double)items));
    }
    weft_free(sum);
    return WEFT_OK;
}
