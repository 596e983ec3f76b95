/*
 * app/dense/bench/bench_dense.c: weft bench dense: the rate of each convolution and linear layer of a network, and of
 * its whole training step.
 *
 *      weft bench dense --model resnet-50 --batch-size 32 --precision bf16 --thread-counts 1,2
 *
 * A row a number of threads, shape of layers (`layers` of them have it, `layer` is the first) and pass, with the rate
 * beside the pass's own peak and, for float32, beside a large square product. The peak of a pass is the best rate at
 * which its own primitive was seen alone: the fastest repetition of all, with the whole batch, and with an image a
 * thread, whose operands stay in the caches where they fit. The last
 * row is the whole step: the operations of its convolutions and linear layers over the time of everything in it. Its
 * peak is the rate of a step that ran each of them at its own peak and nothing else, so percent_of_peak tells how much
 * of a step convolutions at their best would take. Each result is checked before its rate is printed
 * (app/dense/bench/dense_check.c); a wrong one gets no rate, the step neither, and the command ends with exit code 70.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "app/dense/bench/bench_dense.h"
#include "app/dense/options/dense_options.h"
#include "app/workload/precision.h"
#include "dense/dense_options.def"
#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"

enum { SHAPE_BYTES = 128 };

/* clang-format off */
#define DENSE_HEAD(C)                                                                                                  \
    C(TEXT, bench, true) C(TEXT, backend, true) C(TEXT, network, true) C(INT, batch, true) C(TEXT, precision, true)    \
    C(INT, warmup, true) C(INT, repeats, true)
/* clang-format on */
TABLE_ROW(dense_head, DENSE_HEAD);

/* clang-format off */
#define DENSE_ROW(C)                                                                                                   \
    C(TEXT, layer, true) C(INT, layers, true) C(TEXT, shape, true) C(TEXT, pass, true) C(INT, threads, true)           \
    C(INT, images, false) BENCH_SECONDS(C) C(REAL, gflop, false) C(REAL, gflop_per_s, true)                            \
    C(REAL, peak_gflop_per_s, true) C(REAL, percent_of_peak, true) C(REAL, gemm_flop_per_s, false)                     \
    C(REAL, percent_of_gemm, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(dense_row, DENSE_ROW);

/* Layers of one shape. */
typedef struct dense_layers {
    const char *first; /* its name */
    int count;
    char text[SHAPE_BYTES]; /* of the shape: what is alike reads alike */
    hal_conv_shape shape;   /* a linear layer is a convolution of images of one pixel */
    bool linear;
} dense_layers;

/* Over the passes of all layers so far. */
typedef struct dense_sums {
    double flops, seconds_at_peak;
    bool valid;
} dense_sums;

typedef struct dense_bench {
    bench_run run;
    network net;
    unit_list list;
    dense_layers *layers; /* [kinds] */
    int kinds;
    dense_layers all; /* the whole step */
    int64_t images;
    dense_config config;
} dense_bench;

/* ---- the network --------------------------------------------------------------------------------------------- */
static void append(char text[SHAPE_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char text[SHAPE_BYTES], const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, SHAPE_BYTES - used, format, args);
    va_end(args);
}

static void append_pair(char text[SHAPE_BYTES], const char *name, const int64_t pair[2], int64_t usual)
{
    if (pair[0] != pair[1]) {
        append(text, " %s %" PRId64 "x%" PRId64, name, pair[0], pair[1]);
    } else if (pair[0] != usual) {
        append(text, " %s %" PRId64, name, pair[0]);
    }
}

/* "56x56x64 to 64 kernel 3 pad 1 relu": all that tells one convolution from another; the usual is left out. */
static void describe(const hal_conv_shape *s, char text[SHAPE_BYTES])
{
    snprintf(text, SHAPE_BYTES, "%" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64, s->height, s->width, s->in, s->out);
    append_pair(text, "kernel", s->kernel, 1);
    append_pair(text, "stride", s->stride, 1);
    append_pair(text, "pad", (int64_t[]){s->pad[0][0], s->pad[1][0]}, 0);
    append_pair(text, "dilation", s->dilation, 1);
    append_pair(text, "groups", (int64_t[]){s->groups, s->groups}, 1);
    append(text, "%s%s", s->bias ? " bias" : "", s->relu ? " relu" : "");
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
static weft_status add_row(dense_bench *b, const dense_layers *layers, const char *pass, double flops, double best,
                           const bench_result *r)
{
    /* Products of bfloat16 have no such limit. */
    const double gemm = layers->shape.dtype == WEFT_DTYPE_F32 ? b->run.team->limits.gemm : (double)NAN;
    const double rate = flops / r->time.seconds.median;
    const double peak = r->valid ? best : (double)NAN;
    return bench_add(&b->run, &(dense_row){.layer = layers->first,
                                           .layers = layers->count,
                                           .shape = layers->text,
                                           .pass = pass,
                                           .threads = b->run.team->place.threads,
                                           .images = b->images,
                                           BENCH_TIMES(r->time.seconds),
                                           .gflop = flops * 1e-9,
                                           .gflop_per_s = rate * 1e-9,
                                           .peak_gflop_per_s = peak * 1e-9,
                                           .percent_of_peak = 100.0 * rate / peak,
                                           .gemm_flop_per_s = gemm,
                                           .percent_of_gemm = 100.0 * rate / gemm,
                                           .error = r->error,
                                           .valid = r->valid});
}

static weft_status run_layers(dense_bench *b, const dense_layers *layers, dense_sums *sums)
{
    const int threads = b->run.team->hal->threads;
    const double flops = bench_dense_flops(&layers->shape, b->images);
    dense_case c = {.hal = b->run.team->hal, .shape = layers->shape, .batch = b->images};
    bench_result result[DENSE_PASSES];
    double peak[DENSE_PASSES];
    WEFT_TRY(
        bench_dense_case(&b->run, layers->first, &c, layers->linear, threads < b->images ? threads : 0, result, peak));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        if (result[pass].time.seconds.count > 0) {
            sums->flops += layers->count * flops;
            sums->seconds_at_peak += layers->count * flops / peak[pass];
            sums->valid = sums->valid && result[pass].valid;
            WEFT_TRY(add_row(b, layers, dense_pass_names[pass], flops, peak[pass], &result[pass]));
        }
    }
    return WEFT_OK;
}

/* A step whose layers are right is wrong where its loss is no number. */
static weft_status run_step(dense_bench *b, const dense_sums *sums)
{
    bench_result result;
    char what[200];
    double loss = 0.0;
    WEFT_TRY(bench_dense_step(&b->run, &b->config, &result.time, &loss));
    result.error = sums->valid && isfinite(loss) ? 0.0 : (double)INFINITY;
    snprintf(what, sizeof what, "step of %s", b->net.name);
    bench_judge(&b->run, what, &result);
    result.error = (double)NAN; /* there is no such figure */
    return add_row(b, &b->all, "step", sums->flops, sums->flops / sums->seconds_at_peak, &result);
}

static weft_status check_memory(const dense_bench *b)
{
    const int64_t need = dense_model_arena_bytes(NULL, &b->config, WEFT_DTYPE_F32);
    const uint64_t have = placement_memory_available();
    if (need < 0) {
        return weft_error_code();
    }
    WEFT_CHECK((double)need <= 0.95 * (double)have, WEFT_ERR_RESOURCE,
               "a batch of %" PRId64 " images needs %.2f GiB between the layers of %s, %.2f GiB are available: "
               "%s takes fewer",
               b->images, (double)need * 0x1p-30, b->net.name, (double)have * 0x1p-30, FLAG_BATCH_SIZE);
    return WEFT_OK;
}

static weft_status measure(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    const weft_hal *hal = run->team->hal;
    dense_sums sums = {.valid = true};
    const char *word = option_value_text(run->options, OPT_PRECISION);
    WEFT_CHECK(precision_is_native(hal, b->config.values), WEFT_ERR_UNSUPPORTED,
               "%s %s: backend %s on this processor has no products of %s", FLAG_PRECISION, word, hal->name, word);
    WEFT_TRY(check_memory(b));
    for (int i = 0; i < b->kinds; ++i) {
        WEFT_TRY(run_layers(b, &b->layers[i], &sums));
    }
    return run_step(b, &sums);
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
    return bench_begin(run, &(bench_table){BENCH_HEAD(dense_head), BENCH_ROWS(dense_row),
                                           .head = &(dense_head){.bench = run->name,
                                                                 .backend = option_text(o, OPT_BACKEND),
                                                                 .network = b->net.name,
                                                                 .batch = b->images,
                                                                 .precision = option_value_text(o, OPT_PRECISION),
                                                                 .warmup = 1,
                                                                 .repeats = run->repeats},
                                           .cases = b->kinds * DENSE_PASSES + 1});
}

static void end(bench_run *run)
{
    dense_bench *b = (dense_bench *)run;
    weft_free(b->layers);
    units_destroy(&b->list);
    net_destroy(&b->net);
}

const bench_kind bench_dense = {.bytes = sizeof(dense_bench), .begin = begin, .measure = measure, .end = end};
