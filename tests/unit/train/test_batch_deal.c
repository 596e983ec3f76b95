/* Shards of the ranks: every sample has one owner, sizes and labels follow the rule, and label distances are those of
 * closed forms. */
#include <math.h>

#include "support/test.h"
#include "train/batch/batch_order.h"

enum { SAMPLES = 1200, CLASSES = 10 };

static int32_t label_of(const void *self, int64_t sample)
{
    return (int32_t)(sample % *(const int64_t *)self);
}

static void deal(const char *text, int ranks, uint64_t seed, batch_deal *made)
{
    static const int64_t classes = CLASSES;
    deal_rule rule;
    const deal_samples samples = {.count = SAMPLES, .classes = CLASSES, .label = label_of, .self = &classes};
    assert_int_equal(deal_rule_parse(text, &rule), WEFT_OK);
    assert_int_equal(batch_deal_make(&rule, &samples, ranks, seed, made), WEFT_OK);
    bool seen[SAMPLES] = {false};
    for (int r = 0; r < ranks; ++r) {
        for (int64_t i = made->first[r]; i < made->first[r + 1]; ++i) {
            assert_false(seen[made->sample[i]]);
            seen[made->sample[i]] = true;
            assert_int_equal(batch_deal_owner(made, i), r);
        }
    }
    assert_int_equal(made->first[ranks], SAMPLES);
}

/* Mixing the share S of one's own labels with the share 1 - S of all labels leaves S times the distance. */
static void test_distance_is_that_of_the_share(void **state)
{
    batch_deal d;
    (void)state;
    deal("label:1", CLASSES, 3, &d);
    for (int r = 0; r < CLASSES; ++r) {
        assert_int_equal(batch_deal_size(&d, r), SAMPLES / CLASSES);
        assert_true(fabs(d.distance[r] - (1.0 - 1.0 / CLASSES)) < 1e-12);
    }
    batch_deal_destroy(&d);
    deal("label:0.5", 5, 3, &d);
    assert_true(fabs(batch_deal_distance(&d) - 0.5 * 0.8) < 0.1);
    batch_deal_destroy(&d);
    deal("label:0", 4, 3, &d);
    assert_true(batch_deal_distance(&d) < 0.12);
    batch_deal_destroy(&d);
}

static void test_ranks_have_their_count_of_classes(void **state)
{
    (void)state;
    for (int count = 3; count <= CLASSES; ++count) {
        char text[32];
        batch_deal d;
        snprintf(text, sizeof text, "label-count:%d", count);
        deal(text, 4, (uint64_t)count, &d);
        for (int r = 0; r < 4; ++r) {
            bool has[CLASSES] = {false};
            int classes = 0;
            for (int64_t i = d.first[r]; i < d.first[r + 1]; ++i) {
                classes += !has[d.sample[i] % CLASSES];
                has[d.sample[i] % CLASSES] = true;
            }
            assert_int_equal(classes, count);
        }
        batch_deal_destroy(&d);
    }
}

/* The distance falls as B grows, and so do the differences of sizes; the same seed deals the same. */
static void test_draws_follow_their_concentration(void **state)
{
    batch_deal few, many, again;
    (void)state;
    deal("dirichlet:0.1", 4, 5, &few);
    deal("dirichlet:1000", 4, 5, &many);
    deal("dirichlet:0.1", 4, 5, &again);
    assert_true(batch_deal_distance(&few) > 0.3);
    assert_true(batch_deal_distance(&many) < 0.05);
    assert_memory_equal(few.sample, again.sample, SAMPLES * sizeof *few.sample);
    batch_deal_destroy(&few);
    batch_deal_destroy(&many);
    batch_deal_destroy(&again);
    deal("quantity:1000", 4, 5, &many);
    for (int r = 0; r < 4; ++r) {
        assert_in_range(batch_deal_size(&many, r), 250, 350);
    }
    batch_deal_destroy(&many);
}

/* Dirichlet(B) over P ranks: a share has mean 1 / P and variance (1 - 1 / P) / (P (P B + 1)). */
static void test_shares_have_the_moments_of_dirichlet(void **state)
{
    enum { RANKS = 4, DRAWS = 600 };
    const double b = 0.5, mean = 1.0 / RANKS, variance = mean * (1.0 - mean) / (RANKS * b + 1.0);
    double sum = 0, squares = 0;
    int drawn = 0;
    (void)state;
    static const int64_t classes = 1;
    const deal_samples samples = {.count = SAMPLES, .classes = 1, .label = label_of, .self = &classes};
    for (uint64_t seed = 0; seed < DRAWS; ++seed) {
        batch_deal d;
        if (batch_deal_make(&(deal_rule){DEAL_QUANTITY, b}, &samples, RANKS, seed, &d) == WEFT_OK) {
            for (int r = 0; r < RANKS; ++r) {
                const double share = (double)batch_deal_size(&d, r) / SAMPLES;
                sum += share;
                squares += (share - mean) * (share - mean);
            }
            ++drawn;
        }
        batch_deal_destroy(&d);
    }
    assert_true(drawn > DRAWS * 9 / 10); /* the others leave a rank without a sample */
    assert_true(fabs(sum / (drawn * RANKS) - mean) < 1e-9);
    assert_true(fabs(squares / (drawn * RANKS) - variance) < 0.15 * variance);
}

/* An epoch of shards: each position once, every rank's own, in as many steps as without. */
static void test_epochs_take_every_sample_of_its_owner(void **state)
{
    batch_deal d;
    (void)state;
    deal("quantity:0.5", 3, 2, &d);
    for (int parts = 1; parts <= 3; ++parts) {
        const batch_plan plan = {.samples = SAMPLES, .batch = 100, .deal = &d};
        int64_t next[3] = {d.first[0], d.first[1], d.first[2]};
        assert_int_equal(batch_order_steps(&plan), 12);
        for (int64_t i = 0; i < 12 * parts * 3; ++i) {
            const int rank = (int)(i % 3);
            const batch_turn turn = {.step = i / 3 / parts, .part = (int)(i / 3 % parts), .parts = parts};
            const batch_share share = batch_order_part(&plan, turn, 3, rank);
            assert_int_equal(share.begin, next[rank]);
            assert_in_range(share.batch, 97, 103);
            assert_true(share.count <= batch_order_most(&plan, parts, 3));
            next[rank] += share.count;
        }
        for (int r = 0; r < 3; ++r) {
            assert_int_equal(next[r], d.first[r + 1]);
        }
    }
    bool seen[SAMPLES] = {false};
    const batch_plan plan = {.samples = SAMPLES, .batch = 100, .deal = &d};
    for (int r = 0; r < 3; ++r) {
        const permutation order = batch_order_of(&plan, r, 9, 4);
        for (int64_t i = d.first[r]; i < d.first[r + 1]; ++i) {
            const int64_t sample = batch_order_sample(&plan, r, &order, i);
            assert_false(seen[sample]);
            seen[sample] = true;
        }
    }
    batch_deal_destroy(&d);
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {"labels:1",    "label",      "label:1.1",       "label:-0.1", "label-count:0",
                                      "dirichlet:0", "quantity:x", "label-count:2.5", "random:1",   ""};
    static const int64_t classes = CLASSES;
    const deal_samples samples = {.count = SAMPLES, .classes = CLASSES, .label = label_of, .self = &classes};
    deal_rule rule;
    batch_deal d;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(deal_rule_parse(bad[i], &rule), WEFT_ERR_USAGE);
    }
    assert_int_equal(batch_deal_make(&(deal_rule){DEAL_LABEL_COUNT, 2}, &samples, 4, 0, &d), WEFT_ERR_USAGE);
    batch_deal_destroy(&d);
    const batch_plan thin = {.samples = SAMPLES, .batch = 4, .share_least = 2, .deal = &d};
    deal("label:1", 4, 0, &d);
    assert_int_equal(batch_order_check(&thin, 1), WEFT_ERR_USAGE);
    batch_deal_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_is_that_of_the_share),
        cmocka_unit_test(test_ranks_have_their_count_of_classes),
        cmocka_unit_test(test_draws_follow_their_concentration),
        cmocka_unit_test(test_shares_have_the_moments_of_dirichlet),
        cmocka_unit_test(test_epochs_take_every_sample_of_its_owner),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
