/*
 * The rate of a range test: that of the steepest stretch of curves of a known shape, whatever the noise; none where
 * nothing falls; and when a test is over.
 */
#include <math.h>

#include "base/philox.h"
#include "support/test.h"
#include "train/loop/lr_range.h"

enum { STEPS = 80 };

static double rate_of(int i)
{
    return 1e-5 * pow(1e6, (double)i / (STEPS - 1));
}

/* The logarithm of the loss is a step down of the form tanh at `centre`, in logarithms of the rate, and a rise behind
 * 1. Steepest at the centre. */
static void make_curve(double centre, double noise, double *lr, double *loss)
{
    for (int i = 0; i < STEPS; i++) {
        lr[i] = rate_of(i);
        const double x = log(lr[i] / centre),
                     draw = (double)philox_normal(philox4x32(philox_counter((uint32_t)i, 1, 1, 0), 3).word[0],
                                                  philox4x32(philox_counter((uint32_t)i, 2, 1, 0), 3).word[1]);
        loss[i] = exp(1.0 - 1.5 * tanh(x) + fmax(log(lr[i]), 0.0)) * (1.0 + noise * draw);
    }
}

static void test_the_steepest_fall_is_found(void **state)
{
    (void)state;
    static const double centres[] = {3e-4, 0.01, 0.2};
    double lr[STEPS], loss[STEPS], smooth[STEPS];
    for (int c = 0; c < 3; c++) {
        for (int noisy = 0; noisy < 2; noisy++) {
            make_curve(centres[c], noisy ? 0.02 : 0.0, lr, loss);
            const lr_choice choice = lr_range_choose(lr, loss, STEPS, smooth);
            const double most = noisy ? 2.0 : pow(1e6, 0.5 / (STEPS - 1)) * 1.06; /* half a step, and two digits */
            assert_true(choice.rate < centres[c] * most && choice.rate > centres[c] / most);
            assert_true(choice.least >= choice.rate);
            assert_true(choice.step > 0 && fabs(choice.rate - lr[choice.step]) <= 0.05 * choice.rate);
        }
    }
}

static void test_a_loss_that_does_not_fall_has_no_rate(void **state)
{
    (void)state;
    double lr[STEPS], loss[STEPS], smooth[STEPS];
    for (int i = 0; i < STEPS; i++) {
        lr[i] = rate_of(i);
        loss[i] = 2.0 + 0.001 * i;
    }
    assert_int_equal(lr_range_choose(lr, loss, STEPS, smooth).step, -1);
    /* Nothing but noise, of which the ends have the luckiest draws. */
    for (int i = 0; i < STEPS; i++) {
        loss[i] = 0.6 + 0.05 * (double)philox_normal(philox4x32(philox_counter((uint32_t)i, 1, 1, 0), 5).word[0],
                                                     philox4x32(philox_counter((uint32_t)i, 2, 1, 0), 5).word[1]);
    }
    loss[0] = 0.9;
    loss[STEPS - 1] = 0.3;
    assert_int_equal(lr_range_choose(lr, loss, STEPS, smooth).step, -1);
    make_curve(0.01, 0.0, lr, loss);
    assert_int_equal(lr_range_choose(lr, loss, 9, smooth).step, -1); /* too few to say anything */
}

static void test_when_a_test_is_over(void **state)
{
    (void)state;
    double loss[STEPS];
    for (int i = 0; i < STEPS; i++) {
        loss[i] = 3.0 - 0.02 * i;
    }
    assert_false(lr_range_blew_up(loss, STEPS));
    loss[40] = 30.0;
    assert_true(lr_range_blew_up(loss, 41));
    assert_false(lr_range_blew_up(loss, 40));
    loss[5] = NAN;
    assert_true(lr_range_blew_up(loss, 6));
    loss[5] = 30.0; /* the first steps of a training may be rough */
    assert_false(lr_range_blew_up(loss, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_steepest_fall_is_found),
        cmocka_unit_test(test_a_loss_that_does_not_fall_has_no_rate),
        cmocka_unit_test(test_when_a_test_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
