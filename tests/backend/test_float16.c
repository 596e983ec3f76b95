/*
 * backend/test_float16.c: operations on rows of float16 against sums in double precision that are rounded by a rule of
 * its own: every number that there is, denormals, infinities and NaNs among them, and sums that are exact before they
 * are stored.
 */
#include <math.h>

#include "backend/backend_env.h"

enum { COLS = 32, ROWS = 0x10000 / COLS };

static const char *const resources[] = {
    "ref",
    "cpu",
    "shadow",
#if WEFT_HAVE_CUDA
    "cuda",
#endif
};
enum { RESOURCES = sizeof resources / sizeof *resources };

static double number_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = (double)(bits & 1023) / 1024.0;
    const double size = exponent == 31  ? (fraction > 0.0 ? NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(fraction, -14)
                                        : ldexp(1.0 + fraction, exponent - 15);
    return bits >> 15 != 0 ? -size : size;
}

/* To the nearest of the multiples of a power of two that float16 has there, ties to the even one. */
static double rounded(double x)
{
    int exponent = 0;
    if (isnan(x) || fabs(x) >= 65520.0) {
        return isnan(x) ? x : copysign((double)INFINITY, x);
    }
    (void)frexp(x, &exponent);
    const double step = ldexp(1.0, (exponent > -13 ? exponent : -13) - 11);
    return nearbyint(x / step) * step;
}

/* The sign of a zero is the operation's. */
static void expect(const char *resource, const char *what, int64_t at, uint16_t given, double exact)
{
    const double actual = number_of(given);
    const double wanted = rounded(exact);
    if (!(isnan(wanted) && isnan(actual)) && actual != wanted) {
        fail_msg("%s: %s %ld is %.17g, not %.17g, of %.17g", resource, what, (long)at, actual, wanted, exact);
    }
}

/* False: this machine has none of it. */
static bool open_env(const char *resource, env *e)
{
    *e = (env){.backends = 1, .dtype = WEFT_DTYPE_F16, .m = ROWS, .n = COLS, .name = resource};
    return open_if_there(resource, 2, &e->hal[0]);
}

static void close_env(env *e)
{
    env_free(e);
    weft_hal_close(e->hal[0]);
}

static void *put(env *e, const void *host, size_t bytes)
{
    void *device = env_alloc(e, 0, (int64_t)bytes);
    ASSERT_OK(e->hal[0]->mem.upload(e->hal[0], device, host, bytes));
    return device;
}

static void get(env *e, void *host, const void *device, size_t bytes)
{
    ASSERT_OK(e->hal[0]->mem.download(e->hal[0], host, device, bytes));
}

/* Times factors of few bits, so that float32 holds the product: by axpby, by a norm, and by ReLU. */
static void test_every_number(void **state)
{
    (void)state;
    static const double factors[] = {1.0, 0.5, 3.0, 0x1.1p-10, 1.0009765625, 64.0};
    static uint16_t x[ROWS * COLS], y[ROWS * COLS];
    float ones[COLS], zeros[COLS] = {0.0f};
    for (int i = 0; i < ROWS * COLS; ++i) {
        x[i] = (uint16_t)i;
    }
    for (int r = 0; r < RESOURCES; ++r) {
        env e;
        if (!open_env(resources[r], &e)) {
            continue;
        }
        const hal_mat on_x = hal_mat_of(put(&e, x, sizeof x), WEFT_DTYPE_F16, ROWS, COLS, COLS);
        const hal_mat on_y = hal_mat_of(put(&e, y, sizeof y), WEFT_DTYPE_F16, ROWS, COLS, COLS);
        const hal_mat none = hal_row_of(put(&e, zeros, sizeof zeros), WEFT_DTYPE_F32, COLS);
        for (size_t f = 0; f < sizeof factors / sizeof *factors; ++f) {
            for (int j = 0; j < COLS; ++j) {
                ones[j] = (float)factors[f];
            }
            const hal_mat factor = hal_row_of(put(&e, ones, sizeof ones), WEFT_DTYPE_F32, COLS);
            RUN_ON(&e, 0, axpby, .alpha = factors[f], .x = on_x, .y = on_y);
            get(&e, y, on_y.data, sizeof y);
            for (int i = 0; i < ROWS * COLS; ++i) {
                expect(resources[r], "axpby of", i, y[i], factors[f] * number_of(x[i]));
            }
            RUN_ON(&e, 0, bn_apply, .x = on_x, .mean = none, .rstd = factor, .gamma = factor, .beta = none, .y = on_y);
            get(&e, y, on_y.data, sizeof y);
            for (int i = 0; i < ROWS * COLS && f < 3; ++i) {
                expect(resources[r], "norm of", i, y[i], factors[f] * factors[f] * number_of(x[i]) + 0.0);
            }
        }
        RUN_ON(&e, 0, act_forward, .x = on_x, .relu = true, .y = on_y);
        get(&e, y, on_y.data, sizeof y);
        for (int i = 0; i < ROWS * COLS; ++i) {
            const double value = number_of(x[i]);
            expect(resources[r], "ReLU of", i, (uint16_t)(y[i] & 0x7fff), isnan(value) || value > 0.0 ? value : 0.0);
        }
        close_env(&e);
    }
}

/* Pixels and weights are multiples of 1/8: sums are exact in float32 in whatever order they are added. */
static void test_convolution(void **state)
{
    (void)state;
    enum { SIDE = 5, IN = 3, OUT = 4, PIXELS = SIDE * SIDE, TERMS = IN * 9 };
    uint16_t x[PIXELS * IN], y[PIXELS * OUT], dy[PIXELS * OUT], dx[PIXELS * IN];
    float weight[OUT * TERMS], dweight[OUT * TERMS];
    const hal_conv_shape shape = {.height = SIDE,
                                  .width = SIDE,
                                  .in = IN,
                                  .out = OUT,
                                  .groups = 1,
                                  .kernel = {3, 3},
                                  .stride = {1, 1},
                                  .dilation = {1, 1},
                                  .pad = {{1, 1}, {1, 1}},
                                  .dtype = WEFT_DTYPE_F16,
                                  .training = true,
                                  .backward_data = true};
    const int64_t images = 1;
    for (int i = 0; i < PIXELS * IN; ++i) {
        x[i] = fp16_from_float((float)(i * 37 % 601 - 300) * 0.125f);
    }
    for (int i = 0; i < PIXELS * OUT; ++i) {
        dy[i] = fp16_from_float((float)(i * 53 % 311 - 155) * 0.125f);
    }
    for (int i = 0; i < OUT * TERMS; ++i) {
        weight[i] = (float)(i * 29 % 127 - 63) * 0.125f;
    }
    for (int r = 0; r < RESOURCES; ++r) {
        env e;
        if (!open_env(resources[r], &e)) {
            continue;
        }
        hal_conv *conv = NULL;
        ASSERT_OK(e.hal[0]->image.conv_create(e.hal[0], &shape, &images, 1, &conv));
        const bool rounds_gradient = e.hal[0]->image.conv_info(e.hal[0], conv).rounds_gradient;
        const hal_mat on_x = hal_mat_of(put(&e, x, sizeof x), WEFT_DTYPE_F16, PIXELS, IN, IN);
        const hal_mat on_y = hal_mat_of(put(&e, y, sizeof y), WEFT_DTYPE_F16, PIXELS, OUT, OUT);
        const hal_mat on_dy = hal_mat_of(put(&e, dy, sizeof dy), WEFT_DTYPE_F16, PIXELS, OUT, OUT);
        const hal_mat on_dx = hal_mat_of(put(&e, dx, sizeof dx), WEFT_DTYPE_F16, PIXELS, IN, IN);
        const hal_mat on_weight = hal_mat_of(put(&e, weight, sizeof weight), WEFT_DTYPE_F32, OUT, TERMS, TERMS);
        const hal_mat on_dweight = hal_mat_of(put(&e, dweight, sizeof dweight), WEFT_DTYPE_F32, OUT, TERMS, TERMS);
        RUN_ON(&e, 0, conv_forward, .x = on_x, .weight = on_weight, .y = on_y, .conv = conv);
        RUN_ON(&e, 0, conv_backward_data, .dy = on_dy, .weight = on_weight, .dx = on_dx, .conv = conv);
        RUN_ON(&e, 0, conv_backward_weights, .x = on_x, .dy = on_dy, .dweight = on_dweight, .conv = conv);
        get(&e, y, on_y.data, sizeof y);
        get(&e, dx, on_dx.data, sizeof dx);
        get(&e, dweight, on_dweight.data, sizeof dweight);
        double wanted_y[PIXELS * OUT] = {0}, wanted_dx[PIXELS * IN] = {0}, wanted_dw[OUT * TERMS] = {0};
        for (int p = 0; p < PIXELS; ++p) {
            for (int k = 0; k < 9; ++k) {
                const int down = p / SIDE + k / 3 - 1, across = p % SIDE + k % 3 - 1;
                if (down < 0 || down >= SIDE || across < 0 || across >= SIDE) {
                    continue;
                }
                const int q = down * SIDE + across;
                for (int term = 0; term < IN * OUT; ++term) {
                    const int c = term % IN, o = term / IN;
                    const int w = (o * IN + c) * 9 + k;
                    wanted_y[p * OUT + o] += number_of(x[q * IN + c]) * (double)weight[w];
                    wanted_dx[q * IN + c] += number_of(dy[p * OUT + o]) * (double)weight[w];
                    wanted_dw[w] += number_of(dy[p * OUT + o]) * number_of(x[q * IN + c]);
                }
            }
        }
        for (int i = 0; i < PIXELS * OUT; ++i) {
            expect(resources[r], "pixel", i, y[i], wanted_y[i]);
        }
        for (int i = 0; i < PIXELS * IN; ++i) {
            expect(resources[r], "gradient of pixel", i, dx[i], wanted_dx[i]);
        }
        for (int i = 0; i < OUT * TERMS; ++i) {
            const uint16_t rounded = fp16_from_float(dweight[i]);
            if (rounds_gradient) {
                expect(resources[r], "gradient of weight", i, rounded, wanted_dw[i]);
            }
            ASSERT_NEAR(dweight[i], rounds_gradient ? number_of(rounded) : wanted_dw[i], 0.0);
        }
        e.hal[0]->image.conv_destroy(e.hal[0], conv);
        close_env(&e);
    }
}

/* Operations of graphs have no kernels for it, and say so. */
static void test_others_refuse(void **state)
{
    (void)state;
    uint16_t cells[4] = {0};
    for (int r = 0; r < RESOURCES; ++r) {
        env e;
        if (!open_env(resources[r], &e)) {
            continue;
        }
        const hal_mat x = hal_mat_of(put(&e, cells, sizeof cells), WEFT_DTYPE_F16, 2, 2, 2);
        const hal_gemm_args product = {.a = x, .b = x, .c = x, .alpha = 1.0};
        ASSERT_STATUS(hal_gemm(e.hal[0], &product), WEFT_ERR_UNSUPPORTED);
        ASSERT_MESSAGE("gemm: no operation on a float16");
        const hal_max_share_args share = {.ties = x, .dy = x};
        ASSERT_STATUS(hal_max_share(e.hal[0], &share), WEFT_ERR_UNSUPPORTED);
        close_env(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_number), cmocka_unit_test(test_convolution),
                                       cmocka_unit_test(test_others_refuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
