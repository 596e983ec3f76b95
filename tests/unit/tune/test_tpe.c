/*
 * Tree-structured Parzen estimators: log densities of Optuna 5.0.0 on a split that was recorded there, the share of
 * trials that is good, stopped trials, and suggestions that repeat.
 */
#include <math.h>

#include "support/test.h"
#include "tune/search/search_tpe.h"

static char a[] = "a", b[] = "b", c[] = "c";
static char *const letters[] = {a, b, c};

static void make_space(search_space *space)
{
    ASSERT_OK(space_add(space, &(space_dimension){.name = "x", .kind = SPACE_RANGE, .low = 0.0, .high = 1.0}));
    ASSERT_OK(space_add(space, &(space_dimension){.name = "lr", .kind = SPACE_LOG, .low = 1e-4, .high = 0.1}));
    ASSERT_OK(space_add(space, &(space_dimension){.name = "n", .kind = SPACE_INTEGER, .low = 1.0, .high = 8.0}));
    ASSERT_OK(space_add(
        space, &(space_dimension){.name = "c", .kind = SPACE_CHOICE, .choices = 3, .choice = (char **)letters}));
}

/* Two good ones, then five others. */
static const double trials[][4] = {{0.30, 1e-3, 3, 1}, {0.42, 3e-3, 4, 1}, {0.10, 2e-4, 1, 0}, {0.55, 5e-2, 8, 2},
                                   {0.90, 1e-2, 6, 1}, {0.20, 1e-3, 2, 0}, {0.70, 8e-2, 5, 2}};

static void densities(const search_space *space, parzen *good, parzen *others)
{
    search_history history = {.space = space};
    const int count = sizeof trials / sizeof *trials;
    int order[4 * 8], place[8], number;
    for (int i = 0; i < count; i++) {
        ASSERT_OK(history_begin(&history, trials[i], false, &number));
    }
    for (int d = 0; d < 4; d++) {
        for (int i = 0; i < count; i++) {
            int at = i;
            for (; at > 0 && trials[order[d * 8 + at - 1]][d] > trials[i][d]; at--) {
                order[d * 8 + at] = order[d * 8 + at - 1];
            }
            order[d * 8 + at] = i;
        }
    }
    for (int set = 0; set < 2; set++) {
        parzen *p = set == 0 ? good : others;
        ASSERT_OK(parzen_reserve(p, space, count));
        p->count = 0;
        for (int i = 0; i < count; i++) {
            place[i] = (i < 2) == (set == 0) ? p->count : -1;
            if (place[i] >= 0) {
                p->trial[p->count++] = i;
            }
        }
        parzen_build(p, &history, order, 8, count, place);
    }
    history_free(&history);
}

static void test_log_densities_are_those_of_optuna(void **state)
{
    (void)state;
    static const double candidates[3][4] = {{0.35, 2e-3, 3, 1}, {0.60, 1e-2, 5, 2}, {0.95, 9e-2, 8, 0}};
    static const double expected[3][2] = {{-3.258745, -5.998422}, {-5.210489, -4.674427}, {-6.395065, -5.400723}};
    static const double alone[3][4] = {{0.389658, -1.574273, -1.726623, -0.587787},
                                       {0.071475, -1.911640, -1.897312, -1.504077},
                                       {-0.931510, -2.827575, -2.943630, -1.504077}};
    const double unit = log(log(0.1) - log(1e-4)); /* densities of a logarithm are per unit of it */
    search_space space = {0};
    parzen good = {0}, others = {0};
    make_space(&space);
    densities(&space, &good, &others);
    for (int k = 0; k < 3; k++) {
        ASSERT_NEAR(parzen_log_density(&good, candidates[k], 0, 4) - unit, expected[k][0], 1e-5);
        ASSERT_NEAR(parzen_log_density(&others, candidates[k], 0, 4) - unit, expected[k][1], 1e-5);
        for (int d = 0; d < 4; d++) {
            ASSERT_NEAR(parzen_log_density(&good, candidates[k], d, d + 1) - (d == 1 ? unit : 0.0), alone[k][d], 1e-5);
        }
    }
    parzen_free(&good);
    parzen_free(&others);
    space_free(&space);
}

/* The densities of a searcher, which keeps what does not change, against those that are built once from its history.
 * */
static void test_densities_that_grow_are_those_built_at_once(void **state)
{
    (void)state;
    search_space space = {0};
    searcher *s = NULL, *fresh = NULL;
    parzen *good[2], *others[2];
    double values[4];
    int64_t trial;
    make_space(&space);
    const searcher_desc desc = {.kind = SEARCHER_TPE, .seed = 3};
    ASSERT_OK(searcher_open(&space, &desc, &s));
    ASSERT_OK(searcher_open(&space, &desc, &fresh));
    for (int i = 0; i < 150; i++) {
        ASSERT_OK(searcher_suggest(s, values, &trial));
        const double value = fabs(values[0] - 0.3) + 0.1 * values[2] + (values[3] == 1.0 ? 0.0 : 0.2);
        for (int k = 0; k < 2; k++) {
            searcher *one = k == 0 ? s : fresh;
            if (k == 1) {
                ASSERT_OK(searcher_begin(fresh, values, &trial));
            }
            if (i % 10 == 9) {
                continue; /* runs */
            }
            ASSERT_OK(i % 7 == 3 ? searcher_report_part(one, trial, 0.1 + 0.1 * (i % 5), value)
                                 : searcher_report(one, trial, value));
        }
    }
    ASSERT_OK(search_tpe_densities(s, &good[0], &others[0]));
    ASSERT_OK(search_tpe_densities(fresh, &good[1], &others[1]));
    const int finished = s->history.ended + s->history.parts;
    assert_int_equal(finished, 135);
    assert_int_equal(good[0]->count, (finished + 9) / 10);
    assert_int_equal(others[0]->count, 150 - good[0]->count);
    for (int i = 0; i < 50; i++) {
        search_draws draws = {9, (uint32_t)i, 0};
        search_random(&space, &draws, values);
        assert_true(parzen_log_density(good[0], values, 0, 4) == parzen_log_density(good[1], values, 0, 4));
        assert_true(parzen_log_density(others[0], values, 0, 4) == parzen_log_density(others[1], values, 0, 4));
    }
    searcher_close(s);
    searcher_close(fresh);
    space_free(&space);
}

/* Where two have ended and twenty were stopped, three are good: both of the former and the best that came farthest.
 * */
static void test_stopped_trials_fill_up_what_is_good(void **state)
{
    (void)state;
    search_space space = {0};
    searcher *s = NULL;
    parzen *good, *others;
    int64_t trial;
    make_space(&space);
    ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_TPE}, &s));
    for (int i = 0; i < 22; i++) {
        ASSERT_OK(searcher_begin(s, (double[]){i / 22.0, 1e-3, 1, 0}, &trial));
        if (i == 4 || i == 20) {
            ASSERT_OK(searcher_report(s, trial, 10.0 + i));
        } else {
            ASSERT_OK(searcher_report_part(s, trial, i < 10 ? 0.3 : 0.1, i == 7 ? (double)NAN : 5.0 - i * 0.1));
        }
    }
    ASSERT_OK(search_tpe_densities(s, &good, &others));
    assert_int_equal(good->count, 3);
    assert_int_equal(good->trial[0], 4);
    assert_int_equal(good->trial[1], 9);
    assert_int_equal(good->trial[2], 20);
    assert_int_equal(others->count, 19);
    searcher_close(s);
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_densities_are_those_of_optuna),
        cmocka_unit_test(test_densities_that_grow_are_those_built_at_once),
        cmocka_unit_test(test_stopped_trials_fill_up_what_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
