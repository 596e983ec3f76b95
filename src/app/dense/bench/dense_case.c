/*
 * app/dense/bench/dense_case.c: measuring the passes of one layer of `weft bench dense`; see
 * app/dense/bench/bench_dense.h.
 *
 * Memory: x, y and their gradients on host and device, and three times the weights.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/dense/bench/bench_dense.h"
#include "base/half.h"
#include "tensor/tensor.h"

typedef struct dense_case {
    weft_hal *hal;
    const dense_question *question;
    hal_conv *conv; /* NULL: a linear layer */
    weft_tensor x, y, dx, dy, weight, bias, dweight, dbias;
    float *host[4]; /* of x, weight, bias, dy */
    void *given;    /* what a pass gave */
    int64_t images; /* of the runs under way */
    dense_pass pass;
} dense_case;

/* Values in [-1, 1) that bfloat16 holds, the same on every machine. */
static void fill(float *x, int64_t count, uint64_t salt)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = ((uint64_t)i + salt) * 0x9E3779B97F4A7C15U;
        bits ^= bits >> 29;
        x[i] = (float)(bits * 0xBF58476D1CE4E5B9U >> 56) * 0x1p-7F - 1.0F;
    }
}

static weft_status upload(weft_tensor *t, const float *values)
{
    const int64_t count = t->rows * t->cols;
    uint16_t *narrow = NULL;
    if (!hal_is_half(t->dtype)) {
        return tensor_upload(t, values);
    }
    WEFT_TRY(WEFT_NEW(&narrow, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        narrow[i] = t->dtype == WEFT_DTYPE_BF16 ? bf16_from_float(values[i]) : fp16_from_float(values[i]);
    }
    const weft_status status = tensor_upload(t, narrow);
    weft_free(narrow);
    return status;
}

static weft_status make(dense_case *c, weft_dtype dtype, int64_t rows, int64_t cols, weft_tensor *t)
{
    return tensor_create(c->hal, dtype, rows, cols, WEFT_MEM_WORKSPACE, t);
}

static weft_status make_filled(dense_case *c, weft_dtype dtype, int64_t rows, int64_t cols, int which, weft_tensor *t)
{
    WEFT_TRY(make(c, dtype, rows, cols, t));
    WEFT_TRY(WEFT_NEW(&c->host[which], rows * cols, WEFT_MEM_WORKSPACE));
    fill(c->host[which], rows * cols, 1 + 76 * (uint64_t)which);
    return upload(t, c->host[which]);
}

static weft_status open_case(dense_case *c)
{
    const dense_question *q = c->question;
    const hal_conv_shape *s = &q->shape;
    assert(q->images > 0 && q->few >= 0 && q->few <= q->images);
    int64_t extent[2];
    hal_conv_extent(s, extent);
    const int64_t in = q->images * s->height * s->width;
    const int64_t out = q->images * extent[0] * extent[1];
    const int64_t terms = hal_conv_terms(s);
    WEFT_TRY(make_filled(c, s->dtype, in, s->in, 0, &c->x));
    WEFT_TRY(make_filled(c, WEFT_DTYPE_F32, s->out, terms, 1, &c->weight));
    if (s->bias) {
        WEFT_TRY(make_filled(c, WEFT_DTYPE_F32, 1, s->out, 2, &c->bias));
        WEFT_TRY(make(c, WEFT_DTYPE_F32, 1, s->out, &c->dbias));
    }
    WEFT_TRY(make_filled(c, s->dtype, out, s->out, 3, &c->dy));
    WEFT_TRY(make(c, s->dtype, out, s->out, &c->y));
    WEFT_TRY(make(c, s->dtype, in, s->in, &c->dx));
    WEFT_TRY(make(c, WEFT_DTYPE_F32, s->out, terms, &c->dweight));
    const int64_t most = out * s->out > in * s->in ? out * s->out : in * s->in;
    WEFT_TRY(weft_malloc((size_t)(most > s->out * terms ? most : s->out * terms), sizeof(float), WEFT_MEM_WORKSPACE,
                         &c->given));
    if (q->linear) {
        return WEFT_OK;
    }
    const int64_t sizes[2] = {q->images, q->few};
    return c->hal->image.conv_create(c->hal, s, sizes, q->few > 0 ? 2 : 1, &c->conv);
}

static void close_case(dense_case *c)
{
    tensor_destroy(&c->x);
    tensor_destroy(&c->y);
    tensor_destroy(&c->dx);
    tensor_destroy(&c->dy);
    tensor_destroy(&c->weight);
    tensor_destroy(&c->bias);
    tensor_destroy(&c->dweight);
    tensor_destroy(&c->dbias);
    for (int i = 0; i < 4; ++i) {
        weft_free(c->host[i]);
    }
    weft_free(c->given);
    if (c->conv != NULL) {
        c->hal->image.conv_destroy(c->hal, c->conv);
    }
}

/* ---- one run ---- */

/* The rows of as many images as the runs have. */
static weft_tensor head(const dense_case *c, const weft_tensor *t)
{
    assert(c->images <= c->question->images && t->rows % c->question->images == 0);
    return tensor_view(t, 0, t->rows / c->question->images * c->images, 0, t->cols);
}

static weft_status run_conv(const dense_case *c)
{
    const weft_tensor x = head(c, &c->x);
    const weft_tensor y = head(c, &c->y);
    const weft_tensor dx = head(c, &c->dx);
    const weft_tensor dy = head(c, &c->dy);
    switch (c->pass) {
    case DENSE_FORWARD:
        return hal_conv_forward(c->hal, &(hal_conv_forward_args){.x = tensor_mat(&x),
                                                                 .weight = tensor_mat(&c->weight),
                                                                 .bias = tensor_mat(&c->bias),
                                                                 .y = tensor_mat(&y),
                                                                 .conv = c->conv});
    case DENSE_BACKWARD_DATA:
        return hal_conv_backward_data(c->hal, &(hal_conv_backward_data_args){.dy = tensor_mat(&dy),
                                                                             .weight = tensor_mat(&c->weight),
                                                                             .dx = tensor_mat(&dx),
                                                                             .conv = c->conv});
    default:
        return hal_conv_backward_weights(c->hal, &(hal_conv_backward_weights_args){.x = tensor_mat(&x),
                                                                                   .dy = tensor_mat(&dy),
                                                                                   .dweight = tensor_mat(&c->dweight),
                                                                                   .dbias = tensor_mat(&c->dbias),
                                                                                   .conv = c->conv});
    }
}

static weft_status run_linear(dense_case *c)
{
    weft_tensor x = head(c, &c->x);
    weft_tensor y = head(c, &c->y);
    weft_tensor dx = head(c, &c->dx);
    weft_tensor dy = head(c, &c->dy);
    const weft_tensor *bias = c->question->shape.bias ? &c->bias : NULL;
    switch (c->pass) {
    case DENSE_FORWARD:
        return tensor_gemm(&(tensor_product){.a = &x, .b = &c->weight, .bias = bias, .trans_b = true}, &y);
    case DENSE_BACKWARD_DATA:
        return tensor_gemm(&(tensor_product){.a = &dy, .b = &c->weight}, &dx);
    default:
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dy, .b = &x, .trans_a = true}, &c->dweight));
        return bias != NULL ? tensor_col_sum(&dy, 0.0, &c->dbias) : WEFT_OK;
    }
}

static weft_status run_once(void *argument)
{
    dense_case *c = argument;
    WEFT_TRY(c->conv != NULL ? run_conv(c) : run_linear(c));
    return c->hal->stream.sync(c->hal);
}

/* ---- a pass ---- */

static double flops_of(const hal_conv_shape *s, int64_t images)
{
    int64_t extent[2];
    hal_conv_extent(s, extent);
    return 2.0 * (double)images * (double)(extent[0] * extent[1]) * (double)s->out * (double)hal_conv_terms(s);
}

/* The whole batch last: that is what is checked. */
static weft_status measure(dense_case *c, dense_result *result)
{
    const dense_question *q = c->question;
    bench_quartiles few;
    if (q->few > 0) {
        c->images = q->few;
        WEFT_TRY(bench_time(run_once, c, q->repeats, &few));
        result->peak = flops_of(&q->shape, q->few) / few.least;
    }
    c->images = q->images;
    WEFT_TRY(bench_time(run_once, c, q->repeats, &result->seconds));
    result->flops = flops_of(&q->shape, q->images);
    result->peak = fmax(result->peak, result->flops / result->seconds.least);
    return WEFT_OK;
}

static weft_status check(dense_case *c, dense_result *result)
{
    const weft_tensor *const given[DENSE_PASSES] = {&c->y, &c->dx, &c->dweight};
    const dense_operands operands = {.x = c->host[0], .weight = c->host[1], .bias = c->host[2], .dy = c->host[3]};
    dense_question asked = *c->question;
    const hal_conv_info info =
        c->conv != NULL ? c->hal->image.conv_info(c->hal, c->conv) : (hal_conv_info){.slow = false};
    asked.shape.winograd = info.winograd;
    asked.rounds_sums = info.rounds_sums;
    asked.rounds_gradient = info.rounds_gradient;
    WEFT_TRY(tensor_download(given[c->pass], c->given));
    result->worst = bench_dense_error(&asked, c->pass, &operands, c->given);
    result->valid = result->worst <= 1.0;
    return WEFT_OK;
}

static weft_status run_passes(dense_case *c, dense_result result[DENSE_PASSES])
{
    WEFT_TRY(open_case(c));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        c->pass = (dense_pass)pass;
        if (c->pass == DENSE_BACKWARD_DATA && !c->question->shape.backward_data) {
            continue;
        }
        WEFT_TRY(measure(c, &result[pass]));
        WEFT_TRY(check(c, &result[pass]));
    }
    return WEFT_OK;
}

weft_status bench_dense_case(weft_hal *hal, const dense_question *question, dense_result result[DENSE_PASSES])
{
    dense_case c = {.hal = hal, .question = question};
    memset(result, 0, DENSE_PASSES * sizeof *result);
    const weft_status status = run_passes(&c, result);
    close_case(&c);
    return status;
}
