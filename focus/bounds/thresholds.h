/*
 * focus/bounds/thresholds.h: thresholds on scores that keep a promise about recall or precision.
 *
 *      score   low ------------- lo ===================== hi ------------- high
 *              left out             the expensive network     accepted
 *                                   decides
 *
 * `lo` keeps recall: of all positive items, those below it are at most the share 1 - recall. `hi` keeps precision: of
 * the items from it on, at most the share 1 - precision is negative, or of these and the positive ones between lo and
 * hi, which are answers, too. Each holds with probability 1 - delta over the
 * draw of the labelled sample, whatever the scores are. The threshold that has the wanted share on the sample itself
 * (the naive quantile) holds in about half of the draws, or in fewer.
 *
 *      recall_exact        a uniform sample; exact for any number of items (focus/bounds/binomial.h); needs 59
 *                          positives in it for a recall of 0.95 at delta 0.05, 64 at 0.0375
 *      recall_importance   a sample drawn by sqrt(score), for rare classes; its bound is that of a normal law, which
 *                          is right for large samples (D. Kang, E. Gan, P. Bailis, T. Hashimoto, Y. Sun, M. Zaharia:
 *                          Approximate selection with guarantees using proxies. VLDB 13(11), 2020,
 *                          doi:10.14778/3407790.3407804)
 *      precision_exact     a uniform sample of the items from lo on; thresholds are tried in a fixed order until one
 *                          fails, which needs no correction for trying several
 *      precision_answers   the same sample. With T positive items from lo on, all answers keep the precision p as long
 *                          as T (1 - p) / p items from hi on are negative, wherever hi is: a fifth of delta bounds T
 *                          from below, and each threshold has a share of its own that it may not pass
 *
 * Scores are codes of focus/index/focus_index.h, or any other numbers of 16 bits that grow with the likelihood.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* An item of a labelled sample. */
typedef struct focus_label {
    uint16_t code;
    bool positive;
    double mass; /* importance sampling: 1 / (items * probability of the draw); not read elsewhere */
} focus_label;

enum { FOCUS_ALL = 0 /* lo that lets every item through */, FOCUS_NONE = 65536 /* hi that accepts no item */ };

/* [in, out] sample: [count], of a uniform sample; sorted by this call. [out] lo. Returns false, with FOCUS_ALL, if the
 * sample has too few positives for the promise. */
bool focus_recall_exact(focus_label *sample, int64_t count, double recall, double delta, int32_t *lo);
/* [in, out] sample: [count] draws with replacement, with their masses; sorted by this call. [out] lo. Returns false,
 * with FOCUS_ALL, if the sample promises nothing less than all items. */
bool focus_recall_importance(focus_label *sample, int64_t count, double recall, double delta, int32_t *lo);
/* [in, out] sample: [count] of a uniform sample of the items from lo on; sorted by this call. [out] hi, or
 * FOCUS_NONE. */
void focus_precision_exact(focus_label *sample, int64_t count, double precision, double delta, int32_t *hi);
/* Keeps the precision of all answers, if everything from lo up to hi is verified. [in, out] sample and [out] hi: as
 * focus_precision_exact has them. items: from which the sample was drawn. from: [65537] items with this code or a
 * higher one; NULL: in proportion to the sample, which is a forecast and no promise. */
void focus_precision_answers(focus_label *sample, int64_t count, int64_t items, const int64_t *from, double precision,
                             double delta, int32_t *hi);

/*
 * Of the probability `delta` that a query breaks its promise, lo takes three quarters and hi the rest. Where lo lies
 * depends on the few sampled positives with the least scores, and between two of these are many items; hi is among the
 * likeliest, which are sampled densely, so that surer bounds cost little there.
 */
static inline double focus_delta_low(double delta)
{
    return 0.75 * delta;
}

static inline double focus_delta_high(double delta)
{
    return delta - focus_delta_low(delta);
}

/* ---- draws, functions of (seed, class, number of the draw) alone ---- */

enum { FOCUS_NO_CLASS = 65536 /* a draw that all classes share; other draws are for a class below it */ };

/* [out] place: [min(count, items)] different ones of [0, items), ascending. Returns how many. */
int64_t focus_draw_uniform(int64_t items, int64_t count, uint64_t seed, uint32_t class, int64_t *place);
/* Draws with replacement, with probability 0.9 sqrt(p) / sum + 0.1 / items, where p is the probability of the code.
 * [out] place [count], mass [count]. WEFT_ERR_RESOURCE. */
weft_status focus_draw_importance(const uint16_t *code, int64_t items, int64_t count, uint64_t seed, uint32_t class,
                                  int64_t *place, double *mass);
