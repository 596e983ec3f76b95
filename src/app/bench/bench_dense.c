/*
 * app/bench/bench_dense.c: weft bench dense: the rate of each convolution and linear layer of a network, and of its
 * whole training step.
 *
 *      weft bench dense --model resnet-50 --batch-size 32 --precision bf16 --thread-counts 1,2
 *
 * A row a number of threads, shape of layers (`layers` of them have it, `layer` is the first) and pass, with the rate
 * beside the pass's own peak (app/bench/bench_dense.h) and, for float32, beside a large square product. The last row is
 * the whole step: the operations of its convolutions and linear layers over the time of everything in it. Its peak is
 * the rate of a step that ran each of them at its own peak and nothing else, so percent_of_peak tells how much of a
 * step convolutions at their best would take. Each result is checked before its rate is printed
 * (app/bench/dense_check.c); a wrong one gets no rate, the step neither, and the command ends with exit code 70.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "app/bench/bench_dense.h"
#include "app/bench/team.h"
#include "app/dense/dense_options.h"
#include "app/table/grid.h"
#include "app/workload/precision.h"
#include "base/log.h"
#include "dense/dense_options.def"
#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"

enum { SHAPE_BYTES = 128 };
static const char *const pass_names[DENSE_PASSES] = {"forward", "data", "weights"};

static const table_column columns[] = {
    {"layer", CELL_TEXT, true},
    {"layers", CELL_INT, true},
    {"shape", CELL_TEXT, true},
    {"pass", CELL_TEXT, true},
    {"threads", CELL_INT, true},
    {"images", CELL_INT, false},
    {"seconds_median", CELL_REAL, true},
    {"seconds_q1", CELL_REAL, true},
    {"seconds_q3", CELL_REAL, true},
    {"n", CELL_INT, true},
    {"gflop", CELL_REAL, false},
    {"gflop_per_s", CELL_REAL, true},
    {"peak_gflop_per_s", CELL_REAL, true},
    {"percent_of_peak", CELL_REAL, true},
    {"gemm_flop_per_s", CELL_REAL, false},
    {"percent_of_gemm", CELL_REAL, true},
    {"error", CELL_REAL, false},
    {"valid", CELL_VALID, true},
};

/* Layers of one shape. */
typedef struct dense_layers {
    const char *first; /* its name */
    int count;
    char text[SHAPE_BYTES]; /* of the shape: what is alike reads alike */
    dense_question question;
} dense_layers;

/* Over the passes of all layers so far. */
typedef struct dense_sums {
    double flops, seconds_at_peak;
    bool valid;
} dense_sums;

typedef struct dense_bench {
    const weft_options *options;
    network net;
    unit_list list;
    dense_layers *layers;
    int kinds;
    int64_t threads[BENCH_TEAMS_MAX], images;
    int team_count;
    dense_config config;
    bench_team team;
    table_grid head, grid;
    log_progress progress;
    int invalid;
    char first_invalid[320];
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
    added->question =
        (dense_question){.shape = dense_conv_shape(&b->config, &b->list, u, linear ? WEFT_DTYPE_F32 : b->config.values),
                         .linear = linear,
                         .images = b->images,
                         .repeats = (int)option_int(b->options, OPT_REPEATS)};
    describe(&added->question.shape, added->text);
    for (int i = 0; i < b->kinds; ++i) {
        dense_layers *seen = &b->layers[i];
        if (strcmp(seen->text, added->text) == 0 && seen->question.linear == linear &&
            seen->question.shape.backward_data == added->question.shape.backward_data) {
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
    const char *model = option_text(b->options, OPT_MODEL);
    net_size input = {32, 32, 3};
    int64_t classes = 10;
    WEFT_CHECK(!option_is_auto(b->options, OPT_MODEL), WEFT_ERR_USAGE,
               "weft bench dense: name a network: --model resnet-50, another of weft info, or a file .net");
    WEFT_TRY(net_open(model, &b->net));
    net_zoo_usual(model, &input, &classes);
    WEFT_TRY(net_fit(&b->net, b->net.input.height > 0 ? b->net.input : input, classes));
    WEFT_TRY(units_create(&b->net, &b->list));
    WEFT_TRY(WEFT_NEW_ZERO(&b->layers, b->list.units, WEFT_MEM_GENERAL));
    for (int i = 0; i < b->list.units; ++i) {
        const unit_kind kind = b->list.unit[i].kind;
        if (kind == UNIT_CONV || kind == UNIT_LINEAR) {
            add_layer(b, &b->list.unit[i]);
        }
    }
    return WEFT_OK;
}

/* ---- the table ----------------------------------------------------------------------------------------------- */
static void note_invalid(dense_bench *b, const char *layer, const char *pass, double worst)
{
    if (b->invalid++ == 0) {
        snprintf(b->first_invalid, sizeof b->first_invalid, "%s of %s is wrong: an error of %.3g times its bound", pass,
                 layer, worst);
    }
}

static weft_status add_row(dense_bench *b, const dense_layers *layers, const char *shape, const char *pass,
                           const dense_result *r)
{
    /* Products of bfloat16 have no such limit. */
    const bool wide = layers->question.shape.dtype == WEFT_DTYPE_F32;
    const double gemm = wide ? b->team.limits.gemm : (double)NAN;
    const double seconds = r->valid ? r->seconds.median : (double)NAN;
    const double peak = r->valid ? r->peak : (double)NAN;
    WEFT_TRY(table_grid_add(
        &b->grid,
        (table_cell[]){cell_text(layers->first), cell_int(layers->count), cell_text(shape), cell_text(pass),
                       cell_int(b->team.place.threads), cell_int(b->images), cell_real(r->seconds.median),
                       cell_real(r->seconds.q1), cell_real(r->seconds.q3), cell_int(r->seconds.count),
                       cell_real(r->flops * 1e-9), cell_real(r->flops / seconds * 1e-9), cell_real(peak * 1e-9),
                       cell_real(100.0 * r->flops / seconds / peak), cell_real(gemm),
                       cell_real(100.0 * r->flops / seconds / gemm), cell_real(r->worst), cell_flag(r->valid)}));
    log_progress_update(&b->progress, b->grid.rows);
    return WEFT_OK;
}

static weft_status run_layers(dense_bench *b, dense_layers *layers, dense_sums *sums)
{
    dense_result result[DENSE_PASSES];
    layers->question.few = b->team.hal->threads < b->images ? b->team.hal->threads : 0;
    WEFT_TRY(bench_dense_case(b->team.hal, &layers->question, result));
    for (int pass = 0; pass < DENSE_PASSES; ++pass) {
        const dense_result *r = &result[pass];
        if (r->seconds.count == 0) {
            continue;
        }
        if (r->valid && layers->question.shape.dtype == WEFT_DTYPE_F32) {
            WEFT_TRY(bench_team_saw(&b->team, r->flops / r->seconds.median, 0.0, 0.0));
        }
        sums->flops += layers->count * r->flops;
        sums->seconds_at_peak += layers->count * r->flops / r->peak;
        sums->valid = sums->valid && r->valid;
        if (!r->valid) {
            note_invalid(b, layers->first, pass_names[pass], r->worst);
        }
        WEFT_TRY(add_row(b, layers, layers->text, pass_names[pass], r));
    }
    return WEFT_OK;
}

static weft_status run_step(dense_bench *b, const dense_sums *sums)
{
    dense_result r = {.flops = sums->flops, .peak = sums->flops / sums->seconds_at_peak, .worst = (double)NAN};
    dense_layers all = {.first = b->net.name, .question.shape.dtype = b->config.values};
    double loss = 0.0;
    for (int i = 0; i < b->kinds; ++i) {
        all.count += b->layers[i].count;
    }
    WEFT_TRY(bench_dense_step(b->team.hal, &b->config, (int)option_int(b->options, OPT_REPEATS), &r.seconds, &loss));
    r.valid = sums->valid && isfinite(loss);
    if (sums->valid && !r.valid) {
        note_invalid(b, b->net.name, "the training step", (double)INFINITY);
    }
    return add_row(b, &all, "", "step", &r);
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

static weft_status run_team(dense_bench *b)
{
    dense_sums sums = {.valid = true};
    const char *word = option_value_text(b->options, OPT_PRECISION);
    WEFT_CHECK(precision_is_native(b->team.hal, b->config.values), WEFT_ERR_UNSUPPORTED,
               "%s %s: backend %s on this processor has no products of %s", FLAG_PRECISION, word, b->team.hal->name,
               word);
    WEFT_TRY(check_memory(b));
    for (int i = 0; i < b->kinds; ++i) {
        WEFT_TRY(run_layers(b, &b->layers[i], &sums));
    }
    return run_step(b, &sums);
}

static weft_status begin(dense_bench *b)
{
    static const table_column head_columns[] = {{"bench", CELL_TEXT, true},     {"backend", CELL_TEXT, true},
                                                {"network", CELL_TEXT, true},   {"batch", CELL_INT, true},
                                                {"precision", CELL_TEXT, true}, {"warmup", CELL_INT, true},
                                                {"repeats", CELL_INT, true}};
    const weft_options *o = b->options;
    b->team_count = bench_thread_counts(o, b->threads);
    b->images = option_int(o, OPT_BATCH_SIZE);
    b->config = (dense_config){.net = &b->net,
                               .norm = NORM_BATCH,
                               .images = &b->images,
                               .sizes = 1,
                               .training = true,
                               .values = precision_asked(o),
                               .winograd = option_choice(o, OPT_CONVOLUTION) != DENSE_CONVOLUTION_DIRECT};
    WEFT_TRY(find_layers(b));
    b->head = (table_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    b->grid = (table_grid){.name = "rows", .column = columns, .columns = sizeof columns / sizeof *columns};
    WEFT_TRY(table_grid_add(&b->head, (table_cell[]){cell_text("dense"), cell_text(option_text(o, OPT_BACKEND)),
                                                     cell_text(b->net.name), cell_int(b->images),
                                                     cell_text(option_value_text(o, OPT_PRECISION)), cell_int(1),
                                                     cell_int(option_int(o, OPT_REPEATS))}));
    table_grid_stream(&b->grid, stdout, &b->head, option_choice(o, OPT_FORMAT_OUT));
    b->progress = log_progress_begin("bench dense", "cases", (double)b->team_count * (b->kinds * DENSE_PASSES + 1));
    return WEFT_OK;
}

static weft_status run_dense(dense_bench *b)
{
    const table_grid none = {.name = "unsupported"};
    binding start;
    WEFT_TRY(bench_one_process("dense"));
    WEFT_TRY(bench_team_start(&start));
    WEFT_TRY(begin(b));
    for (int t = 0; t < b->team_count; t++) {
        weft_status status = bench_team_open(b->options, &start, (int)b->threads[t], &b->team);
        status = status == WEFT_OK ? run_team(b) : status;
        bench_team_close(&b->team);
        WEFT_TRY(status);
    }
    log_progress_end(&b->progress);
    table_grid_print(stdout, &b->head, &b->grid, &none, option_choice(b->options, OPT_FORMAT_OUT));
    WEFT_CHECK(b->invalid == 0, WEFT_ERR_INTERNAL, "%s", b->first_invalid);
    return WEFT_OK;
}

weft_status bench_dense(const weft_options *options)
{
    dense_bench b = {.options = options};
    const weft_status status = run_dense(&b);
    table_grid_free(&b.head);
    table_grid_free(&b.grid);
    weft_free(b.layers);
    units_destroy(&b.list);
    net_destroy(&b.net);
    return status;
}
