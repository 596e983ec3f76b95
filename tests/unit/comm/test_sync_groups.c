/*
 * The divisions of divide-and-shuffle, simulated: rank r begins with the unit vector e_r, groups take means in doubles.
 * What each rank then holds is how much of every rank has reached it: 1/P of each when the mean is exact.
 */
#include <math.h>

#include "base/alloc.h"
#include "comm/sync/groups.h"
#include "support/test.h"

enum { MOST = 27 };

static comm_topology topology_of(int ranks, int sets, int *set_of)
{
    return (comm_topology){.sets = sets, .ranks = ranks, .set_of = set_of};
}

static void one_round(const int *color, int ranks, double (*x)[MOST])
{
    double next[MOST][MOST] = {{0}};
    for (int r = 0; r < ranks; ++r) {
        int members = 0;
        for (int q = 0; q < ranks; ++q) {
            if (color[q] == color[r]) {
                ++members;
                for (int i = 0; i < ranks; ++i) {
                    next[r][i] += x[q][i];
                }
            }
        }
        for (int i = 0; i < ranks; ++i) {
            next[r][i] /= members;
        }
    }
    memcpy(x, next, sizeof next);
}

static double spread(int ranks, double (*x)[MOST])
{
    double worst = 0;
    for (int r = 0; r < ranks; ++r) {
        for (int i = 0; i < ranks; ++i) {
            worst = fmax(worst, fabs(x[r][i] - 1.0 / ranks));
        }
    }
    return worst;
}

static void units(double (*x)[MOST])
{
    memset(x, 0, MOST * sizeof *x);
    for (int r = 0; r < MOST; ++r) {
        x[r][r] = 1;
    }
}

static void test_powers_give_the_exact_mean(void **state)
{
    (void)state;
    static const int cases[][3] = {{2, 2, 1}, {4, 2, 2},  {8, 2, 3},  {16, 2, 4},
                                   {9, 3, 2}, {27, 3, 3}, {16, 4, 2}, {5, 5, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        int ranks = cases[k][0];
        int set_of[MOST] = {0};
        double x[MOST][MOST];
        comm_topology whole = topology_of(ranks, 1, set_of);
        sync_groups *groups = NULL;
        ASSERT_OK(groups_create(&whole, cases[k][1], 7, &groups));
        assert_int_equal(groups->rounds, cases[k][2]);
        assert_true(groups->exact);
        units(x);
        for (int t = 0; t < groups->rounds; ++t) {
            assert_true(spread(ranks, x) > 1e-3);
            one_round(groups->color + (ptrdiff_t)t * ranks, ranks, x);
        }
        assert_true(spread(ranks, x) < 1e-15);
        groups_destroy(groups);
    }
}

static int group_size(const int *color, int ranks, int c)
{
    int size = 0;
    for (int r = 0; r < ranks; ++r) {
        size += color[r] == c;
    }
    return size;
}

static void test_shuffles_keep_the_mean_and_mix(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 23; ++ranks) {
        for (int g = 2; g <= 5; ++g) {
            int set_of[MOST] = {0};
            double x[MOST][MOST];
            comm_topology whole = topology_of(ranks, 1, set_of);
            sync_groups *groups = NULL;
            ASSERT_OK(groups_create(&whole, g, (uint64_t)ranks, &groups));
            units(x);
            for (int t = 0; t < 60 * groups->rounds; ++t) {
                const int *color = groups->color + (ptrdiff_t)(t % groups->rounds) * ranks;
                one_round(color, ranks, x);
                for (int r = 0; r < ranks; ++r) { /* nobody alone, nobody in a crowd */
                    int size = group_size(color, ranks, color[r]);
                    assert_true(size >= 2 && size < 2 * g);
                }
            }
            for (int i = 0; i < ranks; ++i) {
                double sum = 0;
                for (int r = 0; r < ranks; ++r) {
                    sum += x[r][i];
                }
                ASSERT_NEAR(sum, 1.0, 1e-12);
            }
            assert_true(spread(ranks, x) < 1e-6);
            groups_destroy(groups);
        }
    }
}

static void check_racks(int ranks, int sets, int *set_of, int g)
{
    comm_topology racks = topology_of(ranks, sets, set_of);
    double x[MOST][MOST];
    sync_groups *groups = NULL;
    ASSERT_OK(groups_create(&racks, g, 3, &groups));
    assert_true(groups->period > 0 && groups->rounds % groups->period == 0);
    units(x);
    for (int t = 0; t < 40 * groups->rounds; ++t) {
        const int *color = groups->color + (ptrdiff_t)(t % groups->rounds) * ranks;
        bool crosses = (t + 1) % groups->period == 0;
        int mixed = 0;
        one_round(color, ranks, x);
        for (int r = 0; r < ranks; ++r) {
            for (int q = 0; q < r; ++q) {
                mixed += color[r] == color[q] && set_of[r] != set_of[q];
            }
        }
        assert_true(crosses ? mixed > 0 : mixed == 0);
    }
    assert_true(spread(ranks, x) < 1e-6);
    groups_destroy(groups);
}

static void test_racks(void **state)
{
    (void)state;
    int halves[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    int woven[12] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
    int uneven[11] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2};
    int single[4] = {0, 1, 2, 3};
    check_racks(8, 2, halves, 2);
    check_racks(12, 3, woven, 2);
    check_racks(12, 3, woven, 4);
    check_racks(11, 3, uneven, 2);
    check_racks(11, 3, uneven, 3);
    check_racks(4, 4, single, 2);
}

static void test_seeds(void **state)
{
    (void)state;
    int set_of[MOST] = {0};
    comm_topology whole = topology_of(23, 1, set_of);
    sync_groups *a = NULL;
    sync_groups *b = NULL;
    sync_groups *c = NULL;
    ASSERT_OK(groups_create(&whole, 2, 1, &a));
    ASSERT_OK(groups_create(&whole, 2, 1, &b));
    ASSERT_OK(groups_create(&whole, 2, 2, &c));
    size_t bytes = (size_t)a->rounds * 23 * sizeof *a->color;
    assert_memory_equal(a->color, b->color, bytes);
    assert_int_not_equal(memcmp(a->color, c->color, bytes), 0);
    groups_destroy(a);
    groups_destroy(b);
    groups_destroy(c);
    ASSERT_STATUS(groups_create(&whole, 1, 1, &a), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("--group-size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_give_the_exact_mean),
        cmocka_unit_test(test_shuffles_keep_the_mean_and_mix),
        cmocka_unit_test(test_racks),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
