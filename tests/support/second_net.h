/*
 * support/second_net.h: a small network in plain C whose steps go through a second-order method, second/second.h,
 * on one rank or several: z = [a, 1] W for each layer, an activation between layers, squared loss over two.
 *
 * The network knows nothing of Weft's layers: it computes answers and gradients itself, shows its rows to the method's
 * listener and gives the gradients to be turned. Weights are complex numbers, so that the imaginary part of an answer
 * under a weight plus i h is its exact derivative times h.
 */
#pragma once

#include <complex.h>
#include <math.h>

#include "base/half.h"
#include "support/random.h"
#include "support/test.h"
#include "train/second/second_internal.h"

enum { NET_LAYERS = 3, NET_WIDTH = 6, NET_ROWS = 48, NET_STEPS = 5, NET_RANKS = 4 };
enum { NET_MATRIX = (NET_WIDTH + 1) * NET_WIDTH, NET_WEIGHTS = NET_LAYERS * NET_MATRIX };

typedef enum net_activation { NET_LINEAR, NET_TANH, NET_RELU } net_activation;

typedef double net_rows[NET_ROWS][NET_WIDTH];

typedef struct second_net {
    second_kind kind; /* SECOND_NONE: the gradient itself */
    const char *backend;
    weft_dtype dtype; /* of the parameters: float64 or float32 */
    int ranks, parts;
    const char *other_backend; /* of all ranks but rank 0, which then round differently; NULL: the same */
    bool rows_have_ids;        /* else every row counts, as rows of images do */
    bool rows_are_bf16;        /* the listener gets bfloat16 rows */
    int layers, width[NET_LAYERS + 1];
    bool bias[NET_LAYERS];
    net_activation activation;
    double damping, clip;
    int64_t interval;
    int rows, steps;
    double lr[NET_STEPS];
    net_rows x, target;
    double weight[NET_LAYERS][NET_MATRIX]; /* [in + 1, out]; updated */
    int spoiled_step;                      /* the step in which the listener gets `spoil` in one row; -1: none */
    int spoiled_layer;
    bool spoils_gradient; /* of the output's gradient, else of the input */
    double spoil;
    double astray; /* size of what gradients get beside what their rows make of them, as sampled rows leave it */
    /* [out] of each step */
    net_rows answer[NET_STEPS];
    double gradient[NET_STEPS][NET_LAYERS][NET_MATRIX], step[NET_STEPS][NET_LAYERS][NET_MATRIX];
    precondition_figures figures[NET_STEPS];
    bool equal; /* all ranks had the same bits in every step */
    /* [out] factors of the last step, [in + 1, in + 1] or [in, in], and [out, out] */
    double a[NET_LAYERS][(NET_WIDTH + 1) * (NET_WIDTH + 1)], g[NET_LAYERS][NET_WIDTH * NET_WIDTH];
    /* steps of each rank, to compare */
    double of_rank[NET_RANKS][NET_LAYERS][NET_MATRIX], loose[NET_RANKS];
} second_net;

/* A network of these widths with random rows, targets and weights. */
static inline void net_make(second_net *net, int layers, const int *width, uint64_t seed)
{
    uint64_t state = seed;
    *net = (second_net){.backend = "ref",
                        .dtype = WEFT_DTYPE_F64,
                        .ranks = 1,
                        .parts = 1,
                        .rows_have_ids = true,
                        .layers = layers,
                        .activation = NET_TANH,
                        .damping = 0.1,
                        .interval = 1,
                        .rows = NET_ROWS,
                        .steps = 1,
                        .spoiled_step = -1};
    memcpy(net->width, width, sizeof *width * (size_t)(layers + 1));
    for (int r = 0; r < NET_ROWS * NET_WIDTH; ++r) {
        net->x[r / NET_WIDTH][r % NET_WIDTH] = 2.0 * test_uniform(&state) - 0.7;
        net->target[r / NET_WIDTH][r % NET_WIDTH] = 2.0 * test_uniform(&state) - 1.0;
    }
    for (int l = 0; l < layers; ++l) {
        net->bias[l] = true;
        for (int i = 0; i < (width[l] + 1) * width[l + 1]; ++i) {
            net->weight[l][i] = 1.2 * test_uniform(&state) - 0.6;
        }
    }
    for (int s = 0; s < NET_STEPS; ++s) {
        net->lr[s] = 0.3;
    }
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

typedef struct net_state {
    double complex weight[NET_LAYERS][NET_MATRIX];
    double complex a[NET_LAYERS + 1][NET_WIDTH]; /* inputs of layers, then the answer */
    double complex z[NET_LAYERS][NET_WIDTH];
    double dz[NET_LAYERS][NET_WIDTH];
} net_state;

static inline void net_take_weights(const second_net *net, net_state *state)
{
    for (int l = 0; l < net->layers; ++l) {
        for (int i = 0; i < NET_MATRIX; ++i) {
            state->weight[l][i] = net->weight[l][i];
        }
    }
}

static inline double complex net_activate(net_activation activation, double complex z)
{
    return activation == NET_TANH ? ctanh(z) : activation == NET_LINEAR || creal(z) > 0.0 ? z : 0.0;
}

static inline double net_slope(net_activation activation, double z)
{
    return activation == NET_TANH ? 1.0 - tanh(z) * tanh(z) : activation == NET_LINEAR || z > 0.0 ? 1.0 : 0.0;
}

static inline void net_forward(const second_net *net, net_state *s, const double *x)
{
    for (int i = 0; i < net->width[0]; ++i) {
        s->a[0][i] = x[i];
    }
    for (int l = 0; l < net->layers; ++l) {
        const int in = net->width[l], out = net->width[l + 1];
        for (int o = 0; o < out; ++o) {
            s->z[l][o] = net->bias[l] ? s->weight[l][in * out + o] : 0.0;
            for (int i = 0; i < in; ++i) {
                s->z[l][o] += s->a[l][i] * s->weight[l][i * out + o];
            }
            s->a[l + 1][o] = l + 1 < net->layers ? net_activate(net->activation, s->z[l][o]) : s->z[l][o];
        }
    }
}

/* dz of all layers out of the gradient of the answer. */
static inline void net_backward(const second_net *net, net_state *s, const double *answer_gradient)
{
    const int last = net->layers - 1;
    memcpy(s->dz[last], answer_gradient, sizeof(double) * (size_t)net->width[net->layers]);
    for (int l = last; l > 0; --l) {
        for (int i = 0; i < net->width[l]; ++i) {
            double sum = 0.0;
            for (int o = 0; o < net->width[l + 1]; ++o) {
                sum += creal(s->weight[l][i * net->width[l + 1] + o]) * s->dz[l][o];
            }
            s->dz[l - 1][i] = sum * net_slope(net->activation, creal(s->z[l - 1][i]));
        }
    }
}

/* Rows of all layers, as a step shows them to a listener. */
typedef struct net_pass {
    net_rows a[NET_LAYERS], dz[NET_LAYERS];
} net_pass;

/* [out] answer, and where `pass` is not NULL rows of layers and the gradient of all rows. */
static inline void net_run(const second_net *net, net_rows answer, net_pass *pass, double (*gradient)[NET_MATRIX])
{
    static _Thread_local net_state state;
    net_take_weights(net, &state);
    for (int l = 0; pass != NULL && l < net->layers; ++l) {
        memset(gradient[l], 0, sizeof gradient[l]);
    }
    for (int r = 0; r < net->rows; ++r) {
        double difference[NET_WIDTH];
        net_forward(net, &state, net->x[r]);
        for (int o = 0; o < net->width[net->layers]; ++o) {
            answer[r][o] = creal(state.a[net->layers][o]);
            difference[o] = (answer[r][o] - net->target[r][o]) / net->rows;
        }
        if (pass == NULL) {
            continue;
        }
        net_backward(net, &state, difference);
        for (int l = 0; l < net->layers; ++l) {
            const int in = net->width[l], out = net->width[l + 1];
            for (int i = 0; i < in; ++i) {
                pass->a[l][r][i] = creal(state.a[l][i]);
            }
            for (int o = 0; o < out; ++o) {
                pass->dz[l][r][o] = state.dz[l][o];
                for (int i = 0; i <= in; ++i) {
                    gradient[l][i * out + o] += (i < in ? pass->a[l][r][i] : net->bias[l]) * state.dz[l][o];
                }
            }
        }
    }
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

typedef struct net_rank {
    second_net *net;
    weft_comm *comm;
    weft_hal *hal;
    param_store params;
    train_map map[NET_LAYERS];
    train_model model;
    int64_t id[NET_ROWS];
    int loose; /* a parameter of no map, whose gradient is 1: the clip alone changes it */
    train_second *second;
} net_rank;

static inline weft_status net_open(weft_comm *comm, second_net *net, net_rank *r)
{
    const int rank = comm_rank(comm);
    const char *backend = rank > 0 && net->other_backend != NULL ? net->other_backend : net->backend;
    *r = (net_rank){.net = net, .comm = comm};
    WEFT_TRY(weft_hal_open(test_device(backend), 1, &r->hal));
    param_store_begin(&r->params, r->hal, net->dtype);
    for (int l = 0; l < net->layers; ++l) {
        r->map[l] = (train_map){.joined = true, .bias = -1};
        r->map[l].block = param_add_block(&r->params, PARAM_GROUP_DECAY, net->width[l], net->width[l + 1]);
        if (net->bias[l]) {
            r->map[l].bias = param_add_block(&r->params, PARAM_GROUP_NO_DECAY, 1, net->width[l + 1]);
        }
    }
    r->loose = param_add_block(&r->params, PARAM_GROUP_NO_DECAY, 1, 1);
    WEFT_TRY(param_store_commit(&r->params, NULL));
    r->model = (train_model){.name = "net", .params = &r->params, .map = r->map, .maps = net->layers};
    for (int i = rank; net->rows_have_ids && i < net->rows; i += net->ranks) {
        r->id[r->model.row_ids++] = i;
    }
    r->model.row_id = net->rows_have_ids ? r->id : NULL;
    const second_options options = {.kind = net->kind,
                                    .damping = net->damping,
                                    .clip = net->clip,
                                    .decay = 0.5,
                                    .factors = 1,
                                    .interval = net->interval,
                                    .seed = 1};
    return net->kind == SECOND_NONE ? WEFT_OK : second_create(comm, &r->model, &options, &r->second);
}

static inline void net_close(net_rank *r)
{
    second_destroy(r->second);
    param_store_destroy(&r->params);
    weft_hal_close(r->hal);
}

/* The rows of a double array in the type that a tensor has. */
static inline weft_status net_put(weft_tensor *t, const double *values)
{
    float narrow[NET_ROWS * NET_WIDTH];
    uint16_t half[NET_ROWS * NET_WIDTH];
    for (int64_t i = 0; i < t->rows * t->cols; ++i) {
        narrow[i] = (float)values[i];
        half[i] = bf16_from_float(narrow[i]);
    }
    return tensor_upload(t, t->dtype == WEFT_DTYPE_F64   ? (const void *)values
                            : t->dtype == WEFT_DTYPE_F32 ? (const void *)narrow
                                                         : (const void *)half);
}

static inline weft_status net_get(const weft_tensor *t, double *values)
{
    float narrow[NET_ROWS * NET_WIDTH];
    WEFT_TRY(tensor_download(t, t->dtype == WEFT_DTYPE_F64 ? (void *)values : (void *)narrow));
    for (int64_t i = 0; t->dtype != WEFT_DTYPE_F64 && i < t->rows * t->cols; ++i) {
        values[i] = (double)narrow[i];
    }
    return WEFT_OK;
}

/* Shows `count` rows of a layer: every ranks-th of all, from `first` of this rank's own on. */
static inline weft_status net_show(net_rank *r, const train_pass *pass, const net_pass *rows, int l, int first,
                                   int count)
{
    const second_net *net = r->net;
    const int in = net->width[l], out = net->width[l + 1];
    const weft_dtype dtype = net->rows_are_bf16 ? WEFT_DTYPE_BF16 : net->dtype;
    double x[NET_ROWS * NET_WIDTH], dz[NET_ROWS * NET_WIDTH];
    weft_tensor a = {0}, d = {0};
    for (int i = 0; i < count; ++i) {
        const int row = comm_rank(r->comm) + (first + i) * net->ranks;
        memcpy(x + (ptrdiff_t)i * in, rows->a[l][row], sizeof *x * (size_t)in);
        memcpy(dz + (ptrdiff_t)i * out, rows->dz[l][row], sizeof *dz * (size_t)out);
    }
    WEFT_TRY(tensor_create(r->hal, dtype, count, in, WEFT_MEM_WORKSPACE, &a));
    WEFT_TRY(tensor_create(r->hal, dtype, count, out, WEFT_MEM_WORKSPACE, &d));
    WEFT_TRY(net_put(&a, x));
    WEFT_TRY(net_put(&d, dz));
    const train_tap *tap = second_tap(r->second);
    const tap_rows told = {
        .block = r->map[l].block, .first = net->rows_have_ids ? first : 0, .rows = in, .cols = out, .x = &a, .dy = &d};
    const weft_status status = tap->take(tap->self, pass, &told);
    TENSOR_DESTROY_ALL(&a, &d);
    return status;
}

/* The rank's rows, in as many passes as there are parts. */
static inline weft_status net_capture(net_rank *r, const net_pass *rows)
{
    const second_net *net = r->net;
    const train_targets targets = {.loss_entries = net->rows};
    const train_batch batch = {.targets = &targets};
    const train_tap *tap = second_tap(r->second);
    const int mine = (net->rows - comm_rank(r->comm) + net->ranks - 1) / net->ranks;
    for (int part = 0; part < net->parts; ++part) {
        const train_pass pass = {.training = true, .part = part, .parts = net->parts, .batch = &batch};
        const int first = mine * part / net->parts, count = mine * (part + 1) / net->parts - first;
        const bool wanted = tap->wants(tap->self, &pass);
        for (int l = net->layers - 1; wanted && l >= 0; --l) {
            WEFT_TRY(net_show(r, &pass, rows, l, first, count));
        }
    }
    return WEFT_OK;
}

/* Weights or gradients of a layer, [in, out] and the bias behind them. */
static inline weft_status net_move(net_rank *r, int l, bool to_store, double *values)
{
    const int64_t weights = (int64_t)r->net->width[l] * r->net->width[l + 1];
    weft_tensor dw = param_grad(&r->params, r->map[l].block);
    WEFT_TRY(to_store ? net_put(&dw, values) : net_get(&dw, values));
    if (r->map[l].bias < 0) {
        return WEFT_OK;
    }
    weft_tensor db = param_grad(&r->params, r->map[l].bias);
    return to_store ? net_put(&db, values + weights) : net_get(&db, values + weights);
}

static inline weft_status net_step(net_rank *r, int s)
{
    second_net *net = r->net;
    const int rank = comm_rank(r->comm);
    net_pass rows;
    net_rows answer;
    double gradient[NET_LAYERS][NET_MATRIX];
    net_run(net, answer, &rows, gradient);
    for (int i = 0; i < NET_WEIGHTS; ++i) {
        gradient[i / NET_MATRIX][i % NET_MATRIX] += net->astray * sin(1.0 + i);
    }
    double *at =
        net->spoils_gradient ? rows.dz[net->spoiled_layer][net->rows / 2] : rows.a[net->spoiled_layer][net->rows / 2];
    *at = s == net->spoiled_step ? net->spoil : *at;
    WEFT_TRY(r->second != NULL ? net_capture(r, &rows) : WEFT_OK);
    for (int l = 0; l < net->layers; ++l) {
        WEFT_TRY(net_move(r, l, true, gradient[l]));
    }
    weft_tensor loose = param_grad(&r->params, r->loose);
    WEFT_TRY(net_put(&loose, &(double){1.0}));
    const train_preconditioner *turn = r->second != NULL ? second_preconditioner(r->second) : NULL;
    WEFT_TRY(turn != NULL ? turn->apply(turn->self, &r->params, net->lr[s]) : WEFT_OK);
    for (int l = 0; l < net->layers; ++l) {
        memset(net->of_rank[rank][l], 0, sizeof net->of_rank[rank][l]);
        WEFT_TRY(net_move(r, l, false, net->of_rank[rank][l]));
    }
    WEFT_TRY(net_get(&loose, &net->loose[rank]));
    if (rank == 0) {
        memcpy(net->gradient[s], gradient, sizeof gradient);
        memcpy(net->step[s], net->of_rank[0], sizeof net->step[s]);
        net->figures[s] = turn != NULL ? turn->figures(turn->self) : (precondition_figures){.clip = 1.0};
    }
    return WEFT_OK;
}

/* Rank 0 moves the weights of all, between two barriers. */
static inline void net_move_weights(second_net *net, int s)
{
    for (int l = 0; l < net->layers; ++l) {
        for (int i = 0; i < NET_MATRIX; ++i) {
            net->weight[l][i] -= net->lr[s] * net->step[s][l][i];
        }
    }
    for (int rank = 1; rank < net->ranks; ++rank) {
        net->equal = net->equal && net->loose[0] == net->loose[rank] &&
                     memcmp(net->of_rank[0], net->of_rank[rank], sizeof net->of_rank[0]) == 0;
    }
    net_run(net, net->answer[s], NULL, NULL);
}

static inline weft_status net_unpack(const second_side *side, double *matrix)
{
    double packed[(NET_WIDTH + 1) * (NET_WIDTH + 2) / 2];
    WEFT_TRY(net_get(&side->factor, packed));
    for (int64_t i = 0; i < side->n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            matrix[i * side->n + j] = matrix[j * side->n + i] = packed[second_packed(i) + j];
        }
    }
    return WEFT_OK;
}

static inline weft_status net_run_rank(weft_comm *comm, void *argument)
{
    second_net *net = argument;
    net_rank r;
    weft_status status = net_open(comm, net, &r);
    for (int s = 0; status == WEFT_OK && s < net->steps; ++s) {
        status = comm_agree(comm, net_step(&r, s)); /* agreement is a barrier */
        if (status == WEFT_OK && comm_rank(comm) == 0) {
            net_move_weights(net, s);
        }
        status = status == WEFT_OK ? comm_agree(comm, WEFT_OK) : status;
    }
    for (int l = 0; status == WEFT_OK && r.second != NULL && comm_rank(comm) == 0 && l < net->layers; ++l) {
        status = net_unpack(&r.second->layer[l].side[SECOND_IN], net->a[l]);
        status = status == WEFT_OK ? net_unpack(&r.second->layer[l].side[SECOND_OUT], net->g[l]) : status;
    }
    net_close(&r);
    return status;
}

static inline void net_train(second_net *net)
{
    net->equal = true;
    ASSERT_OK(comm_thread_run(net->ranks, net_run_rank, net));
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

/* Largest difference of two arrays, relative to the largest element of the second. */
static inline double net_far(const double *a, const double *b, size_t count)
{
    double far = 0.0, most = 0.0;
    for (size_t i = 0; i < count; ++i) {
        far = isfinite(a[i]) && isfinite(b[i]) ? fmax(far, fabs(a[i] - b[i])) : INFINITY;
        most = fmax(most, fabs(b[i]));
    }
    return most > 0.0 ? far / most : far;
}
