/* Dot products of pairs and their gradients by every instruction set of this processor, against loops in double; what
 * lies beside a sample's numbers stays as it is. */
#include <math.h>

#include "base/isa.h"
#include "clicks/model/click_kernels.h"
#include "support/random.h"
#include "support/test.h"

enum { SAMPLES = 3, VECTORS_MOST = 40, WIDTH_MOST = 33, BESIDE = 5, PAIRS_MOST = VECTORS_MOST * VECTORS_MOST / 2 };
static const float UNTOUCHED = 12345.0F;

typedef struct dots_case {
    float first[SAMPLES * (WIDTH_MOST + BESIDE)], dfirst[SAMPLES * (WIDTH_MOST + BESIDE)];
    float field[SAMPLES * (VECTORS_MOST * WIDTH_MOST + BESIDE)], dfield[SAMPLES * (VECTORS_MOST * WIDTH_MOST + BESIDE)];
    float y[SAMPLES * (WIDTH_MOST + PAIRS_MOST + BESIDE)], dy[SAMPLES * (WIDTH_MOST + PAIRS_MOST + BESIDE)];
    click_dots dots;
} dots_case;

static void fill(float *x, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; ++i) {
        x[i] = state != NULL ? (float)(test_uniform(state) - 0.5) : UNTOUCHED;
    }
}
#define FILL(array, state) fill(array, sizeof(array) / sizeof *(array), state)

static void set_up(dots_case *c, int64_t vectors, int64_t width, bool has_first)
{
    uint64_t state = (uint64_t)(vectors * 100 + width);
    const int64_t first = has_first ? 1 : 0;
    FILL(c->first, &state);
    FILL(c->field, &state);
    FILL(c->dy, &state);
    FILL(c->dfirst, NULL);
    FILL(c->dfield, NULL);
    FILL(c->y, NULL);
    c->dots = (click_dots){.vectors = vectors,
                           .width = width,
                           .has_first = has_first,
                           .first = c->first,
                           .dfirst = c->dfirst,
                           .ld_first = width + BESIDE,
                           .field = c->field,
                           .dfield = c->dfield,
                           .ld_field = (vectors - first) * width + BESIDE,
                           .ld_dfield = (vectors - first) * width + BESIDE,
                           .y = c->y,
                           .dy = c->dy,
                           .ld_y = first * width + vectors * (vectors - 1) / 2 + BESIDE};
}

static const float *vector(const click_dots *a, const float *first, const float *field, int64_t sample, int64_t i)
{
    const int64_t fields = a->has_first ? i - 1 : i;
    return fields < 0 ? first + sample * a->ld_first : field + sample * a->ld_field + fields * a->width;
}

/* Where the pair of two different vectors stands in y. */
static int64_t pair_of(const click_dots *a, int64_t i, int64_t j)
{
    const int64_t high = i > j ? i : j, low = i > j ? j : i;
    return (a->has_first ? a->width : 0) + high * (high - 1) / 2 + low;
}

static void check_forward(const dots_case *c, int64_t sample)
{
    const click_dots *a = &c->dots;
    const float *y = c->y + sample * a->ld_y;
    for (int64_t d = 0; a->has_first && d < a->width; ++d) {
        assert_true(y[d] == c->first[sample * a->ld_first + d]);
    }
    for (int64_t i = 0; i < a->vectors; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            double sum = 0.0;
            for (int64_t d = 0; d < a->width; ++d) {
                sum += (double)vector(a, c->first, c->field, sample, i)[d] *
                       (double)vector(a, c->first, c->field, sample, j)[d];
            }
            ASSERT_NEAR(y[pair_of(a, i, j)], sum, 1e-5);
        }
    }
    for (int64_t beside = 1; beside <= BESIDE; ++beside) {
        assert_true(y[a->ld_y - beside] == UNTOUCHED);
    }
}

static void check_backward(const dots_case *c, int64_t sample)
{
    const click_dots *a = &c->dots;
    const float *dy = c->dy + sample * a->ld_y;
    for (int64_t i = 0; i < a->vectors; ++i) {
        for (int64_t d = 0; d < a->width; ++d) {
            double sum = a->has_first && i == 0 ? (double)dy[d] : 0.0;
            for (int64_t j = 0; j < a->vectors; ++j) {
                sum +=
                    j == i ? 0.0 : (double)dy[pair_of(a, i, j)] * (double)vector(a, c->first, c->field, sample, j)[d];
            }
            ASSERT_NEAR(vector(a, c->dfirst, c->dfield, sample, i)[d], sum, 1e-5);
        }
    }
    for (int64_t beside = 1; beside <= BESIDE; ++beside) {
        assert_true(c->dfield[(sample + 1) * a->ld_field - beside] == UNTOUCHED);
        assert_true(!a->has_first || c->dfirst[(sample + 1) * a->ld_first - beside] == UNTOUCHED);
    }
}

static void check_shape(const click_kernels *kernels, int64_t vectors, int64_t width, bool has_first)
{
    dots_case *c = calloc(1, sizeof *c);
    float *scratch = aligned_alloc(64, (size_t)click_dots_scratch(vectors, width) * sizeof *scratch);
    set_up(c, vectors, width, has_first);
    /* Samples are shared out in pieces. */
    kernels->dots(&c->dots, 0, 1, scratch);
    kernels->dots(&c->dots, 1, SAMPLES, scratch);
    kernels->dots_backward(&c->dots, 0, 2, scratch);
    kernels->dots_backward(&c->dots, 2, SAMPLES, scratch);
    for (int64_t s = 0; s < SAMPLES; ++s) {
        check_forward(c, s);
    }
    for (int64_t s = 0; s < SAMPLES; ++s) {
        check_backward(c, s);
    }
    free(scratch);
    free(c);
}

static void test_dots(void **state)
{
    (void)state;
    static const click_kernels *const kernels[HAL_ISAS] = {&click_kernels_base, &click_kernels_avx2,
                                                           &click_kernels_avx512};
    static const int64_t shape[][2] = {{2, 1}, {3, 16}, {5, 7}, {16, 4}, {17, 8}, {27, 16}, {33, 32}, {40, 33}};
    for (int isa = 0; isa <= (int)hal_isa_best(); ++isa) {
        for (size_t i = 0; i < sizeof shape / sizeof *shape; ++i) {
            check_shape(kernels[isa], shape[i][0], shape[i][1], false);
            check_shape(kernels[isa], shape[i][0], shape[i][1], true);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dots)};
    return cmocka_run_group_tests_name("click_kernels", tests, NULL, NULL);
}
