/* app/dense/bench/dense_step.c: whole training steps of a network, as the training loop makes them; see
 * app/dense/bench/bench_dense.h. */
#include "app/dense/bench/bench_dense.h"
#include "comm/comm.h"
#include "train/replica.h"

typedef struct dense_step {
    weft_comm *comm;
    weft_hal *hal;
    const network *net;
    dense_model model;
    train_replica replica;
    bench_array pixels;
    weft_tensor ids, label, loss;
    int64_t images;
    double lost; /* of the last step */
} dense_step;

/* Noise, all of the first class: the time does not depend on what is seen. */
static weft_status open_step(dense_step *s, const dense_config *config)
{
    const optimizer_options sgd = {.kind = OPTIMIZER_SGD, .weight_decay = 5e-4, .momentum = 0.9};
    const sync_options sync = sync_options_default();
    const net_size in = s->net->input;
    WEFT_TRY(comm_create_self(&s->comm));
    WEFT_TRY(dense_model_create(s->comm, s->hal, WEFT_DTYPE_F32, config, &s->model));
    WEFT_TRY(replica_create(s->comm, &s->model.params, &sync, &sgd, NULL, false, &s->replica));
    WEFT_TRY(param_initialise(&s->model.params, 0));
    WEFT_TRY(replica_reset(&s->replica));
    WEFT_TRY(bench_array_create(s->hal, WEFT_DTYPE_F32, s->images * in.height * in.width, in.channels, &s->pixels));
    bench_fill(0, s->pixels.host, s->images * in.height * in.width * in.channels);
    WEFT_TRY(bench_array_upload(&s->pixels));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I64, s->images, 1, WEFT_MEM_WORKSPACE, &s->ids));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_I32, s->images, 1, WEFT_MEM_WORKSPACE, &s->label));
    WEFT_TRY(tensor_create(s->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &s->loss));
    WEFT_TRY(tensor_zero(&s->ids));
    return tensor_zero(&s->label);
}

static void close_step(dense_step *s)
{
    bench_array_free(&s->pixels);
    TENSOR_DESTROY_ALL(&s->ids, &s->label, &s->loss);
    replica_destroy(&s->replica);
    dense_model_destroy(&s->model);
    comm_destroy(s->comm);
}

static weft_status one_step(void *self)
{
    dense_step *s = self;
    const image_batch input = {.pixels = s->pixels.on, .rows = s->images, .all_rows = s->images, .sample_id = s->ids};
    const train_batch batch = {.input = &input};
    const train_pass pass = {.training = true, .parts = 1, .batch = &batch, .hooks = replica_hooks(&s->replica, true)};
    const tensor_loss_rows rows = {.scale = 1.0 / (double)s->images};
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

weft_status bench_dense_step(dense_bench *b, bench_pair *time, double *loss)
{
    dense_step s = {.hal = b->run.context->hal, .net = &b->net, .images = b->images};
    weft_status status = open_step(&s, &b->config);
    status =
        status == WEFT_OK ? bench_time(s.comm, &(bench_side){one_step, &s, NULL}, NULL, b->run.repeats, time) : status;
    *loss = s.lost / (double)s.images;
    close_step(&s);
    return status;
}
