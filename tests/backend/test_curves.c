/*
 * backend/test_curves.c: activations beside ReLU by values known from tables, and their gradients and those of gates by
 * central differences, in f64 on ref.
 */
#include <math.h>

#include "hal/hal.h"
#include "support/random.h"
#include "support/test.h"

enum { IMAGES = 2, PIXELS = 3, ROWS = IMAGES * PIXELS, COLS = 5, CELLS = ROWS * COLS };

static weft_hal *hal;
static uint64_t random_state;

static hal_mat mat(double *x, int64_t rows)
{
    return hal_mat_of(x, WEFT_DTYPE_F64, rows, COLS, COLS);
}

#define OP(op, ...) ASSERT_OK(hal_##op(hal, &(hal_##op##_args){__VA_ARGS__}))

static void fill_random(double *x, int count)
{
    for (int i = 0; i < count; ++i) {
        x[i] = 4.0 * test_uniform(&random_state) - 2.0;
    }
}

/* The distribution function of a normal distribution and the logistic function, from printed tables. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        hal_curve curve;
        double x, y;
    } known[] = {{HAL_CURVE_GELU, 1.0, 0.841344746068543},
                 {HAL_CURVE_GELU, -2.0, -2.0 * 0.022750131948179},
                 {HAL_CURVE_GELU, 0.0, 0.0},
                 {HAL_CURVE_SILU, 1.0, 0.731058578630005},
                 {HAL_CURVE_SILU, -1.0, -0.268941421369995},
                 {HAL_CURVE_SIGMOID, 2.0, 0.880797077977882},
                 {HAL_CURVE_SIGMOID, -2.0, 0.119202922022118},
                 {HAL_CURVE_RELU6, 6.5, 6.0},
                 {HAL_CURVE_RELU6, -0.5, 0.0},
                 {HAL_CURVE_RELU6, 3.25, 3.25}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        double x = known[i].x, y = NAN;
        OP(curve_forward, .x = hal_mat_of(&x, WEFT_DTYPE_F64, 1, 1, 1), .y = hal_mat_of(&y, WEFT_DTYPE_F64, 1, 1, 1),
           .curve = known[i].curve);
        assert_true(fabs(y - known[i].y) < 1e-14);
    }
}

static double curve_sum(hal_curve curve, double *x, const double *w)
{
    double y[CELLS], sum = 0.0;
    OP(curve_forward, .x = mat(x, ROWS), .y = mat(y, ROWS), .curve = curve);
    for (int i = 0; i < CELLS; ++i) {
        sum += w[i] * y[i];
    }
    return sum;
}

static double gate_sum(double *x, double *gate, const double *w)
{
    double y[CELLS], sum = 0.0;
    OP(gate_forward, .x = mat(x, ROWS), .gate = mat(gate, IMAGES), .y = mat(y, ROWS), .pixels = PIXELS);
    for (int i = 0; i < CELLS; ++i) {
        sum += w[i] * y[i];
    }
    return sum;
}

static void test_curve_slopes(void **state)
{
    (void)state;
    static const hal_curve curves[] = {HAL_CURVE_GELU, HAL_CURVE_SILU, HAL_CURVE_SIGMOID, HAL_CURVE_RELU6};
    const double step = 1e-5;
    for (size_t c = 0; c < sizeof curves / sizeof *curves; ++c) {
        double x[CELLS], y[CELLS], w[CELLS], dx[CELLS];
        fill_random(x, CELLS);
        fill_random(w, CELLS);
        x[0] = 7.0; /* relu6 lets nothing through there */
        OP(curve_forward, .x = mat(x, ROWS), .y = mat(y, ROWS), .curve = curves[c]);
        OP(curve_backward, .dy = mat(w, ROWS), .known = mat(hal_curve_by_output(curves[c]) ? y : x, ROWS),
           .dx = mat(dx, ROWS), .curve = curves[c]);
        for (int i = 0; i < CELLS; ++i) {
            const double kept = x[i];
            x[i] = kept + step;
            const double above = curve_sum(curves[c], x, w);
            x[i] = kept - step;
            const double slope = (above - curve_sum(curves[c], x, w)) / (2.0 * step);
            x[i] = kept;
            assert_true(fabs(slope - dx[i]) < 1e-8);
        }
    }
}

static void test_gate_slopes(void **state)
{
    (void)state;
    double x[CELLS], gate[IMAGES * COLS], w[CELLS], dx[CELLS], dgate[IMAGES * COLS];
    const double step = 1e-5;
    fill_random(x, CELLS);
    fill_random(gate, IMAGES * COLS);
    fill_random(w, CELLS);
    OP(gate_backward, .dy = mat(w, ROWS), .x = mat(x, ROWS), .gate = mat(gate, IMAGES), .dgate = mat(dgate, IMAGES),
       .dx = mat(dx, ROWS), .pixels = PIXELS);
    for (int i = 0; i < CELLS + IMAGES * COLS; ++i) {
        double *moved = i < CELLS ? &x[i] : &gate[i - CELLS];
        const double kept = *moved;
        *moved = kept + step;
        const double above = gate_sum(x, gate, w);
        *moved = kept - step;
        const double slope = (above - gate_sum(x, gate, w)) / (2.0 * step);
        *moved = kept;
        assert_true(fabs(slope - (i < CELLS ? dx[i] : dgate[i - CELLS])) < 1e-8);
    }
}

static int open_ref(void **state)
{
    (void)state;
    return weft_hal_open("ref", 1, &hal) == WEFT_OK ? 0 : -1;
}

static int close_ref(void **state)
{
    (void)state;
    weft_hal_close(hal);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_curve_slopes),
                                       cmocka_unit_test(test_gate_slopes)};
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
