/*
 * Thresholds with a promise: binomial bounds against closed forms and tabulated values; over 200 draws of synthetic
 * scores whose truth is known, targets hold in at least 95 of 100, and naive quantiles fail the same test; over small
 * samples thresholds are those that a search through all of them finds, and follow any monotone map of the scores.
 * trees: release asan
 */
#include <math.h>

#include "base/philox.h"
#include "focus/bounds/binomial.h"
#include "focus/bounds/thresholds.h"
#include "focus/index/focus_index.h"
#include "support/test.h"

enum { ITEMS = 20000, LABELS = 1000, TRIALS = TEST_SANITIZED ? 60 : 200 };

static const double TARGET = 0.95, DELTA = 0.05;

/* ---- bounds ---- */

static void test_bounds_are_those_of_tables(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 400; n += 57) { /* no successes: 1 - delta^(1/n) */
        ASSERT_NEAR(binomial_upper(n, 0, 0.05), 1.0 - pow(0.05, 1.0 / (double)n), 1e-9);
        ASSERT_NEAR(binomial_upper(n, n - 1, 0.05), pow(0.95, 1.0 / (double)n), 1e-9);
        assert_true(binomial_upper(n, n, 0.05) == 1.0);
    }
    ASSERT_NEAR(binomial_upper(20, 5, 0.025), 0.4910459, 1e-6); /* Beta quantile(0.975; 6, 15) */
    ASSERT_NEAR(binomial_upper(100, 3, 0.05), 0.0757104, 1e-6);
    ASSERT_NEAR(binomial_below(10, 0.5, 3), 176.0 / 1024.0, 1e-12);
    assert_int_equal(binomial_order(58, 0.05, 0.05), 0);
    assert_int_equal(binomial_order(59, 0.05, 0.05), 1); /* the sample sizes of Wilks: 59, 93, 124 */
    assert_int_equal(binomial_order(92, 0.05, 0.05), 1);
    assert_int_equal(binomial_order(93, 0.05, 0.05), 2);
    assert_int_equal(binomial_order(124, 0.05, 0.05), 3);
}

/* ---- synthetic scores ---- */

static uint16_t code[ITEMS];
static bool truth[ITEMS];
static int64_t positives;

static double uniform(uint64_t trial, int64_t item, uint32_t index)
{
    const philox_block b = philox4x32(philox_counter(index, (uint64_t)item, 60000, (uint32_t)trial), 7);
    return philox_uniform_double(b.word[0], b.word[1]);
}

/* Beta(a, b) of whole numbers: the a-th smallest of a + b - 1 uniform numbers. */
static double beta(uint64_t trial, int64_t item, int a, int b)
{
    double u[16];
    for (int i = 0; i < a + b - 1; ++i) {
        u[i] = uniform(trial, item, (uint32_t)(i + 1));
        for (int j = i; j > 0 && u[j - 1] > u[j]; --j) {
            const double other = u[j];
            u[j] = u[j - 1];
            u[j - 1] = other;
        }
    }
    return u[a - 1];
}

/* sharp: negatives are mostly far from the class, as those of a class among a thousand are. */
static void make_scores(uint64_t trial, double prevalence, bool sharp)
{
    positives = 0;
    for (int64_t i = 0; i < ITEMS; ++i) {
        truth[i] = uniform(trial, i, 0) < prevalence;
        positives += truth[i];
        const double p = truth[i] ? beta(trial, i, 4, 2)
                         : sharp  ? 0.5 * pow(uniform(trial, i, 1), 40.0)
                                  : beta(trial, i, 1, 9);
        code[i] = focus_code(log(p / (1.0 - p)));
    }
}

static double recall_of(int32_t lo)
{
    int64_t found = 0;
    for (int64_t i = 0; i < ITEMS; ++i) {
        found += truth[i] && code[i] >= lo;
    }
    return (double)found / (double)positives;
}

static double precision_of(int32_t hi)
{
    int64_t found = 0, all = 0;
    for (int64_t i = 0; i < ITEMS; ++i) {
        all += code[i] >= hi;
        found += truth[i] && code[i] >= hi;
    }
    return all > 0 ? (double)found / (double)all : 1.0;
}

/* ---- naive rules ---- */

static int32_t naive_recall(const focus_label *sorted, int64_t count)
{
    int64_t all = 0, seen = 0;
    for (int64_t i = 0; i < count; ++i) {
        all += sorted[i].positive;
    }
    for (int64_t i = count - 1; i >= 0; --i) {
        seen += sorted[i].positive;
        if ((double)seen >= TARGET * (double)all) {
            return sorted[i].code;
        }
    }
    return FOCUS_ALL;
}

static int32_t naive_precision(const focus_label *sorted, int64_t count)
{
    int64_t seen = 0;
    int32_t hi = FOCUS_NONE;
    for (int64_t i = count - 1; i >= 0; --i) {
        seen += sorted[i].positive;
        hi = (double)seen >= TARGET * (double)(count - i) ? sorted[i].code : hi;
    }
    return hi;
}

/* ---- promises ---- */

static int64_t draw(uint64_t trial, int32_t lo, focus_label *sample)
{
    static int64_t of[ITEMS], place[LABELS];
    int64_t items = 0;
    for (int64_t i = 0; i < ITEMS; ++i) {
        if (code[i] >= lo) {
            of[items++] = i;
        }
    }
    const int64_t drawn = focus_draw_uniform(items, LABELS, trial, 3, place);
    for (int64_t i = 0; i < drawn; ++i) {
        sample[i] = (focus_label){.code = code[of[place[i]]], .positive = truth[of[place[i]]]};
    }
    return drawn;
}

static int at_least(double share)
{
    return (int)ceil(share * TRIALS);
}

static void test_exact_recall_holds_and_the_naive_quantile_does_not(void **state)
{
    (void)state;
    static focus_label sample[LABELS];
    int held = 0, naive = 0, bounded = 0;
    for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        int32_t lo;
        make_scores(trial, 0.1, false);
        const int64_t drawn = draw(trial, FOCUS_ALL, sample);
        bounded += focus_recall_exact(sample, drawn, TARGET, DELTA, &lo);
        held += recall_of(lo) >= TARGET;
        naive += recall_of(naive_recall(sample, drawn)) >= TARGET;
    }
    assert_int_equal(bounded, TRIALS); /* the promise leaves items out */
    assert_in_range(held, at_least(0.95), TRIALS);
    assert_in_range(naive, 0, at_least(0.75));
}

static void test_exact_recall_of_a_rare_class_lets_everything_through(void **state)
{
    (void)state;
    static focus_label sample[LABELS];
    int32_t lo;
    make_scores(1, 0.01, true);
    assert_false(focus_recall_exact(sample, draw(1, FOCUS_ALL, sample), TARGET, DELTA, &lo));
    assert_int_equal(lo, FOCUS_ALL);
}

static void test_importance_keeps_the_recall_of_a_rare_class(void **state)
{
    (void)state;
    enum { DRAWS = 3 * LABELS };
    static focus_label sample[DRAWS];
    static int64_t place[DRAWS];
    static double mass[DRAWS];
    int held = 0, bounded = 0, naive = 0;
    for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        int32_t lo;
        make_scores(trial, 0.01, true);
        ASSERT_OK(focus_draw_importance(code, ITEMS, DRAWS, trial, 3, place, mass));
        for (int64_t i = 0; i < DRAWS; ++i) {
            sample[i] = (focus_label){.code = code[place[i]], .positive = truth[place[i]], .mass = mass[i]};
        }
        bounded += focus_recall_importance(sample, DRAWS, TARGET, DELTA, &lo);
        held += recall_of(lo) >= TARGET;
        naive += recall_of(naive_recall(sample, draw(trial, FOCUS_ALL, sample))) >= TARGET;
    }
    assert_in_range(bounded, at_least(0.9), TRIALS);
    assert_in_range(held, at_least(0.95), TRIALS);
    assert_in_range(naive, 0, at_least(0.75));
}

static void test_precision_and_recall_hold_together(void **state)
{
    (void)state;
    static focus_label sample[LABELS];
    int held = 0, naive = 0, accepted = 0;
    for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        int32_t lo, hi;
        make_scores(trial, 0.1, false);
        (void)focus_recall_exact(sample, draw(trial, FOCUS_ALL, sample), TARGET, focus_delta_low(DELTA), &lo);
        const int64_t drawn = draw(trial + 1000, lo, sample);
        focus_precision_exact(sample, drawn, TARGET, focus_delta_high(DELTA), &hi);
        accepted += hi != FOCUS_NONE;
        held += recall_of(lo) >= TARGET && precision_of(hi) >= TARGET;
        naive += precision_of(naive_precision(sample, drawn)) >= TARGET;
    }
    assert_in_range(accepted, at_least(0.9), TRIALS);
    assert_in_range(held, at_least(0.95), TRIALS);
    assert_in_range(naive, 0, at_least(0.75));
}

/* Of all answers: what is verified from lo up to hi is right. */
static double precision_of_answers(int32_t lo, int32_t hi)
{
    int64_t found = 0, wrong = 0;
    for (int64_t i = 0; i < ITEMS; ++i) {
        found += truth[i] && code[i] >= lo;
        wrong += !truth[i] && code[i] >= hi;
    }
    return found > 0 ? (double)found / (double)(found + wrong) : 1.0;
}

/* [out] from: [FOCUS_NONE + 1] items from lo and each code on. Returns how many there are. */
static int64_t count_from(int32_t lo, int64_t *from)
{
    memset(from, 0, (FOCUS_NONE + 1) * sizeof *from);
    for (int64_t i = 0; i < ITEMS; ++i) {
        from[code[i]] += code[i] >= lo;
    }
    for (int32_t c = FOCUS_NONE; c > FOCUS_ALL; --c) {
        from[c - 1] += from[c];
    }
    return from[FOCUS_ALL];
}

/* The threshold that has the precision of all answers on the sample itself. */
static int32_t naive_answers(const focus_label *sorted, int64_t count)
{
    int64_t positive = 0, wrong = 0;
    int32_t hi = FOCUS_NONE;
    for (int64_t i = 0; i < count; ++i) {
        positive += sorted[i].positive;
    }
    for (int64_t i = count - 1; i >= 0; --i) {
        wrong += !sorted[i].positive;
        hi = (double)positive >= TARGET * (double)(positive + wrong) ? sorted[i].code : hi;
    }
    return hi;
}

static void test_precision_of_all_answers_accepts_more(void **state)
{
    (void)state;
    static focus_label sample[LABELS];
    static int64_t from[FOCUS_NONE + 1];
    int held = 0, naive = 0;
    int64_t most = 0, most_alone = 0; /* accepted in all trials */
    for (uint64_t trial = 0; trial < TRIALS; ++trial) {
        int32_t lo, alone, hi;
        make_scores(trial, 0.1, false);
        (void)focus_recall_exact(sample, draw(trial, FOCUS_ALL, sample), TARGET, DELTA / 2.0, &lo);
        const int64_t items = count_from(lo, from), drawn = draw(trial + 1000, lo, sample);
        focus_precision_exact(sample, drawn, TARGET, DELTA, &alone);
        focus_precision_answers(sample, drawn, items, from, TARGET, DELTA, &hi);
        most += from[hi];
        most_alone += from[alone];
        held += precision_of_answers(lo, hi) >= TARGET;
        naive += precision_of_answers(lo, naive_answers(sample, drawn)) >= TARGET;
    }
    assert_true(most > most_alone);
    assert_in_range(held, at_least(0.95), TRIALS);
    assert_in_range(naive, 0, at_least(0.75));
}

/* ---- all thresholds of small samples ---- */

enum { SMALL = 63, SMALL_TRIALS = 100, SMALL_EACH = 1000 /* items that one of a sample stands for */ };

static const double SMALL_RECALL = 0.7, SMALL_PRECISION = 0.8, SMALL_DELTA = 0.2;

/* Scores are rounded so that some items of a sample share theirs; a sixth of the items are not what they look like. */
static void take_small(int trial, focus_label *sample)
{
    for (int64_t i = 0; i < SMALL; ++i) {
        const int64_t item = (int64_t)trial * SMALL + i;
        const bool odd = uniform((uint64_t)trial, i, 21) < 1.0 / 6.0;
        sample[i] =
            (focus_label){.code = (uint16_t)(code[item] / 512 * 512), .positive = truth[item] != odd, .mass = 1.0};
    }
}

/* P(X <= k) by adding one draw after the other. */
static double chance_of(int64_t n, double p, int64_t k)
{
    double at[SMALL + 2] = {1.0}, sum = 0.0;
    for (int64_t draws = 1; draws <= n; ++draws) {
        for (int64_t i = draws; i > 0; --i) {
            at[i] = at[i] * (1.0 - p) + at[i - 1] * p;
        }
        at[0] *= 1.0 - p;
    }
    for (int64_t i = 0; i <= k; ++i) {
        sum += at[i];
    }
    return sum;
}

/* Items of a sample with codes of [from, to), and how many of them are positive. */
typedef struct tally {
    int64_t items, positive;
} tally;

static tally between(const focus_label *sample, int32_t from, int32_t to)
{
    tally t = {0, 0};
    for (int64_t i = 0; i < SMALL; ++i) {
        const bool in = sample[i].code >= from && sample[i].code < to;
        t.items += in;
        t.positive += in && sample[i].positive;
    }
    return t;
}

/* Thresholds to try: the codes of the sample, FOCUS_ALL and FOCUS_NONE. */
static int32_t threshold_of(const focus_label *sample, int i)
{
    return i < SMALL ? sample[i].code : i == SMALL ? FOCUS_ALL : FOCUS_NONE;
}

static bool keeps_recall(const focus_label *sample, int32_t lo)
{
    const tally below = between(sample, FOCUS_ALL, lo), all = between(sample, FOCUS_ALL, FOCUS_NONE);
    return chance_of(all.positive, 1.0 - SMALL_RECALL, below.positive) <= SMALL_DELTA;
}

/* [out] keeps: [SMALL + 2] of thresholds at the codes of the sample, at FOCUS_ALL and at FOCUS_NONE: the negatives from
 * each on, and from every higher code with `least` items or more, are few enough to say that they are at most `wrong`
 * items, or the share 1 - SMALL_PRECISION if wrong < 0. */
static void mark_precise(const focus_label *sample, int64_t least, int64_t wrong, double delta, bool *keeps)
{
    bool alone[SMALL];
    for (int i = 0; i < SMALL; ++i) {
        const tally t = between(sample, sample[i].code, FOCUS_NONE);
        const double share =
            wrong < 0 ? 1.0 - SMALL_PRECISION : fmin((double)wrong / (double)(t.items * SMALL_EACH), 1.0);
        alone[i] = share >= 1.0 || chance_of(t.items, share, t.items - t.positive) <= delta;
    }
    for (int k = 0; k < SMALL + 2; ++k) {
        const int32_t hi = threshold_of(sample, k);
        keeps[k] = hi == FOCUS_NONE || between(sample, hi, FOCUS_NONE).items >= least;
        for (int i = 0; i < SMALL; ++i) {
            const bool tried = sample[i].code >= hi && between(sample, sample[i].code, FOCUS_NONE).items >= least;
            keeps[k] = keeps[k] && (alone[i] || !tried);
        }
    }
}

/* Items of the smallest band [lo, hi) of all in which both keep their promise. */
static int64_t search_band(const focus_label *sample, int64_t least)
{
    bool precise[SMALL + 2];
    int64_t smallest = SMALL;
    mark_precise(sample, least, -1, SMALL_DELTA, precise);
    for (int i = 0; i < SMALL + 2; ++i) {
        const int32_t lo = threshold_of(sample, i);
        const bool keeps = keeps_recall(sample, lo);
        for (int k = 0; k < SMALL + 2; ++k) {
            const int32_t hi = threshold_of(sample, k);
            const int64_t items = between(sample, lo, hi).items;
            smallest = keeps && precise[k] && hi >= lo && items < smallest ? items : smallest;
        }
    }
    return smallest;
}

static void test_the_band_is_the_smallest_of_all_that_keep_both_promises(void **state)
{
    (void)state;
    focus_label sample[SMALL];
    const int64_t least = 3 * (int64_t)ceil(log(SMALL_DELTA) / log(SMALL_PRECISION));
    int narrow = 0;
    make_scores(0, 0.6, false);
    for (int trial = 0; trial < SMALL_TRIALS; ++trial) {
        int32_t lo, hi;
        take_small(trial, sample);
        assert_true(focus_recall_exact(sample, SMALL, SMALL_RECALL, SMALL_DELTA, &lo));
        const int64_t below = between(sample, FOCUS_ALL, lo).items, band = search_band(sample, least);
        focus_precision_exact(sample + below, SMALL - below, SMALL_PRECISION, SMALL_DELTA, &hi);
        if (SMALL - below < least) {
            assert_true(hi == lo || hi == FOCUS_NONE); /* too few to try any but all of them */
            continue;
        }
        assert_int_equal(between(sample, lo, hi).items, band);
        narrow += band > 0 && band < SMALL - below;
    }
    assert_in_range(narrow, SMALL_TRIALS / 10, SMALL_TRIALS);
}

/* Of all answers: the positive items are bounded from below by halving an interval, a fifth of the probability. */
static int64_t search_wrong(int64_t positive)
{
    double low = (double)(SMALL - positive) / SMALL, high = 1.0;
    for (int i = 0; i < 50; ++i) {
        const double middle = (low + high) / 2.0;
        *(chance_of(SMALL, middle, SMALL - positive) > SMALL_DELTA / 5.0 ? &low : &high) = middle;
    }
    return (int64_t)(SMALL * SMALL_EACH * (1.0 - high) * (1.0 - SMALL_PRECISION) / SMALL_PRECISION);
}

static void test_no_lower_threshold_keeps_the_precision_of_all_answers(void **state)
{
    (void)state;
    focus_label sample[SMALL];
    bool precise[SMALL + 2];
    int accepted = 0;
    make_scores(1, 0.5, false);
    for (int trial = 0; trial < SMALL_TRIALS; ++trial) {
        int32_t hi, lowest = FOCUS_NONE;
        take_small(trial, sample);
        const int64_t wrong = search_wrong(between(sample, FOCUS_ALL, FOCUS_NONE).positive);
        mark_precise(sample, 1, wrong, SMALL_DELTA * 0.8, precise);
        for (int k = 0; k < SMALL; ++k) {
            lowest = precise[k] && sample[k].code < lowest ? sample[k].code : lowest;
        }
        focus_precision_answers(sample, SMALL, SMALL * SMALL_EACH, NULL, SMALL_PRECISION, SMALL_DELTA, &hi);
        assert_int_equal(hi, lowest);
        accepted += hi != FOCUS_NONE;
    }
    assert_in_range(accepted, SMALL_TRIALS / 4, SMALL_TRIALS);
}

/* Thresholds of a sample, by all four rules. */
static void set_all(focus_label *sample, int32_t threshold[4])
{
    (void)focus_recall_exact(sample, SMALL, SMALL_RECALL, SMALL_DELTA, &threshold[0]);
    (void)focus_recall_importance(sample, SMALL, SMALL_RECALL, SMALL_DELTA, &threshold[1]);
    focus_precision_exact(sample, SMALL, SMALL_PRECISION, SMALL_DELTA, &threshold[2]);
    focus_precision_answers(sample, SMALL, SMALL * SMALL_EACH, NULL, SMALL_PRECISION, SMALL_DELTA, &threshold[3]);
}

/* A map that rises by 1 to 510 between neighbours of the 128 possible scores leaves out and accepts the same items. */
static void test_thresholds_follow_a_monotone_map(void **state)
{
    (void)state;
    focus_label sample[SMALL], mapped[SMALL];
    int moved = 0;
    make_scores(2, 0.5, false);
    for (int trial = 0; trial < SMALL_TRIALS; ++trial) {
        int32_t before[4], after[4], map[FOCUS_NONE / 512 + 1] = {FOCUS_ALL};
        for (int i = 1; i < FOCUS_NONE / 512; ++i) {
            map[i] = map[i - 1] + 1 + (int32_t)(uniform((uint64_t)trial, i, 20) * 510.0);
        }
        map[FOCUS_NONE / 512] = FOCUS_NONE;
        take_small(trial, sample);
        for (int i = 0; i < SMALL; ++i) {
            mapped[i] = sample[i];
            mapped[i].code = (uint16_t)map[sample[i].code / 512];
        }
        set_all(sample, before);
        set_all(mapped, after);
        for (int k = 0; k < 4; ++k) {
            assert_int_equal(after[k], map[before[k] / 512]);
            moved += after[k] != before[k];
        }
    }
    assert_in_range(moved, SMALL_TRIALS, 4 * SMALL_TRIALS);
}

/* ---- closed forms ---- */

static void test_perfect_scores_accept_all_positives_and_no_others(void **state)
{
    (void)state;
    focus_label sample[300];
    int32_t lo, hi;
    for (int i = 0; i < 300; ++i) {
        sample[i] = (focus_label){.code = (uint16_t)(i < 200 ? 1000 + i : 60000 + i), .positive = i >= 200};
    }
    assert_true(focus_recall_exact(sample, 300, TARGET, DELTA, &lo));
    assert_int_equal(lo, 60201); /* the second smallest of 100 positives */
    focus_precision_exact(sample + 201, 99, TARGET, DELTA, &hi);
    assert_int_equal(hi, lo); /* no item is between them */
    focus_precision_exact(sample + 201, 99, 1.0, DELTA, &hi);
    assert_int_equal(hi, FOCUS_NONE);
    focus_precision_answers(sample + 150, 150, 150, NULL, TARGET, DELTA, &hi);
    assert_int_equal(hi, 60200); /* 4 that are wrong beside 100 that are right are too few to be sure of */
    focus_precision_answers(sample + 150, 150, 150, NULL, 1.0, DELTA, &hi);
    assert_int_equal(hi, FOCUS_NONE);
    focus_precision_exact(sample + 250, 50, TARGET, DELTA, &hi); /* 58 without a negative would not do */
    assert_int_equal(hi, FOCUS_NONE);
}

static void test_a_constant_score_lets_everything_through(void **state)
{
    (void)state;
    focus_label sample[600];
    int32_t lo, hi;
    for (int i = 0; i < 600; ++i) {
        sample[i] = (focus_label){.code = 77, .positive = i % 3 == 0, .mass = 1.0};
    }
    assert_true(focus_recall_exact(sample, 600, TARGET, DELTA, &lo));
    assert_int_equal(lo, 77); /* and with it all items */
    assert_false(focus_recall_importance(sample, 600, TARGET, DELTA, &lo));
    focus_precision_exact(sample, 600, TARGET, DELTA, &hi);
    assert_int_equal(hi, FOCUS_NONE);
}

static void test_draws_follow_their_law(void **state)
{
    (void)state;
    static int64_t place[ITEMS];
    static double mass[ITEMS];
    make_scores(0, 0.1, false);
    assert_int_equal(focus_draw_uniform(ITEMS, ITEMS + 5, 1, 0, place), ITEMS);
    for (int64_t i = 0; i < ITEMS; ++i) {
        assert_int_equal(place[i], i); /* each once */
    }
    ASSERT_OK(focus_draw_importance(code, ITEMS, ITEMS, 1, 0, place, mass));
    double estimate = 0.0; /* of the share of positives, without bias */
    for (int64_t i = 0; i < ITEMS; ++i) {
        estimate += truth[place[i]] ? mass[i] / ITEMS : 0.0;
    }
    ASSERT_NEAR(estimate, (double)positives / ITEMS, 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_are_those_of_tables),
        cmocka_unit_test(test_exact_recall_holds_and_the_naive_quantile_does_not),
        cmocka_unit_test(test_exact_recall_of_a_rare_class_lets_everything_through),
        cmocka_unit_test(test_importance_keeps_the_recall_of_a_rare_class),
        cmocka_unit_test(test_precision_and_recall_hold_together),
        cmocka_unit_test(test_precision_of_all_answers_accepts_more),
        cmocka_unit_test(test_the_band_is_the_smallest_of_all_that_keep_both_promises),
        cmocka_unit_test(test_no_lower_threshold_keeps_the_precision_of_all_answers),
        cmocka_unit_test(test_thresholds_follow_a_monotone_map),
        cmocka_unit_test(test_perfect_scores_accept_all_positives_and_no_others),
        cmocka_unit_test(test_a_constant_score_lets_everything_through),
        cmocka_unit_test(test_draws_follow_their_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
