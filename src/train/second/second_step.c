/*
 * train/second/second_step.c: one step: the gradients of all layers are turned, then shrunk together by the KL clip.
 *
 * P = F^-1 g gives P . g = P^T F P, twice the divergence that a step of length 1 causes. The clip bounds lr^2 times its
 * sum over layers, with the learning rate of this very step, and shrinks the gradients of all other parameters as much.
 * A layer without an inverse takes its gradient as it is. A bias that joins behind sums of rows takes its gradient over
 * b: it is a map of the constant 1.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>

/* Does the bias have a direction of its own, beside that of the weights? */
static bool has_loose_bias(const second_layer *layer)
{
    return layer->map->bias >= 0 && !layer->map->joined && layer->inverted && layer->side[SECOND_OUT].mean > 0.0;
}

/* The part of a layer's matrix that holds the weights, or the joined bias. */
static weft_tensor part_of(const second_layer *layer, const weft_tensor *matrix, bool bias)
{
    const int64_t at = bias ? layer->in : 0, count = bias ? 1 : layer->in;
    return layer->map->transposed ? tensor_view(matrix, 0, layer->out, at, count)
                                  : tensor_view(matrix, at, count, 0, layer->out);
}

static bool has_joined_bias(const second_layer *layer)
{
    return layer->side[SECOND_IN].n > layer->in;
}

/* The store's gradient of a joined bias, in the shape of the row or column that it is. */
static weft_tensor bias_gradient(const train_second *s, const second_layer *layer)
{
    const weft_tensor db = param_grad(s->params, layer->map->bias);
    return layer->map->transposed ? tensor_reshape(&db, layer->out, 1) : db;
}

static weft_status collect(const train_second *s, second_layer *layer)
{
    const weft_tensor dw = param_grad(s->params, layer->map->block);
    weft_tensor weights = part_of(layer, &layer->gradient, false);
    WEFT_TRY(tensor_axpby(1.0, &dw, 0.0, &weights));
    if (!has_joined_bias(layer)) {
        return WEFT_OK;
    }
    const weft_tensor db = bias_gradient(s, layer);
    weft_tensor bias = part_of(layer, &layer->gradient, true);
    return tensor_axpby(1.0, &db, 0.0, &bias);
}

/* s->dot += direction . gradient, in double. */
static weft_status add_dot(train_second *s, const weft_tensor *direction, const weft_tensor *gradient)
{
    WEFT_TRY(tensor_download(direction, s->host[0]));
    WEFT_TRY(tensor_download(gradient, s->host[1]));
    for (int64_t i = 0; i < gradient->rows * gradient->cols; ++i) {
        s->dot += second_number(s, s->host[0], i) * second_number(s, s->host[1], i);
    }
    return WEFT_OK;
}

static weft_status turn(train_second *s, second_layer *layer)
{
    WEFT_TRY(collect(s, layer));
    if (!layer->inverted || layer->side[SECOND_OUT].mean <= 0.0) {
        WEFT_TRY(tensor_axpby(1.0, &layer->gradient, 0.0, &layer->direction));
    } else {
        WEFT_TRY(s->method->turn(s, layer));
    }
    WEFT_TRY(add_dot(s, &layer->direction, &layer->gradient));
    if (!has_loose_bias(layer)) {
        return WEFT_OK;
    }
    weft_tensor db = param_grad(s->params, layer->map->bias);
    const double b = layer->side[SECOND_OUT].mean * (1.0 + layer->damping);
    const double before = s->dot;
    WEFT_TRY(add_dot(s, &db, &db));
    s->dot = before + (s->dot - before) / b;
    return tensor_axpby(1.0 / b, &db, 0.0, &db);
}

/* The directions in the place of the gradients. */
static weft_status write_back(const train_second *s, const second_layer *layer)
{
    const weft_tensor weights = part_of(layer, &layer->direction, false);
    weft_tensor dw = param_grad(s->params, layer->map->block);
    WEFT_TRY(tensor_axpby(1.0, &weights, 0.0, &dw));
    if (!has_joined_bias(layer)) {
        return WEFT_OK;
    }
    const weft_tensor bias = part_of(layer, &layer->direction, true);
    weft_tensor db = bias_gradient(s, layer);
    return tensor_axpby(1.0, &bias, 0.0, &db);
}

/* All ranks take the step of rank 0, where theirs might differ in the last bit. */
static weft_status share(const train_second *s)
{
    const int64_t bytes = (int64_t)weft_dtype_bytes(s->params->dtype);
    for (int l = 0; s->unequal && l < s->layers; ++l) {
        const train_map *map = s->layer[l].map;
        for (int i = 0; i < 2; ++i) {
            const int block = i == 0 ? map->block : map->bias;
            if (block < 0) {
                continue;
            }
            weft_tensor grad = param_grad(s->params, block);
            WEFT_TRY(comm_agree(s->comm, tensor_download(&grad, s->host[0])));
            WEFT_TRY(comm_bcast(s->comm, 0, s->host[0], grad.rows * grad.cols * bytes));
            WEFT_TRY(tensor_upload(&grad, s->host[0]));
        }
    }
    return WEFT_OK;
}

static weft_status prepare(train_second *s)
{
    double sum = 0.0;
    for (int l = 0; s->method->prepare != NULL && l < s->layers; ++l) {
        WEFT_TRY(s->method->prepare(s, &s->layer[l]));
        sum += s->layer[l].damping;
    }
    s->figures.damping = sum / s->layers;
    return WEFT_OK;
}

/* Turns the gradients of all layers. [out] s->dot: the same on all ranks, because the clip changes all parameters. */
static weft_status turn_layers(train_second *s)
{
    weft_status status = WEFT_OK;
    s->dot = 0.0;
    for (int l = 0; status == WEFT_OK && l < s->layers; ++l) {
        status = turn(s, &s->layer[l]);
    }
    if (!s->unequal) {
        return status;
    }
    WEFT_TRY(comm_agree(s->comm, status));
    return comm_bcast(s->comm, 0, &s->dot, sizeof s->dot);
}

static weft_status turn_all(train_second *s, double lr)
{
    WEFT_TRY(turn_layers(s));
    const double moved = s->dot * lr * lr;
    s->figures.clip = s->options.clip > 0.0 && moved > s->options.clip ? sqrt(s->options.clip / moved) : 1.0;
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(write_back(s, &s->layer[l]));
    }
    const weft_tensor grad = s->params->grad;
    WEFT_TRY(tensor_axpby(s->figures.clip, &grad, 0.0, &s->params->grad));
    return share(s);
}

weft_status second_apply(void *self, param_store *params, double lr)
{
    train_second *s = self;
    weft_status status = WEFT_OK;
    assert(params == s->params && s->layers > 0);
    (void)params;
    if (s->capturing) {
        const double begun = second_begin();
        status = second_update_factors(s);
        second_end(s, SECOND_FACTORS, begun);
    }
    if (status == WEFT_OK && second_is_turn(s, s->options.interval)) {
        const double begun = second_begin();
        status = prepare(s);
        second_end(s, SECOND_INVERSES, begun);
    }
    if (status == WEFT_OK) {
        const double begun = second_begin();
        status = turn_all(s, lr);
        second_end(s, SECOND_STEPS, begun);
    }
    s->step += 1;
    return comm_agree(s->comm, status);
}
