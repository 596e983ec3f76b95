/*
 * train/second/second_step.c: one step: the gradients of all layers are turned, then shrunk together by the KL clip.
 *
 * P = F^-1 g gives P . g = P^T F P, twice the divergence that a step of length 1 causes. The clip bounds lr^2 times its
 * sum over layers, with the learning rate of this very step, and shrinks the gradients of all other parameters as much.
 * A layer without an inverse takes its gradient as it is. A bias that joins behind sums of rows takes its gradient over
 * b: it is a map of the constant 1. Which rank inverts and turns what: train/second/second_place.h.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>

#include "base/integer/integers.h"

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

/* Between the store's gradient of the weights and the part of a layer's matrix that holds them. */
static weft_status move_weights(const train_second *s, const second_layer *layer, const weft_tensor *matrix, bool back)
{
    const weft_tensor block = param_grad(s->params, layer->map->block);
    const weft_tensor weights = part_of(layer, matrix, false);
    for (int i = 0; i < layer->parts; ++i) {
        const int64_t rows = weights.rows / layer->parts, cols = block.cols / layer->parts;
        weft_tensor beside = tensor_view(&block, 0, block.rows, i * cols, cols);
        weft_tensor above = tensor_view(&weights, i * rows, rows, 0, weights.cols);
        WEFT_TRY(tensor_axpby(1.0, back ? &above : &beside, 0.0, back ? &beside : &above));
    }
    return WEFT_OK;
}

static weft_status collect(const train_second *s, second_layer *layer)
{
    WEFT_TRY(move_weights(s, layer, &layer->gradient, false));
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

/* Returns true if the layer's direction is another than its gradient. */
static bool is_turned(const second_layer *layer)
{
    return layer->inverted && layer->side[SECOND_OUT].mean > 0.0;
}

static weft_status turn(train_second *s, second_layer *layer)
{
    WEFT_TRY(collect(s, layer));
    if (s->figures.stepped_back) {
        return tensor_axpby(layer->number, &layer->gradient, 0.0, &layer->direction);
    }
    return is_turned(layer) ? s->method->turn(s, layer) : tensor_axpby(1.0, &layer->gradient, 0.0, &layer->direction);
}

/* Turns a layer's gradient where this rank works for it, and posts the direction. */
static weft_status begin_turn(train_second *s, second_layer *layer)
{
    const bool sends = layer->works;
    const double begun = second_work_begin();
    const weft_status status = sends || !is_turned(layer) ? turn(s, layer) : WEFT_OK;
    second_work_end(s, SECOND_STEPS, begun);
    const weft_status posted = is_turned(layer) ? second_post(s, &layer->parcel, sends, &layer->direction) : WEFT_OK;
    return status != WEFT_OK ? status : posted;
}

/* A loose bias goes over b, and its product counts. */
static weft_status turn_bias(train_second *s, const second_layer *layer)
{
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
    WEFT_TRY(move_weights(s, layer, &layer->direction, true));
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

/* ---- inversions -------------------------------------------------------------------------------------------------- */

/* Returns true if the side is inverted in this step, on the rank that owns it. */
static bool is_due(const second_side *side)
{
    return side->inverts && side->held && !(side->constant && side->inverted);
}

/* Every side that the method inverts has a factor, and one of them is to be inverted. */
static bool is_layer_due(const second_layer *layer)
{
    const second_side *in = &layer->side[SECOND_IN], *out = &layer->side[SECOND_OUT];
    return (in->held || !in->inverts) && (out->held || !out->inverts) && (is_due(in) || is_due(out));
}

static weft_status invert_layer(train_second *s, second_layer *layer)
{
    weft_status status = WEFT_OK;
    for (int i = 0; i < SECOND_SIDES; ++i) {
        second_side *side = &layer->side[i];
        bool good = false;
        if (!is_due(side)) {
            continue;
        }
        const double begun = second_work_begin();
        const weft_status done = side->mine ? s->method->invert(s, layer, i, &good) : WEFT_OK;
        second_work_end(s, SECOND_INVERSES, begun);
        side->refused = side->mine && !good;
        const weft_status posted = second_post(s, &side->parcel, side->mine, &side->result);
        status = status != WEFT_OK ? status : done != WEFT_OK ? done : posted;
    }
    return status;
}

static weft_status wait_for_layer(const train_second *s, second_layer *layer)
{
    weft_status status = WEFT_OK;
    for (int i = 0; i < SECOND_SIDES; ++i) {
        second_side *side = &layer->side[i];
        const weft_status arrived = second_wait(s, &side->parcel, side->mine, &side->result);
        status = status != WEFT_OK ? status : arrived;
    }
    return status;
}

static weft_status finish_layer(train_second *s, second_layer *layer)
{
    bool good = true, failed = false;
    for (int i = 0; i < SECOND_SIDES; ++i) {
        second_side *side = &layer->side[i];
        failed = failed || (side->inverts && side->refused && side->mean > 0.0); /* zeros need no inverse */
        side->inverted = side->inverts && !side->refused;
        good = good && (side->inverted || !side->inverts) && (side->mean > 0.0 || !side->inverts);
    }
    layer->inverted = good;
    s->figures.refused += failed ? 1 : 0;
    return good && layer->works && !layer->wide && s->method->finish != NULL ? s->method->finish(s, layer) : WEFT_OK;
}

/* Inverses of one layer travel while the next are made. */
static weft_status prepare(train_second *s)
{
    bool *due = s->due;
    double sum = 0.0;
    weft_status status = WEFT_OK;
    for (int l = 0; l < s->layers; ++l) {
        due[l] = is_layer_due(&s->layer[l]);
        const weft_status done = due[l] ? invert_layer(s, &s->layer[l]) : WEFT_OK;
        status = status != WEFT_OK ? status : done;
    }
    for (int l = 0; l < s->layers; ++l) {
        const weft_status arrived = due[l] ? wait_for_layer(s, &s->layer[l]) : WEFT_OK;
        status = status != WEFT_OK ? status : arrived;
    }
    WEFT_TRY(s->workers > 0 ? comm_agree(s->comm, status) : status);
    WEFT_TRY(s->workers > 0 ? second_share_verdicts(s, due) : WEFT_OK);
    const double begun = second_work_begin();
    for (int l = 0; l < s->layers; ++l) {
        WEFT_TRY(due[l] ? finish_layer(s, &s->layer[l]) : WEFT_OK);
        sum += s->layer[l].damping;
    }
    second_work_end(s, SECOND_INVERSES, begun);
    s->figures.damping = sum / s->layers;
    return WEFT_OK;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static weft_status settle_turn(train_second *s, second_layer *layer)
{
    WEFT_TRY(s->between != NULL ? collect(s, layer) : WEFT_OK); /* `gradient` holds another layer's by now */
    if (second_judge_is_last(s)) {
        const double before = s->dot;
        WEFT_TRY(add_dot(s, &layer->gradient, &layer->gradient));
        layer->squares = s->dot - before;
        s->dot = before;
    }
    const double before = s->dot;
    WEFT_TRY(add_dot(s, &layer->direction, &layer->gradient));
    layer->dot = s->dot - before;
    WEFT_TRY(turn_bias(s, layer));
    return write_back(s, layer);
}

/* The direction is there: its product counts, and it takes the gradient's place. */
static weft_status end_turn(train_second *s, second_layer *layer)
{
    const double begun = second_work_begin();
    const weft_status status = settle_turn(s, layer);
    second_work_end(s, SECOND_STEPS, begun);
    return status;
}

/* Directions of one layer travel while the next are turned. [out] s->dot: the same on all ranks, because the clip
 * changes all parameters. */
static weft_status turn_layers(train_second *s)
{
    weft_status status = WEFT_OK;
    for (int l = 0; l < s->layers; ++l) {
        const weft_status done = begin_turn(s, &s->layer[l]);
        status = status != WEFT_OK ? status : done;
        if (s->between == NULL) {
            WEFT_TRY(status == WEFT_OK ? end_turn(s, &s->layer[l]) : status);
        }
    }
    for (int l = 0; l < s->layers && s->between != NULL; ++l) {
        second_layer *layer = &s->layer[l];
        const weft_status arrived = second_wait(s, &layer->parcel, layer->works, &layer->direction);
        status = status != WEFT_OK ? status : arrived;
        status = status == WEFT_OK ? end_turn(s, layer) : status;
    }
    if (!s->unequal) {
        return status;
    }
    WEFT_TRY(comm_agree(s->comm, status));
    return comm_bcast(s->comm, 0, &s->dot, sizeof s->dot);
}

/* Bound of the clip in the step under way. */
static double bound_of(const train_second *s)
{
    return s->options.clip * fmax(1.0, ldexp(s->options.first, -(int)smaller(s->step, 64)));
}

static weft_status turn_all(train_second *s, double lr)
{
    s->dot = 0.0;
    WEFT_TRY(turn_layers(s));
    const double moved = s->dot * lr * lr;
    const double bound = bound_of(s);
    s->figures.clip = bound > 0.0 && moved > bound ? sqrt(bound / moved) : 1.0;
    const weft_tensor grad = s->params->grad;
    const double begun = second_work_begin();
    WEFT_TRY(tensor_axpby(s->figures.clip, &grad, 0.0, &s->params->grad));
    second_work_end(s, SECOND_STEPS, begun);
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
    if (status == WEFT_OK && !s->figures.stepped_back && second_is_turn(s, s->options.interval)) {
        const double begun = second_begin();
        status = prepare(s);
        second_end(s, SECOND_INVERSES, begun);
    }
    if (status == WEFT_OK) {
        const double begun = second_begin();
        status = turn_all(s, lr);
        second_end(s, SECOND_STEPS, begun);
    }
    status = comm_agree(s->comm, status);
    status = status == WEFT_OK ? second_judge_end(s) : status;
    s->step += 1;
    return status;
}
