/* app/dense/bench/dense_case.c: measuring the passes of one layer; see app/dense/bench/bench_dense.h. Memory: x, y and
 * their gradients on host and device, and four times the weights. */
#include <assert.h>

#include "app/dense/bench/bench_dense.h"

enum { SAMPLES = 48 };

/* Values in [-1, 1) that bfloat16 holds, the same on every machine. */
static void fill(int salt, float *values, int64_t count)
{
    bench_fill(salt, values, count);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = floorf(values[i] * 128.0F) / 128.0F;
    }
}

static weft_status make(dense_case *c, int operand, int64_t rows, int64_t cols)
{
    const bool values = operand == X || operand == DY || operand == Y || operand == DX;
    bench_array *a = &c->a[operand];
    if (!c->shape.bias && (operand == BIAS || operand == DBIAS)) {
        return WEFT_OK;
    }
    WEFT_TRY(bench_array_create(c->hal, values ? c->shape.dtype : WEFT_DTYPE_F32, rows, cols, a));
    if (operand >= Y) {
        return WEFT_OK;
    }
    fill(operand, a->host, rows * cols);
    return bench_array_upload(a);
}

/* Images of the small batch, one a thread; 0: there is none. */
static int64_t few_images(const dense_case *c)
{
    return c->hal->threads < c->batch ? c->hal->threads : 0;
}

weft_status bench_dense_open(bench_run *run, void *self)
{
    const dense_bench *b = (const dense_bench *)run;
    dense_case *c = self;
    if (run->at[0] == b->kinds) {
        return WEFT_OK;
    }
    const dense_layers *layers = &b->layers[run->at[0]];
    const hal_conv_shape *s = &layers->shape;
    int64_t extent[2];
    *c = (dense_case){.hal = run->context->hal, .layers = layers, .shape = *s, .batch = b->images};
    assert(c->batch > 0);
    hal_conv_extent(s, extent);
    const int64_t in = c->batch * s->height * s->width, out = c->batch * extent[0] * extent[1];
    const int64_t rows[OPERANDS] = {in, s->out, 1, out, out, in, s->out, 1};
    const int64_t cols[OPERANDS] = {s->in, hal_conv_terms(s), s->out, s->out, s->out, s->in, hal_conv_terms(s), s->out};
    for (int i = 0; i < OPERANDS; ++i) {
        WEFT_TRY(make(c, i, rows[i], cols[i]));
    }
    if (!layers->linear) {
        const int64_t sizes[2] = {c->batch, few_images(c)};
        WEFT_TRY(c->hal->image.conv_create(c->hal, s, sizes, sizes[1] > 0 ? 2 : 1, &c->conv));
        c->info = c->hal->image.conv_info(c->hal, c->conv);
    }
    return WEFT_OK;
}

void bench_dense_close(void *self)
{
    dense_case *c = self;
    for (int i = 0; i < OPERANDS; ++i) {
        bench_array_free(&c->a[i]);
    }
    if (c->conv != NULL) {
        c->hal->image.conv_destroy(c->hal, c->conv);
    }
}

/* ---- one run ---- */

/* The rows of as many images as the runs have. */
static weft_tensor head(const dense_case *c, int operand)
{
    const weft_tensor *t = &c->a[operand].on;
    assert(c->images <= c->batch && t->rows % c->batch == 0);
    return tensor_view(t, 0, t->rows / c->batch * c->images, 0, t->cols);
}

static weft_status run_conv(const dense_case *c)
{
    const weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY);
    const hal_mat weight = tensor_mat(&c->a[WEIGHT].on), bias = tensor_mat(&c->a[BIAS].on);
    const hal_mat dweight = tensor_mat(&c->a[DWEIGHT].on), dbias = tensor_mat(&c->a[DBIAS].on);
    switch (c->pass) {
    case DENSE_FORWARD:
        return hal_conv_forward(
            c->hal, &(hal_conv_forward_args){
                        .x = tensor_mat(&x), .weight = weight, .bias = bias, .y = tensor_mat(&y), .conv = c->conv});
    case DENSE_BACKWARD_DATA:
        return hal_conv_backward_data(
            c->hal, &(hal_conv_backward_data_args){
                        .dy = tensor_mat(&dy), .weight = weight, .dx = tensor_mat(&dx), .conv = c->conv});
    default:
        return hal_conv_backward_weights(
            c->hal,
            &(hal_conv_backward_weights_args){
                .x = tensor_mat(&x), .dy = tensor_mat(&dy), .dweight = dweight, .dbias = dbias, .conv = c->conv});
    }
}

static weft_status run_linear(dense_case *c)
{
    weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY);
    const weft_tensor *weight = &c->a[WEIGHT].on, *bias = c->shape.bias ? &c->a[BIAS].on : NULL;
    switch (c->pass) {
    case DENSE_FORWARD:
        return tensor_gemm(&(tensor_product){.a = &x, .b = weight, .bias = bias, .trans_b = true}, &y);
    case DENSE_BACKWARD_DATA:
        return tensor_gemm(&(tensor_product){.a = &dy, .b = weight}, &dx);
    default:
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dy, .b = &x, .trans_a = true}, &c->a[DWEIGHT].on));
        return bias != NULL ? tensor_col_sum(&dy, 0.0, &c->a[DBIAS].on) : WEFT_OK;
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

/* The whole batch last: that is what is checked. */
static weft_status measure(dense_bench *b, dense_case *c)
{
    static const char *const names[DENSE_PASSES] = {"forward", "data", "weights"};
    const double flops = flops_of(&c->shape, c->batch);
    bench_case whole = {.side = {run_once, c, NULL},
                        .result = c->to,
                        .samples = SAMPLES,
                        .elements = c->to->on.rows * c->to->on.cols,
                        .element = bench_dense_element,
                        .flops = c->shape.dtype == WEFT_DTYPE_F32 ? flops : 0.0};
    bench_result result;
    double peak = 0.0;
    snprintf(whole.what, sizeof whole.what, "%s of %s", names[c->pass], c->layers->first);
    c->images = few_images(c);
    if (c->images > 0) {
        bench_pair time;
        WEFT_TRY(bench_time(b->run.comm, &whole.side, NULL, b->run.repeats, &time));
        peak = flops_of(&c->shape, c->images) / time.seconds.least;
    }
    c->images = c->batch;
    WEFT_TRY(bench_measure(&b->run, &whole, &result));
    peak = fmax(peak, flops / result.time.seconds.least);
    return bench_dense_add(b, c->layers, names[c->pass], flops, peak, &result);
}

/* The network does without gradients of its input. */
weft_status bench_dense_measure(bench_run *run, void *self)
{
    dense_bench *b = (dense_bench *)run;
    dense_case *c = self;
    static const int given[DENSE_PASSES] = {Y, DX, DWEIGHT};
    for (int pass = 0; pass < DENSE_PASSES && c->layers != NULL; ++pass) {
        c->pass = (dense_pass)pass;
        c->to = &c->a[given[pass]];
        WEFT_TRY(c->pass != DENSE_BACKWARD_DATA || c->shape.backward_data ? measure(b, c) : WEFT_OK);
    }
    return c->layers != NULL ? WEFT_OK : bench_dense_whole(b);
}
