/* base/trace/activity: each moment belongs to one activity, whatever runs inside another. */
#include <pthread.h>

#include "base/clock.h"
#include "base/trace/activity.h"
#include "support/test.h"

static const weft_activity outer[1] = {{.text = "outer", .kind = ACTIVITY_COMPUTES}};
static const weft_activity inner[1] = {{.text = "inner", .kind = ACTIVITY_MOVES}};
static const weft_activity whole[1] = {{.text = "whole", .kind = ACTIVITY_SCORES, .absorbs = true}};

static void spend(double seconds)
{
    double end = clock_seconds() + seconds;
    while (clock_seconds() < end) {
    }
}

static void test_time_has_one_owner(void **state)
{
    (void)state;
    double begin = clock_seconds();
    activity_reset();
    activity_begin(outer);
    spend(0.002);
    activity_begin(inner);
    spend(0.004);
    activity_end(inner);
    activity_end(outer);
    spend(0.001);
    const activity_row a = activity_get(outer), b = activity_get(inner), rest = activity_get(ACTIVITY_OTHER);
    assert_true(a.seconds >= 0.002 && b.seconds >= 0.004 && rest.seconds >= 0.001);
    assert_true(a.seconds + b.seconds + rest.seconds <= clock_seconds() - begin);
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 1);
}

static void test_what_absorbs_owns_what_runs_inside(void **state)
{
    (void)state;
    activity_reset();
    activity_begin(whole);
    activity_begin(inner);
    spend(0.002);
    activity_end(inner);
    activity_end(whole);
    assert_true(activity_get(whole).seconds >= 0.002);
    assert_true(activity_get(inner).seconds == 0);
    assert_int_equal(activity_get(inner).calls, 1);
}

static int booked(void)
{
    int count = 0;
    while (activity_booked(count) != NULL) {
        count += 1;
    }
    return count;
}

static void *other_thread(void *argument)
{
    (void)argument;
    activity_reset();
    activity_begin(whole);
    activity_end(whole);
    return (void *)(intptr_t)booked();
}

/* Rows are a thread's own, made when it meets an activity, and gone with the reset. */
static void test_rows_of_a_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *others = NULL;
    activity_reset();
    assert_int_equal(booked(), 0);
    activity_begin(outer);
    activity_end(outer);
    assert_int_equal(booked(), 2); /* and ACTIVITY_OTHER before it */
    assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &others), 0);
    assert_int_equal((intptr_t)others, 2);
    assert_int_equal(booked(), 2);
    assert_int_equal(activity_get(whole).calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_has_one_owner),
        cmocka_unit_test(test_what_absorbs_owns_what_runs_inside),
        cmocka_unit_test(test_rows_of_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
