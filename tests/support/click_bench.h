/*
 * support/click_bench.h: a model of clicks with a table of embeddings and batches of a made stream, on any number of
 * ranks. The table is the one that the test links: the room's, or the reference (support/embed_reference.h).
 */
#pragma once

#include <math.h>

#include "clicks/model/click_model.h"
#include "embed/embed_key.h"
#include "support/random.h"
#include "support/test.h"

static const train_schedule CONSTANT = {.kind = SCHEDULE_CONSTANT, .base = 1.0, .epochs = 1};

enum { IDS = 6, KEYS_MOST = 64 * 4 * 3 };

/* ---- a model with a table and a batch ---------------------------------------------------------------------------- */

typedef struct bench {
    weft_hal *hal;
    weft_comm *comm;
    embed_table *table;
    click_model *model;
    train_model *train;
    click_model_desc desc;
} bench;

static inline click_model_desc small_desc(click_kind kind)
{
    click_model_desc desc = {.kind = kind,
                             .fields = 4,
                             .numbers = 3,
                             .width = click_model_width(kind, 5),
                             .samples = 64,
                             .mlp = {2, {7, 6}},
                             .bottom = {2, {6, 5}},
                             .cin = {2, {5, 3}},
                             .crosses = 3,
                             .bags = true,
                             .training = true,
                             .schedule = &CONSTANT,
                             .steps = 1};
    /* Everything at once. */
    ASSERT_OK(click_read_parts("--parts", "fm,deep,crossed,matrix,cin,dots", &desc.own));
    return desc;
}

static inline embed_desc bench_rows(const click_model_desc *desc, double spread)
{
    return (embed_desc){.fields = desc->fields,
                        .width = desc->width,
                        .linear = click_model_linear(desc),
                        .squares = click_model_squares(desc),
                        .weighted = desc->bags,
                        .rule = EMBED_SGD,
                        .spread = spread,
                        .seed = 7};
}

static inline weft_status bench_open_rows(bench *b, weft_comm *comm, const char *backend, int threads,
                                          const click_model_desc *desc, const embed_desc *rows)
{
    *b = (bench){.comm = comm, .desc = *desc};
    WEFT_TRY(weft_hal_open(backend, threads, &b->hal));
    WEFT_TRY(embed_open(comm, rows, KEYS_MOST, &b->table));
    WEFT_TRY(click_model_create(b->hal, comm, desc, b->table, &b->model));
    b->train = click_model_interface(b->model);
    return param_initialise(b->train->params, 3);
}

static inline weft_status bench_open(bench *b, weft_comm *comm, const char *backend, int threads,
                                     const click_model_desc *desc, double spread)
{
    const embed_desc rows = bench_rows(desc, spread);
    return bench_open_rows(b, comm, backend, threads, desc, &rows);
}

static inline void bench_close(bench *b)
{
    click_model_destroy(b->model);
    embed_close(b->table);
    weft_hal_close(b->hal);
}

/* Samples [first, first + samples) of a stream: bags of no or up to three ids, where one may be named twice; with
 * desc->bags ids have weights. */
typedef struct stream {
    int64_t at[64 * 4 + 1], id[64];
    uint64_t key[KEYS_MOST];
    float weight[KEYS_MOST], number[64 * 3], target[64];
    click_batch batch;
} stream;

static inline void stream_take(stream *s, const click_model_desc *desc, int64_t first, int64_t samples)
{
    int64_t keys = 0;
    assert_true(samples * desc->fields <= 64 * 4 && samples * desc->numbers <= 64 * 3);
    for (int64_t i = 0; i < samples; ++i) {
        uint64_t state = (uint64_t)(first + i) * 1000003u + 11;
        s->id[i] = first + i;
        s->target[i] = test_uniform(&state) < 0.4 ? 1.0F : 0.0F;
        for (int f = 0; f < desc->fields; ++f) {
            s->at[i * desc->fields + f] = keys;
            for (uint32_t n = test_random(&state) % 4; n > 1; --n) {
                s->key[keys++] = embed_key(f, test_random(&state) % IDS);
            }
            s->key[keys] = embed_key(f, test_random(&state) % IDS);
            keys += (first + i) % 5 != 0 || f != 1 ? 1 : 0;
        }
        for (int64_t j = 0; j < desc->numbers; ++j) {
            s->number[i * desc->numbers + j] = (float)(test_uniform(&state) * 2.0 - 1.0);
        }
    }
    s->at[samples * desc->fields] = keys;
    for (int64_t i = 0; i < samples; ++i) {
        for (int64_t k = s->at[i * desc->fields]; k < s->at[(i + 1) * desc->fields]; ++k) {
            s->weight[k] = 0.4F * (float)((first + i + k - s->at[i * desc->fields]) % 4) - 0.3F;
        }
    }
    s->batch = (click_batch){.bags = {.samples = samples,
                                      .fields = desc->fields,
                                      .at = s->at,
                                      .key = s->key,
                                      .weight = desc->bags ? s->weight : NULL},
                             .numbers = desc->numbers,
                             .number = s->number,
                             .sample_id = s->id};
}

/* A forward pass. [out] logits: a view of the model's */
static inline weft_status pass_forward(bench *b, const click_batch *input, bool training, weft_tensor *logits)
{
    const train_batch batch = {.input = input};
    const train_pass pass = {.training = training, .seed = 5, .epoch = 1, .parts = 1, .batch = &batch};
    return b->train->forward(b->train->self, &pass, logits);
}

static inline weft_status pass_backward(bench *b, const click_batch *input, weft_tensor *dlogits)
{
    const train_batch batch = {.input = input};
    const train_pass pass = {.training = true, .seed = 5, .epoch = 1, .parts = 1, .batch = &batch};
    return b->train->backward(b->train->self, &pass, dlogits);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

enum { STEPS = 20, BATCH = 24 };

typedef struct rank_run {
    click_model_desc desc;
    double loss[STEPS];
} rank_run;

/* Log loss over the batch of all ranks; the gradient over the logits. */
static inline double log_loss(const stream *s, weft_tensor *logits)
{
    double loss = 0.0;
    for (int64_t i = 0; i < logits->rows; ++i) {
        float *z = (float *)logits->data + i;
        const double x = (double)*z, y = (double)s->target[i];
        loss += (fmax(x, 0.0) - x * y + log1p(exp(-fabs(x)))) / BATCH;
        *z = (float)((1.0 / (1.0 + exp(-x)) - y) / BATCH);
    }
    return loss;
}

static inline weft_status rank_step(bench *b, stream *s, int step, double *loss)
{
    param_store *store = b->train->params;
    const int rank = comm_rank(b->comm), size = comm_size(b->comm);
    /* Unequal shares; of three ranks the last has no samples in the first step. */
    const bool none = step == 0 && size == 3;
    const int64_t first = none && rank == 2 ? BATCH : BATCH * rank / size;
    const int64_t end = none && rank == 1 ? BATCH : BATCH * (rank + 1) / size;
    weft_tensor logits;
    stream_take(s, &b->desc, (int64_t)step * BATCH + first, end - first);
    WEFT_TRY(pass_forward(b, &s->batch, true, &logits));
    *loss = log_loss(s, &logits);
    WEFT_TRY(pass_backward(b, &s->batch, &logits));
    WEFT_TRY(comm_allreduce(b->comm, loss, 1, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(comm_allreduce(b->comm, store->grad.data, store->trained, WEFT_DTYPE_F32, COMM_SUM));
    for (int64_t i = 0; i < store->trained; ++i) {
        ((float *)store->value.data)[i] -= 0.1F * ((const float *)store->grad.data)[i];
    }
    return comm_barrier(b->comm);
}

static inline weft_status rank_main(weft_comm *comm, void *argument)
{
    rank_run *run = argument;
    const train_schedule schedule = {.kind = SCHEDULE_CONSTANT, .base = 0.1, .epochs = 1};
    click_model_desc desc = run->desc;
    bench b;
    stream s;
    desc.schedule = &schedule;
    WEFT_TRY(bench_open(&b, comm, "cpu", 1, &desc, 0.3));
    for (int step = 0; step < STEPS; ++step) {
        double loss = 0.0;
        WEFT_TRY(rank_step(&b, &s, step, &loss));
        if (comm_rank(comm) == 0) {
            run->loss[step] = loss;
        }
    }
    bench_close(&b);
    return WEFT_OK;
}

/* Losses of 1, 2 and 3 ranks are those of one. */
static inline void click_bench_model_ranks(const click_model_desc *desc)
{
    rank_run run[3];
    for (int p = 0; p < 3; ++p) {
        run[p].desc = *desc;
        run[p].desc.dropout = 0.3;
        ASSERT_OK(comm_thread_run(p + 1, rank_main, &run[p]));
        for (int step = 0; step < STEPS; ++step) {
            ASSERT_NEAR(run[p].loss[step], run[0].loss[step], 1e-5);
        }
    }
}

static inline void click_bench_ranks(void **state)
{
    (void)state;
    for (int kind = 0; kind < CLICK_KINDS; ++kind) {
        const click_model_desc desc = small_desc((click_kind)kind);
        click_bench_model_ranks(&desc);
    }
}

/* A model takes the bytes that it says, and passes after the first take none. */
static inline void click_bench_memory(weft_comm *comm, const click_model_desc *desc)
{
    bench b;
    stream s;
    weft_tensor logits;
    const uint64_t before = weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes;
    ASSERT_OK(bench_open(&b, comm, "cpu", 2, desc, 0.5));
    const uint64_t taken = weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes - before;
    assert_int_equal(taken, click_model_bytes(b.hal, desc));
    for (int step = 0; step < 3; ++step) {
        const uint64_t allocations = weft_mem_usage_total().allocations;
        stream_take(&s, desc, 0, 40);
        ASSERT_OK(pass_forward(&b, &s.batch, desc->training, &logits));
        if (step > 0) {
            assert_int_equal(weft_mem_usage_total().allocations, allocations);
        }
        if (desc->training) {
            /* The reference gathers gradients in memory of its own. */
            ASSERT_OK(pass_backward(&b, &s.batch, &logits));
        }
    }
    bench_close(&b);
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_ACTIVATION).current_bytes, before);
}
