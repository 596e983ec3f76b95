/* train/batch/batch_deal.c: see train/batch/batch_deal.h. */
#include "train/batch/batch_deal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/permutation.h"
#include "base/philox.h"
#include "base/random/gamma.h"
#include "train/train_options.def"

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static const struct rule_row {
    const char *word;
    double least, most; /* of the value; least is not allowed itself where `open` */
    bool open, whole;
} rule_rows[] = {
    [DEAL_RANDOM] = {"random", 0, 0, false, false},
    [DEAL_LABEL] = {"label", 0, 1, false, false},
    [DEAL_LABEL_COUNT] = {"label-count", 1, 1 << 16, false, true},
    [DEAL_DIRICHLET] = {"dirichlet", 0, 1e6, true, false},
    [DEAL_QUANTITY] = {"quantity", 0, 1e6, true, false},
};

static bool is_allowed(const struct rule_row *row, double value)
{
    const bool above = row->open ? value > row->least : value >= row->least;
    return above && value <= row->most && (!row->whole || value == floor(value));
}

weft_status deal_rule_parse(const char *text, deal_rule *rule)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    *rule = (deal_rule){.kind = DEAL_RANDOM};
    for (size_t i = 0; i < sizeof rule_rows / sizeof *rule_rows; ++i) {
        const struct rule_row *row = &rule_rows[i];
        if (strlen(row->word) != length || strncmp(row->word, text, length) != 0) {
            continue;
        }
        if (colon == NULL && i == DEAL_RANDOM) {
            return WEFT_OK;
        }
        WEFT_CHECK(colon != NULL && i != DEAL_RANDOM && number_parse_real(colon + 1, &rule->value) &&
                       is_allowed(row, rule->value),
                   WEFT_ERR_USAGE, FLAG_SHARD_BY " %s: %s takes %s number %s %g and at most %g, such as %s", text,
                   row->word, row->whole ? "a whole" : "a", row->open ? "above" : "from", row->least, row->most,
                   i == DEAL_LABEL         ? "label:0.8"
                   : i == DEAL_LABEL_COUNT ? "label-count:2"
                                           : "dirichlet:0.5");
        rule->kind = (deal_kind)i;
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_USAGE,
                     FLAG_SHARD_BY " %s: expected random, label:S, label-count:C, dirichlet:B or quantity:B", text);
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/* [out] bound: [ranks + 1] 0 .. count, cut by shares of Dirichlet(concentration). stream: of this draw. */
static void cut_by_draw(double concentration, int64_t count, int ranks, int64_t stream, uint64_t seed, int64_t *bound)
{
    double sum = 0.0, before = 0.0;
    for (int r = 0; r < ranks; ++r) {
        sum += gamma_draw(concentration, seed, WEFT_RNG_DEAL, 1, (uint64_t)(stream * ranks + r));
    }
    bound[0] = 0;
    for (int r = 0; r < ranks; ++r) {
        before += gamma_draw(concentration, seed, WEFT_RNG_DEAL, 1, (uint64_t)(stream * ranks + r));
        const double share = sum > 0.0 ? before / sum : (double)(r + 1) / ranks; /* all draws underflowed */
        bound[r + 1] = r + 1 == ranks ? count : (int64_t)floor(share * (double)count + 0.5);
    }
}

/* ---- owners ------------------------------------------------------------------------------------------------------ */

/* What dealing needs for a while. Samples are named by their place in a random order. */
typedef struct dealing {
    const deal_rule *rule;
    const deal_samples *samples;
    int ranks;
    uint64_t seed;
    permutation drawn;
    int32_t *label;    /* [count] of the sample at a place */
    int32_t *owner;    /* [count] */
    int64_t *of_class; /* [classes] samples */
    int64_t *seen;     /* [classes] samples that were dealt so far */
    int64_t *bound;    /* [classes + 1, ranks + 1] */
    int64_t *of_shard; /* [classes] of one rank */
} dealing;

/* The run that hal_split_rows puts a place in. */
static int32_t run_of(int64_t place, int64_t count, int ranks)
{
    const int64_t share = count / ranks, longer = count % ranks * (share + 1);
    return (int32_t)(place < longer ? place / (share + 1) : count % ranks + (place - longer) / share);
}

/* The first `sorted` places take their owner by their place among labels, the others by their place. */
static void deal_by_label(const dealing *d)
{
    const int64_t count = d->samples->count;
    const int64_t sorted = (int64_t)floor(d->rule->value * (double)count + 0.5);
    for (int64_t i = 0; i < sorted; ++i) {
        d->of_class[d->label[i]] += 1;
    }
    for (int64_t c = 0, before = 0; c < d->samples->classes; ++c) {
        d->seen[c] = before;
        before += d->of_class[c];
    }
    for (int64_t i = 0; i < sorted; ++i) {
        d->owner[i] = run_of(d->seen[d->label[i]]++, sorted, d->ranks);
    }
    for (int64_t i = sorted; i < count; ++i) {
        d->owner[i] = run_of(i - sorted, count - sorted, d->ranks);
    }
}

/* Class c stands at place `at` of a random order of the classes; rank r has the C classes from place r C on, round the
 * circle. */
static weft_status deal_by_count(const dealing *d)
{
    const int64_t classes = d->samples->classes, each = (int64_t)d->rule->value;
    WEFT_CHECK(each <= classes && each * d->ranks >= classes, WEFT_ERR_USAGE,
               FLAG_SHARD_BY
               " label-count:%lld: %lld classes on %d ranks: from %lld, so that no class is left over, to "
               "%lld",
               (long long)each, (long long)classes, d->ranks, (long long)((classes + d->ranks - 1) / d->ranks),
               (long long)classes);
    const permutation order = permutation_make((uint64_t)classes, d->seed, WEFT_RNG_DEAL, 2);
    for (int64_t i = 0; i < d->samples->count; ++i) {
        const int64_t at = (int64_t)permute(&order, (uint64_t)d->label[i]);
        const int64_t slots = each * d->ranks, owners = (slots - at + classes - 1) / classes;
        const int64_t turn = d->seen[d->label[i]]++ % owners;
        d->owner[i] = (int32_t)((at + turn * classes) / each);
    }
    return WEFT_OK;
}

static int owner_by_bound(const int64_t *bound, int64_t place)
{
    int rank = 0;
    while (place >= bound[rank + 1]) {
        ++rank;
    }
    return rank;
}

static void deal_by_draw(const dealing *d)
{
    const int64_t count = d->samples->count;
    for (int64_t i = 0; i < count; ++i) {
        d->of_class[d->label[i]] += 1;
    }
    for (int64_t c = 0; c < d->samples->classes; ++c) {
        cut_by_draw(d->rule->value, d->of_class[c], d->ranks, c, d->seed, d->bound + c * (d->ranks + 1));
    }
    for (int64_t i = 0; i < count; ++i) {
        const int64_t c = d->label[i];
        d->owner[i] = owner_by_bound(d->bound + c * (d->ranks + 1), d->seen[c]++);
    }
}

static void deal_by_quantity(const dealing *d)
{
    cut_by_draw(d->rule->value, d->samples->count, d->ranks, d->samples->classes, d->seed, d->bound);
    for (int64_t i = 0; i < d->samples->count; ++i) {
        d->owner[i] = owner_by_bound(d->bound, i);
    }
}

static weft_status deal_owners(const dealing *d)
{
    switch (d->rule->kind) {
    case DEAL_LABEL:
        deal_by_label(d);
        return WEFT_OK;
    case DEAL_LABEL_COUNT:
        return deal_by_count(d);
    case DEAL_DIRICHLET:
        deal_by_draw(d);
        return WEFT_OK;
    default:
        deal_by_quantity(d);
        return WEFT_OK;
    }
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static weft_status fill_shards(const dealing *d, batch_deal *deal)
{
    memset(deal->first, 0, ((size_t)d->ranks + 1) * sizeof *deal->first);
    for (int64_t i = 0; i < d->samples->count; ++i) {
        deal->first[d->owner[i] + 1] += 1;
    }
    for (int r = 0; r < d->ranks; ++r) {
        WEFT_CHECK(deal->first[r + 1] > 0, WEFT_ERR_USAGE,
                   FLAG_SHARD_BY ": rank %d of %d would have none of %lld samples: take a larger number there, another "
                                 "seed, or fewer ranks",
                   r, d->ranks, (long long)d->samples->count);
        deal->first[r + 1] += deal->first[r];
        d->bound[r] = deal->first[r];
    }
    for (int64_t i = 0; i < d->samples->count; ++i) {
        deal->sample[d->bound[d->owner[i]]++] = (int64_t)permute(&d->drawn, (uint64_t)i);
    }
    return WEFT_OK;
}

double label_distance(const int64_t *part, const int64_t *whole, int64_t classes)
{
    double sum[2] = {0.0, 0.0}, distance = 0.0;
    for (int64_t c = 0; c < classes; ++c) {
        sum[0] += (double)part[c];
        sum[1] += (double)whole[c];
    }
    for (int64_t c = 0; c < classes && sum[0] > 0 && sum[1] > 0; ++c) {
        distance += 0.5 * fabs((double)part[c] / sum[0] - (double)whole[c] / sum[1]);
    }
    return distance;
}

static void measure(const dealing *d, const batch_deal *deal)
{
    const size_t bytes = (size_t)d->samples->classes * sizeof *d->of_class;
    memset(d->of_class, 0, bytes);
    for (int64_t i = 0; i < d->samples->count; ++i) {
        d->of_class[d->label[i]] += 1;
    }
    for (int r = 0; r < d->ranks; ++r) {
        memset(d->of_shard, 0, bytes);
        for (int64_t i = deal->first[r]; i < deal->first[r + 1]; ++i) {
            d->of_shard[d->samples->label(d->samples->self, deal->sample[i])] += 1;
        }
        deal->distance[r] = label_distance(d->of_shard, d->of_class, d->samples->classes);
    }
}

static weft_status make(dealing *d, batch_deal *deal)
{
    const int64_t count = d->samples->count;
    WEFT_TRY(WEFT_NEW(&deal->first, d->ranks + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&deal->sample, count, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&deal->distance, d->ranks, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&d->label, count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&d->owner, count, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&d->of_class, d->samples->classes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&d->seen, d->samples->classes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&d->of_shard, d->samples->classes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&d->bound, (d->samples->classes + 1) * (d->ranks + 1), WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        d->label[i] = d->samples->label(d->samples->self, (int64_t)permute(&d->drawn, (uint64_t)i));
        assert(d->label[i] >= 0 && d->label[i] < d->samples->classes);
    }
    WEFT_TRY(deal_owners(d));
    WEFT_TRY(fill_shards(d, deal));
    measure(d, deal);
    return WEFT_OK;
}

weft_status batch_deal_make(const deal_rule *rule, const deal_samples *samples, int ranks, uint64_t seed,
                            batch_deal *deal)
{
    *deal = (batch_deal){.ranks = ranks};
    assert(rule->kind != DEAL_RANDOM && ranks >= 1 && samples->classes >= 1);
    WEFT_CHECK(samples->count >= ranks, WEFT_ERR_USAGE,
               FLAG_SHARD_BY ": %lld training samples are too few for %d ranks", (long long)samples->count, ranks);
    dealing d = {.rule = rule,
                 .samples = samples,
                 .ranks = ranks,
                 .seed = seed,
                 .drawn = permutation_make((uint64_t)samples->count, seed, WEFT_RNG_DEAL, 0)};
    const weft_status status = make(&d, deal);
    WEFT_FREE_ALL(d.label, d.owner, d.of_class, d.seen, d.of_shard, d.bound);
    return status;
}

void batch_deal_destroy(batch_deal *deal)
{
    WEFT_FREE_ALL(deal->first, deal->sample, deal->distance);
    *deal = (batch_deal){.ranks = 0};
}

int batch_deal_owner(const batch_deal *deal, int64_t position)
{
    return owner_by_bound(deal->first, position);
}

double batch_deal_distance(const batch_deal *deal)
{
    double sum = 0.0;
    for (int r = 0; r < deal->ranks; ++r) {
        sum += deal->distance[r];
    }
    return sum / deal->ranks;
}
