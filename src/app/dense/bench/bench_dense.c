/*
 * app/dense/bench/bench_dense.c: weft bench dense: the rate of each convolution and linear layer of a network, and of
 * its whole training step.
 *
 *      weft bench dense --model resnet-50 --batch-size 32 --precision bf16 --thread-counts 1,2
 *
 * A row a number of threads, shape of layers (`layers` of them have it, `layer` is the first) and pass, with the rate
 * beside the pass's own peak and, for float32, beside a large square product. The peak is the fastest repetition of
 * all, with the whole batch, and with an image a thread, whose operands stay in the caches where they fit. The last row
 * is the whole step: the operations of its convolutions and linear layers over the time of everything in it. Its peak
 * is the rate of a step that ran each of them at its own peak and nothing else.
 *
 * Memory: x, y and their gradients of one layer on host and device, and four times its weights.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/dense/bench/bench_dense.h"
#include "app/dense/options/dense_options.h"
#include "app/workload/memory_plan.h"
#include "app/workload/precision.h"
#include "base/text/append.h"
#include "dense/dense_options.def"
#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"

/* clang-format off */
#define DENSE_HEAD(C)                                                                                                  \
    C(TEXT, bench, true) C(TEXT, backend, true) C(TEXT, network, true) C(INT, batch, true) C(TEXT, precision, true)    \
    C(INT, warmup, true) C(INT, repeats, true)
#define DENSE_ROW(C)                                                                                                   \
    C(TEXT, layer, true) C(INT, layers, true) C(TEXT, shape, true) C(TEXT, pass, true) C(INT, threads, true)           \
    C(INT, images, false) BENCH_SECONDS(C) C(REAL, gflop, false) C(REAL, gflop_per_s, true)                            \
    C(REAL, peak_gflop_per_s, true) C(REAL, percent_of_peak, true) C(REAL, gemm_flop_per_s, false)                     \
    C(REAL, percent_of_gemm, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(dense_head, DENSE_HEAD);
TABLE_ROW(dense_row, DENSE_ROW);

enum { SAMPLES = 48 };

/* ---- the network ------------------------------------------------------------------------------------------------- */

static void add_pair(char *text, const char *name, int64_t row, int64_t col, int64_t usual)
{
    if (row != col) {
        text_append(text, DENSE_SHAPE_BYTES, " %s %" PRId64 "x%" PRId64, name, row, col);
    } else if (row != usual) {
        text_append(text, DENSE_SHAPE_BYTES, " %s %" PRId64, name, row);
    }
}

/* "56x56x64 to 64 kernel 3 pad 1 relu": all that tells one convolution from another; the usual is left out. */
static void describe(const hal_conv_shape *s, char text[DENSE_SHAPE_BYTES])
{
    snprintf(text, DENSE_SHAPE_BYTES, "%" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64, s->height, s->width, s->in,
             s->out);
    add_pair(text, "kernel", s->kernel[0], s->kernel[1], 1);
    add_pair(text, "stride", s->stride[0], s->stride[1], 1);
    add_pair(text, "pad", s->pad[0][0], s->pad[1][0], 0);
    add_pair(text, "dilation", s->dilation[0], s->dilation[1], 1);
    add_pair(text, "groups", s->groups, s->groups, 1);
    text_append(text, DENSE_SHAPE_BYTES, "%s%s", s->bias ? " bias" : "", s->relu ? " relu" : "");
}

static void add_layer(dense_bench *b, const unit *u)
{
    dense_layers *added = &b->layers[b->kinds];
    const bool linear = u->kind == UNIT_LINEAR;
    added->linear = linear;
    added->shape = dense_conv_shape(&b->config, &b->list, u, linear ? WEFT_DTYPE_F32 : b->config.values);
    describe(&added->shape, added->text);
    for (int i = 0; i < b->kinds; ++i) {
        dense_layers *seen = &b->layers[i];
        if (strcmp(seen->text, added->text) == 0 && seen->linear == linear &&
            seen->shape.backward_data == added->shape.backward_data) {
            seen->count += 1;
            return;
        }
    }
    added->first = u->layer->name;
    added->count = 1;
    b->kinds += 1;
}

static weft_status find_layers(dense_bench *b)
{
    const char *model = option_text(b->run.options, OPT_MODEL);
    net_size input = {32, 32, 3};
    int64_t classes = 10;
    WEFT_CHECK(!option_is_auto(b->run.options, OPT_MODEL), WEFT_ERR_USAGE,
               "weft bench dense: name a network: --model resnet-50, another of weft info, or a file .net");
    WEFT_TRY(net_open(model, &b->net));
    net_zoo_usual(model, &input, &b->net.words, &classes);
    WEFT_TRY(net_fit(&b->net, b->net.input.height > 0 ? b->net.input : input, classes));
    WEFT_TRY(units_create(&b->net, &b->list));
    WEFT_TRY(WEFT_NEW_ZERO(&b->layers, b->list.units, WEFT_MEM_GENERAL));
    b->all = (dense_layers){.first = b->net.name, .shape.dtype = b->config.values};
    for (int i = 0; i < b->list.units; ++i) {
        const unit_kind kind = b->list.unit[i].kind;
        if (kind == UNIT_CONV || kind == UNIT_LINEAR) {
            add_layer(b, &b->list.unit[i]);
            b->all.count += 1;
        }
    }
    return WEFT_OK;
}

/* ---- a layer ----------------------------------------------------------------------------------------------------- */

/* Values in [-1, 1) that bfloat16 holds, the same on every machine. */
static void fill(int salt, float *values, int64_t count)
{
    bench_fill(salt, values, count);
    for (int64_t i = 0; i < count; ++i) {
        values[i] = floorf(values[i] * 128.0F) / 128.0F;
    }
}

static bool is_value(int operand)
{
    return operand == X || operand == DY || operand == Y || operand == DX;
}

static weft_status make(dense_case *c, int operand, int64_t rows, int64_t cols)
{
    bench_array *a = &c->a[operand];
    if (!c->shape.bias && (operand == BIAS || operand == DBIAS)) {
        return WEFT_OK;
    }
    WEFT_TRY(bench_array_create(c->hal, is_value(operand) ? c->shape.dtype : WEFT_DTYPE_F32, rows, cols, a));
    if (operand >= Y) {
        return WEFT_OK;
    }
    fill(operand, a->host, rows * cols);
    return bench_array_copy(a, BENCH_UP);
}

static weft_status open_case(bench_run *run, void *self)
{
    const dense_bench *b = (const dense_bench *)run;
    dense_case *c = self;
    if (run->at[0] == b->kinds) {
        return WEFT_OK;
    }
    const dense_layers *layers = &b->layers[run->at[0]];
    const hal_conv_shape *s = &layers->shape;
    *c = (dense_case){.hal = run->context->hal, .layers = layers, .shape = *s, .batch = b->images};
    assert(c->batch > 0);
    c->few = c->hal->threads < c->batch ? c->hal->threads : 0;
    hal_conv_extent(s, c->extent);
    const int64_t in = c->batch * s->height * s->width, out = c->batch * c->extent[0] * c->extent[1];
    const int64_t rows[OPERANDS] = {in, s->out, 1, out, out, in, s->out, 1};
    const int64_t cols[OPERANDS] = {s->in, hal_conv_terms(s), s->out, s->out, s->out, s->in, hal_conv_terms(s), s->out};
    for (int i = 0; i < OPERANDS; ++i) {
        WEFT_TRY(make(c, i, rows[i], cols[i]));
    }
    if (!layers->linear) {
        const int64_t sizes[2] = {c->batch, c->few};
        WEFT_TRY(c->hal->image.conv_create(c->hal, s, sizes, c->few > 0 ? 2 : 1, &c->conv));
        c->info = c->hal->image.conv_info(c->hal, c->conv);
    }
    return WEFT_OK;
}

static void close_case(void *self)
{
    dense_case *c = self;
    for (int i = 0; i < OPERANDS; ++i) {
        bench_array_free(&c->a[i]);
    }
    if (c->conv != NULL) {
        c->hal->image.conv_destroy(c->hal, c->conv);
    }
}

/* An operand; of values the rows of as many images as the runs have. */
static weft_tensor part_of(const dense_case *c, int operand)
{
    const weft_tensor *t = &c->a[operand].on;
    assert(c->images <= c->batch);
    return tensor_view(t, 0, is_value(operand) ? t->rows / c->batch * c->images : t->rows, 0, t->cols);
}

static weft_status run_conv(const dense_case *c, const weft_tensor t[OPERANDS])
{
    hal_mat m[OPERANDS];
    for (int i = 0; i < OPERANDS; ++i) {
        m[i] = tensor_mat(&t[i]);
    }
    const hal_conv_forward_args forward = {.x = m[X], .weight = m[WEIGHT], .bias = m[BIAS], .y = m[Y], .conv = c->conv};
    const hal_conv_backward_data_args data = {.dy = m[DY], .weight = m[WEIGHT], .dx = m[DX], .conv = c->conv};
    const hal_conv_backward_weights_args weights = {
        .x = m[X], .dy = m[DY], .dweight = m[DWEIGHT], .dbias = m[DBIAS], .conv = c->conv};
    return c->pass == DENSE_FORWARD         ? hal_conv_forward(c->hal, &forward)
           : c->pass == DENSE_BACKWARD_DATA ? hal_conv_backward_data(c->hal, &data)
                                            : hal_conv_backward_weights(c->hal, &weights);
}

static weft_status run_linear(const dense_case *c, weft_tensor t[OPERANDS])
{
    const weft_tensor *bias = c->shape.bias ? &t[BIAS] : NULL;
    switch (c->pass) {
    case DENSE_FORWARD:
        return tensor_gemm(&(tensor_product){.a = &t[X], .b = &t[WEIGHT], .bias = bias, .trans_b = true}, &t[Y]);
    case DENSE_BACKWARD_DATA:
        return tensor_gemm(&(tensor_product){.a = &t[DY], .b = &t[WEIGHT]}, &t[DX]);
    default:
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &t[DY], .b = &t[X], .trans_a = true}, &t[DWEIGHT]));
        return bias != NULL ? tensor_col_sum(&t[DY], 0.0, &t[DBIAS]) : WEFT_OK;
    }
}

static weft_status run_once(void *self)
{
    const dense_case *c = self;
    weft_tensor t[OPERANDS];
    for (int i = 0; i < OPERANDS; ++i) {
        t[i] = part_of(c, i);
    }
    WEFT_TRY(c->conv != NULL ? run_conv(c, t) : run_linear(c, t));
    return c->hal->stream.sync(c->hal);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static weft_status add_row(dense_bench *b, const dense_layers *layers, const char *pass, double flops, double peak,
                           const bench_result *result)
{
    /* Products of bfloat16 have no such limit. */
    const double gemm = layers->shape.dtype == WEFT_DTYPE_F32 ? b->run.limits.gemm : (double)NAN;
    const double rate = flops / result->time.seconds.median;
    b->flops += layers->count * flops;
    b->seconds_at_peak += layers->count * flops / peak;
    b->valid = b->valid && result->valid;
    peak = result->valid ? peak : (double)NAN;
    return bench_add(&b->run,
                     &(dense_row){BENCH_RESULT(result), .layer = layers->first, .layers = layers->count,
                                  .shape = layers->text, .pass = pass, .threads = b->run.context->placement.threads,
                                  .images = b->images, .gflop = flops * 1e-9, .gflop_per_s = rate * 1e-9,
                                  .peak_gflop_per_s = peak * 1e-9, .percent_of_peak = 100.0 * rate / peak,
                                  .gemm_flop_per_s = gemm, .percent_of_gemm = 100.0 * rate / gemm});
}

static double flops_of(const dense_case *c, int64_t images)
{
    const double places = (double)(images * c->extent[0] * c->extent[1]);
    return 2.0 * places * (double)c->shape.out * (double)hal_conv_terms(&c->shape);
}

/* The whole batch last: that is what is checked. */
static weft_status measure_pass(dense_bench *b, dense_case *c)
{
    static const char *const names[DENSE_PASSES] = {"forward", "data", "weights"};
    const double flops = flops_of(c, c->batch);
    const double limited = c->shape.dtype == WEFT_DTYPE_F32 ? flops : 0.0;
    bench_case whole = {BENCH_KERNEL(c, c->to, bench_dense_element, SAMPLES),
                        .elements = c->to->on.rows * c->to->on.cols, .flops = limited};
    bench_result result;
    double peak = 0.0;
    snprintf(b->run.what, sizeof b->run.what, "%s of %s", names[c->pass], c->layers->first);
    c->images = c->few;
    if (c->few > 0) {
        bench_pair time;
        WEFT_TRY(bench_time(b->run.comm, &whole.side, NULL, b->run.repeats, &time));
        peak = flops_of(c, c->few) / time.seconds.least;
    }
    c->images = c->batch;
    WEFT_TRY(bench_measure(&b->run, &whole, &result));
    peak = fmax(peak, flops / result.time.seconds.least);
    return add_row(b, c->layers, names[c->pass], flops, peak, &result);
}

static weft_status measure_step(dense_bench *b)
{
    bench_result result;
    WEFT_TRY(bench_dense_step(b, &result));
    result.error = (double)NAN; /* there is no such figure */
    return add_row(b, &b->all, "step", b->flops, b->flops / b->seconds_at_peak, &result);
}

/* The network does without gradients of its input. */
static weft_status measure(bench_run *run, void *self)
{
    dense_bench *b = (dense_bench *)run;
    dense_case *c = self;
    static const int given[DENSE_PASSES] = {Y, DX, DWEIGHT};
    for (int pass = 0; pass < DENSE_PASSES && c->layers != NULL; ++pass) {
        c->pass = (dense_pass)pass;
        c->to = &c->a[given[pass]];
        WEFT_TRY(c->pass != DENSE_BACKWARD_DATA || c->shape.backward_data ? measure_pass(b, c) : WEFT_OK);
    }
    return c->layers != NULL ? WEFT_OK : measure_step(b);
}

/* ---- the bench --------------------------------------------------------------------------------------------------- */

static weft_status enter(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    const weft_hal *hal = run->context->hal;
    const char *word = option_value_text(run->options, OPT_PRECISION);
    WEFT_CHECK(precision_is_native(hal, b->config.values), WEFT_ERR_UNSUPPORTED,
               "%s %s: backend %s on this processor has no products of %s", FLAG_PRECISION, word, hal->name, word);
    b->flops = b->seconds_at_peak = 0.0;
    b->valid = true;
    /* Between the layers; without knowledge of a backend, the most that one needs. */
    const int64_t need = dense_model_arena_bytes(NULL, &b->config, WEFT_DTYPE_F32);
    memory_plan plan = {
        .peak = (uint64_t)need, .device = (uint64_t)need, .cure = FLAG_BATCH_SIZE " takes fewer images"};
    return need < 0 ? weft_error_code() : memory_plan_check(run->context, &plan, 0);
}

static weft_status begin(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    const weft_options *o = run->options;
    b->images = option_int(o, OPT_BATCH_SIZE);
    b->config = (dense_config){.net = &b->net,
                               .norm = NORM_BATCH,
                               .images = &b->images,
                               .sizes = 1,
                               .training = true,
                               .values = precision_asked(o),
                               .winograd = option_choice(o, OPT_CONVOLUTION) != DENSE_CONVOLUTION_DIRECT};
    WEFT_TRY(find_layers(b));
    run->axis[0].count = b->kinds + 1;
    return BENCH_HEAD(run, dense_head, .bench = run->name, .backend = option_text(o, OPT_BACKEND),
                      .network = b->net.name, .batch = b->images, .precision = option_value_text(o, OPT_PRECISION),
                      .warmup = 1, .repeats = run->repeats);
}

static void end(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    weft_free(b->layers);
    units_destroy(&b->list);
    net_destroy(&b->net);
}

const bench_kind bench_dense = {BENCH_CASES(dense_case, dense_row), .bytes = sizeof(dense_bench), .begin = begin,
                                .enter = enter, .end = end};
