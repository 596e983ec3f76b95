/* The choice among all-reduces under models made by hand, against closed forms of the crossing points, and what must
 * hold for every model: longer vectors never take less. */
#include <math.h>

#include "comm/coll/coll.h"
#include "support/test.h"

enum { RANKS_MOST = 32 };

/* Nodes of `node` consecutive ranks each. */
static comm_layout *make_layout(int ranks, int node)
{
    int leader[RANKS_MOST];
    comm_layout *layout = NULL;
    for (int r = 0; r < ranks; ++r) {
        leader[r] = r / node * node;
    }
    ASSERT_OK(layout_create(leader, ranks, &layout));
    return layout;
}

static comm_model flat_model(double latency, double seconds_per_byte, double reduce)
{
    comm_model model = comm_model_default();
    model.inter = (comm_link){latency, seconds_per_byte};
    model.intra = model.inter;
    model.reduce_per_byte = reduce;
    return model;
}

static double seconds_of(const comm_model *model, const comm_layout *layout, int ranks, int64_t count,
                         const coll_algorithm **chosen)
{
    const coll_place place = {.size = ranks, .layout = layout, .model = model};
    *chosen = coll_choose(model, layout, ranks, count, WEFT_DTYPE_F32);
    comm_cost cost = (*chosen)->cost(&place, count, 4);
    return comm_model_seconds(model, &cost);
}

/*
 * P = 8 nodes of one rank. With L = 3 steps, a latency, b seconds a byte, g reduction a byte:
 *     recursive doubling   L a + L M (b + g)
 *     halving-doubling     2 L a + 2 (7/8) M b + (7/8) M g
 * cross at M = L a / (L (b + g) - (7/8) (2 b + g)).
 */
static void test_crossing_of_doublings(void **state)
{
    (void)state;
    const comm_link links[] = {{10e-6, 1e-9}, {100e-6, 8e-9}, {1e-6, 1e-10}};
    comm_layout *layout = make_layout(8, 1);
    for (size_t i = 0; i < sizeof links / sizeof *links; ++i) {
        double a = links[i].latency;
        double b = links[i].seconds_per_byte;
        double g = 2e-10;
        const comm_model model = flat_model(a, b, g);
        double crossing = 3 * a / (3 * (b + g) - 0.875 * (2 * b + g));
        const coll_algorithm *below = NULL;
        const coll_algorithm *above = NULL;
        double short_seconds = seconds_of(&model, layout, 8, (int64_t)(0.98 * crossing / 4), &below);
        double long_seconds = seconds_of(&model, layout, 8, (int64_t)(1.02 * crossing / 4) / 8 * 8, &above);
        assert_int_equal(below->id, COMM_ALGO_RECURSIVE_DOUBLING);
        assert_int_equal(above->id, COMM_ALGO_HALVING_DOUBLING);
        double m = floor(0.98 * crossing / 4) * 4;
        ASSERT_NEAR(short_seconds / (3 * a + 3 * m * (b + g)), 1.0, 1e-9);
        m = floor(1.02 * crossing / 32) * 32;
        ASSERT_NEAR(long_seconds / (6 * a + 0.875 * m * (2 * b + g)), 1.0, 1e-9);
    }
    layout_destroy(layout);
}

/* On 7 nodes the doublings fold three ranks away and pay the whole vector for it: a long vector goes around the ring,
 * 12 a + 2 (6/7) M b + (6/7) M g. */
static void test_long_vector_on_seven(void **state)
{
    (void)state;
    const comm_model model = flat_model(10e-6, 1e-9, 2e-10);
    comm_layout *layout = make_layout(7, 1);
    const coll_algorithm *chosen = NULL;
    int64_t count = 7 << 20;
    double m = 4.0 * (double)count;
    double seconds = seconds_of(&model, layout, 7, count, &chosen);
    assert_int_equal(chosen->id, COMM_ALGO_RING);
    ASSERT_NEAR(seconds / (12 * 10e-6 + 6.0 / 7 * m * (2e-9 + 2e-10)), 1.0, 1e-6);
    layout_destroy(layout);
}

/* 2 nodes of 4 on a slow network: whatever is chosen moves the vector through a link once each way, not once a rank. */
static void test_slow_network_between_nodes(void **state)
{
    (void)state;
    comm_model model = comm_model_default();
    model.inter = (comm_link){100e-6, 8.5e-9};
    comm_layout *layout = make_layout(8, 4);
    const coll_algorithm *chosen = NULL;
    int64_t count = 25600000;
    double seconds = seconds_of(&model, layout, 8, count, &chosen);
    double link = 4.0 * (double)count * 8.5e-9; /* 2 (m - 1) / m M b with m = 2 */
    assert_true(seconds >= link);
    assert_true(seconds < 1.25 * link);
    layout_destroy(layout);
}

/* A random number between 10^low and 10^high. */
static double draw(uint64_t number, double low, double high)
{
    uint64_t x = number * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return pow(10.0, low + (high - low) * (double)(x >> 11) * 0x1.0p-53);
}

static comm_model random_model(uint64_t seed)
{
    return (comm_model){.inter = {draw(seed + 1, -7, -2), draw(seed + 2, -11, -6)},
                        .intra = {draw(seed + 3, -8, -4), draw(seed + 4, -11, -8)},
                        .sync = draw(seed + 5, -8, -4),
                        .shared_per_byte = draw(seed + 6, -12, -8),
                        .reduce_per_byte = draw(seed + 7, -11, -8),
                        .select_per_element = draw(seed + 8, -10, -7),
                        .scatter_per_element = draw(seed + 9, -10, -7),
                        .measured = true};
}

/* Among the algorithms that send messages: the prediction of the choice never falls as the vector grows, is never
 * negative, and is never above that of an algorithm that could have been taken. (The sum in shared memory goes about it
 * in another way past a fixed length, and may step down there.) */
static void test_monotone(void **state)
{
    (void)state;
    static const int shapes[][2] = {{2, 1}, {2, 2}, {3, 1}, {4, 2}, {5, 3}, {7, 1}, {8, 1}, {8, 4}, {8, 8}, {32, 8}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        int ranks = shapes[s][0];
        comm_layout *layout = make_layout(ranks, shapes[s][1]);
        for (uint64_t m = 0; m < 100; ++m) {
            const comm_model model = random_model(1000 * m);
            double before = 0.0;
            for (int64_t count = 1; count < 1 << 27; count += 1 + count / 3) {
                const coll_place place = {.size = ranks, .layout = layout, .model = &model};
                const coll_algorithm *chosen = coll_choose_form(&place, count, 4);
                comm_cost best = chosen->cost(&place, count, 4);
                double seconds = comm_model_seconds(&model, &best);
                comm_cost ring = allreduce_ring.cost(&place, count, 4);
                if (!(seconds > 0.0) || seconds < before * (1 - 1e-12)) {
                    fail_msg("%d ranks, nodes of %d, model %llu: %lld elements take %g s by %s, fewer took %g s", ranks,
                             shapes[s][1], (unsigned long long)m, (long long)count, seconds, chosen->name, before);
                }
                assert_true(seconds <= comm_model_seconds(&model, &ring));
                before = seconds;
            }
        }
        layout_destroy(layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossing_of_doublings),
        cmocka_unit_test(test_long_vector_on_seven),
        cmocka_unit_test(test_slow_network_between_nodes),
        cmocka_unit_test(test_monotone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
