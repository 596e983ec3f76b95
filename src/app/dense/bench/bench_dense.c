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
 */
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

/* ---- the network --------------------------------------------------------------------------------------------- */

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
    net_zoo_usual(model, &input, &classes);
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

/* ---- the table ----------------------------------------------------------------------------------------------- */
weft_status bench_dense_add(dense_bench *b, const dense_layers *layers, const char *pass, double flops, double peak,
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

/* A step whose layers are right is wrong where its loss is no number. */
weft_status bench_dense_whole(dense_bench *b)
{
    bench_result result;
    char what[BENCH_WHAT_BYTES];
    double loss = 0.0;
    WEFT_TRY(bench_dense_step(b, &result.time, &loss));
    result.error = b->valid && isfinite(loss) ? 0.0 : (double)INFINITY;
    snprintf(what, sizeof what, "step of %s", b->net.name);
    WEFT_TRY(bench_judge(&b->run, what, &result));
    result.error = (double)NAN; /* there is no such figure */
    return bench_dense_add(b, &b->all, "step", b->flops, b->flops / b->seconds_at_peak, &result);
}

/* Between the layers; without knowledge of a backend, the most that one needs. */
static weft_status check_memory(const dense_bench *b)
{
    const int64_t need = dense_model_arena_bytes(NULL, &b->config, WEFT_DTYPE_F32);
    memory_plan plan = {
        .peak = (uint64_t)need, .device = (uint64_t)need, .cure = FLAG_BATCH_SIZE " takes fewer images"};
    return need < 0 ? weft_error_code() : memory_plan_check(b->run.context, &plan, 0);
}

static weft_status enter(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    const weft_hal *hal = run->context->hal;
    const char *word = option_value_text(run->options, OPT_PRECISION);
    WEFT_CHECK(precision_is_native(hal, b->config.values), WEFT_ERR_UNSUPPORTED,
               "%s %s: backend %s on this processor has no products of %s", FLAG_PRECISION, word, hal->name, word);
    b->flops = b->seconds_at_peak = 0.0;
    b->valid = true;
    return check_memory(b);
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

const bench_kind bench_dense = {BENCH_ROWS(dense_row),
                                .bytes = sizeof(dense_bench),
                                .case_bytes = sizeof(dense_case),
                                .begin = begin,
                                .enter = enter,
                                .open = bench_dense_open,
                                .measure = bench_dense_measure,
                                .close = bench_dense_close,
                                .end = end};
