/*
 * backend/test_winograd.c: convolutions by transformed tiles against the reference's own.
 *
 * Small whole numbers, taps that are multiples of 4, pass every transform without rounding: results must be the reference's
 * to the bit, at every edge. Of numbers at large the error is what the theory says: independent roundings of both factors,
 * which the way back makes 5/3 times as large beside the result.
 */
#include <math.h>

#include "base/half.h"
#include "hal/hal.h"
#include "support/random.h"
#include "support/test.h"

typedef struct winograd_case {
    int64_t height, width, in, out, pad[2][2], images;
    int threads;
} winograd_case;

static const winograd_case cases[] = {
    {8, 8, 32, 64, {{1, 1}, {1, 1}}, 2, 1},
    {7, 9, 64, 32, {{0, 2}, {2, 1}}, 3, 2},     /* padded on one side more; half of the last tiles is outside */
    {4, 4, 32, 32, {{0, 0}, {0, 0}}, 1, 2},     /* one tile */
    {2, 1, 32, 96, {{1, 1}, {2, 2}}, 5, 3},     /* less than a tile of input */
    {14, 14, 160, 128, {{1, 1}, {1, 1}}, 3, 3}, /* sums that threads have in common, several blocks of tiles */
    {5, 6, 288, 96, {{1, 1}, {1, 1}}, 1, 2},
    {31, 29, 64, 64, {{1, 1}, {1, 1}}, 4, 2}, /* several blocks of tiles of each thread's own */
};

typedef struct bench {
    hal_conv_shape shape;
    int64_t images, in_cells, out_cells, terms;
    float *x, *dy, *weight;            /* exact in bfloat16 */
    uint16_t *x16, *dy16, *y16, *dx16; /* of the backend under test */
    float *dweight;
    float *y, *dx, *dweight_ref, *old; /* the reference's, of float32 */
} bench;

static void fill(float *to, int64_t count, uint64_t seed, bool whole, float unit)
{
    for (int64_t i = 0; i < count; ++i) {
        const double u = test_uniform(&seed);
        to[i] =
            bf16_to_float(bf16_from_float(whole ? unit * (float)((int)(u * 5.0) - 2) : unit * (float)(2.0 * u - 1.0)));
    }
}

static void narrow(const float *from, int64_t count, uint16_t *to)
{
    for (int64_t i = 0; i < count; ++i) {
        to[i] = bf16_from_float(from[i]);
    }
}

static bench open_bench(const winograd_case *c, bool whole)
{
    bench b = {.shape = {.height = c->height,
                         .width = c->width,
                         .in = c->in,
                         .out = c->out,
                         .groups = 1,
                         .kernel = {3, 3},
                         .stride = {1, 1},
                         .dilation = {1, 1},
                         .pad = {{c->pad[0][0], c->pad[0][1]}, {c->pad[1][0], c->pad[1][1]}},
                         .winograd = true,
                         .training = true,
                         .backward_data = true},
               .images = c->images};
    int64_t extent[2];
    hal_conv_extent(&b.shape, extent);
    b.in_cells = c->images * c->height * c->width * c->in;
    b.out_cells = c->images * extent[0] * extent[1] * c->out;
    b.terms = c->in * 9;
    float **const in[] = {&b.x, &b.dx};
    float **const out[] = {&b.dy, &b.y};
    float **const kernels[] = {&b.weight, &b.dweight, &b.dweight_ref, &b.old};
    for (int i = 0; i < 2; ++i) {
        ASSERT_OK(WEFT_NEW(in[i], b.in_cells, WEFT_MEM_GENERAL));
        ASSERT_OK(WEFT_NEW(out[i], b.out_cells, WEFT_MEM_GENERAL));
    }
    for (int i = 0; i < 4; ++i) {
        ASSERT_OK(WEFT_NEW(kernels[i], c->out * b.terms, WEFT_MEM_GENERAL));
    }
    ASSERT_OK(WEFT_NEW(&b.x16, b.in_cells, WEFT_MEM_GENERAL));
    ASSERT_OK(WEFT_NEW(&b.dx16, b.in_cells, WEFT_MEM_GENERAL));
    ASSERT_OK(WEFT_NEW(&b.dy16, b.out_cells, WEFT_MEM_GENERAL));
    ASSERT_OK(WEFT_NEW(&b.y16, b.out_cells, WEFT_MEM_GENERAL));
    fill(b.x, b.in_cells, 1, whole, 1.0F);
    fill(b.dy, b.out_cells, 2, whole, 1.0F);
    fill(b.weight, c->out * b.terms, 3, whole, whole ? 4.0F : 1.0F);
    fill(b.old, c->out * b.terms, 4, true, 1.0F);
    narrow(b.x, b.in_cells, b.x16);
    narrow(b.dy, b.out_cells, b.dy16);
    return b;
}

static void close_bench(bench *b)
{
    void *const all[] = {b->x,           b->dx,  b->dy,  b->y,    b->weight, b->dweight,
                         b->dweight_ref, b->old, b->x16, b->dx16, b->dy16,   b->y16};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        weft_free(all[i]);
    }
}

/* All passes; of the gradient of weights, onto what is there already. */
static void run(bench *b, const char *resource, int threads, weft_dtype dtype, bool winograd)
{
    const bool half = dtype == WEFT_DTYPE_BF16;
    const hal_conv_shape *s = &b->shape;
    hal_conv_shape shape = *s;
    weft_hal *hal = NULL;
    hal_conv *conv = NULL;
    shape.dtype = dtype;
    ASSERT_OK(weft_hal_open(resource, threads, &hal));
    ASSERT_OK(hal->image.conv_create(hal, &shape, &b->images, 1, &conv));
    const hal_conv_info info = hal->image.conv_info(hal, conv);
    const char *const names[] = {info.forward, info.backward_data, info.backward_weights};
    assert_true(info.winograd == winograd);
    for (int i = 0; i < 3; ++i) {
        assert_true((strstr(names[i], "winograd") != NULL) == winograd);
    }
    float *dweight = half ? b->dweight : b->dweight_ref;
    memcpy(dweight, b->old, (size_t)(s->out * b->terms) * sizeof *dweight);
    const int64_t in_rows = b->in_cells / s->in;
    const int64_t out_rows = b->out_cells / s->out;
    const hal_mat x = hal_mat_of(half ? (void *)b->x16 : b->x, dtype, in_rows, s->in, s->in);
    const hal_mat dx = hal_mat_of(half ? (void *)b->dx16 : b->dx, dtype, in_rows, s->in, s->in);
    const hal_mat y = hal_mat_of(half ? (void *)b->y16 : b->y, dtype, out_rows, s->out, s->out);
    const hal_mat dy = hal_mat_of(half ? (void *)b->dy16 : b->dy, dtype, out_rows, s->out, s->out);
    const hal_mat weight = hal_mat_of(b->weight, WEFT_DTYPE_F32, s->out, b->terms, b->terms);
    const hal_mat to = hal_mat_of(dweight, WEFT_DTYPE_F32, s->out, b->terms, b->terms);
    const uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(hal_conv_forward(hal, &(hal_conv_forward_args){.x = x, .weight = weight, .y = y, .conv = conv}));
    ASSERT_OK(hal_conv_backward_data(
        hal, &(hal_conv_backward_data_args){.dy = dy, .weight = weight, .dx = dx, .conv = conv}));
    ASSERT_OK(hal_conv_backward_weights(
        hal, &(hal_conv_backward_weights_args){.x = x, .dy = dy, .dweight = to, .conv = conv, .beta = 1.0}));
    if (winograd) {
        assert_int_equal(weft_mem_usage_total().allocations, before);
    }
    hal->image.conv_destroy(hal, conv);
    weft_hal_close(hal);
}

static bool has_winograd(void)
{
    weft_hal *hal = NULL;
    hal_conv *conv = NULL;
    bench b = open_bench(&cases[0], true);
    b.shape.dtype = WEFT_DTYPE_BF16;
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    ASSERT_OK(hal->image.conv_create(hal, &b.shape, &b.images, 1, &conv));
    const bool has = hal->image.conv_info(hal, conv).winograd;
    hal->image.conv_destroy(hal, conv);
    weft_hal_close(hal);
    close_bench(&b);
    if (!has) {
        print_message("skipped: this processor has no kernels of transformed tiles\n");
    }
    return has;
}

static void assert_same_bits(const char *what, const uint16_t *given, const float *wanted, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        if (given[i] != bf16_from_float(wanted[i])) {
            fail_msg("%s %ld of %ld: %g for %g", what, (long)i, (long)count, (double)bf16_to_float(given[i]),
                     (double)wanted[i]);
        }
    }
}

static void test_whole_numbers_are_exact(void **state)
{
    (void)state;
    if (!has_winograd()) {
        return;
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        bench b = open_bench(&cases[c], true);
        run(&b, "ref", 2, WEFT_DTYPE_F32, false);
        run(&b, "cpu", cases[c].threads, WEFT_DTYPE_BF16, true);
        assert_same_bits("y", b.y16, b.y, b.out_cells);
        assert_same_bits("dx", b.dx16, b.dx, b.in_cells);
        assert_memory_equal(b.dweight, b.dweight_ref, (size_t)(b.shape.out * b.terms) * sizeof(float));
        close_bench(&b);
    }
}

/* The error's root mean square over the result's. */
static double error_of(const float *given, const uint16_t *narrow_given, const float *wanted, int64_t count)
{
    double error = 0.0;
    double size = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        const double d = (double)(given != NULL ? given[i] : bf16_to_float(narrow_given[i])) - (double)wanted[i];
        error += d * d;
        size += (double)wanted[i] * (double)wanted[i];
    }
    return sqrt(error / size);
}

static void test_errors_are_roundings(void **state)
{
    (void)state;
    if (!has_winograd()) {
        return;
    }
    /* A number rounded to 8 bits is off by 0.0017 in root mean square: both factors, times 5/3, and the result. Of weights
     * the result is not rounded. */
    const double most = 0.0055;
    const double least = 0.001;
    for (size_t c = 4; c < sizeof cases / sizeof *cases; ++c) {
        bench b = open_bench(&cases[c], false);
        run(&b, "ref", 2, WEFT_DTYPE_F32, false);
        run(&b, "cpu", cases[c].threads, WEFT_DTYPE_BF16, true);
        const double error[] = {error_of(NULL, b.y16, b.y, b.out_cells), error_of(NULL, b.dx16, b.dx, b.in_cells),
                                error_of(b.dweight, NULL, b.dweight_ref, b.shape.out * b.terms)};
        for (int i = 0; i < 3; ++i) {
            if (!(error[i] > least && error[i] < most)) {
                fail_msg("case %d, pass %d: an error of %.5f", (int)c, i, error[i]);
            }
        }
        close_bench(&b);
    }
}

/* What it is not made for runs as it did. */
static void test_other_shapes_are_direct(void **state)
{
    (void)state;
    weft_hal *hal = NULL;
    const int64_t images = 2;
    const winograd_case *c = &cases[0];
    bench b = open_bench(c, true);
    hal_conv_shape shapes[9];
    for (size_t i = 0; i < 9; ++i) {
        shapes[i] = b.shape;
        shapes[i].dtype = WEFT_DTYPE_BF16;
    }
    shapes[0].winograd = false;
    shapes[1].dtype = WEFT_DTYPE_F32;
    shapes[2].stride[1] = 2;
    shapes[3].in = 48;
    shapes[4].bias = true;
    shapes[5].groups = 2;
    shapes[6].dilation[0] = 2;
    shapes[7].kernel[1] = 1;
    shapes[8].height = shapes[8].width = 1; /* a tile for one pixel is no saving */
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (size_t i = 0; i < 9; ++i) {
        hal_conv *conv = NULL;
        ASSERT_OK(hal->image.conv_create(hal, &shapes[i], &images, 1, &conv));
        assert_false(hal->image.conv_info(hal, conv).winograd);
        hal->image.conv_destroy(hal, conv);
    }
    weft_hal_close(hal);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_numbers_are_exact),
                                       cmocka_unit_test(test_errors_are_roundings),
                                       cmocka_unit_test(test_other_shapes_are_direct)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
