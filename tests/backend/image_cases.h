/*
 * backend/image_cases.h: convolution and pooling on a backend against ref: grouped, strided, dilated, padded on one
 * side more than on the other, odd sizes, one image and several.
 */
#pragma once

#include "backend/backend_env.h"

static const struct conv_case {
    hal_conv_shape shape;
    int64_t images[2];
} conv_cases[] = {
    {{.height = 8,
      .width = 8,
      .in = 16,
      .out = 16,
      .groups = 1,
      .kernel = {3, 3},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {{1, 1}, {1, 1}},
      .bias = true},
     {4, 1}},
    {{.height = 9,
      .width = 7,
      .in = 3,
      .out = 5,
      .groups = 1,
      .kernel = {3, 2},
      .stride = {2, 1},
      .dilation = {1, 1},
      .pad = {{1, 0}, {0, 1}},
      .bias = true,
      .add = true,
      .relu = true},
     {1, 3}},
    {{.height = 8,
      .width = 8,
      .in = 32,
      .out = 48,
      .groups = 1,
      .kernel = {1, 1},
      .stride = {2, 2},
      .dilation = {1, 1}},
     {2, 5}},
    {{.height = 11,
      .width = 10,
      .in = 8,
      .out = 12,
      .groups = 4,
      .kernel = {3, 3},
      .stride = {1, 2},
      .dilation = {2, 3},
      .pad = {{2, 2}, {3, 3}},
      .add = true},
     {3, 2}},
    {{.height = 6,
      .width = 6,
      .in = 10,
      .out = 10,
      .groups = 10,
      .kernel = {3, 3},
      .stride = {1, 1},
      .dilation = {1, 1},
      .pad = {{1, 1}, {1, 1}},
      .relu = true},
     {2, 1}},
    {{.height = 20,
      .width = 21,
      .in = 3,
      .out = 64,
      .groups = 1,
      .kernel = {7, 7},
      .stride = {2, 2},
      .dilation = {1, 1},
      .pad = {{3, 3}, {3, 3}},
      .bias = true,
      .relu = true},
     {1, 2}},
    {{.height = 1,
      .width = 1,
      .in = 37,
      .out = 29,
      .groups = 1,
      .kernel = {1, 1},
      .stride = {1, 1},
      .dilation = {1, 1},
      .bias = true},
     {6, 1}},
    {{.height = 5,
      .width = 4,
      .in = 2,
      .out = 3,
      .groups = 1,
      .kernel = {5, 4},
      .stride = {3, 3},
      .dilation = {1, 1},
      .pad = {{0, 2}, {1, 0}}},
     {2, 7}},
    /* A kernel that covers the image, as a linear layer's does. */
    {{.height = 4,
      .width = 3,
      .in = 5,
      .out = 7,
      .groups = 1,
      .kernel = {4, 3},
      .stride = {1, 1},
      .dilation = {1, 1},
      .bias = true,
      .relu = true},
     {3, 2}},
    /* Products of matrices: ends of panels and a strided grid; many rows, which threads share out; many weights. */
    {{.height = 17,
      .width = 15,
      .in = 33,
      .out = 13,
      .groups = 1,
      .kernel = {1, 1},
      .stride = {2, 1},
      .dilation = {1, 1}},
     {2, 1}},
    {{.height = 16,
      .width = 18,
      .in = 64,
      .out = 72,
      .groups = 1,
      .kernel = {1, 1},
      .stride = {1, 1},
      .dilation = {1, 1}},
     {5, 1}},
    {{.height = 3,
      .width = 3,
      .in = 512,
      .out = 516,
      .groups = 1,
      .kernel = {1, 1},
      .stride = {1, 1},
      .dilation = {1, 1}},
     {3, 1}},
};

/* Without gaps. */
static operand pixels(env *e, int64_t rows, int64_t cols, fill how)
{
    return operand_of_type(e, e->dtype, rows, cols, cols, how);
}

static bool rounds_gradient(env *e, hal_conv *const conv[ENV_BACKENDS])
{
    bool rounds = false;
    for (int b = 1; b < e->backends; ++b) {
        rounds = rounds || e->hal[b]->image.conv_info(e->hal[b], conv[b]).rounds_gradient;
    }
    return rounds;
}

static void conv_batch(env *e, const hal_conv_shape *s, hal_conv *const conv[ENV_BACKENDS], int64_t images)
{
    int64_t extent[2];
    hal_conv_extent(s, extent);
    const int64_t in_rows = images * s->height * s->width;
    const int64_t out_rows = images * extent[0] * extent[1];
    const int64_t terms = hal_conv_terms(s);
    operand weight = operand_of_type(e, env_param(e), s->out, terms, terms, UNIT);
    operand dweight = operand_of_type(e, env_param(e), s->out, terms, terms, NOTHING);
    operand bias = operand_vector(e, s->out, UNIT);
    operand dbias = operand_vector(e, s->out, NOTHING);
    operand x = pixels(e, in_rows, s->in, UNIT);
    operand y = pixels(e, out_rows, s->out, s->add ? UNIT : NOTHING);
    operand dy = pixels(e, out_rows, s->out, UNIT);
    operand dx = pixels(e, in_rows, s->in, NOTHING);
    const double terms_of_x = (double)(s->out / s->groups * s->kernel[0] * s->kernel[1]);
    for (int b = 0; b < e->backends; ++b) {
        const hal_mat on_bias = s->bias ? row_on(&bias, b) : (hal_mat){.data = NULL};
        const hal_mat on_dbias = s->bias ? row_on(&dbias, b) : (hal_mat){.data = NULL};
        RUN_ON(e, b, conv_forward, .x = mat_on(&x, b), .weight = mat_on(&weight, b), .bias = on_bias,
               .y = mat_on(&y, b), .conv = conv[b]);
        RUN_ON(e, b, conv_backward_data, .dy = mat_on(&dy, b), .weight = mat_on(&weight, b), .dx = mat_on(&dx, b),
               .conv = conv[b]);
        for (int time = 0; time < 2; ++time) {
            RUN_ON(e, b, conv_backward_weights, .x = mat_on(&x, b), .dy = mat_on(&dy, b),
                   .dweight = mat_on(&dweight, b), .dbias = on_dbias, .conv = conv[b], .beta = (double)time);
        }
    }
    operand_compare(e, &y, 8.0 + (double)terms);
    operand_compare(e, &dx, 8.0 + terms_of_x);
    if (rounds_gradient(e, conv)) {
        operand_compare_as(e, &dweight, epsilon_of(s->dtype)); /* two of them, each by half of that */
    } else {
        operand_compare(e, &dweight, 8.0 + 2.0 * (double)out_rows);
    }
    if (s->bias) {
        operand_compare(e, &dbias, 8.0 + 2.0 * (double)out_rows);
    }
}

/* Many products are for the convolutions of instruction sets, of float32 and bfloat16: of other types a sanitizer sees
 * few. */
static bool conv_takes(const env *e, const hal_conv_shape *s)
{
    const bool many = s->height * s->width * s->out * hal_conv_terms(s) > 1000000;
    return !many || !TEST_SANITIZED || e->dtype == WEFT_DTYPE_F32 || e->dtype == WEFT_DTYPE_BF16;
}

/* The table's shapes, at one of the harness's; pixels have no gaps, so once and again. */
static void case_conv(env *e)
{
    if (e->m != 5 || e->n != 17 || e->pad != 0) {
        return;
    }
    const char *const family = e->name;
    for (size_t c = 0; c < sizeof conv_cases / sizeof *conv_cases; ++c) {
        hal_conv_shape shape = conv_cases[c].shape;
        char name[64];
        if (!conv_takes(e, &shape)) {
            continue;
        }
        snprintf(name, sizeof name, "%s, %ldx%ldx%ld to %ld,", family, (long)shape.height, (long)shape.width,
                 (long)shape.in, (long)shape.out);
        e->name = name;
        shape.dtype = e->dtype;
        shape.training = true;
        shape.backward_data = true;
        hal_conv *conv[ENV_BACKENDS];
        for (int b = 0; b < e->backends; ++b) {
            ASSERT_OK(e->hal[b]->image.conv_create(e->hal[b], &shape, conv_cases[c].images, 2, &conv[b]));
            assert_true(e->hal[b]->image.conv_info(e->hal[b], conv[b]).forward[0] != '\0');
        }
        conv_batch(e, &shape, conv, conv_cases[c].images[0]);
        conv_batch(e, &shape, conv, conv_cases[c].images[1]);
        conv_batch(e, &shape, conv, 0);
        for (int b = 0; b < e->backends; ++b) {
            e->hal[b]->image.conv_destroy(e->hal[b], conv[b]);
        }
    }
    e->name = family;
}

static const hal_pool_shape pool_cases[] = {
    {.height = 7, .width = 6, .kernel = {3, 3}, .stride = {2, 2}, .pad = {{1, 1}, {1, 0}}},
    {.height = 7, .width = 6, .kernel = {2, 3}, .stride = {2, 1}},
    {.height = 8, .width = 8, .kernel = {8, 8}, .stride = {8, 8}, .average = true},
    {.height = 5, .width = 9, .kernel = {3, 2}, .stride = {1, 2}, .pad = {{2, 1}, {0, 1}}, .average = true},
    {.height = 1, .width = 5, .kernel = {1, 5}, .stride = {1, 1}},
};

/* m images of n channels: few distinct values, so that the first of equals matters, and with NaNs. */
static void case_pool(env *e)
{
    if (e->m > 23 || e->n > 100) {
        return;
    }
    for (size_t c = 0; c < sizeof pool_cases / sizeof *pool_cases; ++c) {
        const hal_pool_shape *s = &pool_cases[c];
        int64_t extent[2];
        hal_pool_extent(s, extent);
        const int64_t out_rows = e->m * extent[0] * extent[1];
        operand x = operand_make(e, e->m * s->height * s->width, e->n, c == 1 ? SOME_NANS : COARSE);
        operand y = operand_make(e, out_rows, e->n, NOTHING);
        operand again = operand_make(e, out_rows, e->n, NOTHING);
        operand dy = operand_make(e, out_rows, e->n, UNIT);
        operand dx = operand_make(e, x.rows, e->n, NOTHING);
        int_operand index = int_operand_make(e, out_rows * e->n, WEFT_DTYPE_U8);
        int_operand_upload(e, &index);
#define INDEX hal_mat_of(index.dev[run_backend], WEFT_DTYPE_U8, out_rows, e->n, e->n)
        RUN(e, pool_forward, .x = ON(x), .y = ON(y), .index = INDEX, .shape = *s);
        RUN(e, pool_forward, .x = ON(x), .y = ON(again), .shape = *s);
        RUN(e, pool_backward, .dy = ON(dy), .index = INDEX, .dx = ON(dx), .shape = *s);
#undef INDEX
        const double slack = s->average ? 4.0 * (double)(s->kernel[0] * s->kernel[1]) : 0.0;
        operand_compare(e, &y, slack);
        operand_compare(e, &again, slack);
        operand_compare(e, &dx, 4.0 * (double)(s->kernel[0] * s->kernel[1]));
        if (!s->average) {
            int_operand_compare(e, &index);
        }
    }
}
