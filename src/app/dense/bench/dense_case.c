/* app/dense/bench/dense_case.c: measuring the passes of one layer; see app/dense/bench/bench_dense.h. Memory: x, y and
 * their gradients on host and device, and three times the weights. */
#include <assert.h>

#include "app/dense/bench/bench_dense.h"
#include "base/alloc.h"
#include "base/half.h"

enum { SAMPLES = 48 };

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

static weft_status make(dense_case *c, int operand, int64_t rows, int64_t cols)
{
    const bool values = operand == X || operand == DY || operand == Y || operand == DX;
    if (!c->shape.bias && (operand == BIAS || operand == DBIAS)) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(c->hal, values ? c->shape.dtype : WEFT_DTYPE_F32, rows, cols, WEFT_MEM_WORKSPACE,
                           &c->t[operand]));
    if (operand >= Y) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&c->host[operand], rows * cols, WEFT_MEM_WORKSPACE));
    return fill(&c->t[operand], operand, c->host[operand]);
}

static weft_status open_case(dense_case *c, bool linear, int64_t few)
{
    const hal_conv_shape *s = &c->shape;
    int64_t extent[2], most = 0;
    assert(c->batch > 0 && few >= 0 && few <= c->batch);
    hal_conv_extent(s, extent);
    const int64_t in = c->batch * s->height * s->width, out = c->batch * extent[0] * extent[1];
    const int64_t rows[OPERANDS] = {in, s->out, 1, out, out, in, s->out, 1};
    const int64_t cols[OPERANDS] = {s->in, hal_conv_terms(s), s->out, s->out, s->out, s->in, hal_conv_terms(s), s->out};
    for (int i = 0; i < OPERANDS; ++i) {
        WEFT_TRY(make(c, i, rows[i], cols[i]));
        most = rows[i] * cols[i] > most ? rows[i] * cols[i] : most;
    }
    WEFT_TRY(weft_malloc((size_t)most, sizeof(float), WEFT_MEM_WORKSPACE, &c->given));
    if (!linear) {
        const int64_t sizes[2] = {c->batch, few};
        WEFT_TRY(c->hal->image.conv_create(c->hal, s, sizes, few > 0 ? 2 : 1, &c->conv));
        c->info = c->hal->image.conv_info(c->hal, c->conv);
    }
    return WEFT_OK;
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
    assert(c->images <= c->batch && t->rows % c->batch == 0);
    return tensor_view(t, 0, t->rows / c->batch * c->images, 0, t->cols);
}

static weft_status run_conv(const dense_case *c)
{
    const weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY);
    const hal_mat weight = tensor_mat(&c->t[WEIGHT]), bias = tensor_mat(&c->t[BIAS]);
    const hal_mat dweight = tensor_mat(&c->t[DWEIGHT]), dbias = tensor_mat(&c->t[DBIAS]);
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
    weft_tensor x = head(c, X), y = head(c, Y), dx = head(c, DX), dy = head(c, DY), *t = c->t;
    const weft_tensor *bias = c->shape.bias ? &t[BIAS] : NULL;
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

/* The whole batch last: that is what is checked. few: images of the small batch, one a thread; 0: there is none. */
static weft_status measure(dense_bench *b, const dense_layers *layers, dense_case *c, int64_t few)
{
    static const char *const names[DENSE_PASSES] = {"forward", "data", "weights"};
    static const int given[DENSE_PASSES] = {Y, DX, DWEIGHT};
    const double flops = flops_of(&c->shape, c->batch);
    const weft_tensor *to = &c->t[given[c->pass]];
    const int64_t elements = to->rows * to->cols;
    bench_case whole = {.side = {run_once, c, NULL},
                        .result = to,
                        .host = c->given,
                        .samples = SAMPLES < elements ? SAMPLES : elements,
                        .elements = elements,
                        .element = bench_dense_element,
                        .flops = c->shape.dtype == WEFT_DTYPE_F32 ? flops : 0.0};
    bench_result result;
    double peak = 0.0;
    snprintf(whole.what, sizeof whole.what, "%s of %s", names[c->pass], layers->first);
    if (few > 0) {
        bench_pair time;
        c->images = few;
        WEFT_TRY(bench_time(NULL, &whole.side, NULL, b->run.repeats, &time));
        peak = flops_of(&c->shape, few) / time.seconds.least;
    }
    c->images = c->batch;
    WEFT_TRY(bench_measure(&b->run, &whole, &result));
    peak = fmax(peak, flops / result.time.seconds.least);
    return bench_dense_add(b, layers, names[c->pass], flops, peak, &result);
}

weft_status bench_dense_layers(dense_bench *b, const dense_layers *layers)
{
    dense_case c = {.hal = b->run.team->hal, .shape = layers->shape, .batch = b->images};
    const int64_t few = c.hal->threads < c.batch ? c.hal->threads : 0;
    weft_status status = open_case(&c, layers->linear, few);
    for (int pass = 0; pass < DENSE_PASSES && status == WEFT_OK; ++pass) {
        c.pass = (dense_pass)pass;
        if (c.pass != DENSE_BACKWARD_DATA || c.shape.backward_data) { /* the network does without it at its input */
            status = measure(b, layers, &c, few);
        }
    }
    close_case(&c);
    return status;
}
