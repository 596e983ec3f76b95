/* backend/test_optimisers.c: steps of the optimisers against closed forms. */
#include <math.h>

#include "hal/hal.h"
#include "support/test.h"

/* Run by every test below on ref in both types and on cpu. */
static void on_backends(void (*check)(weft_hal *backend, weft_dtype dtype, double tolerance))
{
    weft_hal *ref = NULL, *cpu = NULL;
    ASSERT_OK(weft_hal_open("ref", 1, &ref));
    ASSERT_OK(weft_hal_open("cpu", 1, &cpu));
    check(ref, WEFT_DTYPE_F64, 1e-13);
    check(ref, WEFT_DTYPE_F32, 2e-6);
    check(cpu, WEFT_DTYPE_F32, 2e-6);
    weft_hal_close(cpu);
    weft_hal_close(ref);
}

static void store(void *array, weft_dtype dtype, double value)
{
    if (dtype == WEFT_DTYPE_F64) {
        *(double *)array = value;
    } else {
        *(float *)array = (float)value;
    }
}

/* One element of this type. */
static hal_mat one(void *x, weft_dtype dtype)
{
    return hal_row_of(x, dtype, 1);
}

static double load(const void *array, weft_dtype dtype)
{
    return dtype == WEFT_DTYPE_F64 ? *(const double *)array : (double)*(const float *)array;
}

/* A constant gradient: both corrected moments are exact, and every step is lr * g / (|g| + epsilon). */
static void adam_constant(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    double w;
    double g;
    double m = 0.0;
    double v = 0.0;
    store(&w, dtype, 2.0);
    store(&g, dtype, -0.5);
    for (int64_t step = 1; step <= 20; ++step) {
        hal_adam_args adam = {.w = one(&w, dtype),
                              .g = one(&g, dtype),
                              .m = one(&m, dtype),
                              .v = one(&v, dtype),
                              .lr = 0.01,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .epsilon = 0.25,
                              .step = step};
        ASSERT_OK(hal_adam(backend, &adam));
        ASSERT_NEAR(load(&w, dtype), 2.0 + (double)step * 0.01 * 0.5 / 0.75, tolerance * 4.0);
    }
}

/* Changing gradients with decay: the moments as sums over all steps, not as recurrences. */
static void adam_sums(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    enum { STEPS = 8 };
    double w;
    double m = 0.0;
    double v = 0.0;
    double wanted = 1.0;
    double seen[STEPS];
    store(&w, dtype, wanted);
    for (int t = 1; t <= STEPS; ++t) {
        double g = sin(1.7 * t);
        double device_g;
        store(&device_g, dtype, g);
        hal_adam_args adam = {.w = one(&w, dtype),
                              .g = one(&device_g, dtype),
                              .m = one(&m, dtype),
                              .v = one(&v, dtype),
                              .lr = 0.05,
                              .beta1 = 0.8,
                              .beta2 = 0.95,
                              .epsilon = 1e-8,
                              .weight_decay = 0.1,
                              .step = t};
        ASSERT_OK(hal_adam(backend, &adam));
        seen[t - 1] = g + 0.1 * wanted;
        double first = 0.0;
        double second = 0.0;
        double weight1 = 0.0;
        double weight2 = 0.0;
        for (int i = 1; i <= t; ++i) { /* weighted means of all gradients so far */
            first += pow(0.8, t - i) * seen[i - 1];
            second += pow(0.95, t - i) * seen[i - 1] * seen[i - 1];
            weight1 += pow(0.8, t - i);
            weight2 += pow(0.95, t - i);
        }
        wanted -= 0.05 * (first / weight1) / (sqrt(second / weight2) + 1e-8);
        ASSERT_NEAR(load(&w, dtype), wanted, tolerance * 8.0);
    }
}

static void test_adam(void **state)
{
    (void)state;
    on_backends(adam_constant);
    on_backends(adam_sums);
}

/* The running means as sums over all steps so far, not as recurrences. */
static void adadelta_sums(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    enum { STEPS = 8 };
    double w, device_g, squares, moves;
    double seen[STEPS], taken[STEPS];
    double wanted = 1.0;
    store(&w, dtype, wanted);
    store(&squares, dtype, 0.0);
    store(&moves, dtype, 0.0);
    for (int t = 0; t < STEPS; ++t) {
        double of_gradients = 0.0, of_steps = 0.0;
        store(&device_g, dtype, sin(1.7 * (t + 1)));
        ASSERT_OK(hal_adadelta(backend, &(hal_adadelta_args){.w = one(&w, dtype),
                                                             .g = one(&device_g, dtype),
                                                             .squares = one(&squares, dtype),
                                                             .moves = one(&moves, dtype),
                                                             .lr = 0.7,
                                                             .decay = 0.8,
                                                             .epsilon = 1e-3,
                                                             .weight_decay = 0.1}));
        seen[t] = sin(1.7 * (t + 1)) + 0.1 * wanted;
        for (int i = 0; i <= t; ++i) {
            of_gradients += 0.2 * pow(0.8, t - i) * seen[i] * seen[i];
            of_steps += i < t ? 0.2 * pow(0.8, t - 1 - i) * taken[i] * taken[i] : 0.0;
        }
        taken[t] = seen[t] * sqrt(of_steps + 1e-3) / sqrt(of_gradients + 1e-3);
        wanted -= 0.7 * taken[t];
        ASSERT_NEAR(load(&w, dtype), wanted, tolerance * 8.0);
    }
}

/* Three steps of torch.optim.Adadelta (PyTorch 2.13, float64) from 1 along 0.5, -0.25 and 0.125, with its defaults. */
static void adadelta_of_pytorch(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    static const double gradient[3] = {0.5, -0.25, 0.125};
    static const double wanted[3] = {0.9968377855834876, 0.9989228726112789, 0.9977698243328964};
    double w, g, squares, moves;
    store(&w, dtype, 1.0);
    store(&squares, dtype, 0.0);
    store(&moves, dtype, 0.0);
    for (int t = 0; t < 3; ++t) {
        store(&g, dtype, gradient[t]);
        ASSERT_OK(hal_adadelta(backend, &(hal_adadelta_args){.w = one(&w, dtype),
                                                             .g = one(&g, dtype),
                                                             .squares = one(&squares, dtype),
                                                             .moves = one(&moves, dtype),
                                                             .lr = 1.0,
                                                             .decay = 0.9,
                                                             .epsilon = 1e-6}));
        ASSERT_NEAR(load(&w, dtype), wanted[t], tolerance);
    }
}

static void test_adadelta(void **state)
{
    (void)state;
    on_backends(adadelta_sums);
    on_backends(adadelta_of_pytorch);
}

/* Momentum on a constant gradient: buffers are geometric sums. */
static void sgd_momentum(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    for (int variant = 0; variant < 3; ++variant) {
        double w;
        double g;
        double momentum;
        double wanted = 1.0;
        double mu = 0.9;
        double damping = variant == 1 ? 0.5 : 0.0;
        store(&w, dtype, 1.0);
        store(&g, dtype, 0.25);
        store(&momentum, dtype, NAN); /* the first step must not read it */
        for (int t = 1; t <= 12; ++t) {
            hal_sgd_args sgd = {.w = one(&w, dtype),
                                .g = one(&g, dtype),
                                .velocity = one(&momentum, dtype),
                                .lr = 0.1,
                                .momentum = mu,
                                .dampening = damping,
                                .nesterov = variant == 2,
                                .step = t};
            ASSERT_OK(hal_sgd(backend, &sgd));
            /* g first, then (1 - damping) g a step */
            double buffer = 0.25 * (pow(mu, t - 1) + (1.0 - damping) * (1.0 - pow(mu, t - 1)) / (1.0 - mu));
            wanted -= 0.1 * (variant == 2 ? 0.25 + mu * buffer : buffer);
            ASSERT_NEAR(load(&w, dtype), wanted, tolerance * 4.0);
        }
    }
}

/* Decay alone shrinks the weight by a constant factor; without momentum there is no velocity. */
static void sgd_decay(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    double w;
    double g;
    store(&w, dtype, 3.0);
    store(&g, dtype, 0.0);
    for (int t = 1; t <= 10; ++t) {
        hal_sgd_args sgd = {.w = one(&w, dtype), .g = one(&g, dtype), .lr = 0.1, .weight_decay = 0.5, .step = t};
        ASSERT_OK(hal_sgd(backend, &sgd));
        ASSERT_NEAR(load(&w, dtype), 3.0 * pow(0.95, t), tolerance * 4.0);
    }
}

static void test_sgd(void **state)
{
    (void)state;
    on_backends(sgd_momentum);
    on_backends(sgd_decay);
}

/* Whatever the gradient of one positive weight, LARS without epsilon moves it by lr * trust of itself: with momentum m
 * and a = lr * trust, w(t+1) = (1 + m - a) w(t) - m w(t-1), whose roots give w(t). Without norms it is SGD. */
static void lars_moves_by_a_share(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    const double m = 0.25;
    const double a = 0.5 * 0.2;
    const double half = (1.0 + m - a) / 2.0;
    const double high = half + sqrt(half * half - m);
    const double low = half - sqrt(half * half - m);
    const double share = (1.0 - a - low) / (high - low);
    for (int variant = 0; variant < 2; ++variant) {
        double w;
        double g;
        double velocity;
        double norms[2];
        store(&w, dtype, 3.0);
        store(&velocity, dtype, NAN); /* the first step must not read it */
        for (int t = 1; t <= 12; ++t) {
            store(&g, dtype, 0.7 * t);
            ASSERT_OK(hal_sum_squares(
                backend, &(hal_sum_squares_args){.x = one(&w, dtype), .out = one(&norms[0], WEFT_DTYPE_F64)}));
            ASSERT_OK(hal_sum_squares(
                backend, &(hal_sum_squares_args){.x = one(&g, dtype), .out = one(&norms[1], WEFT_DTYPE_F64)}));
            const hal_lars_args lars = {.w = one(&w, dtype),
                                        .g = one(&g, dtype),
                                        .velocity = one(&velocity, dtype),
                                        .norms = hal_row_of(norms, WEFT_DTYPE_F64, 2),
                                        .lr = 0.5,
                                        .momentum = variant == 0 ? m : 0.0,
                                        .weight_decay = 0.3,
                                        .trust = 0.2,
                                        .step = t};
            ASSERT_OK(hal_lars(backend, &lars));
            double wanted = share * pow(high, t) + (1.0 - share) * pow(low, t);
            ASSERT_NEAR(load(&w, dtype), 3.0 * (variant == 0 ? wanted : pow(1.0 - a, t)), tolerance * 8.0);
        }
    }
}

/* Nothing to compare the step with: the ratio is 1. */
static void lars_without_a_ratio(weft_hal *backend, weft_dtype dtype, double tolerance)
{
    for (int variant = 0; variant < 3; ++variant) { /* no weight, no gradient, no norms */
        double w;
        double g;
        double norms[2] = {variant == 0 ? 0.0 : 9.0, variant == 1 ? 0.0 : 4.0};
        store(&w, dtype, variant == 0 ? 0.0 : 3.0);
        store(&g, dtype, variant == 1 ? 0.0 : 2.0);
        hal_lars_args lars = {
            .w = one(&w, dtype), .g = one(&g, dtype), .lr = 0.1, .weight_decay = 0.5, .trust = 1e-3, .step = 1};
        lars.norms = variant == 2 ? (hal_mat){.data = NULL} : hal_row_of(norms, WEFT_DTYPE_F64, 2);
        double before = load(&w, dtype);
        ASSERT_OK(hal_lars(backend, &lars));
        ASSERT_NEAR(load(&w, dtype), before - 0.1 * (load(&g, dtype) + 0.5 * before), tolerance * 4.0);
    }
}

static void test_lars(void **state)
{
    (void)state;
    on_backends(lars_moves_by_a_share);
    on_backends(lars_without_a_ratio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_adam), cmocka_unit_test(test_adadelta),
                                       cmocka_unit_test(test_sgd), cmocka_unit_test(test_lars)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
