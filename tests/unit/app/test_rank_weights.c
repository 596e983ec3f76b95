/* Weights of ranks: what is a list of them, what is not and which cure is told, and what rates become. */
#include "app/gnn/divide/rank_weights.h"
#include "support/test.h"

static void test_lists(void **state)
{
    (void)state;
    double weight[4] = {0};
    ASSERT_OK(rank_weights_parse("3,1,1.5,1e-1", 4, "rank", weight));
    assert_true(weight[0] == 3.0 && weight[1] == 1.0 && weight[2] == 1.5 && weight[3] == 0.1);
    ASSERT_OK(rank_weights_parse("2", 1, "rank", weight));
    assert_true(weight[0] == 2.0);
}

static void refused(const char *text, const char *what, const char *cure)
{
    double weight[3];
    ASSERT_STATUS(rank_weights_parse(text, 3, "rank", weight), WEFT_ERR_USAGE);
    ASSERT_MESSAGE(what);
    ASSERT_MESSAGE(cure);
}

static void test_what_is_no_list(void **state)
{
    (void)state;
    refused("3,1", "2 number(s) for 3 rank(s)", "give one for each");
    refused("3,1,1,1", "4 number(s) for 3 rank(s)", "give one for each");
    refused("3,0,1", "\"0\" is no number above 0", "as in 3,1,1");
    refused("3,-1,1", "\"-1\" is no number above 0", "auto");
    refused("3,,1", "\"\" is no number above 0", "equal");
    refused("3,1,1,", "\"\" is no number above 0", "equal");
    refused("3,1x,1", "\"1x\" is no number above 0", "equal");
    refused("", "\"\" is no number above 0", "equal");
    refused("even", "\"even\" is no number above 0", "equal");
    refused("3 1 1", "\"3 1 1\" is no number above 0", "as in 3,1,1");
    refused("2000,1,1", "2000 is more than 1000 times 1", "leave out a rank");
}

static void expect_weights(const double *rate, const double *weight, int count)
{
    double got[4];
    memcpy(got, rate, (size_t)count * sizeof *got);
    rank_weights_round(count, got);
    for (int r = 0; r < count; ++r) {
        ASSERT_NEAR(got[r], weight[r], 1e-12);
    }
}

static void test_rates(void **state)
{
    (void)state;
    expect_weights((double[]){7.93e9, 1.004e9}, (double[]){7.9, 1.0}, 2);
    expect_weights((double[]){1e9, 123.4e9, 2.04e9, 1.02e9}, (double[]){1.0, 120.0, 2.0, 1.0}, 4);
    expect_weights((double[]){1.00e9, 1.09e9, 1.05e9}, (double[]){1.0, 1.0, 1.0}, 3); /* alike */
    expect_weights((double[]){1.00e9, 1.12e9}, (double[]){1.0, 1.1}, 2);
    expect_weights((double[]){5e13, 1e9}, (double[]){1000.0, 1.0}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_what_is_no_list),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
