/*
 * Several objectives: fronts and volumes by hand and by counting, and searches that find more of a known front than
 * chance does, also after a replay.
 */
#include <math.h>

#include "base/philox.h"
#include "support/test.h"
#include "tune/search/front.h"
#include "tune/search/searcher.h"

static void test_three_points_by_hand(void **state)
{
    (void)state;
    const double points[] = {1.0, 3.0, 2.0, 1.0, 3.0, 2.0}, reference[] = {4.0, 4.0};
    int rank[3];
    double volume;
    front_ranks(points, 3, 2, rank);
    assert_int_equal(rank[0], 0);
    assert_int_equal(rank[1], 0);
    assert_int_equal(rank[2], 1); /* (2, 1) beats it */
    ASSERT_OK(front_volume(points, 3, 2, reference, &volume));
    ASSERT_NEAR(volume, 3.0 * 1.0 + 2.0 * 3.0 - 2.0 * 1.0, 1e-12);
    const double same[] = {1.0, 1.0, 1.0, 1.0, INFINITY, 0.0};
    front_ranks(same, 3, 2, rank);
    assert_int_equal(rank[0] + rank[1] + rank[2], 0); /* equal points do not beat each other */
    ASSERT_OK(front_volume(same, 3, 2, reference, &volume));
    ASSERT_NEAR(volume, 9.0, 1e-12);
}

/* Points have whole coordinates, so that the volume is a number of unit cells. */
static void test_volumes_are_counts_of_cells(void **state)
{
    (void)state;
    enum { SIDE = 6, POINTS = 7 };
    for (uint32_t draw = 0; draw < 20; draw++) {
        double points[POINTS * 4], reference[] = {SIDE, SIDE, SIDE, SIDE}, volume;
        for (int i = 0; i < POINTS * 4; i++) {
            points[i] = philox4x32(philox_counter((uint32_t)i, draw, 1, 0), 5).word[0] % (SIDE + 2);
        }
        int cells = 0;
        for (int cell = 0; cell < SIDE * SIDE * SIDE * SIDE; cell++) {
            const int at[] = {cell % SIDE, cell / SIDE % SIDE, cell / SIDE / SIDE % SIDE, cell / SIDE / SIDE / SIDE};
            bool beaten = false;
            for (int i = 0; i < POINTS; i++) {
                bool below = true;
                for (int k = 0; k < 4; k++) {
                    below = below && points[4 * i + k] <= at[k];
                }
                beaten = beaten || below;
            }
            cells += beaten;
        }
        ASSERT_OK(front_volume(points, POINTS, 4, reference, &volume));
        ASSERT_NEAR(volume, (double)cells, 1e-9);
    }
}

enum { X, Y, DIMENSIONS, BUDGET = 40 };

/* The front is y = 0.3, where f1 = 1 - f0^2: no weighted sum of the two is least in its middle. */
static void measure(const double *values, double *f)
{
    const double far = 1.0 + 4.0 * fabs(values[Y] - 0.3);
    f[0] = values[X];
    f[1] = far * (1.0 - pow(values[X] / far, 2.0));
}

static void make_space(search_space *space)
{
    *space = (search_space){0};
    ASSERT_OK(space_add(space, &(space_dimension){.name = "x", .kind = SPACE_RANGE, .low = 0.0, .high = 1.0}));
    ASSERT_OK(space_add(space, &(space_dimension){.name = "y", .kind = SPACE_RANGE, .low = 0.0, .high = 1.0}));
}

static void run(searcher *s, int trials, double (*values)[DIMENSIONS], double *points)
{
    int64_t trial;
    for (int i = 0; i < trials; i++) {
        ASSERT_OK(searcher_suggest(s, values[i], &trial));
        measure(values[i], points + 2L * i);
        ASSERT_OK(searcher_report_all(s, trial, 1.0, points + 2L * i));
    }
}

static double volume_of(const search_space *space, searcher_kind kind, uint64_t seed)
{
    const double reference[] = {1.2, 2.0};
    double values[BUDGET][DIMENSIONS], points[2 * BUDGET], volume;
    searcher *s;
    ASSERT_OK(searcher_open(space, &(searcher_desc){.kind = kind, .seed = seed, .objectives = 2}, &s));
    run(s, BUDGET, values, points);
    ASSERT_OK(front_volume(points, BUDGET, 2, reference, &volume));
    searcher_leader best;
    ASSERT_OK(searcher_best(s, &best));
    for (int i = 0; i < BUDGET; i++) {
        assert_true(points[2 * best.trial] <= points[2 * i]); /* the best is that of the first objective */
    }
    searcher_close(s);
    return volume;
}

static void test_searchers_find_more_of_a_front_than_chance(void **state)
{
    (void)state;
    enum { SEEDS = 5 };
    const double whole = 1.2 * 2.0 - 2.0 / 3.0; /* below the front is the integral of 1 - x^2 over 0 to 1 */
    double left[3] = {0.0};
    static const searcher_kind kinds[] = {SEARCHER_RANDOM, SEARCHER_TPE, SEARCHER_GP};
    search_space space;
    make_space(&space);
    for (int k = 0; k < 3; k++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const double volume = volume_of(&space, kinds[k], seed);
            assert_true(volume < whole);
            left[k] += (whole - volume) / SEEDS;
        }
    }
    assert_true(left[1] < 0.9 * left[0]);
    assert_true(left[2] < 0.7 * left[0]);
    space_free(&space);
}

static void test_a_replay_goes_on_alike(void **state)
{
    (void)state;
    enum { KNOWN = 25 };
    search_space space;
    make_space(&space);
    for (int kind = SEARCHER_TPE; kind <= SEARCHER_GP; kind++) {
        const searcher_desc desc = {.kind = (searcher_kind)kind, .seed = 3, .objectives = 2};
        double values[KNOWN][DIMENSIONS], points[2 * KNOWN], next[2][DIMENSIONS];
        searcher *live, *again;
        int64_t trial;
        ASSERT_OK(searcher_open(&space, &desc, &live));
        run(live, KNOWN, values, points);
        ASSERT_OK(searcher_open(&space, &desc, &again));
        for (int i = 0; i < KNOWN; i++) {
            ASSERT_OK(searcher_begin(again, values[i], &trial));
            ASSERT_OK(searcher_report_all(again, trial, 1.0, points + 2L * i));
        }
        ASSERT_OK(searcher_suggest(live, next[0], &trial));
        ASSERT_OK(searcher_suggest(again, next[1], &trial));
        assert_memory_equal(next[0], next[1], sizeof next[0]);
        searcher_close(live);
        searcher_close(again);
    }
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_points_by_hand),
        cmocka_unit_test(test_volumes_are_counts_of_cells),
        cmocka_unit_test(test_searchers_find_more_of_a_front_than_chance),
        cmocka_unit_test(test_a_replay_goes_on_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
