/* Orders of samples and their shares: what is promised of them, and figures worked out by other means. */
#include "support/test.h"
#include "train/batch/batch_order.h"

enum { DRAWS = 4000 };

static void test_epochs_are_permutations_of_their_own(void **state)
{
    enum { SAMPLES = 1000 };
    int same = 0;
    (void)state;
    permutation before = batch_order(SAMPLES, 3, 1);
    for (uint32_t epoch = 2; epoch < 6; ++epoch) {
        int seen[SAMPLES] = {0};
        permutation order = batch_order(SAMPLES, 3, epoch);
        for (int64_t i = 0; i < SAMPLES; ++i) {
            const int64_t sample = (int64_t)permute(&order, (uint64_t)i);
            assert_in_range(sample, 0, SAMPLES - 1);
            seen[sample] += 1;
            same += sample == (int64_t)permute(&before, (uint64_t)i);
        }
        for (int64_t i = 0; i < SAMPLES; ++i) {
            assert_int_equal(seen[i], 1);
        }
        before = order;
    }
    /* one place in SAMPLES keeps its sample by chance: 4 of 4 epochs on average, and 20 never in a lifetime */
    assert_in_range(same, 0, 20);
}

/* Each of 5 samples stands at each place equally often over epochs: chi-square with 16 degrees of freedom. */
static void test_every_place_is_as_likely(void **state)
{
    enum { SAMPLES = 5 };
    int count[SAMPLES][SAMPLES] = {{0}};
    double chi = 0;
    (void)state;
    for (uint32_t epoch = 0; epoch < DRAWS; ++epoch) {
        permutation order = batch_order(SAMPLES, 17, epoch);
        for (uint64_t i = 0; i < SAMPLES; ++i) {
            count[i][permute(&order, i)] += 1;
        }
    }
    const double expected = (double)DRAWS / SAMPLES;
    for (int i = 0; i < SAMPLES * SAMPLES; ++i) {
        const int found = count[i / SAMPLES][i % SAMPLES];
        chi += (found - expected) * (found - expected) / expected;
    }
    assert_true(chi < 45); /* beyond: once in 10,000 */
}

static void test_shares_cover_every_batch(void **state)
{
    (void)state;
    assert_int_equal(batch_order_steps(&(batch_plan){.samples = 103, .batch = 10}), 11);
    assert_int_equal(batch_order_steps(&(batch_plan){.samples = 103, .batch = 10, .drop_last = true}), 10);
    assert_int_equal(batch_order_steps(&(batch_plan){.samples = 7, .batch = 10, .drop_last = true}), 1);
    assert_int_equal(batch_order_share(0, 0, 0, 2, 1).count, 0); /* of no samples */
    for (int ranks = 1; ranks <= 7; ++ranks) {
        int64_t next = 0;
        for (int64_t step = 0; step < 11; ++step) {
            for (int r = 0; r < ranks; ++r) {
                const batch_share share = batch_order_share(103, 10, step, ranks, r);
                assert_int_equal(share.batch, step < 10 ? 10 : 3);
                assert_int_equal(share.begin, next);
                assert_in_range(share.count, share.batch / ranks, (share.batch + ranks - 1) / ranks);
                next += share.count;
            }
        }
        assert_int_equal(next, 103);
    }
}

/* Whatever samples, batch, parts and ranks are: every position once and in order, no step, part or share of fewer
 * samples than its least, and the odd sample in the step before. */
static void test_no_share_is_single(void **state)
{
    (void)state;
    for (int k = 0; k < 4000; ++k) {
        const int ranks = 1 + k % 5, asked = 1 + k / 5 % 4;
        const batch_plan b = {.samples = 2 + k / 20 % 25,
                              .batch = 2 + k / 500 % 8,
                              .least = k % 3 > 0 ? 2 : 0,
                              .share_least = k % 3 == 2 ? 2 : 0};
        const int64_t steps = batch_order_steps(&b), most = batch_order_most(&b, asked, ranks);
        const bool odd = b.least == 2 && b.samples > b.batch && b.samples % b.batch == 1;
        int64_t next = 0;
        assert_int_equal(steps, (b.samples + b.batch - 1) / b.batch - odd);
        for (int64_t step = 0; step < steps; ++step) {
            const int parts = batch_order_parts(&b, step, asked);
            assert_in_range(parts, 1, asked);
            for (int i = 0; i < parts * ranks; ++i) {
                const batch_turn turn = {.step = step, .part = i / ranks, .parts = parts};
                const batch_share share = batch_order_part(&b, turn, ranks, i % ranks);
                assert_true(share.count == 0 || share.begin == next);
                assert_true(share.part >= (b.least > 1 ? b.least : 1));
                assert_true(share.count != 1 || b.share_least < 2);
                assert_true(share.count <= most);
                assert_int_equal(share.batch, step < steps - 1 ? b.batch : b.samples - step * b.batch);
                next += share.count;
            }
        }
        assert_int_equal(next, b.samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_are_permutations_of_their_own),
        cmocka_unit_test(test_every_place_is_as_likely),
        cmocka_unit_test(test_shares_cover_every_batch),
        cmocka_unit_test(test_no_share_is_single),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
