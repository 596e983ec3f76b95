/*
 * support/golden_net.h: steps of a network on images from the pixels, labels and first weights that a rule gives, as
 * tests/golden/make_golden_dense.py and make_golden_zoo.py make them in PyTorch, on one rank or several.
 */
#pragma once

#include <math.h>

#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"
#include "io/npy.h"
#include "support/test.h"
#include "train/replica.h"

enum {
    STEPS = 10,
    MOST_STEPS = 20,
    IMAGES = 16,
    CLASSES = 10,
    SAMPLES = 16,
    PIXELS_MAX = IMAGES * 32 * 32 * 3,
    WEIGHTS_MAX = 500 * 800
};

/* The rule of the script: `count` numbers from -1 to 1, a hash of (stream, position). */
static inline double rule(uint32_t stream, uint64_t at)
{
    uint32_t h = (uint32_t)(at * 2654435761U + (uint64_t)stream * 40503U + 12345U);
    h ^= h >> 16;
    h *= UINT32_C(0x7FEB352D);
    h ^= h >> 15;
    h *= UINT32_C(0x846CA68B);
    h ^= h >> 16;
    return (double)h / 0x1p31 - 1.0;
}

typedef struct golden {
    const char *name; /* of the zoo, or a path that ends in .net; dropout is left out */
    net_size size;
    int64_t words; /* of texts; 0: images */
    const char *backend;
    weft_dtype dtype;
    weft_dtype narrow; /* type of the values, where it is a shorter one */
    bool winograd;     /* allowed */
    double scale;      /* of the loss; 0: 1 */
    double smoothing;  /* of the labels */
    double rate;       /* of learning; 0: 0.001 */
    double tolerance;  /* of logits and losses */
    double of_weights;
    sync_options sync;
    int steps;
    double loss[MOST_STEPS], logits[IMAGES * CLASSES]; /* what happened */
    double *value;                                     /* [elements] at the end, of rank 0; the caller's */
    int64_t elements;
    param_entry *entry; /* of these, the caller's */
    int entries;
} golden;

typedef struct trainee {
    weft_hal *hal;
    network net;
    dense_model model;
    train_replica replica;
    weft_tensor pixels, ids, label, loss;
    int64_t first, images; /* this rank's share of a batch */
} trainee;

static inline weft_status upload(weft_tensor *t, const double *values)
{
    float *narrow = NULL;
    const int64_t count = t->rows * t->cols;
    if (t->dtype == WEFT_DTYPE_F64) {
        return tensor_upload(t, values);
    }
    WEFT_TRY(WEFT_NEW(&narrow, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        narrow[i] = (float)values[i];
    }
    weft_status status = tensor_upload(t, narrow);
    weft_free(narrow);
    return status;
}

static inline weft_status download(const weft_tensor *t, double *values)
{
    const int64_t count = t->rows * t->cols;
    WEFT_TRY(tensor_download(t, values));
    if (t->dtype == WEFT_DTYPE_F32) {
        const float *narrow = (const float *)values;
        for (int64_t i = count - 1; i >= 0; --i) { /* from behind: the same memory */
            float value;
            memcpy(&value, (const char *)narrow + (size_t)i * sizeof value, sizeof value);
            values[i] = (double)value;
        }
    }
    return WEFT_OK;
}

static inline bool ends_with(const char *text, const char *end)
{
    const size_t a = strlen(text);
    const size_t b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* Trained parameters in the order of their declaration; state stays as it is drawn, 0 and 1. */
static inline weft_status set_initial(const param_store *params)
{
    double *values = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&values, params->elements, WEFT_MEM_WORKSPACE));
    weft_tensor all = params->value;
    weft_status status = download(&all, values);
    uint32_t number = 0;
    for (int i = 0; i < params->entries; ++i) {
        const param_entry *entry = &params->entry[i];
        if (entry->offset >= params->trained) {
            continue;
        }
        const bool factors = entry->rank == 3; /* of channels */
        const bool vector = entry->rank == 1 || factors;
        const double fan_in = vector ? 1.0 : (double)entry->cols;
        const bool gain = factors || (vector && ends_with(entry->name, ".weight"));
        const double spread = vector ? 0.1 : sqrt((entry->rank == 4 ? 6.0 : 1.0) / fan_in);
        for (int64_t at = 0; at < entry->rows * entry->cols; ++at) {
            values[entry->offset + at] = (gain ? 1.0 : 0.0) + spread * rule(number, (uint64_t)at);
        }
        ++number;
    }
    status = status == WEFT_OK ? upload(&all, values) : status;
    weft_free(values);
    return status;
}

static inline weft_status trainee_open(weft_comm *comm, const golden *g, trainee *t)
{
    const int ranks = comm_size(comm);
    const int rank = comm_rank(comm);
    const optimizer_options sgd = {.kind = OPTIMIZER_SGD, .weight_decay = 5e-4, .momentum = 0.9, .nesterov = true};
    t->first = (int64_t)IMAGES * rank / ranks;
    t->images = (int64_t)IMAGES * (rank + 1) / ranks - t->first;
    WEFT_TRY(weft_hal_open(test_device(g->backend), 1, &t->hal));
    WEFT_TRY(net_open(g->name, &t->net));
    for (int i = 0; i < t->net.layers; ++i) {
        t->net.layer[i].value = t->net.layer[i].kind == NET_DROPOUT ? 0.0 : t->net.layer[i].value;
    }
    t->net.words = g->words;
    WEFT_TRY(net_fit(&t->net, g->size, CLASSES));
    const dense_config config = {.net = &t->net,
                                 .norm = NORM_BATCH,
                                 .images = &t->images,
                                 .sizes = 1,
                                 .training = true,
                                 .values = hal_is_half(g->narrow) ? g->narrow : g->dtype,
                                 .winograd = g->winograd};
    WEFT_TRY(dense_model_create(comm, t->hal, g->dtype, &config, &t->model));
    WEFT_TRY(replica_create(comm, &t->model.params, &g->sync, &sgd, NULL, false, &t->replica));
    WEFT_TRY(param_initialise(&t->model.params, 0));
    WEFT_TRY(set_initial(&t->model.params));
    WEFT_TRY(replica_reset(&t->replica));
    const int64_t pixels = g->size.height * g->size.width;
    WEFT_TRY(tensor_create(t->hal, g->dtype, t->images * pixels, g->size.channels, WEFT_MEM_WORKSPACE, &t->pixels));
    WEFT_TRY(tensor_create(t->hal, WEFT_DTYPE_I64, t->images, 1, WEFT_MEM_WORKSPACE, &t->ids));
    WEFT_TRY(tensor_create(t->hal, WEFT_DTYPE_I32, t->images, 1, WEFT_MEM_WORKSPACE, &t->label));
    return tensor_create(t->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &t->loss);
}

static inline void trainee_close(trainee *t)
{
    tensor_destroy(&t->pixels);
    tensor_destroy(&t->ids);
    tensor_destroy(&t->label);
    tensor_destroy(&t->loss);
    replica_destroy(&t->replica);
    dense_model_destroy(&t->model);
    net_destroy(&t->net);
    weft_hal_close(t->hal);
}

/* Word `at` of a text: its label's, and then others up to its end. */
static inline double word_at(const golden *g, int step, int64_t text, int64_t label, int64_t at)
{
    const int64_t length = g->size.height, end = 5 + (3 * text + step) % (length - 4);
    const double drawn = (rule((uint32_t)(1000 + step), (uint64_t)(text * length + at)) + 1.0) / 2.0;
    return at >= end ? 0.0 : at == 0 ? (double)(label + 1) : 1.0 + floor(drawn * (double)(g->words - 1));
}

/* This rank's share of the batch of a step. */
static inline weft_status fill(const golden *g, trainee *t, int step)
{
    const int64_t size = g->size.height;
    const int64_t each = size * g->size.width * g->size.channels;
    int32_t label[IMAGES];
    int64_t id[IMAGES];
    double *pixels = NULL;
    WEFT_TRY(WEFT_NEW(&pixels, t->images * each, WEFT_MEM_WORKSPACE));
    for (int64_t n = 0; n < t->images; ++n) {
        const int64_t image = t->first + n;
        id[n] = image;
        label[n] = (int32_t)((image * 7 + step * 3) % CLASSES);
        for (int64_t i = 0; i < each; ++i) {
            if (g->words > 0) {
                pixels[n * each + i] = word_at(g, step, image, label[n], i);
                continue;
            }
            const int64_t row = i / (size * g->size.channels);
            const bool stripe = row >= 2 * label[n] && row < 2 * label[n] + 3;
            pixels[n * each + i] = rule((uint32_t)(1000 + step), (uint64_t)(image * each + i)) + (stripe ? 1.0 : 0.0);
        }
    }
    weft_status status = upload(&t->pixels, pixels);
    weft_free(pixels);
    WEFT_TRY(status);
    WEFT_TRY(tensor_upload(&t->ids, id));
    return tensor_upload(&t->label, label);
}

static inline weft_status one_step(weft_comm *comm, golden *g, trainee *t, int step)
{
    const image_batch input = {.pixels = t->pixels, .rows = t->images, .all_rows = IMAGES, .sample_id = t->ids};
    const train_targets targets = {.rows = t->images, .outputs = CLASSES, .loss_entries = IMAGES};
    const train_batch batch = {.input = &input, .targets = &targets};
    const train_pass pass = {
        .training = true, .step = step, .batch = &batch, .hooks = replica_hooks(&t->replica, true)};
    const double scale = g->scale > 0.0 ? g->scale : 1.0;
    const tensor_loss_rows rows = {.scale = scale / IMAGES, .smoothing = g->smoothing};
    const train_model *model = &t->model.interface;
    weft_tensor logits;
    double loss = 0.0;
    WEFT_TRY(fill(g, t, step));
    replica_scale(&t->replica, scale);
    WEFT_TRY(replica_begin(&t->replica, g->rate > 0.0 ? g->rate : 0.001, 1.0));
    WEFT_TRY(model->forward(model->self, &pass, &logits));
    if (step == 0) {
        double own[IMAGES * CLASSES] = {0};
        double all[IMAGES * CLASSES] = {0};
        WEFT_TRY(download(&logits, own));
        memcpy(all + t->first * CLASSES, own, (size_t)(t->images * CLASSES) * sizeof *own);
        WEFT_TRY(comm_allreduce(comm, all, IMAGES * CLASSES, WEFT_DTYPE_F64, COMM_SUM));
        if (comm_rank(comm) == 0) {
            memcpy(g->logits, all, sizeof all);
        }
    }
    WEFT_TRY(tensor_zero(&t->loss));
    WEFT_TRY(tensor_softmax_xent(&logits, t->label.data, &rows, &t->loss, &logits));
    WEFT_TRY(model->backward(model->self, &pass, &logits));
    WEFT_TRY(replica_gradients(&t->replica));
    WEFT_TRY(replica_update(&t->replica));
    WEFT_TRY(tensor_download(&t->loss, &loss));
    WEFT_TRY(comm_allreduce(comm, &loss, 1, WEFT_DTYPE_F64, COMM_SUM));
    if (comm_rank(comm) == 0) {
        g->loss[step] = loss / IMAGES;
    }
    return WEFT_OK;
}

static inline weft_status run(weft_comm *comm, golden *g, trainee *t)
{
    WEFT_TRY(trainee_open(comm, g, t));
    for (int step = 0; step < g->steps; ++step) {
        WEFT_TRY(one_step(comm, g, t, step));
    }
    WEFT_TRY(replica_average(&t->replica, true));
    if (comm_rank(comm) != 0) {
        return WEFT_OK;
    }
    const param_store *params = &t->model.params;
    WEFT_TRY(WEFT_NEW(&g->value, params->elements, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&g->entry, params->entries, WEFT_MEM_WORKSPACE));
    g->elements = params->elements;
    g->entries = params->entries;
    memcpy(g->entry, params->entry, (size_t)params->entries * sizeof *g->entry);
    return download(&params->value, g->value);
}

static inline weft_status run_rank(weft_comm *comm, void *argument)
{
    trainee t = {.first = 0};
    weft_status status = run(comm, argument, &t);
    trainee_close(&t);
    return status;
}

static inline void release(golden *g)
{
    weft_free(g->value);
    weft_free(g->entry);
}

static inline npy_array read_member(npz_file *npz, const char *name)
{
    npy_array array;
    const int i = npz_find(npz, name);
    if (i < 0) {
        fail_msg("no member %s", name);
    }
    ASSERT_OK(npz_read(npz, i, &array));
    assert_int_equal(array.header.item_bytes, 8);
    return array;
}

/* By the Euclidean norms of the array and of what it is off. */
static inline void check_array(const golden *g, npz_file *npz, const char *name, const double *actual, int64_t count,
                               double tolerance)
{
    npy_array array = read_member(npz, name);
    const double *expected = array.data;
    double norm = 0.0;
    double off = 0.0;
    assert_int_equal(array.header.count, count);
    for (int64_t i = 0; i < count; ++i) {
        norm += expected[i] * expected[i];
        off += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    }
    if (!(sqrt(off) <= tolerance * sqrt(norm))) {
        fail_msg("%s on %s, %s: %.3g off of %.12g; the first is %.12g, PyTorch has %.12g", g->name, g->backend, name,
                 sqrt(off), sqrt(norm), actual[0], expected[0]);
    }
    npy_array_free(&array);
}
