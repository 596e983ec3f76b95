/*
 * Choices from tables of timings: planted tables, with what lies between and beyond the timed lengths computed by hand;
 * and all-reduces of a node's ranks that are really timed.
 */
#include <math.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm/model/calibrate.h"
#include "support/allreduce_cases.h"
#include "support/test.h"

enum { RANKS = 4 };

static comm_layout *one_node(void)
{
    static const int leader[RANKS] = {0, 0, 0, 0};
    comm_layout *layout = NULL;
    ASSERT_OK(layout_create(leader, RANKS, &layout));
    return layout;
}

/* Every algorithm takes `seconds` at every length. */
static comm_timings flat_timings(double seconds)
{
    comm_timings timings = {.ranks = RANKS};
    for (int a = COMM_ALGO_RECURSIVE_DOUBLING; a < TIMED_ALGORITHMS; ++a) {
        for (int i = 0; i < TIMED_SIZES; ++i) {
            timings.seconds[a][i] = seconds;
        }
    }
    return timings;
}

static void test_lengths(void **state)
{
    (void)state;
    assert_int_equal(timed_bytes(0), 4);
    assert_int_equal(timed_bytes(5), 4096);
    assert_int_equal(timed_bytes(TIMED_SIZES - 1), 256 << 20);
}

static void test_between(void **state)
{
    (void)state;
    comm_timings timings = {.ranks = RANKS};
    double seconds = -1.0;
    int64_t at = -1;
    assert_false(timings_find(&timings, COMM_ALGO_RING, 4096, &seconds, &at));
    assert_true(seconds == -1.0);
    timings.seconds[COMM_ALGO_RING][3] = 1e-6; /* 256 B */
    timings.seconds[COMM_ALGO_RING][5] = 4e-6; /* 4 KiB */
    assert_true(timings_find(&timings, COMM_ALGO_RING, 4096, &seconds, &at));
    assert_true(seconds == 4e-6 && at == 4096);
    /* 1 KiB is half of the way in logarithms: the geometric mean. */
    assert_true(timings_find(&timings, COMM_ALGO_RING, 1024, &seconds, &at));
    assert_true(fabs(seconds - 2e-6) < 1e-12 && at == 1024);
    /* 1000 B: 256 * 16^share = 1000. */
    assert_true(timings_find(&timings, COMM_ALGO_RING, 1000, &seconds, &at));
    assert_true(fabs(seconds - 1e-6 * pow(4.0, log(1000.0 / 256.0) / log(16.0))) < 1e-12);
    /* Beyond: the nearest, and where that is. */
    assert_true(timings_find(&timings, COMM_ALGO_RING, 4, &seconds, &at));
    assert_true(seconds == 1e-6 && at == 256);
    assert_true(timings_find(&timings, COMM_ALGO_RING, INT64_C(1) << 40, &seconds, &at));
    assert_true(seconds == 4e-6 && at == 4096);
    assert_false(timings_find(&timings, COMM_ALGO_SHARED, 4096, &seconds, &at));
}

static void test_hold(void **state)
{
    (void)state;
    assert_true(timings_hold(1e-6, 1e-6));
    assert_true(timings_hold(1.2e-6, 1e-6)); /* noise */
    assert_false(timings_hold(4.5e-6, 0.27e-6));
}

static comm_algorithm choose(const comm_model *model, const comm_layout *layout, int64_t bytes, comm_half half)
{
    const coll_place place = {
        .size = layout->first[layout->nodes], .layout = layout, .model = model, .half = half, .shared_memory = true};
    return coll_choose_form(&place, bytes / 4, 4)->id;
}

/* Whatever the rates predict, the table decides; each length by its own row. */
static void test_the_table_decides(void **state)
{
    (void)state;
    comm_layout *layout = one_node();
    comm_model model = comm_model_default();
    model.timed = flat_timings(1e-3);
    model.timed.seconds[COMM_ALGO_RING][5] = 1e-6;
    model.timed.seconds[COMM_ALGO_SHARED][9] = 1e-6;
    model.timed.seconds[COMM_ALGO_HALVING_DOUBLING][11] = 1e-6;
    assert_int_equal(choose(&model, layout, 4 << 10, COMM_WHOLE), COMM_ALGO_RING);
    assert_int_equal(choose(&model, layout, 1 << 20, COMM_WHOLE), COMM_ALGO_SHARED);
    assert_int_equal(choose(&model, layout, 16 << 20, COMM_WHOLE), COMM_ALGO_HALVING_DOUBLING);
    /* Halves: shared has none. */
    model.timed.seconds[COMM_ALGO_TWO_LEVEL][9] = 2e-6;
    assert_int_equal(choose(&model, layout, 1 << 20, COMM_REDUCE_SCATTER), COMM_ALGO_TWO_LEVEL);
    /* Never what has to be asked for. */
    model.timed = flat_timings(1e-3);
    model.timed.seconds[COMM_ALGO_FIXED_ORDER][5] = 1e-9;
    assert_true(choose(&model, layout, 4 << 10, COMM_WHOLE) != COMM_ALGO_FIXED_ORDER);
    layout_destroy(layout);
}

/* Past the longest timed vector: scaled as predicted, so the order at the end of the table stays that of long ones. */
static void test_beyond_the_table(void **state)
{
    (void)state;
    comm_layout *layout = one_node();
    comm_model model = comm_model_default();
    const coll_place place = {.size = RANKS, .layout = layout, .model = &model, .shared_memory = true};
    const coll_algorithm *ring = coll_algorithm_of(COMM_ALGO_RING);
    const int64_t longest = timed_bytes(9) / 4;
    const double before = coll_seconds(ring, &place, 8 * longest, 4);
    const double at_end = coll_seconds(ring, &place, longest, 4);
    model.timed.ranks = RANKS;
    model.timed.seconds[COMM_ALGO_RING][9] = 5e-3;
    assert_true(coll_seconds(ring, &place, longest, 4) == 5e-3);
    assert_true(fabs(coll_seconds(ring, &place, 8 * longest, 4) / (5e-3 * before / at_end) - 1.0) < 1e-9);
    layout_destroy(layout);
}

/* Timings of another number of ranks, of nodes apart, or of a wire type tell nothing. */
static void test_of_others(void **state)
{
    (void)state;
    static const int apart[RANKS] = {0, 0, 2, 2};
    comm_layout *layout = one_node();
    comm_layout *nodes = NULL;
    comm_model model = comm_model_default();
    const comm_model plain = model;
    ASSERT_OK(layout_create(apart, RANKS, &nodes));
    model.timed = flat_timings(1e-3);
    model.timed.seconds[COMM_ALGO_RING][5] = 1e-9;
    assert_int_equal(choose(&model, nodes, 4 << 10, COMM_WHOLE), choose(&plain, nodes, 4 << 10, COMM_WHOLE));
    model.timed.ranks = RANKS - 1;
    assert_int_equal(choose(&model, layout, 4 << 10, COMM_WHOLE), choose(&plain, layout, 4 << 10, COMM_WHOLE));
    layout_destroy(layout);
    layout_destroy(nodes);
}

/* A clock for threads of ranks that stands but for messages, of which each takes a while: what the machine does beside
 * cannot change what a check finds. It creeps, because who waits for a moment by the clock would wait for ever. */
enum { CREEP_NS = 1, MESSAGE_NS = 1000000 };
static _Thread_local bool planted;
static _Thread_local int64_t planted_ns;

/* The program's own, in place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    if (!planted || id != CLOCK_MONOTONIC) {
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    planted_ns += CREEP_NS;
    *t = (struct timespec){.tv_sec = planted_ns / 1000000000, .tv_nsec = planted_ns % 1000000000};
    return 0;
}

static transport_ops slow_ops;
static const transport_ops *fast_ops;

static weft_status slow_isend(transport *t, int lane, int peer, int tag, const void *data, size_t bytes, void *request)
{
    planted_ns += MESSAGE_NS;
    return fast_ops->isend(t, lane, peer, tag, data, bytes, request);
}

/* A table that says that one algorithm is fastest, where messages are slow. */
static weft_status check_table(weft_comm *comm, comm_algorithm fastest, bool *hold)
{
    comm_model model = comm_model_default();
    model.timed = flat_timings(1e-3);
    model.timed.ranks = comm_size(comm);
    for (int i = 0; i < TIMED_SIZES; ++i) {
        model.timed.seconds[fastest][i] = 1e-9;
    }
    comm->transport->ops = &slow_ops;
    planted = true;
    const weft_status status = comm_check_timings(comm, &model, hold);
    planted = false;
    comm->transport->ops = fast_ops;
    return status;
}

/* Timed for real: what may be chosen has figures, the same on all ranks, and a table that lies is found out. */
static weft_status time_and_check(weft_comm *comm, void *argument)
{
    (void)argument;
    comm_model model;
    bool hold = false;
    WEFT_TRY(comm_calibrate(comm, &model));
    WEFT_TRY(case_same_on_all(comm, &model.timed, sizeof model.timed));
    CASE_CHECK(model.timed.ranks == comm_size(comm), "timed on %d ranks", model.timed.ranks);
    CASE_CHECK(model.timed.seconds[COMM_ALGO_RING][5] > 0.0 && model.timed.seconds[COMM_ALGO_SHARED][5] > 0.0 &&
                   model.timed.seconds[COMM_ALGO_TWO_LEVEL][5] > 0.0,
               "%s", "not timed at 4 KiB");
    CASE_CHECK(model.timed.seconds[COMM_ALGO_FIXED_ORDER][5] == 0.0, "%s", "timed what is never chosen");
    WEFT_TRY(check_table(comm, COMM_ALGO_RING, &hold));
    CASE_CHECK(!hold, "%s", "a ring through messages is believed to be fastest");
    WEFT_TRY(check_table(comm, COMM_ALGO_SHARED, &hold));
    CASE_CHECK(hold, "%s", "shared memory is not believed to be fastest");
    model.timed.ranks = 0;
    WEFT_TRY(comm_check_timings(comm, &model, &hold));
    CASE_CHECK(hold, "%s", "nothing was timed, and it does not hold");
    return WEFT_OK;
}

static weft_status copy_ops(weft_comm *comm, void *argument)
{
    (void)argument;
    fast_ops = comm->transport->ops;
    slow_ops = *fast_ops;
    slow_ops.isend = slow_isend;
    return WEFT_OK;
}

static void test_timed(void **state)
{
    (void)state;
    ASSERT_OK(comm_thread_run(1, copy_ops, NULL));
    ASSERT_OK(comm_thread_run(2, time_and_check, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_the_table_decides),
        cmocka_unit_test(test_beyond_the_table),
        cmocka_unit_test(test_of_others),
        cmocka_unit_test(test_timed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
