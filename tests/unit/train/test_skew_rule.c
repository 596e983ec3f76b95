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

/* A rule whose judge has stood at 0.9 for as long as it remembers. */
static skew_rule level_rule(void)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, 0, 0.01);
    for (int i = 0; i < SKEW_WINDOW; ++i) {
        rule.judged[i] = 0.9;
    }
    return rule;
}

/* Where nothing parts, two checks a rung once a window says how fast the judge rises: the loosest of four after ten,
 * and there it stays. */
static void test_equal_shards_climb(void **state)
{
    static const int64_t rungs[] = {0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3};
    skew_rule rule = skew_rule_begin(0.01, RUNGS, 0, 0.01);
    (void)state;
    for (int i = 0; i < 11; ++i) {
        assert_int_equal(decide(&rule, 0.001, 0.9 + 0.001 * i, 1.0 / (1.0 + (double)rule.rung)), rungs[i]);
    }
    assert_int_equal(rule.broken, 0);
}

/* The alarm is at five points of home minus away; one rung back at once, and no further than the first. */
static void test_alarm_steps_back_at_once(void **state)
{
    skew_rule rule = level_rule();
    (void)state;
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
    skew_rule rule = level_rule();
    (void)state;
    decide(&rule, 0.0, 0.900, 1.0);
    assert_int_equal(decide(&rule, 0.0, 0.900, 1.0), 1);
    assert_true(rule.reference == 0.9);
    assert_int_equal(decide(&rule, 0.0, 0.891, 0.5), 1); /* 0.9 points below */
    assert_true(fabs(rule.reference - (0.9 - 0.00125)) < 1e-12);
    assert_int_equal(decide(&rule, 0.0, 0.888, 0.5), 0); /* 1.075 below 0.89875 */
}

/* Where the mean of four judges is taken, a fall by three points breaks the bound when it lasts. */
static void test_one_fall_is_no_loss(void **state)
{
    skew_rule rule = level_rule();
    (void)state;
    rule.over = SKEW_WINDOW;
    for (int i = 0; i < SKEW_WINDOW; ++i) {
        decide(&rule, 0.0, 0.9, 1.0);
    }
    const int64_t rung = rule.rung;
    assert_true(rung > 0 && fabs(rule.reference - 0.9) < 1e-12);
    decide(&rule, 0.0, 0.87, 1.0); /* 0.8925: 0.75 points below */
    assert_int_equal(rule.broken, 0);
    decide(&rule, 0.0, 0.9, 1.0);
    assert_int_equal(rule.broken, 0);
    decide(&rule, 0.0, 0.87, 1.0); /* 0.885: 1.25 below 0.8975 */
    assert_int_equal(rule.broken, 1);
}

/* A rung that broke the bound with a score of 2 is remembered until it has halved: after four checks. */
static void test_broken_rung_is_tried_again_later(void **state)
{
    int checks = 0;
    skew_rule rule = level_rule();
    (void)state;
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
    skew_rule rule = skew_rule_begin(0.01, RUNGS, 0, 0.01);
    (void)state;
    rule.memory[1].cost = 0.8;
    decide(&rule, 0.0, 0.9, 0.8);
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.9, 0.8), 0);
    }
    assert_int_equal(decide(&rule, 0.0, 0.9, 0.9), 1);
}

/* More than a point a check is a fast rise: with equal replicas the rung stays, until the mean rise of a window is less
 * at two checks. */
static void test_fast_rise_stays(void **state)
{
    static const int64_t rungs[] = {0, 0, 1}; /* mean rises of 1.025, 0.95 and 0.875 points */
    skew_rule rule = skew_rule_begin(0.01, RUNGS, 0, 0.01);
    (void)state;
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.5 + 0.011 * i, 1.0), 0);
    }
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.577 + 0.008 * (i + 1), 1.0), rungs[i]);
    }
    assert_int_equal(rule.broken, 0);
    /* Replicas of their own show by home minus away that they part. */
    rule = skew_rule_begin(0.01, RUNGS, 0, 0.0);
    assert_int_equal(decide(&rule, 0.0, 0.5, 1.0), 0);
    assert_int_equal(decide(&rule, 0.0, 0.6, 1.0), 1);
}

/* One check that rises fast by chance, and falls again, is no fast rise; two slow ones among fast ones are no end of
 * it. */
static void test_chance_decides_nothing(void **state)
{
    static const double slow[] = {0.9, 0.905, 0.9, 0.905}, fast[] = {0.75, 0.755, 0.76, 0.85};
    skew_rule rule = level_rule();
    (void)state;
    decide(&rule, 0.0, slow[0], 1.0);
    assert_int_equal(decide(&rule, 0.0, slow[1] + 0.012, 1.0),
                     1); /* 1.7 points in a check, 0.4 a check in the window */
    rule = level_rule();
    for (int i = 0; i < SKEW_WINDOW; ++i) {
        rule.judged[i] = 0.70 - 0.05 * i;
    }
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(decide(&rule, 0.0, fast[i], 1.0), 0);
    }
}

/* A judge that jumps by two points from check to check hides how fast it rises: half a point a check may be 1.5. */
static void test_jumps_hide_a_rise(void **state)
{
    skew_rule rule = level_rule();
    (void)state;
    rule.over = SKEW_WINDOW;
    for (int i = 1; i <= 12; ++i) {
        assert_int_equal(decide(&rule, 0.0, 0.9 + 0.005 * i + (i % 2 != 0 ? 0.02 : 0.0), 1.0), 0);
    }
    assert_int_equal(rule.good + rule.broken, 0);
}

/* A ladder may begin at a later rung, and goes back from there as from any. */
static void test_later_start(void **state)
{
    skew_rule rule = skew_rule_begin(0.01, RUNGS, 2, 0.0);
    (void)state;
    assert_int_equal(decide(&rule, 0.1, 0.5, 0.1), 1);
    assert_int_equal(decide(&rule, 0.1, 0.5, 0.1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_shards_climb),
        cmocka_unit_test(test_alarm_steps_back_at_once),
        cmocka_unit_test(test_judge_steps_back),
        cmocka_unit_test(test_one_fall_is_no_loss),
        cmocka_unit_test(test_broken_rung_is_tried_again_later),
        cmocka_unit_test(test_rung_that_saves_nothing_is_left),
        cmocka_unit_test(test_fast_rise_stays),
        cmocka_unit_test(test_chance_decides_nothing),
        cmocka_unit_test(test_jumps_hide_a_rise),
        cmocka_unit_test(test_later_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
