/* A random-looking order: every item once, another for another key. */
#include "base/permutation.h"
#include "base/philox.h"
#include "support/test.h"

static void test_permutation_is_a_bijection(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 3, 17, 64, 1000, 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        uint8_t seen[4097] = {0};
        permutation order = permutation_make(sizes[i], 7, WEFT_RNG_GENERATE, 0);
        for (uint64_t v = 0; v < sizes[i]; ++v) {
            uint64_t to = permute(&order, v);
            assert_true(to < sizes[i]);
            assert_int_equal(seen[to], 0);
            seen[to] = 1;
        }
    }
}

static void test_keys_make_orders(void **state)
{
    enum { ITEMS = 1000 };
    const permutation orders[] = {
        permutation_make(ITEMS, 7, WEFT_RNG_ORDER, 1), permutation_make(ITEMS, 8, WEFT_RNG_ORDER, 1),
        permutation_make(ITEMS, 7, WEFT_RNG_SPLIT, 1), permutation_make(ITEMS, 7, WEFT_RNG_ORDER, 2)};
    (void)state;
    for (int k = 1; k < 4; ++k) {
        int same = 0;
        for (uint64_t i = 0; i < ITEMS; ++i) {
            same += permute(&orders[0], i) == permute(&orders[k], i);
        }
        assert_in_range(same, 0, 10); /* one on average */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation_is_a_bijection),
        cmocka_unit_test(test_keys_make_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
