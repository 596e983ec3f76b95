/* The rule of the skew guard against decisions that are worked out by hand: scripted scores, no training. */
#include <math.h>

#include "support/test.h"
#include "train/skew/skew_rule.h"

enum { RUNGS = 4 };

/* A check of a rule with a bound of one point. */
static int64_t decide(skew_rule *rule, double gap, double judge, double cost)
{
    const skew_check check = {.home = 0.5 + gap, .away = 0.5, .judge = judge, .cost = cost};
    (void)skew_rule_decide(rule, &check);
    assert_true(skew_rule_is_valid(rule, RUNGS));
    return rule->rung;
}

/* Where nothing parts, two checks a rung once it is known how fast the judge rises: the loosest of four after seven,
 * and there it stays. */
static void test_equal_shards_climb(void **state)
{
    static const int64_t rungs[] = {0, 0, 1, 1, 2, 2, 3, 3};
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(decide(&rule, 0.001, 0.9 + 0.001 * i, 1.0 / (1.0 + (double)rule.rung)), rungs[i]);
    }
    assert_int_equal(rule.broken, 0);
}

/* The alarm is at five points of home minus away; one rung back at once, and no further than the first. */
static void test_alarm_steps_back_at_once(void **state)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    decide(&rule, 0.0, 0.9, 1.0);
    decide(&rule, 0.0, 0.9, 1.0);
    assert_int_equal(decide(&rule, 0.0, 0.9, 1.0), 1);
    assert_int_equal(decide(&rule, 0.049, 0.9, 0.5), 1);
    assert_int_equal(decide(&rule, 0.051, 0.9, 0.5), 0);
    assert_int_equal(decide(&rule, 0.9, 0.9, 1.0), 0);
    assert_int_equal(rule.broken, 2);
}

/* The judge may lie a point below the best so far, which falls by an eighth of a point a check. */
static void test_judge_steps_back(void **state)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    decide(&rule, 0.0, 0.900, 1.0);
    decide(&rule, 0.0, 0.900, 1.0);
    assert_int_equal(decide(&rule, 0.0, 0.900, 1.0), 1);
    assert_true(rule.reference == 0.9);
    assert_int_equal(decide(&rule, 0.0, 0.891, 0.5), 1); /* 0.9 points below */
    assert_true(fabs(rule.reference - (0.9 - 0.00125)) < 1e-12);
    assert_int_equal(decide(&rule, 0.0, 0.888, 0.5), 0); /* 1.075 below 0.89875 */
}

/* A rung that broke the bound with a score of 2 is remembered until it has halved: after four checks. */
static void test_broken_rung_is_tried_again_later(void **state)
{
    int checks = 0;
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    decide(&rule, 0.0, 0.9, 1.0);
    decide(&rule, 0.0, 0.9, 1.0);
    decide(&rule, 0.0, 0.9, 1.0);
    assert_int_equal(decide(&rule, 0.1, 0.9, 0.5), 0);
    while (decide(&rule, 0.0, 0.9, 1.0) == 0) {
        ++checks;
    }
    assert_int_equal(checks, SKEW_HALF_LIFE - 1); /* the fourth check climbs */
}

/* A rung that was seen to send no less is no gain. */
static void test_rung_that_saves_nothing_is_left(void **state)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    rule.memory[1].cost = 0.8;
    decide(&rule, 0.0, 0.9, 0.8);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.9, 0.8), 0);
    }
    assert_int_equal(decide(&rule, 0.0, 0.9, 0.9), 1);
}

/* More than a point a check is a fast rise: with equal replicas the rung stays, until two checks rise by less. */
static void test_fast_rise_stays(void **state)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, true);
    (void)state;
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.5 + 0.011 * i, 1.0), 0);
    }
    assert_int_equal(decide(&rule, 0.0, 0.564, 1.0), 0);
    assert_int_equal(decide(&rule, 0.0, 0.580, 1.0), 0);
    assert_int_equal(decide(&rule, 0.0, 0.589, 1.0), 0);
    assert_int_equal(decide(&rule, 0.0, 0.598, 1.0), 1);
    assert_int_equal(rule.broken, 0);
    /* Replicas of their own show by home minus away that they part. */
    rule = skew_rule_begin(0.01, RUNGS, false);
    assert_int_equal(decide(&rule, 0.0, 0.5, 1.0), 0);
    assert_int_equal(decide(&rule, 0.0, 0.6, 1.0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_shards_climb),
        cmocka_unit_test(test_alarm_steps_back_at_once),
        cmocka_unit_test(test_judge_steps_back),
        cmocka_unit_test(test_broken_rung_is_tried_again_later),
        cmocka_unit_test(test_rung_that_saves_nothing_is_left),
        cmocka_unit_test(test_fast_rise_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
