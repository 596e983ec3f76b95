/* What a training reached, and how much is ahead of it: every rule speaks past its threshold, worked out by hand, and
 * is silent before it. */
#include <math.h>

#include "app/train/outcome.h"
#include "app/train/train_report.h"
#include "support/test.h"

/* Ten classes of equal size, half of the way from the baseline to 1, the best epoch in the middle. */
static outcome_facts good(void)
{
    return (outcome_facts){.metric = "accuracy",
                           .split_cure = "weft convert --splits or --random-split gives a store another split",
                           .guess_cure = "",
                           .test_cure = "folders test/CLASS/ beside train/CLASS/ hold such images",
                           .shares = true,
                           .valid = 0.56,
                           .test = 0.55,
                           .valid_baseline = 0.1,
                           .test_baseline = 0.1,
                           .valid_rows = 1000,
                           .test_rows = 1000,
                           .rows = "images",
                           .runs = 1,
                           .lr = 0.01,
                           .input_dropped = true};
}

static void expect_none(outcome_facts facts)
{
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    if (outcome_warn(&facts, line) != 0) {
        fail_msg("unexpected warning: %s", line[0]);
    }
}

static void expect_line(outcome_facts facts, const char *figure, const char *cure)
{
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    assert_int_equal(outcome_warn(&facts, line), 1);
    if (strstr(line[0], figure) == NULL || strstr(line[0], cure) == NULL) {
        fail_msg("not both \"%s\" and \"%s\" in: %s", figure, cure, line[0]);
    }
}

static void test_drift(void **state)
{
    (void)state;
    outcome_facts f = good();
    f.drift = 3.125e-7;
    expect_line(f, "by up to 3.1e-07", "memory");
    f.mixed = true;
    expect_none(f);
    f.drift = 0.01;
    expect_line(f, "by up to 0.01", "memory");
}

static void test_baseline(void **state)
{
    (void)state;
    outcome_facts f = good();
    expect_none(f);
    f.test = 0.1901; /* a tenth of the way is 0.19; two standard errors are 2 sqrt(0.09 / 1000) = 0.019 */
    expect_none(f);
    f.test = 0.1899;
    expect_line(f, "test accuracy of 18.99 %", "10.00 %");
    expect_line(f, "largest class", "--normalize standard");
    f.normalized = true;
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    assert_int_equal(outcome_warn(&f, line), 1);
    assert_null(strstr(line[0], "--normalize")); /* is in use */
    f.test = 0.3;
    f.test_rows = 9; /* two standard errors are 2 sqrt(0.09 / 9) = 0.2 */
    expect_line(f, "30.00 %", "--lr");
    f.test = 0.3001;
    expect_none(f);
    f.metric = "ROC-AUC"; /* a guess; a tenth of the way is 0.55 whatever the number of vertices */
    f.shares = false;
    f.test_baseline = 0.5;
    f.test = 0.5501;
    expect_none(f);
    f.test = 0.5499;
    expect_line(f, "test ROC-AUC of 54.99 %", "a guess, 50.00 %");
}

/* One class: 100 % is the baseline too. */
static void test_one_class(void **state)
{
    (void)state;
    outcome_facts f = good();
    f.train_classes = 10;
    f.test = f.test_baseline = 1.0; /* the test split has one of the ten */
    expect_line(f, "test accuracy of 100.00 % is hardly better", "100.00 %");
    f.test = 0.999;
    expect_line(f, "test accuracy of 99.90 %", "100.00 %");
    f.train_classes = 1; /* and so has training: one warning, which says why */
    f.test = 1.0;
    expect_line(f, "all labelled images of the training split are of one class", "not even 100 %");
    f.test_rows = 0;
    f.test = f.test_baseline = NAN;
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    assert_int_equal(outcome_warn(&f, line), 2);
    f = good();
    f.train_classes = 2;
    expect_none(f);
    f.test = 1.0; /* a perfect score of several classes is one */
    expect_none(f);
}

static void test_undefined_score(void **state)
{
    (void)state;
    outcome_facts f = good();
    f.metric = "ROC-AUC";
    f.shares = false;
    f.valid_baseline = f.test_baseline = 0.5;
    f.valid = 0.9;
    f.test = NAN;
    expect_line(f, "no task has both labels in the test split", "--random-split");
    f.valid = NAN;
    expect_line(f, "in the validation and in the test split", "ROC-AUC");
    f.test = 0.9;
    expect_line(f, "in the validation split", "ROC-AUC");
    f.valid_rows = 0;
    expect_line(f, "no labelled images in the validation split", "--random-split");
}

static void test_empty_splits(void **state)
{
    (void)state;
    outcome_facts f = good();
    f.test_rows = 0;
    f.test = f.test_baseline = NAN;
    expect_line(f, "no labelled images in the test split", "folders test/CLASS");
    f.valid = 0.11; /* judged in its place */
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    assert_int_equal(outcome_warn(&f, line), 2);
    assert_non_null(strstr(line[1], "validation accuracy of 11.00 %"));
    f = good();
    f.valid_rows = 0;
    f.valid = f.valid_baseline = NAN;
    expect_line(f, "no labelled images in the validation split", "last evaluation");
    f.test_rows = 0;
    assert_int_equal(outcome_warn(&f, line), 2); /* and no baseline */
}

static void test_early(void **state)
{
    (void)state;
    assert_false(outcome_is_early(1, 19, 0.5)); /* too few epochs to tell */
    assert_true(outcome_is_early(1, 20, 0.5));
    assert_true(outcome_is_early(3, 20, 0.5));
    assert_false(outcome_is_early(4, 20, 0.5));
    assert_true(outcome_is_early(10, 200, 0.5)); /* a twentieth */
    assert_false(outcome_is_early(11, 200, 0.5));
    assert_false(outcome_is_early(1, 200, 1.0)); /* nothing above it */
    assert_false(outcome_is_early(1, 200, NAN)); /* no validation split */
    assert_false(outcome_is_early(0, 200, 0.5)); /* never evaluated */
    outcome_facts f = good();
    f.early_runs = 1;
    f.early_epoch = 2;
    f.early_end = 200;
    expect_line(f, "the best epoch is 2 of 200", "lower --lr (now 0.01)");
    f.runs = 5;
    f.early_runs = 3;
    f.early_run = 1;
    expect_line(f, "of run 2 (3 of 5 runs are like it) is 2 of 200", "--patience");
}

static void watch(outcome_losses *losses, int run, const double *loss, int count)
{
    for (int i = 0; i < count; ++i) {
        outcome_watch(losses, run, i + 1, loss[i]);
    }
}

static void test_jump(void **state)
{
    (void)state;
    const double falling[] = {2.0, 1.5, 1.2, 1.1, 1.0, 0.9};
    const double twice[] = {2.0, 1.0, 2.0, 1.9};         /* not more than twice */
    const double rattle[] = {2.0, 0.01, 0.1, 0.02, 0.1}; /* ten times, but less than a twentieth of the first */
    const double jumps[] = {2.0, 1.0, 2.5, 0.8, 4.0, 3.9, 0.7};
    const double from_zero[] = {1.0, 0.0, 0.5};
    outcome_losses quiet = {0};
    watch(&quiet, 0, falling, 6);
    watch(&quiet, 1, twice, 4);
    watch(&quiet, 2, rattle, 5);
    outcome_facts f = good();
    f.losses = quiet;
    f.runs = 3;
    expect_none(f);

    f = good();
    watch(&f.losses, 0, jumps, 7);
    expect_line(f, "jumped from 0.8 to 4 in epoch 5:", "lower --lr (now 0.01), or try --norm batch, --input-dropout 0");
    f.normed = f.normalized = true;
    f.input_dropped = false;
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    assert_int_equal(outcome_warn(&f, line), 1);
    assert_null(strstr(line[0], "--norm"));
    assert_null(strstr(line[0], "--input-dropout"));
    assert_null(strstr(line[0], "--fresh-gradients"));
    f.old_gradients = true;
    expect_line(f, "jumped from 0.8", "lower --lr (now 0.01), --fresh-gradients");

    f = good();
    f.runs = 4;
    watch(&f.losses, 0, falling, 6);
    watch(&f.losses, 1, jumps, 7);
    watch(&f.losses, 2, jumps, 3); /* smaller: from 1 to 2.5 */
    watch(&f.losses, 3, falling, 6);
    expect_line(f, "epoch 5 of run 2 (2 of 4 runs jumped)", "--lr");
    watch(&f.losses, 4, from_zero, 3); /* no ratio is larger */
    f.runs = 5;
    expect_line(f, "from 0 to 0.5 in epoch 3 of run 5 (3 of 5 runs jumped)", "--lr");
}

/* Runs before this one are over, however few of their epochs they took. */
static void test_epochs_left(void **state)
{
    (void)state;
    const fit_services options = {.epochs = 200, .runs = 3};
    assert_float_equal(train_report_epochs_left(&options, 0, 0.0), 600.0, 1e-9);
    assert_float_equal(train_report_epochs_left(&options, 1, 0.25), 399.75, 1e-9);
    assert_float_equal(train_report_epochs_left(&options, 2, 199.0), 1.0, 1e-9);
    assert_float_equal(train_report_epochs_left(&options, 2, 200.0), 0.0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drift),     cmocka_unit_test(test_baseline),        cmocka_unit_test(test_empty_splits),
        cmocka_unit_test(test_one_class), cmocka_unit_test(test_undefined_score), cmocka_unit_test(test_early),
        cmocka_unit_test(test_jump),      cmocka_unit_test(test_epochs_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
