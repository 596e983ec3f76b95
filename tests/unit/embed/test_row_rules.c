/*
 * Update rules against double precision written from their formulas, and against each other where closed forms say
 * that they agree.
 */
#include <math.h>

#include "base/half.h"
#include "embed/rows/row_store.h"
#include "support/random.h"
#include "support/test.h"

enum { ROWS = 40, STEPS = 30, MOST = 150 };

static embed_desc desc_of(embed_rule rule, embed_number number, int width, bool linear)
{
    return (embed_desc){
        .fields = 1, .width = width, .linear = linear, .number = number, .rule = rule, .spread = 0.5, .seed = 3};
}

/* A store with ROWS rows, whose numbers are in w [ROWS, MOST]. */
static row_store *open_rows(const embed_desc *desc, int64_t *row, float *w)
{
    row_store *store = NULL;
    uint64_t key[ROWS];
    int32_t times[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        key[i] = (uint64_t)i * 1000;
        times[i] = 1;
    }
    ASSERT_OK(row_store_open(desc, &store));
    ASSERT_OK(row_store_touch(store, key, times, ROWS, true, row));
    row_store_read(store, row, ROWS, w, MOST);
    return store;
}

static double rate_of(int step)
{
    return 0.1 / (1 + step % 4);
}

/* Gradients of a step; every fifth row is left out, some numbers are 0. */
static void draw(uint64_t *state, const int64_t *row, int64_t *touched, float *gradient)
{
    for (int i = 0; i < ROWS; ++i) {
        touched[i] = test_random(state) % 5 == 0 ? -1 : row[i];
        for (int j = 0; j < MOST; ++j) {
            const double g = test_uniform(state) - 0.5;
            gradient[i * MOST + j] = test_random(state) % 9 == 0 ? 0.0F : (float)g;
        }
    }
}

/* ---- formulas ---- */

typedef struct reference {
    double w[MOST], first[MOST], second[MOST], mean[2];
    int updates;
} reference;

static void expect_row_adagrad(reference *r, int from, int to, const float *g, double rate, double *mean)
{
    for (int j = from; j < to; ++j) {
        *mean += (double)g[j] * g[j] / (to - from);
    }
    for (int j = from; j < to; ++j) {
        r->w[j] -= rate * g[j] / (sqrt(*mean) + 1e-8);
    }
}

static void expect_ftrl(const embed_desc *d, reference *r, int j, double g, double rate)
{
    double *z = &r->first[j], *n = &r->second[j];
    *z += g - (sqrt(*n + g * g) - sqrt(*n)) / rate * r->w[j];
    *n += g * g;
    r->w[j] = fabs(*z) <= d->l1 ? 0.0 : -(*z - copysign(d->l1, *z)) / ((d->beta1 + sqrt(*n)) / rate + d->l2);
}

static void expect_adam(reference *r, int j, double g, double rate)
{
    r->first[j] = 0.9 * r->first[j] + 0.1 * g;
    r->second[j] = 0.999 * r->second[j] + 0.001 * g * g;
    const double m = r->first[j] / (1 - pow(0.9, r->updates)), v = r->second[j] / (1 - pow(0.999, r->updates));
    r->w[j] -= rate * m / (sqrt(v) + 1e-8);
}

static void expect(const embed_desc *d, reference *r, const float *g, double rate)
{
    const int stride = d->width + d->linear;
    r->updates += 1;
    if (d->rule == EMBED_ROW_ADAGRAD) {
        expect_row_adagrad(r, 0, d->width, g, rate, &r->mean[0]);
        expect_row_adagrad(r, d->width, stride, g, rate, &r->mean[1]);
    }
    for (int j = 0; j < stride; ++j) {
        if (d->rule == EMBED_SGD) {
            r->w[j] -= rate * g[j];
        } else if (d->rule == EMBED_ADAGRAD) {
            r->second[j] += (double)g[j] * g[j];
            r->w[j] -= rate * g[j] / (sqrt(r->second[j]) + 1e-10);
        } else if (d->rule == EMBED_FTRL) {
            expect_ftrl(d, r, j, g[j], rate);
        } else if (d->rule == EMBED_LAZY_ADAM) {
            expect_adam(r, j, g[j], rate);
        }
    }
}

static void check_rule(const embed_desc *desc)
{
    static reference model[ROWS];
    static float w[ROWS * MOST], gradient[ROWS * MOST];
    const int stride = desc->width + desc->linear;
    int64_t row[ROWS], touched[ROWS];
    uint64_t state = 8;
    row_store *store = open_rows(desc, row, w);
    memset(model, 0, sizeof model);
    for (int i = 0; i < ROWS * stride; ++i) {
        model[i / stride].w[i % stride] = w[i / stride * MOST + i % stride];
    }
    for (int step = 0; step < STEPS; ++step) {
        draw(&state, row, touched, gradient);
        row_store_update(store, touched, ROWS, gradient, MOST, rate_of(step));
        for (int i = 0; i < ROWS; ++i) {
            if (touched[i] >= 0) {
                expect(desc, &model[i], gradient + i * MOST, rate_of(step));
            }
        }
    }
    row_store_read(store, row, ROWS, w, MOST);
    /* A row of bf16 numbers begins rounded; it is joined with what is behind it from the first update on. */
    const double tolerance = desc->number == EMBED_BF16 ? 0.005 : 2e-5;
    for (int i = 0; i < ROWS * stride; ++i) {
        const double expected = model[i / stride].w[i % stride];
        ASSERT_NEAR(w[i / stride * MOST + i % stride], expected, tolerance * (1.0 + fabs(expected)));
    }
    row_store_close(store);
}

static void test_formulas(void **state)
{
    (void)state;
    static const int widths[] = {16, 1, 7, 0, 130};
    for (int rule = EMBED_SGD; rule <= EMBED_LAZY_ADAM; ++rule) {
        for (int i = 0; i < 5; ++i) {
            for (int number = EMBED_F32; number <= EMBED_BF16; ++number) {
                embed_desc desc = desc_of((embed_rule)rule, (embed_number)number, widths[i], i % 2 == 1);
                if (rule == EMBED_FTRL) {
                    desc.beta1 = 0.5;
                    desc.l1 = 0.05;
                    desc.l2 = 0.3;
                }
                check_rule(&desc);
            }
        }
    }
}

/* ---- closed forms ---- */

/* The numbers that STEPS updates leave; `pieces` of each gradient are added up before, as duplicates of a batch are. */
static void train(const embed_desc *desc, float *w, int pieces)
{
    static float gradient[ROWS * MOST];
    int64_t row[ROWS], touched[ROWS];
    uint64_t state = 21;
    row_store *store = open_rows(desc, row, w);
    for (int step = 0; step < STEPS; ++step) {
        draw(&state, row, touched, gradient);
        for (int i = 0; i < ROWS * MOST; ++i) {
            gradient[i] *= (float)pieces;
            gradient[i] += gradient[i] == 0.0F ? 0.25F : 0.0F; /* FTRL forgets what a number began as at a 0 */
        }
        row_store_update(store, touched, ROWS, gradient, MOST, 0.1);
    }
    row_store_read(store, row, ROWS, w, MOST);
    row_store_close(store);
}

static void assert_alike(const float *a, const float *b, int stride, double tolerance)
{
    for (int i = 0; i < ROWS * stride; ++i) {
        const int place = i / stride * MOST + i % stride;
        ASSERT_NEAR(a[place], b[place], tolerance);
    }
}

static void test_closed_forms(void **state)
{
    (void)state;
    static float a[ROWS * MOST], b[ROWS * MOST];
    embed_desc adagrad = desc_of(EMBED_ADAGRAD, EMBED_F32, 9, true), ftrl = desc_of(EMBED_FTRL, EMBED_F32, 9, true);
    adagrad.epsilon = 1e-300; /* 0 as a float32 */
    train(&adagrad, a, 1);
    train(&ftrl, b, 1);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < 10; ++j) {
            ASSERT_NEAR(a[i * MOST + j], b[i * MOST + j], 2e-5);
        }
    }
    embed_desc one = desc_of(EMBED_ADAGRAD, EMBED_F32, 1, true), row = desc_of(EMBED_ROW_ADAGRAD, EMBED_F32, 1, true);
    one.epsilon = row.epsilon = 1e-8;
    train(&one, a, 1);
    train(&row, b, 1);
    assert_alike(a, b, 2, 1e-6);
}

/* Rows in two halves hold, joined, the bits of float32 rows: what is read is their rounding. */
static void test_halves(void **state)
{
    (void)state;
    static float exact[ROWS * MOST], read[ROWS * MOST];
    const embed_desc whole = desc_of(EMBED_SGD, EMBED_F32, 130, true);
    const embed_desc halves = desc_of(EMBED_SGD, EMBED_BF16, 130, true);
    train(&whole, exact, 1);
    train(&halves, read, 1);
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < 131; ++j) {
            uint32_t bits;
            memcpy(&bits, &exact[i * MOST + j], sizeof bits);
            const uint32_t rounded = (bits + 0x8000U) & 0xffff0000U; /* ties away from zero */
            uint32_t got;
            memcpy(&got, &read[i * MOST + j], sizeof got);
            assert_int_equal(got, rounded);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
