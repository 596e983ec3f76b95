/*
 * support/batch_job.h: a training in minibatches on a model small enough to follow by hand: softmax regression, a short
 * last batch, an unlabelled row, ranks without rows. start_rank is what a rank does, with the choices and into the
 * results of a batch_case.
 */
#pragma once

#include <unistd.h>

#include "base/clock.h"
#include "support/labelled_graphs.h"
#include "support/tap_sums.h"
#include "support/test.h"
#include "train/layers/linear.h"
#include "train/layers/norm.h"
#include "train/loop/loop.h"

enum {
    TRAINED = 26, /* the first rows; then come rows of validation and test */
    ROWS = 40,
    UNLABELLED = 11,
    INPUTS = 4,
    CLASSES = 3,
    WEIGHTS = (INPUTS + 1) * CLASSES, /* the last row is the bias */
    EPOCHS = 5,
    MOST_STEPS = 16,
    MOST_RANKS = 5
};

/* ---- the data and their order ---------------------------------------------------------------------------------- */

typedef struct data_set {
    double x[ROWS][INPUTS];
    int32_t label[ROWS];
    uint8_t split[ROWS];
} data_set;

static void make_data(data_set *d)
{
    draw_stream random = {.key = 8};
    for (int i = 0; i < ROWS; ++i) {
        d->label[i] = (int32_t)(draw_next(&random) % CLASSES);
        d->split[i] = i == UNLABELLED ? TRAIN_SPLIT_NONE : i < TRAINED ? 0 : (uint8_t)(1 + i % 2);
        for (int k = 0; k < INPUTS; ++k) {
            d->x[i][k] = (double)philox_uniform(draw_next(&random)) + (k == d->label[i] ? 0.4 : 0.0);
        }
    }
}

/* Training rows in the order of an epoch: sorted by a number drawn for each. */
static void order_of(uint64_t seed, uint32_t epoch, int order[TRAINED])
{
    uint32_t key[TRAINED];
    for (int i = 0; i < TRAINED; ++i) {
        int at = i;
        key[i] = philox4x32((philox_block){{(uint32_t)i, epoch, 0, 0}}, seed).word[0];
        while (at > 0 && key[order[at - 1]] > key[i]) {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = i;
    }
}

/* ---- a rank's source and model --------------------------------------------------------------------------------- */

typedef struct batch_case {
    data_set data;
    const char *backend;
    weft_dtype dtype;
    int64_t batch, eval_batch; /* rows over all ranks */
    bool indivisible;          /* the source has whole batches only */
    int ranks, odd_rank;       /* odd_rank: promises a step more; -1: nobody */
    norm_kind norm;            /* of the inputs */
    bool own_bias;             /* the bias is not replicated */
    bool preconditioned;       /* gradients are scaled, each by its own number */
    bool remembers;            /* the preconditioner adds what is left of the gradients before */
    int told_every; /* a listener wants every so many steps, and its sums are the step's gradient; 0: there is none */
    train_options options;
    const char *folder; /* of checkpoints; NULL: none are written */
    int64_t stop_after; /* steps of each start; 0: never */
    bool closing;       /* a checkpoint at the end */
    int64_t every_steps;
    double evaluation_s, stop_in_s; /* an evaluation takes so long, and a start may; 0: no limit */
    /* results */
    int64_t passes_asked[MOST_RANKS], steps_told[MOST_RANKS];
    checkpoint *from;
    int starts, stopped_within;
    int64_t steps_here[MOST_RANKS];
    int64_t steps_seen, epochs_seen;
    double loss[EPOCHS], score[EPOCHS][TRAIN_SPLITS];
    double value[MOST_RANKS][WEIGHTS]; /* at the end: those of the best epoch */
    train_run run;
    uint64_t late_allocations;
} batch_case;

typedef struct rank_view {
    batch_case *c;
    int rank;
    int64_t rows; /* of the batch */
    int32_t label[ROWS];
    uint8_t split[ROWS], mask[ROWS];
    weft_hal *hal;
    void *device_label, *device_mask[TRAIN_SPLITS];
    double x[ROWS * INPUTS];
    float narrow[ROWS * INPUTS];
    int64_t all_rows; /* of all ranks */
    weft_tensor store, input, logits_store, logits, normed_store, gradient_store;
    train_norm norm;
    train_targets targets;
    param_store params;
    train_linear map;
    weft_comm *comm;
    tap_sums taps;
    int64_t step; /* that the taps are of */
    /* what the preconditioner remembers, on a device as it were, and on the host; and its steps, a byte a step and
     * rank */
    double memory[WEIGHTS], memory_host[WEIGHTS];
    unsigned char applied[MOST_RANKS];
    sync_buffer kept[2];
} rank_view;

static int64_t steps_of(int64_t rows, int64_t batch)
{
    return (rows + batch - 1) / batch;
}

/* This rank's rows of the part of a batch: order[begin, end), or those rows themselves without an order. */
static weft_status take_rows(rank_view *v, const train_pass *pass, const int *order, int64_t begin, int64_t end)
{
    const data_set *d = &v->c->data;
    const hal_span own = hal_split_rows(end - begin, pass->parts, pass->part);
    hal_span span = hal_split_rows(own.end - own.begin, v->c->ranks, v->rank);
    span.begin += own.begin;
    span.end += own.begin;
    v->rows = span.end - span.begin;
    v->all_rows = own.end - own.begin;
    v->targets = (train_targets){.rows = v->rows, .outputs = CLASSES, .loss = TRAIN_LOSS_XENT};
    v->targets.label_host = v->label;
    v->targets.label = v->device_label;
    v->targets.split_host = v->split;
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        v->targets.mask[s] = v->device_mask[s];
    }
    for (int64_t i = 0; i < end - begin; ++i) {
        int row = order != NULL ? order[begin + i] : (int)(begin + i);
        v->targets.loss_entries += d->split[row] == 0;
        if (i < span.begin || i >= span.end) {
            continue;
        }
        v->label[i - span.begin] = d->label[row];
        v->split[i - span.begin] = d->split[row];
        for (int k = 0; k < INPUTS; ++k) {
            v->x[(i - span.begin) * INPUTS + k] = d->x[row][k];
            v->narrow[(i - span.begin) * INPUTS + k] = (float)d->x[row][k];
        }
    }
    WEFT_TRY(v->hal->mem.upload(v->hal, v->device_label, v->label, (size_t)v->rows * sizeof *v->label));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        for (int64_t i = 0; i < v->rows; ++i) {
            v->mask[i] = v->split[i] == s;
        }
        WEFT_TRY(v->hal->mem.upload(v->hal, v->device_mask[s], v->mask, (size_t)v->rows));
    }
    v->input = tensor_view(&v->store, 0, v->rows, 0, INPUTS);
    return tensor_upload(&v->input, v->c->dtype == WEFT_DTYPE_F64 ? (const void *)v->x : (const void *)v->narrow);
}

static weft_status next_batch(void *self, const train_pass *pass, train_batch *batch)
{
    rank_view *v = self;
    int order[TRAINED];
    int64_t size = pass->training ? v->c->batch : v->c->eval_batch;
    int64_t rows = pass->training ? TRAINED : ROWS;
    int64_t begin = pass->step * size;
    if (!pass->training && pass->step == 0) {
        usleep((useconds_t)(1e6 * v->c->evaluation_s));
    }
    order_of(pass->seed, pass->epoch, order);
    WEFT_TRY(take_rows(v, pass, pass->training ? order : NULL, begin, begin + size < rows ? begin + size : rows));
    *batch = (train_batch){.input = &v->input, .targets = &v->targets};
    return WEFT_OK;
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    rank_view *v = self;
    const weft_tensor *x = pass->batch->input;
    weft_tensor normed = tensor_view(&v->normed_store, 0, x->rows, 0, INPUTS);
    if (v->c->norm != NORM_NONE) {
        WEFT_TRY(train_need(pass, v->norm.gamma));
        WEFT_TRY(train_need(pass, v->norm.beta));
        norm_set_rows(&v->norm, x->rows, v->all_rows);
        WEFT_TRY(norm_forward(&v->norm, pass->training, &(norm_operands){.x = x, .y = &normed}));
        x = &normed;
    }
    WEFT_TRY(linear_need(&v->map, pass));
    weft_tensor b = param_value(&v->params, v->map.bias);
    v->logits = tensor_view(&v->logits_store, 0, x->rows, 0, CLASSES);
    WEFT_TRY(linear_forward(&v->map, &(linear_rows){.x = x}, &b, 0.0, &v->logits));
    *logits = v->logits;
    return WEFT_OK;
}

static weft_status norm_gradient(rank_view *v, const train_pass *pass, const weft_tensor *dlogits)
{
    weft_tensor dx = tensor_view(&v->gradient_store, 0, v->rows, 0, INPUTS);
    WEFT_TRY(linear_input_gradient(&v->map, dlogits, 0.0, &dx));
    WEFT_TRY(
        norm_backward(&v->norm, &(norm_operands){.x = pass->batch->input}, &(norm_gradients){.dy = &dx, .dx = &dx}));
    WEFT_TRY(train_ready(pass, v->norm.beta));
    return train_ready(pass, v->norm.gamma);
}

static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    rank_view *v = self;
    bool normed = v->c->norm != NORM_NONE;
    weft_tensor x = tensor_view(normed ? &v->normed_store : &v->store, 0, v->rows, 0, INPUTS);
    WEFT_TRY(linear_weight_gradient(&v->map, pass, &(linear_rows){.x = &x}, dlogits, false));
    WEFT_TRY(linear_bias_gradient(&v->map, dlogits, false));
    WEFT_TRY(linear_ready(&v->map, pass));
    return normed ? norm_gradient(v, pass, dlogits) : WEFT_OK;
}

/* ---- a start --------------------------------------------------------------------------------------------------- */

static weft_status on_step(void *self, const train_epoch *epoch)
{
    const rank_view *v = self;
    WEFT_CHECK(epoch->step >= 1 && epoch->step < epoch->steps && isfinite(epoch->loss), WEFT_ERR_INTERNAL, "step");
    if (v->rank == 0) {
        v->c->steps_seen += 1;
    }
    return WEFT_OK;
}

static weft_status on_epoch(void *self, const train_epoch *epoch)
{
    const rank_view *v = self;
    batch_case *c = v->c;
    WEFT_CHECK(epoch->step == epoch->steps, WEFT_ERR_INTERNAL, "step");
    if (v->rank == 0) {
        c->loss[epoch->epoch - 1] = epoch->loss;
        memcpy(c->score[epoch->epoch - 1], epoch->score, sizeof epoch->score);
        c->late_allocations += epoch->epoch > 1 ? epoch->allocations : 0;
        c->epochs_seen += 1;
    }
    return WEFT_OK;
}

static weft_status on_run(void *self, int run, const train_run *result)
{
    const rank_view *v = self;
    (void)run;
    if (v->rank == 0) {
        v->c->run = *result;
    }
    return WEFT_OK;
}

static double scale_by_hand(int64_t row, int64_t col)
{
    return 0.5 + 0.25 * (double)row + 0.125 * (double)col;
}

/* Of a float64 case: the gradient must be the sum of all ranks by now, or the result is another. */
static weft_status precondition(void *self, param_store *params, double lr)
{
    rank_view *v = self;
    double g[WEIGHTS];
    WEFT_CHECK(lr > 0, WEFT_ERR_INTERNAL, "learning rate");
    for (int b = 0; b < 2; ++b) {
        weft_tensor grad = param_grad(params, b == 0 ? v->map.weight : v->map.bias);
        WEFT_TRY(tensor_download(&grad, g));
        for (int64_t i = 0; i < grad.rows * grad.cols; ++i) {
            int64_t row = b == 0 ? i / CLASSES : INPUTS;
            double *memory = &v->memory[row * CLASSES + i % CLASSES];
            g[i] *= scale_by_hand(row, i % CLASSES);
            *memory = v->c->remembers ? 0.5 * *memory + g[i] : 0.0;
            g[i] += 0.1 * *memory;
        }
        WEFT_TRY(tensor_upload(&grad, g));
    }
    v->applied[v->rank] += 1;
    return WEFT_OK;
}

/* Of a float64 case whose steps a listener hears of: its sums over parts, added over ranks, are the step's gradient. */
static weft_status check_told(void *self, param_store *params, double lr)
{
    rank_view *v = self;
    batch_case *c = v->c;
    double *gradient = NULL;
    double most = 0.0;
    const bool told = v->step % c->told_every == 0;
    WEFT_CHECK(lr > 0.0 && (v->taps.calls == 0 || (told && v->taps.wanted_step == v->step)), WEFT_ERR_INTERNAL,
               "told of another step");
    c->passes_asked[v->rank] += v->taps.asked;
    c->steps_told[v->rank] += told;
    v->step = (v->step + 1) % steps_of(TRAINED, c->batch);
    WEFT_TRY(comm_allreduce(v->comm, v->taps.sum, params->trained, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(tap_read(&params->grad, &gradient));
    for (int64_t i = 0; told && i < INPUTS * CLASSES; ++i) {
        most = fmax(most, fabs(gradient[i] - v->taps.sum[i]));
    }
    weft_free(gradient);
    v->taps.asked = v->taps.calls = 0;
    memset(v->taps.sum, 0, (size_t)params->trained * sizeof *v->taps.sum);
    WEFT_CHECK(most < 1e-12, WEFT_ERR_INTERNAL, "the listener's sum is %g off", most);
    return WEFT_OK;
}

static weft_status forget(void *self)
{
    rank_view *v = self;
    memset(v->memory, 0, sizeof v->memory);
    memset(v->applied, 0, sizeof v->applied);
    return WEFT_OK;
}

/* The second one is of another length on every rank. */
static weft_status remembered(void *self, const sync_buffer **buffer, int *count)
{
    rank_view *v = self;
    memcpy(v->memory_host, v->memory, sizeof v->memory);
    v->kept[0] = (sync_buffer){.name = "memory", .data = v->memory_host, .bytes = sizeof v->memory_host};
    v->kept[1] = (sync_buffer){.name = "applied", .data = v->applied, .bytes = v->rank + 1};
    *buffer = v->kept;
    *count = 2;
    return WEFT_OK;
}

static weft_status restored(void *self)
{
    rank_view *v = self;
    WEFT_CHECK(v->applied[v->rank] > 0, WEFT_ERR_INTERNAL, "not a step of this rank");
    memcpy(v->memory, v->memory_host, sizeof v->memory);
    return WEFT_OK;
}

/* Asked once a step. */
static bool asked(void *self)
{
    const rank_view *v = self;
    return ++v->c->steps_here[v->rank] == v->c->stop_after;
}

static weft_status make_model(weft_comm *comm, weft_hal *hal, rank_view *v)
{
    weft_dtype dtype = v->c->dtype;
    param_store *params = &v->params;
    v->hal = hal;
    WEFT_TRY(hal->mem.alloc(hal, sizeof v->label, WEFT_MEM_ACTIVATION, &v->device_label));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        WEFT_TRY(hal->mem.alloc(hal, sizeof v->mask, WEFT_MEM_ACTIVATION, &v->device_mask[s]));
    }
    param_store_begin(params, hal, dtype);
    const norm_layer layer = {.kind = v->c->norm, .cols = INPUTS, .group = PARAM_GROUP_NO_DECAY, .layer = "norm0"};
    WEFT_TRY(norm_declare(&v->norm, params, &layer));
    v->map = (train_linear){.params = params, .weight = param_add_block(params, PARAM_GROUP_DECAY, INPUTS, CLASSES)};
    WEFT_TRY(param_add(params, v->map.weight, 0, 0, INPUTS, CLASSES, param_glorot(INPUTS, CLASSES), "w"));
    const param_group own = {.trained = true, .lr_scale = 1.0};
    int group = v->c->own_bias ? param_add_group(params, &own) : PARAM_GROUP_NO_DECAY;
    v->map.bias = param_add_block(params, group, 1, CLASSES);
    if (!v->c->own_bias) {
        WEFT_TRY(param_add(params, v->map.bias, 0, 0, 1, CLASSES, param_constant(0.1), "b"));
    }
    WEFT_TRY(norm_declare_state(&v->norm));
    WEFT_TRY(param_store_commit(params, comm));
    WEFT_TRY(norm_create(&v->norm, comm, ROWS));
    if (v->c->own_bias) {
        const double initial[CLASSES] = {0.1, 0.1, 0.1};
        weft_tensor bias = param_value(params, v->map.bias);
        WEFT_TRY(tensor_upload(&bias, initial));
    }
    WEFT_TRY(tensor_create(hal, dtype, ROWS, INPUTS, WEFT_MEM_ACTIVATION, &v->store));
    WEFT_TRY(tensor_create(hal, dtype, ROWS, INPUTS, WEFT_MEM_ACTIVATION, &v->normed_store));
    WEFT_TRY(tensor_create(hal, dtype, ROWS, INPUTS, WEFT_MEM_ACTIVATION, &v->gradient_store));
    return tensor_create(hal, dtype, ROWS, CLASSES, WEFT_MEM_ACTIVATION, &v->logits_store);
}

static weft_status take_values(rank_view *v)
{
    double *value = v->c->value[v->rank];
    float narrow[WEIGHTS];
    bool wide = v->c->dtype == WEFT_DTYPE_F64;
    weft_tensor w = param_value(&v->params, v->map.weight);
    weft_tensor b = param_value(&v->params, v->map.bias);
    WEFT_TRY(tensor_download(&w, wide ? (void *)value : (void *)narrow));
    WEFT_TRY(tensor_download(&b, wide ? (void *)(value + INPUTS * CLASSES) : (void *)(narrow + INPUTS * CLASSES)));
    for (int i = 0; i < WEIGHTS && !wide; ++i) {
        value[i] = narrow[i];
    }
    return WEFT_OK;
}

static weft_status train_rank(weft_comm *comm, weft_hal *hal, rank_view *v)
{
    batch_case *c = v->c;
    train_result result = {0};
    train_options options = c->options;
    train_source source = {.self = v,
                           .steps = steps_of(TRAINED, c->batch) + (v->rank == c->odd_rank),
                           .eval_steps = steps_of(ROWS, c->eval_batch),
                           .loss_entries = TRAINED - 1,
                           .loss = TRAIN_LOSS_XENT,
                           .outputs = CLASSES,
                           .divides = !c->indivisible,
                           .batch = next_batch};
    for (int64_t step = 0; step < source.eval_steps; ++step) {
        int64_t left = ROWS - step * c->eval_batch;
        const hal_span own = hal_split_rows(left < c->eval_batch ? left : c->eval_batch, c->ranks, v->rank);
        source.eval_rows += own.end - own.begin;
    }
    WEFT_TRY(make_model(comm, hal, v));
    train_model model = {
        .name = "regression", .self = v, .params = &v->params, .forward = forward, .backward = backward};
    const train_checkpoints checkpoints = {.folder = c->folder,
                                           .data_hash = "of the test",
                                           .threads = 1,
                                           .every_s = c->closing ? 1e9 : 0,
                                           .every_steps = c->every_steps,
                                           .stop_at = c->stop_in_s > 0 ? clock_seconds() + c->stop_in_s : 0,
                                           .self = v,
                                           .asked_to_stop = asked,
                                           .resume = v->rank == 0 ? c->from : NULL};
    options.checkpoints = c->folder != NULL ? &checkpoints : NULL;
    train_preconditioner preconditioner = {.self = v, .apply = precondition};
    if (v->c->remembers) {
        preconditioner.reset = forget;
        preconditioner.state = remembered;
        preconditioner.restored = restored;
    }
    options.preconditioner = c->preconditioned ? &preconditioner : NULL;
    if (c->told_every > 0) {
        v->comm = comm;
        WEFT_TRY(tap_sums_create(&v->params, c->told_every, &v->taps));
        options.tap = &v->taps.tap;
        preconditioner.apply = check_told;
        options.preconditioner = &preconditioner;
    }
    const train_observer observer = {.self = v, .on_step = on_step, .on_epoch = on_epoch, .on_run = on_run};
    weft_status status = train_loop(comm, hal, &model, &source, &options, &observer, &result);
    weft_free(result.run);
    return status == WEFT_OK ? take_values(v) : status;
}

static weft_status start_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    rank_view *v = calloc(1, sizeof *v);
    v->c = argument;
    v->rank = comm_rank(comm);
    weft_status status = weft_hal_open(test_device(v->c->backend), 1, &hal);
    status = status == WEFT_OK ? train_rank(comm, hal, v) : status;
    tensor_destroy(&v->store);
    tensor_destroy(&v->normed_store);
    tensor_destroy(&v->gradient_store);
    norm_destroy(&v->norm);
    tensor_destroy(&v->logits_store);
    tap_sums_destroy(&v->taps);
    if (v->hal != NULL) {
        hal->mem.free(hal, v->device_label);
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            hal->mem.free(hal, v->device_mask[s]);
        }
        param_store_destroy(&v->params);
    }
    weft_hal_close(hal);
    free(v);
    return status;
}

static batch_case *make_case(weft_dtype dtype, int ranks)
{
    batch_case *c = calloc(1, sizeof *c);
    assert_non_null(c);
    make_data(&c->data);
    c->backend = ranks == 2 ? "shadow" : "ref"; /* a device with memory of its own, on some */
    c->dtype = dtype;
    c->ranks = ranks;
    c->odd_rank = -1;
    c->batch = 8;
    c->eval_batch = 9;
    c->options =
        (train_options){.epochs = EPOCHS,
                        .runs = 1,
                        .seed = 4,
                        .eval_every = 1,
                        .metric = TRAIN_METRIC_ACCURACY,
                        .sync = sync_options_default(),
                        .optimizer = {.kind = OPTIMIZER_SGD, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01},
                        .schedule = {.kind = SCHEDULE_LINEAR, .base = 0.3, .epochs = EPOCHS}};
    c->options.sync.topk.exchange = SPARSE_ALL_GATHER; /* topk selects, where a dense exchange would be as fast, too */
    return c;
}
