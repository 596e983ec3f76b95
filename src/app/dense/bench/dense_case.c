/*
 * app/dense/bench/dense_case.c: measuring the passes of one layer of `weft bench dense`; see
 * app/dense/bench/bench_dense.h.
 *
 * Memory: x, y and their gradients on host and device, and three times the weights.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/dense/bench/bench_dense.h"
#include "base/half.h"
#include "tensor/tensor.h"

/* Operands of a layer; those before Y are inputs, which are filled and kept on the host too. */
enum { X, WEIGHT, BIAS, DY, Y, DX, DWEIGHT, DBIAS, OPERANDS };

typedef struct dense_case {
    weft_hal *hal;
    const dense_question *question;
    hal_conv *conv; /* NULL: a linear layer */
    weft_tensor t[OPERANDS];
    float *host[Y];
    void *given;    /* what a pass gave */
    int64_t images; /* of the runs under way */
    dense_pass pass;
} dense_case;

/* Values in [-1, 1) that bfloat16 holds, the same on every machine. */
static weft_status fill(weft_tensor *t, int salt, float *values)
{
    const int64_t count = t->rows * t->cols;
    uint16_t *narrow = NULL;
    bench_fill(salt, values, count);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = floorf(values[i] * 128.0F) / 128.0F;
    }
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

static weft_status make(dense_case *c, int operand, weft_dtype dtype, int64_t rows, int64_t cols)
{
    WEFT_TRY(tensor_create(c->hal, dtype, rows, cols, WEFT_MEM_WORKSPACE, &c->t[operand]));
    if (operand >= Y) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&c->host[operand], rows * cols, WEFT_MEM_WORKSPACE));
    return fill(&c->t[operand], operand, c->host[operand]);
}

static weft_status open_case(dense_case *c)
{
    const dense_question *q = c->question;
    const hal_conv_shape *s = &q->shape;
    int64_t extent[2], most = 0;
    assert(q->images > 0 && q->few >= 0 && q->few <= q->images);
    hal_conv_extent(s, extent);
    const int64_t in = q->images * s->height * s->width, out = q->images * extent[0] * extent[1];
    const int64_t rows[OPERANDS] = {in, s->out, 1, out, out, in, s->out, 1};
    const int64_t cols[OPERANDS] = {s->in, hal_conv_terms(s), s->out, s->out, s->out, s->in, hal_conv_terms(s), s->out};
    for (int i = 0; i < OPERANDS; ++i) {
        const bool values = i == X || i == DY || i == Y || i == DX;
        if (s->bias || (i != BIAS && i != DBIAS)) {
            WEFT_TRY(make(c, i, values ? s->dtype : WEFT_DTYPE_F32, rows[i], cols[i]));
        }
        most = rows[i] * cols[i] > most ? rows[i] * cols[i] : most;
    }
    WEFT_TRY(weft_malloc((size_t)most, sizeof(float), WEFT_MEM_WORKSPACE, &c->given));
    const int64_t sizes[2] = {q->images, q->few};
    return q->linear ? WEFT_OK : c->hal->image.conv_create(c->hal, s, sizes, q->few > 0 ? 2 : 1, &c->conv);
}

static void close_case(dense_case *c)
{
    for (int i = 0; i < OPERANDS; ++i) {
        tensor_destroy(&c->t[i]);
        weft_free(i < Y ? c->host[i] : NULL);
    }
    weft_free(c->given);
    if (c->conv != NULL) {
        c->hal->image.conv_destroy(c->hal, c->conv);
    }
}

/* ---- one run ---- */

/* The rows of as many images as the runs have. */
static weft_tensor head(const dense_case *c, int operand)
{
    const weft_tensor *t = &c->t[operand];
    assert(c->images <= c->question->images && t->rows % c->question->images == 0);
    return tensor_view(t, 0, t->rows / c->question->images * c->images, 0, t->cols);
}

static weft_status run_conv(const dense_case *c)
{
    const weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY);
    switch (c->pass) {
    case DENSE_FORWARD:
        return hal_conv_forward(c->hal, &(hal_conv_forward_args){.x = tensor_mat(&x),
                                                                 .weight = tensor_mat(&c->t[WEIGHT]),
                                                                 .bias = tensor_mat(&c->t[BIAS]),
                                                                 .y = tensor_mat(&y),
                                                                 .conv = c->conv});
    case DENSE_BACKWARD_DATA:
        return hal_conv_backward_data(c->hal, &(hal_conv_backward_data_args){.dy = tensor_mat(&dy),
                                                                             .weight = tensor_mat(&c->t[WEIGHT]),
                                                                             .dx = tensor_mat(&dx),
                                                                             .conv = c->conv});
    default:
        return hal_conv_backward_weights(c->hal,
                                         &(hal_conv_backward_weights_args){.x = tensor_mat(&x),
                                                                           .dy = tensor_mat(&dy),
                                                                           .dweight = tensor_mat(&c->t[DWEIGHT]),
                                                                           .dbias = tensor_mat(&c->t[DBIAS]),
                                                                           .conv = c->conv});
    }
}

static weft_status run_linear(dense_case *c)
{
    weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY), *t = c->t;
    const weft_tensor *bias = c->question->shape.bias ? &t[BIAS] : NULL;
    switch (c->pass) {
    case DENSE_FORWARD:
        return tensor_gemm(&(tensor_product){.a = &x, .b = &t[WEIGHT], .bias = bias, .trans_b = true}, &y);
    case DENSE_BACKWARD_DATA:
        return tensor_gemm(&(tensor_product){.a = &dy, .b = &t[WEIGHT]}, &dx);
    default:
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dy, .b = &x, .trans_a = true}, &t[DWEIGHT]));
        return bias != NULL ? tensor_col_sum(&dy, 0.0, &t[DBIAS]) : WEFT_OK;
    }
}

static weft_status run_once(void *self)
{
    dense_case *c = self;
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

static weft_status check(void *self, double *error)
{
    static const int given[DENSE_PASSES] = {Y, DX, DWEIGHT};
    const dense_case *c = self;
    const dense_operands operands = {
        .x = c->host[X], .weight = c->host[WEIGHT], .bias = c->host[BIAS], .dy = c->host[DY]};
    dense_question asked = *c->question;
    if (c->conv != NULL) {
        const hal_conv_info info = c->hal->image.conv_info(c->hal, c->conv);
        asked.rounds_sums = info.rounds_sums;
        asked.rounds_gradient = info.rounds_gradient;
        asked.shape.winograd = info.winograd;
    }
    WEFT_TRY(tensor_download(&c->t[given[c->pass]], c->given));
    *error = bench_dense_error(&asked, c->pass, &operands, c->given);
    return WEFT_OK;
}

/* The whole batch last: that is what is checked. */
static weft_status measure(dense_case *c, bench_run *run, const char *name, dense_result *result)
{
    const dense_question *q = c->question;
    const bench_side side = {run_once, c, NULL};
    const double flops = result->flops = flops_of(&q->shape, q->images);
    bench_case whole = {.side = side, .check = check, .flops = q->shape.dtype == WEFT_DTYPE_F32 ? flops : 0.0};
    bench_pair few;
    snprintf(whole.what, sizeof whole.what, "%s of %s", dense_pass_names[c->pass], name);
    if (q->few > 0) {
        c->images = q->few;
        WEFT_TRY(bench_time(NULL, &side, NULL, run->repeats, &few));
        result->peak = flops_of(&q->shape, q->few) / few.seconds.least;
    }
    c->images = q->images;
    WEFT_TRY(bench_measure(run, &whole, &result->run));
    result->peak = fmax(result->peak, flops / result->run.time.seconds.least);
    return WEFT_OK;
}

static weft_status run_passes(dense_case *c, bench_run *run, const char *name, dense_result result[DENSE_PASSES])
{
    WEFT_TRY(open_case(c));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        c->pass = (dense_pass)pass;
        if (c->pass != DENSE_BACKWARD_DATA || c->question->shape.backward_data) {
            WEFT_TRY(measure(c, run, name, &result[pass]));
        }
    }
    return WEFT_OK;
}

weft_status bench_dense_case(bench_run *run, const char *name, const dense_question *question,
                             dense_result result[DENSE_PASSES])
{
    dense_case c = {.hal = run->team->hal, .question = question};
    memset(result, 0, DENSE_PASSES * sizeof *result);
    const weft_status status = run_passes(&c, run, name, result);
    close_case(&c);
    return status;
}
