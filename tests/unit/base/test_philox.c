/* Philox4x32-10 against the known answers published with Random123, and the rules derived from it. */
#include "base/philox.h"
#include "support/test.h"

static const struct known_answer {
    uint32_t counter[4];
    uint32_t key[2];
    uint32_t result[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        philox_block counter;
        memcpy(counter.word, known[i].counter, sizeof counter.word);
        philox_block result = philox4x32(counter, ((uint64_t)known[i].key[1] << 32) | known[i].key[0]);
        assert_memory_equal(result.word, known[i].result, sizeof result.word);
    }
}

static void test_counter_layout(void **state)
{
    (void)state;
    philox_block counter = philox_counter(5, 0x0000123489abcdefULL, 1027, 9);
    assert_int_equal(counter.word[0], 5);
    assert_int_equal(counter.word[1], 0x89abcdefu);
    assert_int_equal(counter.word[2], (1027u << 16) | 0x1234u);
    assert_int_equal(counter.word[3], 9);
}

static void test_lanes_and_threshold(void **state)
{
    (void)state;
    philox_block block = {{0x00010000u, 0x00030002u, 0x00050004u, 0x00070006u}};
    for (unsigned lane = 0; lane < 8; ++lane) {
        assert_int_equal(philox_lane16(block, lane), lane);
    }
    assert_int_equal(philox_dropout_threshold(0.0F), 0);
    assert_int_equal(philox_dropout_threshold(0.5F), 32768);
    assert_int_equal(philox_dropout_threshold(1.0F), 65536);
}

/* Ends of the ranges, and the mean of many draws. */
static void test_uniform(void **state)
{
    (void)state;
    assert_true(philox_uniform(0) > 0.0F && philox_uniform(UINT32_MAX) < 1.0F);
    assert_true(philox_uniform_double(0, 0) > 0.0 && philox_uniform_double(UINT32_MAX, UINT32_MAX) < 1.0);
    enum { DRAWS = 100000 };
    double sum = 0.0;
    double squares = 0.0;
    for (uint32_t i = 0; i < DRAWS; ++i) {
        philox_block block = philox4x32(philox_counter(i, 0, WEFT_RNG_INIT, 0), 42);
        sum += (double)philox_uniform(block.word[0]);
        double normal = (double)philox_normal(block.word[2], block.word[3]);
        squares += normal * normal;
    }
    ASSERT_NEAR(sum / DRAWS, 0.5, 5.0 * 0.2887 / 316.2); /* five standard errors */
    ASSERT_NEAR(squares / DRAWS, 1.0, 5.0 * 1.4142 / 316.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_counter_layout),
        cmocka_unit_test(test_lanes_and_threshold),
        cmocka_unit_test(test_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
