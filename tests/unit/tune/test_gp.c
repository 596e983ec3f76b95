/*
 * The Gaussian process: its posterior of five points against elimination by hand, its likelihood against the
 * determinant of that elimination, its gradient against differences, warped coordinates against their closed form,
 * and the expected improvement against an integral.
 */
#include <math.h>

#include "base/philox.h"
#include "support/test.h"
#include "tune/gp/gp.h"
#include "tune/gp/gp_warp.h"

enum { POINTS = 5, DIMENSIONS = 3, THETA = DIMENSIONS + GP_VARIANCES, WARPED = THETA + 2 * DIMENSIONS };

static const bool category[DIMENSIONS] = {false, false, true};
static const double x[POINTS * DIMENSIONS] = {0.1, 0.2, 0, 0.4, 0.9, 1, 0.5, 0.5, 0, 0.9, 0.1, 2, 0.7, 0.8, 1};
static const double y[POINTS] = {0.3, -1.2, 0.4, 1.1, -0.7}, runs[POINTS] = {1, 3, 1, 2, 1};
static const gp_data data = {POINTS, DIMENSIONS, x, category, y, runs};
static const double theta[THETA] = {0.7, -0.4, 0.2, 0.3, -1.5, -2.5};

static double covariance(const double *a, const double *b)
{
    double squared = 0.0;
    for (int d = 0; d < DIMENSIONS; d++) {
        const double far = category[d] ? (a[d] != b[d]) : a[d] - b[d];
        squared += exp(theta[d]) * far * far;
    }
    const double r = sqrt(squared);
    return exp(theta[DIMENSIONS]) * (1.0 + sqrt(5.0) * r + 5.0 / 3.0 * squared) * exp(-sqrt(5.0) * r);
}

static void fill(double k[POINTS][POINTS])
{
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < POINTS; j++) {
            k[i][j] = covariance(x + i * DIMENSIONS, x + j * DIMENSIONS);
        }
        k[i][i] += exp(theta[DIMENSIONS + 1]) / runs[i] + exp(theta[DIMENSIONS + 2]);
    }
}

/* b becomes the solution of K b = b by Gauss and Jordan. Returns the determinant. */
static double solve(double b[POINTS])
{
    double k[POINTS][POINTS], determinant = 1.0;
    fill(k);
    for (int p = 0; p < POINTS; p++) {
        const double pivot = k[p][p];
        determinant *= pivot;
        for (int j = 0; j < POINTS; j++) {
            k[p][j] /= pivot;
        }
        b[p] /= pivot;
        for (int i = 0; i < POINTS; i++) {
            const double times = i == p ? 0.0 : k[i][p];
            for (int j = 0; j < POINTS; j++) {
                k[i][j] -= times * k[p][j];
            }
            b[i] -= times * b[p];
        }
    }
    return determinant;
}

/* Weights K^-1 (y - m), m, and the -log likelihood of the scores. */
static double by_hand(double weight[POINTS], double *mean)
{
    double ones[POINTS], top = 0.0, bottom = 0.0, form = 0.0, determinant = 0.0;
    for (int i = 0; i < POINTS; i++) {
        ones[i] = 1.0;
        weight[i] = y[i];
    }
    solve(ones);
    determinant = solve(weight);
    for (int i = 0; i < POINTS; i++) {
        top += weight[i];
        bottom += ones[i];
    }
    *mean = top / bottom;
    for (int i = 0; i < POINTS; i++) {
        weight[i] -= *mean * ones[i];
        form += weight[i] * (y[i] - *mean);
    }
    return 0.5 * (form + log(determinant) + POINTS * log(2.0 * M_PI));
}

/* The posterior at a place, which is point `known` or none (-1). */
static void expect_posterior(const gp_model *gp, const double *place, int known)
{
    double weight[POINTS], k[POINTS], solved[POINTS], m, mean, variance;
    const double own = exp(theta[DIMENSIONS + 2]);
    by_hand(weight, &m);
    double expected_mean = m, expected_variance = exp(theta[DIMENSIONS]) + (known >= 0 ? own : 0.0);
    for (int i = 0; i < POINTS; i++) {
        solved[i] = k[i] = covariance(place, x + i * DIMENSIONS) + (i == known ? own : 0.0);
    }
    solve(solved);
    for (int i = 0; i < POINTS; i++) {
        expected_mean += k[i] * weight[i];
        expected_variance -= k[i] * solved[i];
    }
    if (known < 0) {
        gp_predict(gp, place, &mean, &variance);
    } else {
        gp_predict_point(gp, known, &mean, &variance);
    }
    ASSERT_NEAR(mean, expected_mean, 1e-10);
    ASSERT_NEAR(variance, expected_variance, 1e-10);
}

static void test_posterior_is_that_of_elimination(void **state)
{
    (void)state;
    static const double place[2][DIMENSIONS] = {{0.3, 0.6, 1}, {0.95, 0.95, 2}};
    gp_model *gp;
    double value;
    ASSERT_OK(gp_open(DIMENSIONS, NULL, &gp));
    assert_true(gp_condition(gp, &data, theta, &value, NULL));
    for (int k = 0; k < 2; k++) {
        expect_posterior(gp, place[k], -1);
    }
    for (int i = 0; i < POINTS; i++) {
        expect_posterior(gp, x + i * DIMENSIONS, i);
    }
    ASSERT_NEAR(gp_noise(gp), exp(theta[DIMENSIONS + 1]), 1e-15);
    gp_close(gp);
}

/* The prior is normal, so that the value at theta, less that of the scores, is half a sum of squares. */
static void test_likelihood_is_that_of_the_determinant(void **state)
{
    (void)state;
    gp_model *gp;
    double weight[POINTS], mean, value, prior[THETA], squares = 0.0;
    const double length = 2.0 * sqrt(3.0), deviation[THETA] = {length, length, length, 1.0, 1.0, 1.5};
    ASSERT_OK(gp_open(DIMENSIONS, NULL, &gp));
    assert_true(gp_condition(gp, &data, theta, &value, NULL));
    gp_prior(gp, prior);
    ASSERT_NEAR(prior[0], -2.0 * (sqrt(2.0) + 0.5 * log(3.0)), 1e-12);
    for (int t = 0; t < THETA; t++) {
        squares += pow((theta[t] - prior[t]) / deviation[t], 2.0);
    }
    ASSERT_NEAR(value - 0.5 * squares, by_hand(weight, &mean), 1e-10);
    gp_close(gp);
}

/* [out] gradient [count] at the hyper-parameters `at`: it is that of differences. warped: as for gp_open. */
static void check_gradient(const bool *warped, const double *at, int count, double *gradient)
{
    const double step = 1e-5;
    gp_model *gp;
    double value, above, under, moved[WARPED];
    assert_true(count <= WARPED);
    ASSERT_OK(gp_open(DIMENSIONS, warped, &gp));
    assert_true(gp_condition(gp, &data, at, &value, gradient));
    for (int t = 0; t < count; t++) {
        memcpy(moved, at, (size_t)count * sizeof *moved);
        moved[t] = at[t] + step;
        assert_true(gp_condition(gp, &data, moved, &above, NULL));
        moved[t] = at[t] - step;
        assert_true(gp_condition(gp, &data, moved, &under, NULL));
        ASSERT_NEAR(gradient[t], (above - under) / (2.0 * step), 1e-7);
    }
    gp_close(gp);
}

static void test_gradient_is_that_of_differences(void **state)
{
    (void)state;
    double gradient[THETA];
    check_gradient(NULL, theta, THETA, gradient);
}

/* Scores of a function of the first of two coordinates, and noise: the fit is flat, finds which one matters, and the
 * noise. */
static void test_fit_finds_what_matters(void **state)
{
    (void)state;
    enum { MANY = 80 };
    static const bool ordered[2] = {false, false};
    double at[MANY * 2], score[MANY], once[MANY], found[2 + GP_VARIANCES], gradient[2 + GP_VARIANCES], value;
    gp_model *gp;
    for (int i = 0; i < MANY; i++) {
        const philox_block block = philox4x32(philox_counter((uint32_t)i, 0, 1, 0), 7);
        at[2 * i] = (double)philox_uniform(block.word[0]);
        at[2 * i + 1] = (double)philox_uniform(block.word[1]);
        score[i] = 1.4 * sin(6.0 * at[2 * i]) + 0.3 * (double)philox_normal(block.word[2], block.word[3]);
        once[i] = 1.0;
    }
    const gp_data many = {MANY, 2, at, ordered, score, once};
    ASSERT_OK(gp_open(2, NULL, &gp));
    gp_fit(gp, &many, found, 60);
    assert_true(gp_condition(gp, &many, found, &value, gradient));
    for (int t = 0; t < 2 + GP_VARIANCES; t++) {
        ASSERT_NEAR(gradient[t], 0.0, 0.01);
    }
    assert_true(found[0] > found[1] + 2.0);
    ASSERT_NEAR(gp_noise(gp), 0.09, 0.04); /* five standard errors of a variance of 80 normal numbers, some of it own */
    gp_close(gp);
}

/* ---- warped coordinates ---- */

static const bool first_two[DIMENSIONS] = {true, true, false};

static void test_warp_is_the_closed_form_and_grows(void **state)
{
    (void)state;
    static const double shape[4][2] = {{1.0, 1.0}, {0.5, 2.0}, {3.0, 0.4}, {2.5, 1.7}};
    for (int k = 0; k < 4; k++) {
        const double a = shape[k][0], b = shape[k][1];
        double before = 0.0;
        for (int i = 0; i <= 100; i++) {
            const double at = i / 100.0, value = gp_warp_value(at, a, b, NULL, NULL);
            ASSERT_NEAR(value, 1.0 - pow(1.0 - pow(at, a), b), 1e-14);
            assert_true(i == 0 || value > before);
            before = value;
        }
        assert_true(gp_warp_value(0.0, a, b, NULL, NULL) == 0.0 && before == 1.0);
        assert_true(gp_warp_value(-0.1, a, b, NULL, NULL) == 0.0 && gp_warp_value(1.1, a, b, NULL, NULL) == 1.0);
    }
}

/* At both ends, and with shapes as far out as steps of a fit could go, every number is finite. */
static void test_slopes_of_a_warp_are_those_of_differences(void **state)
{
    (void)state;
    const double step = 1e-6;
    double by_a, by_b;
    for (int i = 0; i <= 20; i++) {
        for (int k = 0; k < 9; k++) {
            const int row = k / 3 - 1, column = k % 3 - 1;
            const double at = i / 20.0, log_a = row, log_b = column, a = exp(log_a), b = exp(log_b);
            (void)gp_warp_value(at, a, b, &by_a, &by_b);
            ASSERT_NEAR(by_a,
                        (gp_warp_value(at, exp(log_a + step), b, NULL, NULL) -
                         gp_warp_value(at, exp(log_a - step), b, NULL, NULL)) /
                            (2.0 * step),
                        1e-8);
            ASSERT_NEAR(by_b,
                        (gp_warp_value(at, a, exp(log_b + step), NULL, NULL) -
                         gp_warp_value(at, a, exp(log_b - step), NULL, NULL)) /
                            (2.0 * step),
                        1e-8);
            const double value = gp_warp_value(at, exp(20.0 * log_a), exp(20.0 * log_b), &by_a, &by_b);
            assert_true(value >= 0.0 && value <= 1.0 && isfinite(by_a) && isfinite(by_b));
        }
    }
}

/* A model that warps is one without a warp of coordinates that were warped before. */
static void test_warped_model_is_that_of_warped_points(void **state)
{
    (void)state;
    static const double logs[2 * DIMENSIONS] = {0.4, -0.3, 0.0, -0.2, 0.6, 0.0};
    static const double place[DIMENSIONS] = {0.3, 0.6, 1};
    double full[WARPED], bent[(POINTS + 1) * DIMENSIONS], value[2], mean[2], variance[2];
    gp_model *gp[2];
    ASSERT_OK(gp_open(DIMENSIONS, first_two, &gp[0]));
    ASSERT_OK(gp_open(DIMENSIONS, NULL, &gp[1]));
    assert_int_equal(gp_thetas(gp[0]), WARPED);
    assert_int_equal(gp_thetas(gp[1]), THETA);
    for (int plain = 1; plain >= 0; plain--) { /* a = b = 1 is no warp */
        double squares = 0.0;
        memcpy(full, theta, sizeof theta);
        for (int t = 0; t < 2 * DIMENSIONS; t++) {
            full[THETA + t] = plain ? 0.0 : logs[t];
            squares += pow(full[THETA + t] / 0.5, 2.0);
        }
        for (int i = 0; i < (POINTS + 1) * DIMENSIONS; i++) {
            const int d = i % DIMENSIONS;
            const double at = i < POINTS * DIMENSIONS ? x[i] : place[d];
            const double a = exp(full[THETA + d]), b = exp(full[THETA + DIMENSIONS + d]);
            bent[i] = first_two[d] ? 1.0 - pow(1.0 - pow(at, a), b) : at;
        }
        const gp_data warped = {POINTS, DIMENSIONS, plain ? x : bent, category, y, runs};
        assert_true(gp_condition(gp[0], &data, full, &value[0], NULL));
        assert_true(gp_condition(gp[1], &warped, theta, &value[1], NULL));
        ASSERT_NEAR(value[0] - 0.5 * squares, value[1], 1e-11);
        gp_predict(gp[0], place, &mean[0], &variance[0]);
        gp_predict(gp[1], plain ? place : bent + POINTS * DIMENSIONS, &mean[1], &variance[1]);
        ASSERT_NEAR(mean[0], mean[1], 1e-11);
        ASSERT_NEAR(variance[0], variance[1], 1e-11);
    }
    gp_close(gp[0]);
    gp_close(gp[1]);
}

static void test_gradient_of_a_warp_is_that_of_differences(void **state)
{
    (void)state;
    static const double at[WARPED] = {0.7, -0.4, 0.2, 0.3, -1.5, -2.5, 0.4, -0.3, 0.0, -0.2, 0.6, 0.0};
    double gradient[WARPED];
    check_gradient(first_two, at, WARPED, gradient);
    assert_true(gradient[THETA + 2] == 0.0 && gradient[THETA + DIMENSIONS + 2] == 0.0); /* not warped */
}

/* The fit to scores of one coordinate. [out] found [gp_thetas]. Returns the log marginal likelihood of the scores. */
static double fitted_likelihood(const gp_data *scores, const bool *warp, double *found)
{
    static const double deviation[5] = {2.0 * 1.7320508075688772, 1.0, 1.0, 1.5, 0.5};
    double prior[5 + 1], value, squares = 0.0;
    gp_model *gp;
    ASSERT_OK(gp_open(1, warp, &gp));
    gp_prior(gp, prior);
    gp_fit(gp, scores, found, 60);
    assert_true(gp_condition(gp, scores, found, &value, NULL));
    for (int t = 0; t < gp_thetas(gp); t++) {
        squares += pow((found[t] - prior[t]) / deviation[t < 4 ? t : 4], 2.0);
    }
    gp_close(gp);
    return 0.5 * squares - value;
}

/* sin(6 x^4) is a sine of a warped coordinate, a = 4 and b = 1, and gains by it; sin(6 x) has nothing to gain. */
static void test_warp_is_found_where_there_is_one(void **state)
{
    (void)state;
    enum { MANY = 60 };
    static const bool no[1] = {false}, yes[1] = {true};
    double at[MANY], score[2][MANY], once[MANY], found[2][1 + GP_VARIANCES + 2], gain[2];
    for (int i = 0; i < MANY; i++) {
        const philox_block block = philox4x32(philox_counter((uint32_t)i, 0, 2, 0), 7);
        at[i] = (double)philox_uniform(block.word[0]);
        once[i] = 1.0;
        for (int warped = 0; warped < 2; warped++) {
            score[warped][i] = 1.4 * sin(6.0 * pow(at[i], warped ? 4.0 : 1.0)) +
                               0.05 * (double)philox_normal(block.word[2], block.word[3]);
        }
    }
    for (int warped = 0; warped < 2; warped++) {
        const gp_data scores = {MANY, 1, at, no, score[warped], once};
        double plain[1 + GP_VARIANCES];
        gain[warped] = fitted_likelihood(&scores, yes, found[warped]) - fitted_likelihood(&scores, NULL, plain);
    }
    assert_true(gain[1] > 5.0);
    assert_true(fabs(gain[0]) < 2.0);
    assert_true(exp(found[1][1 + GP_VARIANCES]) > 2.0);
}

static void test_improvement_is_the_integral(void **state)
{
    (void)state;
    static const double cases[4][3] = {{0.0, 0.0, 1.0}, {1.0, 0.5, 0.3}, {-1.0, 0.5, 0.7}, {0.2, 0.1, 2.0}};
    for (int k = 0; k < 4; k++) {
        const double best = cases[k][0], mean = cases[k][1], deviation = cases[k][2], step = deviation * 1e-3;
        double sum = 0.0;
        for (int i = 0; i < 24000; i++) {
            const double at = mean + (i - 12000 + 0.5) * step, u = (at - mean) / deviation;
            sum += fmax(best - at, 0.0) * exp(-0.5 * u * u) / (deviation * sqrt(2.0 * M_PI)) * step;
        }
        ASSERT_NEAR(gp_improvement(best, mean, deviation), sum, 1e-6);
    }
    assert_true(gp_improvement(1.0, 0.25, 0.0) == 0.75);
    assert_true(gp_improvement(0.0, 0.25, 0.0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posterior_is_that_of_elimination),
        cmocka_unit_test(test_likelihood_is_that_of_the_determinant),
        cmocka_unit_test(test_gradient_is_that_of_differences),
        cmocka_unit_test(test_fit_finds_what_matters),
        cmocka_unit_test(test_warp_is_the_closed_form_and_grows),
        cmocka_unit_test(test_slopes_of_a_warp_are_those_of_differences),
        cmocka_unit_test(test_warped_model_is_that_of_warped_points),
        cmocka_unit_test(test_gradient_of_a_warp_is_that_of_differences),
        cmocka_unit_test(test_warp_is_found_where_there_is_one),
        cmocka_unit_test(test_improvement_is_the_integral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
