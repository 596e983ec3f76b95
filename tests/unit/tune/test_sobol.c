/*
 * Points that fill the space: Sobol's against those of Joe and Kuo's own program, and by their definition; a grid
 * visits each of its points once.
 */
#include <math.h>

#include "support/test.h"
#include "tune/search/searcher_internal.h"
#include "tune/search/sobol.h"

/* The first points of new-joe-kuo-6.21201 (SciPy's Sobol without scrambling gives the same). */
static void test_first_points_are_published(void **state)
{
    (void)state;
    static const double expected[8][4] = {{0.0, 0.0, 0.0, 0.0},         {0.5, 0.5, 0.5, 0.5},
                                          {0.75, 0.25, 0.25, 0.25},     {0.25, 0.75, 0.75, 0.75},
                                          {0.375, 0.375, 0.625, 0.875}, {0.875, 0.875, 0.125, 0.375},
                                          {0.625, 0.125, 0.875, 0.625}, {0.125, 0.625, 0.375, 0.125}};
    static const double hundredth[SOBOL_DIMENSIONS] = {0.4140625, 0.2578125, 0.7734375, 0.7265625, 0.8828125, 0.7421875,
                                                       0.0234375, 0.4765625, 0.6328125, 0.6953125, 0.4609375, 0.6796875,
                                                       0.4765625, 0.8515625, 0.3203125, 0.4921875, 0.6796875, 0.7421875,
                                                       0.8359375, 0.3359375, 0.7578125};
    for (uint32_t i = 0; i < 8; i++) {
        for (int d = 0; d < 4; d++) {
            assert_true(sobol_coordinate(i, d) * 0x1p-32 == expected[i][d]);
        }
    }
    for (int d = 0; d < SOBOL_DIMENSIONS; d++) {
        assert_true(sobol_coordinate(100, d) * 0x1p-32 == hundredth[d]);
    }
}

/* Of the first 2^k points, each interval of the length 2^-k holds one, in every dimension. */
static void test_every_interval_holds_one_point(void **state)
{
    (void)state;
    enum { BITS = 9, POINTS = 1 << BITS };
    for (int d = 0; d < SOBOL_DIMENSIONS; d++) {
        bool seen[POINTS] = {false};
        for (uint32_t i = 0; i < POINTS; i++) {
            const uint32_t at = sobol_coordinate(i, d) >> (32 - BITS);
            assert_false(seen[at]);
            seen[at] = true;
        }
    }
}

static void test_a_grid_has_each_point_once(void **state)
{
    (void)state;
    search_space space = {0};
    searcher *s = NULL;
    double values[2];
    int64_t trial;
    int seen[4][3] = {{0}};
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "n", .kind = SPACE_INTEGER, .low = 2.0, .high = 5.0}));
    ASSERT_OK(space_add(&space, &(space_dimension){.name = "lr", .kind = SPACE_LOG, .low = 1e-4, .high = 1.0}));
    ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_GRID, .grid = 3, .seed = 5}, &s));
    for (int i = 0; i < 12; i++) {
        ASSERT_OK(searcher_suggest(s, values, &trial));
        assert_int_equal(trial, i);
        const int step = (int)lround(log10(values[1]) / 2.0) + 2; /* 1e-4, 1e-2, 1 */
        ASSERT_NEAR(log10(values[1]), 2.0 * step - 4.0, 1e-12);
        seen[(int)values[0] - 2][step]++;
    }
    for (int i = 0; i < 12; i++) {
        assert_int_equal(seen[i / 3][i % 3], 1);
    }
    ASSERT_OK(searcher_suggest(s, values, &trial));
    assert_int_equal(trial, -1);
    searcher_close(s);
    ASSERT_STATUS(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_GRID, .grid = 1}, &s), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("2 at least");
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_points_are_published),
        cmocka_unit_test(test_every_interval_holds_one_point),
        cmocka_unit_test(test_a_grid_has_each_point_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
