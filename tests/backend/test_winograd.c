/*
 * backend/test_winograd.c: convolutions by transformed tiles against the reference's own, in every type and instruction
 * set.
 *
 * Small whole numbers, taps that are multiples of 4, pass every transform without rounding: results must be the
 * reference's to the bit, at every edge. Of numbers at large the error is what the theory says. In bfloat16:
 * independent roundings of both factors, which the way back makes 5/3 times as large beside the result. In float32:
 * those of transforms and sums.
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
    {9, 8, 16, 16, {{1, 1}, {1, 1}}, 3, 2},   /* these channels are blocks of float32 alone */
    {6, 11, 48, 16, {{2, 0}, {1, 2}}, 2, 3},
    {6, 6, 16, 80, {{1, 1}, {1, 1}}, 2, 1},
};
enum { CASES = sizeof cases / sizeof *cases, LARGE = 4, NARROW = 7 };

typedef struct bench {
    hal_conv_shape shape;
    int64_t images, in_cells, out_cells, terms;
    float *x, *dy, *weight, *old; /* exact in bfloat16 */
    uint16_t *x16, *dy16;
    float *norm[4];           /* [in] each: mean, rstd, gamma, beta */
    void *y_given, *dx_given; /* of the backend under test */
    float *dweight_given;
    float *y, *dx, *dweight; /* the reference's, of float32 */
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

/* Whole: what x, -2 to 2, becomes is no more than 5. */
static void fill_norm(bench *b, bool whole)
{
    uint64_t seed = 5;
    for (int v = 0; v < 4; ++v) {
        ASSERT_OK(WEFT_NEW(&b->norm[v], b->shape.in, WEFT_MEM_GENERAL));
        for (int64_t c = 0; c < b->shape.in; ++c) {
            const float by_channel[] = {(float)(c % 3 - 1), 1.0F, c % 2 == 0 ? 1.0F : -1.0F, (float)(c % 5 - 2)};
            b->norm[v][c] = whole ? by_channel[v] : by_channel[v] + 0.25F * (float)test_uniform(&seed);
        }
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
    float **const in[] = {&b.x, &b.dx, (float **)&b.dx_given};
    float **const out[] = {&b.dy, &b.y, (float **)&b.y_given};
    float **const kernels[] = {&b.weight, &b.dweight, &b.dweight_given, &b.old};
    for (int i = 0; i < 3; ++i) {
        ASSERT_OK(WEFT_NEW(in[i], b.in_cells, WEFT_MEM_GENERAL));
        ASSERT_OK(WEFT_NEW(out[i], b.out_cells, WEFT_MEM_GENERAL));
    }
    for (int i = 0; i < 4; ++i) {
        ASSERT_OK(WEFT_NEW(kernels[i], c->out * b.terms, WEFT_MEM_GENERAL));
    }
    ASSERT_OK(WEFT_NEW(&b.x16, b.in_cells, WEFT_MEM_GENERAL));
    ASSERT_OK(WEFT_NEW(&b.dy16, b.out_cells, WEFT_MEM_GENERAL));
    fill(b.x, b.in_cells, 1, whole, 1.0F);
    fill(b.dy, b.out_cells, 2, whole, 1.0F);
    fill(b.weight, c->out * b.terms, 3, whole, whole ? 4.0F : 1.0F);
    fill(b.old, c->out * b.terms, 4, true, 1.0F);
    narrow(b.x, b.in_cells, b.x16);
    narrow(b.dy, b.out_cells, b.dy16);
    fill_norm(&b, whole);
    return b;
}

static void close_bench(bench *b)
{
    void *const all[] = {
        b->x,      b->dx,      b->dx_given,      b->dy,  b->y,       b->y_given, b->x16,     b->dy16,
        b->weight, b->dweight, b->dweight_given, b->old, b->norm[0], b->norm[1], b->norm[2], b->norm[3]};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        weft_free(all[i]);
    }
}

typedef enum norm_way {
    NO_NORM,
    NORM_ON_THE_WAY,
    NORM_BEFORE, /* by bn_apply */
} norm_way;

static hal_conv_norm norm_of(const bench *b)
{
    hal_mat vector[4];
    for (int v = 0; v < 4; ++v) {
        vector[v] = hal_mat_of(b->norm[v], WEFT_DTYPE_F32, 1, b->shape.in, b->shape.in);
    }
    return (hal_conv_norm){vector[0], vector[1], vector[2], vector[3], .relu = true};
}

/* All passes, of the reference or of the backend under test; of the gradient of weights, onto what is there already. */
static void run(bench *b, const char *resource, int threads, weft_dtype dtype, norm_way way)
{
    const bool winograd = strcmp(resource, "ref") != 0;
    const bool half = dtype == WEFT_DTYPE_BF16;
    const hal_conv_shape *s = &b->shape;
    hal_conv_shape shape = *s;
    weft_hal *hal = NULL;
    hal_conv *conv = NULL;
    shape.dtype = dtype;
    shape.norm = way == NORM_ON_THE_WAY;
    ASSERT_OK(weft_hal_open(resource, threads, &hal));
    ASSERT_OK(hal->image.conv_create(hal, &shape, &b->images, 1, &conv));
    const hal_conv_info info = hal->image.conv_info(hal, conv);
    const char *const names[] = {info.forward, info.backward_data, info.backward_weights};
    assert_true(info.winograd == winograd);
    assert_true(hal->image.conv_norms(hal, &shape) == winograd);
    for (int i = 0; i < 3; ++i) {
        assert_true((strstr(names[i], "winograd") != NULL) == winograd);
    }
    float *dweight = winograd ? b->dweight_given : b->dweight;
    memcpy(dweight, b->old, (size_t)(s->out * b->terms) * sizeof *dweight);
    const int64_t in_rows = b->in_cells / s->in;
    const int64_t out_rows = b->out_cells / s->out;
    const hal_mat raw = hal_mat_of(half ? (void *)b->x16 : b->x, dtype, in_rows, s->in, s->in);
    const hal_conv_norm norm = norm_of(b);
    const hal_conv_norm given = way == NORM_ON_THE_WAY ? norm : (hal_conv_norm){.relu = false};
    hal_mat x = raw;
    void *normalised = NULL;
    if (way == NORM_BEFORE) {
        ASSERT_OK(weft_malloc(b->in_cells, sizeof(float), WEFT_MEM_GENERAL, &normalised));
        x = hal_mat_of(normalised, dtype, in_rows, s->in, s->in);
        ASSERT_OK(hal_bn_apply(hal, &(hal_bn_apply_args){.x = raw,
                                                         .mean = norm.mean,
                                                         .rstd = norm.rstd,
                                                         .gamma = norm.gamma,
                                                         .beta = norm.beta,
                                                         .y = x,
                                                         .relu = norm.relu}));
    }
    const hal_mat dx = hal_mat_of(winograd ? b->dx_given : b->dx, dtype, in_rows, s->in, s->in);
    const hal_mat y = hal_mat_of(winograd ? b->y_given : b->y, dtype, out_rows, s->out, s->out);
    const hal_mat dy = hal_mat_of(half ? (void *)b->dy16 : b->dy, dtype, out_rows, s->out, s->out);
    const hal_mat weight = hal_mat_of(b->weight, WEFT_DTYPE_F32, s->out, b->terms, b->terms);
    const hal_mat to = hal_mat_of(dweight, WEFT_DTYPE_F32, s->out, b->terms, b->terms);
    const uint64_t before = weft_mem_usage_total().allocations;
    ASSERT_OK(
        hal_conv_forward(hal, &(hal_conv_forward_args){.x = x, .weight = weight, .y = y, .conv = conv, .norm = given}));
    ASSERT_OK(hal_conv_backward_data(
        hal, &(hal_conv_backward_data_args){.dy = dy, .weight = weight, .dx = dx, .conv = conv}));
    ASSERT_OK(hal_conv_backward_weights(
        hal,
        &(hal_conv_backward_weights_args){.x = x, .dy = dy, .dweight = to, .conv = conv, .norm = given, .beta = 1.0}));
    if (winograd) {
        assert_int_equal(weft_mem_usage_total().allocations, before);
    }
    weft_free(normalised);
    hal->image.conv_destroy(hal, conv);
    weft_hal_close(hal);
}

typedef struct winograd_kind {
    const char *resource;
    weft_dtype dtype;
} winograd_kind;

static const winograd_kind kinds[] = {
    {"cpu", WEFT_DTYPE_BF16}, {"cpu", WEFT_DTYPE_F32}, {"cpu:avx2", WEFT_DTYPE_F32}, {"cpu:base", WEFT_DTYPE_F32}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Says so where this processor has none. */
static void find_kinds(bool there[KINDS])
{
    bench b = open_bench(&cases[0], true);
    for (size_t k = 0; k < KINDS; ++k) {
        weft_hal *hal = NULL;
        hal_conv *conv = NULL;
        there[k] = weft_hal_open(kinds[k].resource, 1, &hal) == WEFT_OK;
        if (there[k]) {
            b.shape.dtype = kinds[k].dtype;
            ASSERT_OK(hal->image.conv_create(hal, &b.shape, &b.images, 1, &conv));
            there[k] = hal->image.conv_info(hal, conv).winograd;
            hal->image.conv_destroy(hal, conv);
            weft_hal_close(hal);
        }
        if (!there[k]) {
            print_message("skipped: this processor has no transformed tiles of %s by %s\n",
                          weft_dtype_name(kinds[k].dtype), kinds[k].resource);
        }
    }
    close_bench(&b);
}

static double given_at(const void *given, weft_dtype dtype, int64_t i)
{
    return (double)(dtype == WEFT_DTYPE_BF16 ? bf16_to_float(((const uint16_t *)given)[i]) : ((const float *)given)[i]);
}

static void assert_same_bits(const char *what, const void *given, weft_dtype dtype, const float *wanted, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        const uint16_t narrow_wanted = bf16_from_float(wanted[i]);
        const bool half = dtype == WEFT_DTYPE_BF16;
        const void *from = half ? (const void *)((const uint16_t *)given + i) : (const float *)given + i;
        if (memcmp(from, half ? (const void *)&narrow_wanted : wanted + i,
                   half ? sizeof narrow_wanted : sizeof *wanted) != 0) {
            fail_msg("%s %ld of %ld: %g for %g", what, (long)i, (long)count, given_at(given, dtype, i),
                     (double)wanted[i]);
        }
    }
}

static void check_whole(bench *b, int threads, const winograd_kind *kind, norm_way way)
{
    run(b, kind->resource, threads, kind->dtype, way);
    assert_same_bits("y", b->y_given, kind->dtype, b->y, b->out_cells);
    assert_same_bits("dx", b->dx_given, kind->dtype, b->dx, b->in_cells);
    assert_same_bits("dweight", b->dweight_given, WEFT_DTYPE_F32, b->dweight, b->shape.out * b->terms);
}

static void test_whole_numbers_are_exact(void **state)
{
    (void)state;
    bool there[KINDS];
    find_kinds(there);
    for (size_t c = 0; c < CASES; ++c) {
        bench b = open_bench(&cases[c], true);
        const bool large = c >= LARGE && c < NARROW; /* to which test_norms_on_the_way is enough */
        for (int way = NO_NORM; way <= (large ? NO_NORM : NORM_ON_THE_WAY); ++way) {
            run(&b, "ref", 2, WEFT_DTYPE_F32, (norm_way)way);
            for (size_t k = 0; k < KINDS; ++k) {
                if (there[k] && (c < NARROW || kinds[k].dtype == WEFT_DTYPE_F32)) {
                    check_whole(&b, cases[c].threads, &kinds[k], (norm_way)way);
                }
            }
        }
        close_bench(&b);
    }
}

/* A norm on the way gives the bits of one before. */
static void test_norms_on_the_way(void **state)
{
    (void)state;
    bool there[KINDS];
    find_kinds(there);
    for (size_t c = 0; c < CASES; ++c) {
        bench b = open_bench(&cases[c], false);
        bench before = open_bench(&cases[c], false);
        for (size_t k = 0; k < KINDS; ++k) {
            if (there[k] && (c < NARROW || kinds[k].dtype == WEFT_DTYPE_F32)) {
                const size_t bytes = weft_dtype_bytes(kinds[k].dtype);
                run(&b, kinds[k].resource, cases[c].threads, kinds[k].dtype, NORM_ON_THE_WAY);
                run(&before, kinds[k].resource, cases[c].threads, kinds[k].dtype, NORM_BEFORE);
                assert_memory_equal(b.y_given, before.y_given, (size_t)b.out_cells * bytes);
                assert_memory_equal(b.dweight_given, before.dweight_given,
                                    (size_t)(b.shape.out * b.terms) * sizeof(float));
            }
        }
        close_bench(&b);
        close_bench(&before);
    }
}

/* The error's root mean square over the result's. */
static double error_of(const void *given, weft_dtype dtype, const float *wanted, int64_t count)
{
    double error = 0.0;
    double size = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        const double d = given_at(given, dtype, i) - (double)wanted[i];
        error += d * d;
        size += (double)wanted[i] * (double)wanted[i];
    }
    return sqrt(error / size);
}

static void check_errors(bench *b, int threads, const winograd_kind *kind)
{
    /* A number rounded to 8 bits is off by 0.0017 in root mean square: both factors, times 5/3, and the result. Of
     * weights the result is not rounded. One rounded to 24 bits is off by 2.6e-8, and a sum of n by sqrt(n) of that at
     * most. */
    const bool half = kind->dtype == WEFT_DTYPE_BF16;
    const double most = half ? 0.0055 : 1e-6;
    const double least = half ? 0.001 : 2e-8;
    run(b, kind->resource, threads, kind->dtype, NO_NORM);
    const double error[] = {error_of(b->y_given, kind->dtype, b->y, b->out_cells),
                            error_of(b->dx_given, kind->dtype, b->dx, b->in_cells),
                            error_of(b->dweight_given, WEFT_DTYPE_F32, b->dweight, b->shape.out * b->terms)};
    for (int i = 0; i < 3; ++i) {
        if (!(error[i] > least && error[i] < most)) {
            fail_msg("%s %s, pass %d: an error of %g", kind->resource, weft_dtype_name(kind->dtype), i, error[i]);
        }
    }
}

static void test_errors_are_roundings(void **state)
{
    (void)state;
    if (TEST_SANITIZED) {
        skip(); /* of whole numbers the same shapes went the same way */
    }
    bool there[KINDS];
    find_kinds(there);
    for (size_t c = LARGE; c < NARROW; ++c) {
        bench b = open_bench(&cases[c], false);
        run(&b, "ref", 2, WEFT_DTYPE_F32, NO_NORM);
        for (size_t k = 0; k < KINDS; ++k) {
            if (there[k]) {
                check_errors(&b, cases[c].threads, &kinds[k]);
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
    hal_conv_shape shapes[10];
    const size_t count = sizeof shapes / sizeof *shapes;
    for (size_t i = 0; i < count; ++i) {
        shapes[i] = b.shape;
        shapes[i].dtype = i % 2 == 0 ? WEFT_DTYPE_BF16 : WEFT_DTYPE_F32;
    }
    shapes[0].winograd = false;
    shapes[1].in = 24;
    shapes[2].stride[1] = 2;
    shapes[3].dtype = WEFT_DTYPE_F64;
    shapes[4].bias = true;
    shapes[5].groups = 2;
    shapes[6].dilation[0] = 2;
    shapes[7].kernel[1] = 1;
    shapes[8].in = 48;
    shapes[9].height = shapes[9].width = 1; /* a tile for one pixel is no saving */
    ASSERT_OK(weft_hal_open("cpu", 1, &hal));
    for (size_t i = 0; i < count; ++i) {
        hal_conv *conv = NULL;
        ASSERT_OK(hal->image.conv_create(hal, &shapes[i], &images, 1, &conv));
        assert_false(hal->image.conv_info(hal, conv).winograd);
        assert_false(hal->image.conv_norms(hal, &shapes[i]));
        hal->image.conv_destroy(hal, conv);
        shapes[i].norm = true; /* which the reference computes as it is defined */
        ASSERT_OK(hal->image.conv_create(hal, &shapes[i], &images, 1, &conv));
        assert_true(hal->image.conv_info(hal, conv).slow);
        hal->image.conv_destroy(hal, conv);
    }
    weft_hal_close(hal);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers_are_exact), cmocka_unit_test(test_norms_on_the_way),
        cmocka_unit_test(test_errors_are_roundings), cmocka_unit_test(test_other_shapes_are_direct)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
