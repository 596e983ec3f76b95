/* app/dense/bench/dense_step.c: whole training steps of a network, as the training loop makes them; see
 * app/dense/bench/bench_dense.h. */
#include "app/dense/bench/bench_dense.h"
#include "comm/comm.h"
#include "train/replica.h"

typedef struct dense_step {
    dense_bench *bench;
    dense_model model;
    train_replica replica;
    bench_array pixels;
    weft_tensor ids, label, loss;
    double lost; /* of the last step */
} dense_step;

/* Words anywhere in the vocabulary; every second text ends behind three quarters. */
static weft_status put_words(dense_step *s)
{
    const dense_bench *b = s->bench;
    const int64_t tokens = net_pixels(b->net.input), count = b->images * tokens;
    float *word = NULL;
    WEFT_TRY(WEFT_NEW(&word, count, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < count; ++i) {
        const bool behind = i / tokens % 2 == 1 && i % tokens >= tokens * 3 / 4;
        word[i] = behind ? 0.0F : (float)(1 + i * 7919 % (b->net.words - 1));
    }
    const weft_status status = tensor_upload(&s->pixels.on, word);
    weft_free(word);
    return status;
}

/* Noise, all of the first class: the time does not depend on what is seen. */
static weft_status open_step(dense_step *s)
{
    const optimizer_options sgd = {.kind = OPTIMIZER_SGD, .weight_decay = 5e-4, .momentum = 0.9};
    const sync_options sync = sync_options_default();
    dense_bench *b = s->bench;
    weft_hal *hal = b->run.context->hal;
    const net_size in = b->net.input;
    const int64_t images = b->images;
    WEFT_TRY(dense_model_create(b->run.comm, hal, WEFT_DTYPE_F32, &b->config, &s->model));
    WEFT_TRY(replica_create(b->run.comm, &s->model.params, &sync, &sgd, NULL, false, &s->replica));
    WEFT_TRY(param_initialise(&s->model.params, 0));
    WEFT_TRY(replica_reset(&s->replica));
    WEFT_TRY(bench_array_input(hal, 0, images * in.height * in.width, in.channels, &s->pixels));
    WEFT_TRY(b->net.words > 0 ? put_words(s) : WEFT_OK);
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_I64, images, 1, WEFT_MEM_WORKSPACE, &s->ids));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_I32, images, 1, WEFT_MEM_WORKSPACE, &s->label));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &s->loss));
    WEFT_TRY(tensor_zero(&s->ids));
    return tensor_zero(&s->label);
}

static weft_status one_step(void *self)
{
    dense_step *s = self;
    const int64_t images = s->bench->images;
    const image_batch input = {.pixels = s->pixels.on, .rows = images, .all_rows = images, .sample_id = s->ids};
    const train_batch batch = {.input = &input};
    const train_pass pass = {.training = true, .parts = 1, .batch = &batch, .hooks = replica_hooks(&s->replica, true)};
    const tensor_loss_rows rows = {.scale = 1.0 / (double)images};
    weft_tensor logits;
    WEFT_TRY(replica_begin(&s->replica, 0.001, 1.0));
    WEFT_TRY(tensor_zero(&s->loss));
    WEFT_TRY(dense_forward(&s->model, &pass, &logits));
    WEFT_TRY(tensor_softmax_xent(&logits, s->label.data, &rows, &s->loss, &logits));
    WEFT_TRY(dense_backward(&s->model, &pass, &logits));
    WEFT_TRY(replica_gradients(&s->replica));
    WEFT_TRY(tensor_download(&s->loss, &s->lost));
    return replica_update(&s->replica);
}

/* A step whose layers are right is wrong where its loss is no number. */
static weft_status check(void *self, double *error)
{
    const dense_step *s = self;
    *error = s->bench->valid && isfinite(s->lost) ? 0.0 : (double)INFINITY;
    return WEFT_OK;
}

weft_status bench_dense_step(dense_bench *b, bench_result *result)
{
    dense_step s = {.bench = b};
    bench_case step = {.side = {one_step, &s, NULL}, .check = check};
    snprintf(b->run.what, sizeof b->run.what, "step of %s", b->net.name);
    weft_status status = open_step(&s);
    status = status == WEFT_OK ? bench_measure(&b->run, &step, result) : status;
    bench_array_free(&s.pixels);
    TENSOR_DESTROY_ALL(&s.ids, &s.label, &s.loss);
    replica_destroy(&s.replica);
    dense_model_destroy(&s.model);
    return status;
}
