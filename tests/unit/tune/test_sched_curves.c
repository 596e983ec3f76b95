/*
 * Schedulers on recorded learning curves, with random configurations and a budget of 30 full trainings: full trainings
 * against the closed form of random search, and what halving gains over them. Skipped without the shared data.
 */
#include <math.h>

#include "support/curve_race.h"

enum { SEEDS = 100, TRAININGS = 30 };

static curve_set set;

/* Mean regret over tasks of each seed. */
static void race_all(const sched_desc *desc, double regret[SEEDS])
{
    for (int seed = 0; seed < SEEDS; seed++) {
        regret[seed] = 0.0;
        for (int task = 0; task < set.tasks; task++) {
            int trials = 0;
            regret[seed] +=
                curve_race(&set, task, desc, 1, (int64_t)TRAININGS * set.epochs, (uint64_t)seed, &trials) / set.tasks;
        }
    }
}

/* [out] error: standard error of the mean */
static double mean_of(const double value[SEEDS], double *error)
{
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < SEEDS; i++) {
        sum += value[i];
        squares += value[i] * value[i];
    }
    *error = sqrt((squares / SEEDS - sum / SEEDS * sum / SEEDS) / (SEEDS - 1));
    return sum / SEEDS;
}

static sched_desc desc_of(sched_kind kind, int64_t grace)
{
    return (sched_desc){.kind = kind, .maximise = true, .max_resource = set.epochs, .grace = grace};
}

/* Expected regret of the best of n different curves, by the share of draws whose best is the k-th. */
static double closed_form(int task, int n)
{
    double *regret = malloc((size_t)set.curves * sizeof *regret);
    double best = 0.0, median = 0.0, expected = 0.0, none_before = 1.0;
    assert_non_null(regret);
    curve_scale(&set, task, &best, &median);
    for (int i = 0; i < set.curves; i++) {
        double most = 0.0;
        for (int e = 1; e <= set.epochs; e++) {
            most = fmax(most, curve_at(&set, task, i, e));
        }
        regret[i] = (best - most) / (best - median);
    }
    sample_sort(regret, set.curves);
    for (int k = 0; k <= set.curves - n; k++) {
        const double drawn = (double)n / (set.curves - k);
        expected += none_before * drawn * regret[k];
        none_before *= 1.0 - drawn;
    }
    free(regret);
    return expected;
}

static void test_random_search(void **state)
{
    double regret[SEEDS], error = 0.0, expected = 0.0;
    const sched_desc desc = desc_of(SCHED_KIND_FIFO, 0);
    (void)state;
    race_all(&desc, regret);
    const double mean = mean_of(regret, &error);
    for (int task = 0; task < set.tasks; task++) {
        expected += closed_form(task, TRAININGS) / set.tasks;
    }
    ASSERT_NEAR(mean, expected, 3.0 * error);
}

/* Mean of a's regrets minus b's on the same orders of configurations, in standard errors. */
static double gain(const sched_desc *a, const sched_desc *b)
{
    double first[SEEDS], second[SEEDS], error = 0.0;
    race_all(a, first);
    race_all(b, second);
    for (int i = 0; i < SEEDS; i++) {
        first[i] -= second[i];
    }
    const double mean = mean_of(first, &error);
    return mean / error;
}

static void test_halving_gains(void **state)
{
    double regret[SEEDS], error = 0.0;
    const sched_desc fifo = desc_of(SCHED_KIND_FIFO, 0), asha = desc_of(SCHED_ASHA, 0), pasha = desc_of(SCHED_PASHA, 0),
                     poison = desc_of(SCHED_ASHA, 1), late = desc_of(SCHED_ASHA_OPTUNA, 6);
    (void)state;
    race_all(&asha, regret);
    assert_true(mean_of(regret, &error) < 0.07);
    assert_true(gain(&fifo, &asha) > 10.0);
    assert_true(gain(&fifo, &pasha) > 10.0);
    assert_true(gain(&poison, &asha) > 10.0); /* the default grace is not 1 */
    assert_true(gain(&late, &asha) > 3.0);    /* stopping from epoch 6, as users of others choose */
}

int main(void)
{
    if (!curve_set_open(&set)) {
        fprintf(stderr, "no recorded curves: skipped\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_search), cmocka_unit_test(test_halving_gains)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_free(set.value);
    return failed;
}
