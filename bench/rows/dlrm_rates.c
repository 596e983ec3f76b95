/*
 * bench/rows/dlrm_rates.c: steps of training of a DLRM: 13-512-256-64-16, dot products, 367-512-256-1, 26 fields of
 * 10^6 ids with rows of 16 numbers, 2,048 samples a batch.
 *
 *     dlrm_rates HOT [sgd|row-adagrad|adagrad] [f32|bf16] [IDS]
 *
 * HOT: ids a field. It makes all rows, and for each number n that it reads takes n steps and prints their losses, their
 * seconds, and the processor seconds of all. Batches go round in turn. bench/peers/dlrm reads them, with the same
 * numbers in PyTorch beside: ids, numbers and first weights are of mix64, first rows of Philox, as embed makes them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/mix.h"
#include "clicks/model/click_model.h"
#include "embed/embed_key.h"
#include "machine/thread_ranges.h"
#include "train/optimizer.h"

enum { SAMPLES = 2048, FIELDS = 26, NUMBERS = 13, WIDTH = 16, BATCHES = 16, BAGS = SAMPLES * FIELDS };
static const double RATE = 0.005;

typedef struct bench {
    click_batch batch[BATCHES];
    train_model *train;
    train_optimizer optimizer;
} bench;

static void check(weft_status status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_message());
        exit(1);
    }
}

static void *take(size_t count, size_t bytes)
{
    void *block = NULL;
    check(weft_malloc(count, bytes, WEFT_MEM_GENERAL, &block));
    return block;
}

/* Number i of a stream, uniform in [-1, 1). */
static float uniform(uint64_t stream, int64_t i)
{
    return (float)(mix64(stream << 40 | (uint64_t)i) >> 40) * 0x1p-23F - 1.0F;
}

static void draw_batches(bench *b, int64_t hot, uint64_t ids)
{
    int64_t *at = take(BAGS + 1, sizeof *at);
    uint64_t *key = take((size_t)(BATCHES * BAGS * hot), sizeof *key);
    float *number = take((size_t)BATCHES * SAMPLES * NUMBERS, sizeof *number);
    for (int64_t i = 0; i <= BAGS; ++i) {
        at[i] = i * hot;
    }
    for (int64_t i = 0; i < BATCHES * BAGS * hot; ++i) {
        key[i] = embed_key((int)(i / hot % FIELDS), mix64(UINT64_C(1) << 40 | (uint64_t)i) % ids);
    }
    for (int64_t i = 0; i < (int64_t)BATCHES * SAMPLES * NUMBERS; ++i) {
        number[i] = uniform(2, i);
    }
    for (int64_t k = 0; k < BATCHES; ++k) {
        b->batch[k] =
            (click_batch){.bags = {.samples = SAMPLES, .fields = FIELDS, .at = at, .key = key + k * BAGS * hot},
                          .numbers = NUMBERS,
                          .number = number + k * SAMPLES * NUMBERS};
    }
}

/* Makes all rows: bag f of one sample has so many ids of field f. */
static void make_rows(embed_table *table, uint64_t ids)
{
    enum { MANY = 1 << 12 };
    static uint64_t key[FIELDS * MANY];
    int64_t at[FIELDS + 1] = {0};
    float pooled[FIELDS * WIDTH];
    const embed_bags bags = {.samples = 1, .fields = FIELDS, .at = at, .key = key};
    for (uint64_t first = 0; first < ids; first += MANY) {
        for (int i = 0; i < FIELDS * MANY; ++i) {
            key[i] = embed_key(i / MANY, (first + (uint64_t)(i % MANY)) % ids);
            at[i / MANY + 1] = i + 1;
        }
        check(embed_forward(table, &bags, true, pooled, FIELDS * WIDTH));
    }
}

/* Entry e of the parameters is stream 16 + e, within 1 / sqrt of its columns, 1 / 16 those of biases. */
static void draw_weights(param_store *store)
{
    for (int e = 0; e < store->entries; ++e) {
        const param_entry *entry = &store->entry[e];
        const float spread = entry->rank == 1 ? 0x1p-4F : (float)(1.0 / sqrt((double)entry->cols));
        for (int64_t i = 0; i < entry->rows * entry->cols; ++i) {
            ((float *)store->value.data)[entry->offset + i] = spread * uniform(16 + (uint64_t)e, i);
        }
    }
}

/* Mean log loss of batch k, and its gradient over the logits. */
static double log_loss(int64_t k, float *logit)
{
    double loss = 0.0;
    for (int i = 0; i < SAMPLES; ++i) {
        const double x = (double)logit[i], y = uniform(3, k * SAMPLES + i) < -0.5F ? 1.0 : 0.0;
        loss += (fmax(x, 0.0) - x * y + log1p(exp(-fabs(x)))) / SAMPLES;
        logit[i] = (float)((1.0 / (1.0 + exp(-x)) - y) / SAMPLES);
    }
    return loss;
}

static double step(bench *b, int64_t number)
{
    const train_batch batch = {.input = &b->batch[number % BATCHES]};
    const train_pass pass = {.training = true, .seed = 1, .epoch = 1, .parts = 1, .batch = &batch};
    weft_tensor logits;
    check(b->train->forward(b->train->self, &pass, &logits));
    const double loss = log_loss(number % BATCHES, logits.data);
    check(b->train->backward(b->train->self, &pass, &logits));
    optimizer_begin(&b->optimizer);
    check(optimizer_step_range(&b->optimizer, RATE, 0, b->train->params->trained));
    return loss;
}

static void answer(bench *b)
{
    int64_t done = 0;
    int steps = 0;
    while (scanf("%d", &steps) == 1) {
        const clock_t begin = clock();
        printf("{\"steps\": [");
        for (int i = 0; i < steps; ++i, ++done) {
            const double now = clock_seconds(), loss = step(b, done);
            printf("%s[%.8f, %.6f]", i > 0 ? ", " : "", loss, clock_seconds() - now);
        }
        printf("], \"processor\": %.4f}\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const char *const rules[] = {EMBED_RULES(CHOICE_NAME)};
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = RATE, .epochs = 1};
    const int64_t hot = argc > 1 ? atoll(argv[1]) : 1;
    const bool bf16 = argc > 3 && strcmp(argv[3], "bf16") == 0;
    const uint64_t ids = argc > 4 ? (uint64_t)atoll(argv[4]) : 1000000;
    embed_desc rows = {
        .fields = FIELDS, .width = WIDTH, .spread = 0.1, .seed = 1, .number = bf16 ? EMBED_BF16 : EMBED_F32};
    for (int i = 0; argc > 2 && i <= EMBED_ADAGRAD; ++i) {
        rows.rule = strcmp(argv[2], rules[i]) == 0 ? (embed_rule)i : rows.rule;
    }
    const click_model_desc desc = {.kind = CLICK_DLRM,
                                   .fields = FIELDS,
                                   .numbers = NUMBERS,
                                   .width = WIDTH,
                                   .samples = SAMPLES,
                                   .bottom = {4, {512, 256, 64, WIDTH}},
                                   .mlp = {2, {512, 256}},
                                   .bf16 = bf16,
                                   .training = true,
                                   .schedule = &schedule,
                                   .steps = 1};
    const optimizer_options sgd = {.kind = OPTIMIZER_SGD};
    bench b;
    embed_table *table = NULL;
    weft_hal *hal = NULL;
    weft_comm *comm = NULL;
    click_model *model = NULL;
    draw_batches(&b, hot, ids);
    check(comm_create_self(&comm));
    check(weft_hal_open("cpu", omp_get_max_threads(), &hal));
    check(embed_open(comm, &rows, BAGS * hot, &table));
    check(click_model_create(hal, comm, &desc, table, &model));
    b.train = click_model_interface(model);
    draw_weights(b.train->params);
    check(optimizer_create(b.train->params, optimizer_rule_of(OPTIMIZER_SGD), &sgd, NULL, NULL, &b.optimizer));
    check(optimizer_reset(&b.optimizer));
    make_rows(table, ids);
    answer(&b);
    return 0;
}
