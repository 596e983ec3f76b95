/* The filter of asp: what is taken against its definition, nothing lost to the bit, the dense form, the threshold. */
#include <math.h>

#include "base/philox.h"
#include "comm/sync/significance.h"
#include "support/test.h"

enum { MOST = 1000 };

/* Some zeros in both, all magnitudes. */
static void fill(float *w, float *acc, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; ++i) {
        philox_block b = philox4x32(philox_counter((uint32_t)i, 0, WEFT_RNG_SYNC, seed), 5);
        w[i] = b.word[2] % 7 == 0 ? 0.0f : philox_normal(b.word[0], b.word[1]);
        acc[i] = b.word[3] % 5 == 0 ? 0.0f : 0.1f * philox_normal(b.word[1], b.word[3]);
    }
}

static void check_take(int64_t count, double theta, uint32_t seed, int *dense)
{
    float w[MOST] = {0};
    float acc[MOST] = {0};
    float before[MOST];
    float payload[MOST];
    float other[MOST] = {0};
    fill(w, acc, count, seed);
    memcpy(before, acc, sizeof before);
    int64_t expected = 0;
    for (int64_t i = 0; i < count; ++i) {
        expected += (double)fabsf(acc[i]) > (double)((float)theta * fabsf(w[i]));
    }
    int64_t entries = significance_take(w, acc, count, theta, payload);
    bool longer = 8 * expected >= 4 * count && expected > 0;
    assert_int_equal(entries, longer ? SIGNIFICANCE_DENSE : expected);
    *dense += longer;
    ASSERT_OK(significance_apply(other, count, entries, payload));
    for (int64_t i = 0; i < count; ++i) {
        bool sent = longer || fabsf(before[i]) > (float)theta * fabsf(w[i]);
        assert_true(acc[i] == (sent ? 0.0f : before[i]));
        assert_true(other[i] == (sent ? before[i] : 0.0f)); /* sent + kept = all, to the bit */
    }
}

static void test_take(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 2, 3, 7, 64, 999, 1000};
    static const double thetas[] = {0, 0.01, 0.1, 0.3, 1, 1e6};
    int dense = 0;
    for (int c = 0; c < 7; ++c) {
        for (int t = 0; t < 6; ++t) {
            for (uint32_t seed = 0; seed < 20; ++seed) {
                check_take(counts[c], thetas[t], seed, &dense);
            }
        }
    }
    assert_true(dense > 50 && dense < 600);
}

static void test_nan_travels(void **state)
{
    (void)state;
    float w[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    float acc[8] = {0, 0, NAN, 0, 0, 0, 0, 0};
    float payload[8];
    assert_int_equal(significance_take(w, acc, 8, 1e6, payload), 1);
    ASSERT_OK(significance_apply(w, 8, 1, payload));
    assert_true(isnan(w[2]) && acc[2] == 0);
}

static void test_indices_are_checked(void **state)
{
    (void)state;
    float w[4] = {0};
    significance_entry entry = {4, 1.0f};
    ASSERT_STATUS(significance_apply(w, 4, 1, &entry), WEFT_ERR_INTERNAL);
    entry.index = -1;
    ASSERT_STATUS(significance_apply(w, 4, 1, &entry), WEFT_ERR_INTERNAL);
}

static void test_threshold(void **state)
{
    (void)state;
    sync_options all = sync_options_default();
    sync_asp_options *options = &all.asp;
    options->threshold = 0.02;
    significance_threshold t = {.theta = 0.02};
    options->policy = ASP_FIXED;
    ASSERT_NEAR(significance_theta(&t, options, 0.5), 0.02, 0);
    options->policy = ASP_LEARNING_RATE;
    ASSERT_NEAR(significance_theta(&t, options, 0.4), 0.02, 0);
    ASSERT_NEAR(significance_theta(&t, options, 0.1), 0.005, 1e-15);
    /* 1000 bytes a second: 1.2 s allow 1200. */
    options->policy = ASP_BANDWIDTH;
    options->bandwidth = 1000;
    t = (significance_threshold){.theta = 0.02};
    significance_note(&t, options, 1400, 1.2);
    ASSERT_NEAR(significance_theta(&t, options, 0.1), 0.025, 1e-15);
    significance_note(&t, options, 1300, 1.2);
    significance_note(&t, options, 1100, 1.2);
    ASSERT_NEAR(t.theta, 0.025, 1e-15);
    significance_note(&t, options, 1000, 1.2);
    ASSERT_NEAR(t.theta, 0.020, 1e-15);
    for (int i = 0; i < 10; ++i) {
        significance_note(&t, options, 0, 1.2);
    }
    ASSERT_NEAR(t.theta, 0, 0);
    for (int i = 0; i < 300; ++i) {
        significance_note(&t, options, 1 << 30, 1.2);
    }
    ASSERT_NEAR(t.theta, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_nan_travels),
        cmocka_unit_test(test_indices_are_checked),
        cmocka_unit_test(test_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
