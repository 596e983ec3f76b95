/*
 * backend/test_tokens.c: attention, embedding and mean of tokens against central finite differences, in f64 on ref, and
 * attention against sums that are written out.
 */
#include <math.h>

#include "hal/hal.h"
#include "support/random.h"
#include "support/test.h"

enum { IMAGES = 2, TOKENS = 4, ROWS = IMAGES * TOKENS, WIDTH = 6, HEADS = 2, WORDS = 5 };
static const double STEP = 1e-5;
static const double TOLERANCE = 1e-8;

static weft_hal *hal; /* ref: device memory is the host's */

/* The second image ends with a row of padding. */
static double ids[ROWS] = {1, 2, 2, 4, 3, 1, 3, 0};

typedef struct context {
    double x[ROWS * 3 * WIDTH], y[ROWS * 3 * WIDTH], w[ROWS * WIDTH];
} context;

static hal_mat mat(double *x, int64_t rows, int64_t cols)
{
    return hal_mat_of(x, WEFT_DTYPE_F64, rows, cols, cols);
}

static context random_context(void)
{
    uint64_t state = 11;
    context c;
    for (int i = 0; i < ROWS * 3 * WIDTH; ++i) {
        c.x[i] = 2 * test_uniform(&state) - 1;
    }
    for (int i = 0; i < ROWS * WIDTH; ++i) {
        c.w[i] = 2 * test_uniform(&state) - 1;
    }
    return c;
}

static double weighted(const context *c, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
        sum += c->w[i] * c->y[i];
    }
    return sum;
}

static void check_gradient(const char *what, double (*f)(context *c), context *c, const double *gradient, int count)
{
    for (int i = 0; i < count; ++i) {
        const double kept = c->x[i];
        c->x[i] = kept + STEP;
        const double above = f(c);
        c->x[i] = kept - STEP;
        const double slope = (above - f(c)) / (2.0 * STEP);
        c->x[i] = kept;
        if (!(fabs(slope - gradient[i]) <= TOLERANCE * (1.0 + fabs(slope)))) {
            fail_msg("%s: derivative %d is %.12g, finite differences say %.12g", what, i, gradient[i], slope);
        }
    }
}

static double attend_value(context *c)
{
    ASSERT_OK(hal_attend_forward(hal, &(hal_attend_forward_args){.x = mat(c->x, ROWS, 3 * WIDTH),
                                                                 .key = mat(ids, ROWS, 1),
                                                                 .y = mat(c->y, ROWS, WIDTH),
                                                                 .tokens = TOKENS,
                                                                 .heads = HEADS}));
    return weighted(c, ROWS * WIDTH);
}

static void test_attend_gradient(void **state)
{
    (void)state;
    context c = random_context();
    double dx[ROWS * 3 * WIDTH];
    ASSERT_OK(hal_attend_backward(hal, &(hal_attend_backward_args){.dy = mat(c.w, ROWS, WIDTH),
                                                                   .x = mat(c.x, ROWS, 3 * WIDTH),
                                                                   .key = mat(ids, ROWS, 1),
                                                                   .dx = mat(dx, ROWS, 3 * WIDTH),
                                                                   .tokens = TOKENS,
                                                                   .heads = HEADS}));
    check_gradient("attention", attend_value, &c, dx, ROWS * 3 * WIDTH);
    for (int j = 0; j < 3 * WIDTH; ++j) {
        assert_true(dx[(ROWS - 1) * 3 * WIDTH + j] == 0.0);
    }
}

/* Row 5, of the second image, whose tokens are rows 4 to 6; the second head. */
static void test_attend_value(void **state)
{
    (void)state;
    enum { D = WIDTH / HEADS };
    context c = random_context();
    double power[3], sum = 0.0;
    (void)attend_value(&c);
    for (int j = 0; j < 3; ++j) {
        double score = 0.0;
        for (int k = 0; k < D; ++k) {
            score += c.x[5 * 3 * WIDTH + D + k] * c.x[(4 + j) * 3 * WIDTH + WIDTH + D + k];
        }
        power[j] = exp(score / sqrt((double)D));
        sum += power[j];
    }
    for (int k = 0; k < D; ++k) {
        double value = 0.0;
        for (int j = 0; j < 3; ++j) {
            value += power[j] / sum * c.x[(4 + j) * 3 * WIDTH + 2 * WIDTH + D + k];
        }
        assert_true(fabs(value - c.y[5 * WIDTH + D + k]) < 1e-14);
        assert_true(c.y[7 * WIDTH + D + k] == 0.0);
    }
}

static double embed_value(context *c)
{
    ASSERT_OK(hal_lookup_forward(hal, &(hal_lookup_forward_args){.id = mat(ids, ROWS, 1),
                                                                 .table = mat(c->x, WORDS, WIDTH),
                                                                 .y = mat(c->y, ROWS, WIDTH)}));
    return weighted(c, (ROWS - 1) * WIDTH); /* nobody reads the row of padding */
}

static void test_embed_gradient(void **state)
{
    (void)state;
    context c = random_context();
    double dtable[WORDS * WIDTH];
    ASSERT_OK(hal_lookup_backward(hal, &(hal_lookup_backward_args){.dy = mat(c.w, ROWS, WIDTH),
                                                                   .id = mat(ids, ROWS, 1),
                                                                   .dtable = mat(dtable, WORDS, WIDTH)}));
    check_gradient("embedding", embed_value, &c, dtable, WORDS * WIDTH);
}

static double mean_value(context *c)
{
    ASSERT_OK(hal_token_mean_forward(hal, &(hal_token_mean_forward_args){.x = mat(c->x, ROWS, WIDTH),
                                                                         .key = mat(ids, ROWS, 1),
                                                                         .y = mat(c->y, IMAGES, WIDTH),
                                                                         .tokens = TOKENS}));
    return weighted(c, IMAGES * WIDTH);
}

static void test_mean_gradient(void **state)
{
    (void)state;
    context c = random_context();
    double dx[ROWS * WIDTH];
    ASSERT_OK(hal_token_mean_backward(hal, &(hal_token_mean_backward_args){.dy = mat(c.w, IMAGES, WIDTH),
                                                                           .key = mat(ids, ROWS, 1),
                                                                           .dx = mat(dx, ROWS, WIDTH),
                                                                           .tokens = TOKENS}));
    check_gradient("mean of tokens", mean_value, &c, dx, ROWS * WIDTH);
    (void)mean_value(&c);
    assert_true(fabs(c.y[WIDTH] - (c.x[4 * WIDTH] + c.x[5 * WIDTH] + c.x[6 * WIDTH]) / 3.0) < 1e-15);
}

static int open_ref(void **state)
{
    (void)state;
    ASSERT_OK(weft_hal_open("ref", 1, &hal));
    return 0;
}

static int close_ref(void **state)
{
    (void)state;
    weft_hal_close(hal);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attend_gradient),
        cmocka_unit_test(test_attend_value),
        cmocka_unit_test(test_embed_gradient),
        cmocka_unit_test(test_mean_gradient),
    };
    return cmocka_run_group_tests(tests, open_ref, close_ref);
}
