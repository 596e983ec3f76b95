/*
 * Searchers as their callers see them: suggestions that repeat, also by replay; trials that run, diverge or are
 * forgotten; priors; repeats inside the budget, and the best of noisy scores.
 */
#include <math.h>

#include "base/philox.h"
#include "support/test.h"
#include "tune/search/importance.h"
#include "tune/search/part_gain.h"
#include "tune/search/searcher.h"

static char none[] = "none", batch[] = "batch", layer[] = "layer";
static char *const norms[] = {none, batch, layer};
enum { LR, LAYERS, NORM, DROPOUT, DIMENSIONS };

static void make_space(search_space *space)
{
    *space = (search_space){0};
    ASSERT_OK(space_add(space, &(space_dimension){.name = "lr", .kind = SPACE_LOG, .low = 1e-4, .high = 1.0}));
    ASSERT_OK(space_add(space, &(space_dimension){.name = "layers", .kind = SPACE_INTEGER, .low = 1.0, .high = 6.0}));
    ASSERT_OK(space_add(
        space, &(space_dimension){.name = "norm", .kind = SPACE_CHOICE, .choices = 3, .choice = (char **)norms}));
    ASSERT_OK(space_add(space, &(space_dimension){.name = "dropout", .kind = SPACE_RANGE, .low = 0.0, .high = 0.9}));
}

/* Least, 0, at lr 0.01, 3 layers, the norm "batch" and dropout 0.5. */
static double loss(const double *values)
{
    return pow(log10(values[LR]) + 2.0, 2.0) + 0.2 * fabs(values[LAYERS] - 3.0) + (values[NORM] == 1.0 ? 0.0 : 0.5) +
           pow(values[DROPOUT] - 0.5, 2.0);
}

static double noise(int trial)
{
    const philox_block block = philox4x32(philox_counter((uint32_t)trial, 0, 1, 0), 99);
    return 0.3 * (double)philox_normal(block.word[0], block.word[1]);
}

/* A run's score; a large lr diverges. */
static double score(const double *values, int trial, double noisy)
{
    return values[LR] > 0.3 ? (double)NAN : loss(values) + noisy * noise(trial);
}

/* Trials begin two at a time and end in the other order. */
static void run(searcher *s, int pairs, double noisy, double (*history)[DIMENSIONS])
{
    for (int pair = 0; pair < pairs; pair++) {
        int64_t trial[2];
        for (int k = 0; k < 2; k++) {
            ASSERT_OK(searcher_suggest(s, history[2 * pair + k], &trial[k]));
            assert_int_equal(trial[k], 2 * pair + k);
        }
        for (int k = 1; k >= 0; k--) {
            const int number = 2 * pair + k;
            ASSERT_OK(searcher_report(s, number, score(history[number], number, noisy)));
        }
    }
}

static void test_suggestions_repeat_and_a_replay_goes_on_alike(void **state)
{
    (void)state;
    enum { PAIRS = 20 };
    double first[2 * PAIRS][DIMENSIONS], second[2 * PAIRS][DIMENSIONS], next[2][DIMENSIONS];
    search_space space;
    make_space(&space);
    for (int kind = SEARCHER_AUTO; kind <= SEARCHER_GP; kind++) {
        const searcher_desc desc = {.kind = (searcher_kind)kind, .seed = 7, .grid = 3, .warp = kind == SEARCHER_GP};
        searcher *s[2];
        int64_t trial;
        ASSERT_OK(searcher_open(&space, &desc, &s[0]));
        run(s[0], PAIRS, 1.0, first);
        ASSERT_OK(searcher_open(&space, &desc, &s[1]));
        run(s[1], PAIRS, 1.0, second);
        assert_memory_equal(first, second, sizeof first);
        searcher_close(s[1]);
        ASSERT_OK(searcher_open(&space, &desc, &s[1]));
        for (int i = 0; i < 2 * PAIRS; i++) {
            ASSERT_OK(searcher_begin(s[1], first[i], &trial));
        }
        for (int i = 0; i < 2 * PAIRS; i++) {
            const int number = i ^ 1; /* as they ended */
            ASSERT_OK(searcher_report(s[1], number, score(first[number], number, 1.0)));
        }
        for (int k = 0; k < 2; k++) {
            ASSERT_OK(searcher_suggest(s[k], next[k], &trial));
        }
        assert_memory_equal(next[0], next[1], sizeof next[0]);
        searcher_close(s[0]);
        searcher_close(s[1]);
    }
    space_free(&space);
}

static void test_models_find_the_least_loss(void **state)
{
    (void)state;
    enum { PAIRS = 30 };
    double history[2 * PAIRS][DIMENSIONS];
    static const searcher_kind kinds[] = {SEARCHER_TPE, SEARCHER_GP, SEARCHER_GP};
    static const double most[] = {0.15, 0.03, 0.03};
    search_space space;
    make_space(&space);
    for (int k = 0; k < 3; k++) { /* the last one with a warp */
        searcher *s;
        searcher_leader best;
        ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = kinds[k], .seed = 1, .warp = k == 2}, &s));
        run(s, PAIRS, 0.0, history);
        ASSERT_OK(searcher_best(s, &best));
        assert_true(best.score <= most[k]);
        assert_true(best.score == loss(history[best.trial]));
        searcher_close(s);
    }
    space_free(&space);
}

/* Every trial pauses after a tenth, every third one after a third, and every ninth ends; all gain alike on the way. */
static void report_parts(searcher *s, int trial, const double *values)
{
    ASSERT_OK(searcher_report_part(s, trial, 0.1, loss(values) + 3.0));
    if (trial % 3 == 2) {
        ASSERT_OK(searcher_report_part(s, trial, 0.3, loss(values) + 1.0));
    }
    if (trial % 9 == 8) {
        ASSERT_OK(searcher_report(s, trial, loss(values)));
    }
}

static void test_trials_that_pause_say_where_to_look(void **state)
{
    (void)state;
    enum { TRIALS = 54 };
    static const searcher_kind kinds[] = {SEARCHER_TPE, SEARCHER_GP, SEARCHER_GP};
    static const double most[] = {0.3, 0.03, 0.03};
    double values[TRIALS][DIMENSIONS], next[2][DIMENSIONS];
    search_space space;
    make_space(&space);
    for (int k = 0; k < 3; k++) { /* the last one with a warp, of which shares are no part */
        searcher *s[2];
        searcher_leader best;
        int64_t trial;
        double least = INFINITY;
        for (int i = 0; i < 2; i++) {
            ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = kinds[k], .seed = 1, .warp = k == 2}, &s[i]));
        }
        for (int i = 0; i < TRIALS; i++) {
            ASSERT_OK(searcher_suggest(s[0], values[i], &trial));
            report_parts(s[0], i, values[i]);
            ASSERT_OK(searcher_begin(s[1], values[i], &trial));
            report_parts(s[1], i, values[i]);
            least = fmin(least, loss(values[i]));
        }
        assert_true(least <= most[k]);
        ASSERT_OK(searcher_best(s[0], &best));
        assert_int_equal(best.trial % 9, 8); /* what has not ended is not the best */
        for (int i = 0; i < 2; i++) {
            ASSERT_OK(searcher_suggest(s[i], next[i], &trial));
            searcher_close(s[i]);
        }
        assert_memory_equal(next[0], next[1], sizeof next[0]);
    }
    space_free(&space);
}

/* Of 2 x + y, uniform x and y explain 4/5 and 1/5 of the variance. */
static void test_importance_is_the_share_of_the_variance(void **state)
{
    (void)state;
    enum { TRIALS = 100 };
    static const double want[DIMENSIONS] = {[LR] = 0.8, [DROPOUT] = 0.2};
    double values[DIMENSIONS], share[DIMENSIONS];
    search_space space;
    searcher *s;
    int64_t trial;
    make_space(&space);
    ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_RANDOM, .seed = 3}, &s));
    ASSERT_OK(searcher_importance(s, share));
    assert_true(isnan(share[LR]));
    for (int i = 0; i < TRIALS; i++) {
        ASSERT_OK(searcher_suggest(s, values, &trial));
        ASSERT_OK(searcher_report(s, trial,
                                  2.0 * space_coordinate(&space.dimension[LR], values[LR]) +
                                      space_coordinate(&space.dimension[DROPOUT], values[DROPOUT])));
    }
    ASSERT_OK(searcher_importance(s, share));
    for (int d = 0; d < DIMENSIONS; d++) {
        ASSERT_NEAR(share[d], want[d], 0.1);
    }
    searcher_close(s);
    space_free(&space);
}

static void test_gains_are_those_of_trials_that_went_on(void **state)
{
    (void)state;
    static const struct {
        int trial;
        double share, value, gain;
    } told[] = {
        {0, 0.1, 5.0, 2.05}, {1, 0.1, 7.0, 2.05}, {2, 0.1, 9.0, 2.05},  {0, 0.3, 3.0, 0.55}, {1, 0.3, 6.0, 0.55},
        {0, 1.0, 2.0, 0.0},  {3, 0.2, 4.0, 0.55}, {4, 0.05, 8.0, 2.05}, {1, 0.5, 5.9, 0.0},  {5, 1.0, 1.0, 0.0},
    };
    enum { COUNT = sizeof told / sizeof *told };
    double values[DIMENSIONS] = {0.01, 3.0, 1.0, 0.5}, gain[COUNT];
    search_space space;
    make_space(&space);
    search_history history = {.space = &space};
    int number;
    for (int i = 0; i < 6; i++) {
        ASSERT_OK(history_begin(&history, values, false, &number));
    }
    for (int i = 0; i < COUNT; i++) {
        ASSERT_OK(history_tell(&history, told[i].trial, told[i].share < 1.0 ? TRIAL_PART : TRIAL_ENDED, told[i].share,
                               &told[i].value));
    }
    ASSERT_STATUS(history_tell(&history, 0, TRIAL_PART, 0.5, &told[0].value), WEFT_ERR_USAGE);
    ASSERT_OK(part_gains(&history, COUNT, gain));
    for (int i = 0; i < COUNT; i++) {
        ASSERT_NEAR(gain[i], told[i].gain, 1e-12);
    }
    history_free(&history);
    space_free(&space);
}

static bool same(const double *a, const double *b)
{
    return a[LR] == b[LR] && a[LAYERS] == b[LAYERS] && a[NORM] == b[NORM] && a[DROPOUT] == b[DROPOUT];
}

/* The last fifth of the budget runs earlier configurations again, and the one that is named the best has its runs. */
static void test_leaders_run_again_at_the_end(void **state)
{
    (void)state;
    enum { TRIALS = 50, AGAIN = 10 };
    double history[TRIALS][DIMENSIONS];
    searcher_leader best;
    searcher *s;
    search_space space;
    make_space(&space);
    ASSERT_OK(
        searcher_open(&space, &(searcher_desc){.kind = SEARCHER_GP, .seed = 2, .trials = TRIALS, .repeats = 0.2}, &s));
    run(s, TRIALS / 2, 1.0, history);
    for (int i = TRIALS - AGAIN; i < TRIALS; i++) {
        int earlier = 0;
        while (!same(history[earlier], history[i])) {
            earlier++;
        }
        assert_true(earlier < TRIALS - AGAIN);
    }
    ASSERT_OK(searcher_best(s, &best));
    int runs = 0;
    for (int i = 0; i < TRIALS; i++) {
        runs += same(history[best.trial], history[i]);
    }
    assert_int_equal(best.runs, runs);
    assert_true(loss(history[best.trial]) < 0.75); /* noise has the deviation 0.3; half of the space is above 1.9 */
    assert_true(best.deviation > 0.0 && best.deviation < 0.3);
    searcher_close(s);
    space_free(&space);
}

/* Leaders that run again when the caller says so: one that was trained in full, and the best of those that ran again
 * wins, by its mean, over one lucky run. A configuration that was only proposed twice makes no such choice, and is part
 * of it. */
static void test_leaders_run_again_on_request(void **state)
{
    (void)state;
    static const double values[4][DIMENSIONS] = {
        {0.01, 3, 1, 0.5}, {0.1, 3, 1, 0.5}, {0.02, 3, 1, 0.4}, {0.05, 2, 1, 0.4}};
    static const int config[] = {0, 1, 2, 1, 0, 1};
    static const bool planned[] = {false, false, false, false, true, true};
    static const double score[] = {1.0, 1.3, 1.1, 1.25, 1.4, 1.26};
    searcher_leader best;
    searcher *s;
    search_space space;
    int64_t trial;
    double again[DIMENSIONS];
    make_space(&space);
    ASSERT_OK(searcher_open(
        &space, &(searcher_desc){.kind = SEARCHER_RANDOM, .repeats = 0.3, .trials = 4, .on_request = true}, &s));
    ASSERT_OK(searcher_again(s, again, &trial));
    assert_int_equal(trial, -1); /* none has ended */
    for (int i = 0; i < 6; i++) {
        ASSERT_OK((planned[i] ? searcher_begin_again : searcher_begin)(s, values[config[i]], &trial));
        ASSERT_OK(searcher_report(s, trial, score[i]));
        ASSERT_OK(searcher_best(s, &best));
        assert_int_equal(best.trial, 0);
        assert_int_equal(best.runs, i < 4 ? 1 : 2);
    }
    ASSERT_NEAR(best.score, 1.2, 1e-12);
    ASSERT_OK(searcher_begin(s, values[3], &trial));
    ASSERT_OK(searcher_report_part(s, trial, 0.1, 0.5)); /* a part of a training is no leader */
    ASSERT_OK(searcher_again(s, again, &trial));
    assert_int_equal(trial, 7);
    assert_true(same(again, values[2])); /* which leads by one run */
    ASSERT_OK(searcher_report(s, trial, 1.5));
    ASSERT_OK(searcher_again(s, again, &trial));
    assert_false(same(again, values[3]));
    ASSERT_OK(searcher_report(s, trial, 1.5));
    for (int i = 6; i <= 9; i += 3) { /* the part goes on to the end, and is proposed once more */
        ASSERT_OK(i > 6 ? searcher_begin(s, values[3], &trial) : WEFT_OK);
        ASSERT_OK(searcher_report(s, i, 1.0));
        ASSERT_OK(searcher_best(s, &best));
        assert_true((best.trial == 6) == (i > 6));
    }
    ASSERT_OK(searcher_suggest(s, again, &trial)); /* past the budget, and nothing is repeated by itself */
    assert_false(same(again, values[0]) || same(again, values[1]) || same(again, values[2]));
    searcher_close(s);
    space_free(&space);
}

static void test_what_diverges_or_is_forgotten_does_not_win(void **state)
{
    (void)state;
    static const double values[3][DIMENSIONS] = {{0.01, 3, 1, 0.5}, {0.1, 3, 1, 0.5}, {0.01, 2, 0, 0.1}};
    searcher_leader best;
    searcher *s;
    search_space space;
    int64_t trial;
    double next[DIMENSIONS];
    make_space(&space);
    ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_GP, .repeats = 0.1, .trials = 40}, &s));
    ASSERT_OK(searcher_best(s, &best));
    assert_int_equal(best.trial, -1);
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(searcher_begin(s, values[i], &trial));
    }
    ASSERT_OK(searcher_report(s, 0, (double)INFINITY));
    ASSERT_OK(searcher_report(s, 1, 2.0));
    ASSERT_OK(searcher_forget(s, 2));
    ASSERT_OK(searcher_best(s, &best));
    assert_int_equal(best.trial, 1);
    ASSERT_STATUS(searcher_report(s, 1, 1.0), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("trial 1 does not run");
    ASSERT_STATUS(searcher_report(s, 77, 1.0), WEFT_ERR_USAGE);
    ASSERT_STATUS(searcher_begin(s, (double[]){2.0, 3, 1, 0.5}, &trial), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("lr: 2 is no value of the space");
    for (int i = 0; i < 30; i++) { /* all diverge, and a search goes on */
        ASSERT_OK(searcher_suggest(s, next, &trial));
        ASSERT_OK(searcher_report(s, trial, (double)NAN));
    }
    ASSERT_OK(searcher_best(s, &best));
    assert_int_equal(best.trial, 1);
    searcher_close(s);
    space_free(&space);
}

/* Half of the numbers are drawn near to where the user expects the best. */
static void test_priors_draw_numbers_near(void **state)
{
    (void)state;
    enum { DRAWS = 400 };
    search_space space = {0};
    searcher *s;
    int64_t trial;
    double values[1];
    int near = 0;
    ASSERT_OK(space_add(
        &space, &(space_dimension){
                    .name = "x", .kind = SPACE_RANGE, .low = 0.0, .high = 10.0, .has_prior = true, .prior = 2.0}));
    ASSERT_OK(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_RANDOM, .seed = 4}, &s));
    for (int i = 0; i < DRAWS; i++) {
        ASSERT_OK(searcher_suggest(s, values, &trial));
        near += fabs(values[0] - 2.0) < 2.0;
    }
    /* half of 0.4, and half of the 0.683 + 0.136 of a normal with the deviation 2 that is reflected at 0 */
    ASSERT_NEAR((double)near / DRAWS, 0.2 + 0.5 * (0.683 + 0.136), 3.5 * 0.5 / sqrt(DRAWS));
    searcher_close(s);
    space_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggestions_repeat_and_a_replay_goes_on_alike),
        cmocka_unit_test(test_models_find_the_least_loss),
        cmocka_unit_test(test_trials_that_pause_say_where_to_look),
        cmocka_unit_test(test_importance_is_the_share_of_the_variance),
        cmocka_unit_test(test_gains_are_those_of_trials_that_went_on),
        cmocka_unit_test(test_leaders_run_again_at_the_end),
        cmocka_unit_test(test_leaders_run_again_on_request),
        cmocka_unit_test(test_what_diverges_or_is_forgotten_does_not_win),
        cmocka_unit_test(test_priors_draw_numbers_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
