/* dense/engine/dense_backward.c: gradients of a batch, from the last unit to the first; see
 * dense/engine/dense_model.h. */
#include <assert.h>

#include "dense/engine/dense_model.h"
#include "train/tap.h"

static weft_tensor value_again(const dense_model *model, int value)
{
    const int again = model->plan.again[value];
    return again == ARENA_NO_SLOT ? dense_value(model, value) : dense_slot(model, again, value);
}

/* Make the output of a norm again when this is the moment. */
static weft_status make_again(dense_model *model, int value, int moment)
{
    const int again = model->plan.again[value];
    if (again == ARENA_NO_SLOT || model->plan.slot[again].first != moment) {
        return WEFT_OK;
    }
    const int maker = model->list.maker[value];
    const unit *u = &model->list.unit[maker];
    const weft_tensor x = dense_value(model, u->x);
    const weft_tensor residual = u->other != UNIT_NO_VALUE ? dense_value(model, u->other) : (weft_tensor){.rows = 0};
    weft_tensor y = dense_slot(model, again, value);
    const norm_operands operands = {
        .x = &x, .y = &y, .residual = u->other != UNIT_NO_VALUE ? &residual : NULL, .relu = u->relu};
    activity_begin(dense_activity(u));
    const weft_status status = norm_forward_again(&model->unit[maker].norm, &operands);
    activity_end(dense_activity(u));
    return status;
}

typedef struct unit_gradients {
    const unit *u;
    dense_unit *d;
    const unit_slots *slots;
    weft_tensor x, y, dy, dx;
    bool wants_dx;
} unit_gradients;

static unit_gradients gradients_of(const dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const unit_slots *slots = &model->plan.unit[index];
    assert(slots->dy != ARENA_NO_SLOT);
    unit_gradients g = {.u = u, .d = &model->unit[index], .slots = slots, .wants_dx = slots->dx != ARENA_NO_SLOT};
    g.x = value_again(model, u->x);
    g.y = value_again(model, u->y);
    g.dy = dense_slot(model, slots->dy, u->y);
    if (g.wants_dx) {
        g.dx = dense_slot(model, slots->dx, u->x);
    }
    return g;
}

/* What was written joins the gradient that stands there, if one does. */
static weft_status add_share(const dense_model *model, int written, int sum, int value)
{
    if (sum == ARENA_NO_SLOT) {
        return WEFT_OK;
    }
    const weft_tensor share = dense_slot(model, written, value);
    weft_tensor total = dense_slot(model, sum, value);
    return tensor_axpby(1.0, &share, 1.0, &total);
}

/* dy counts where the unit's ReLU let something through. */
static weft_status mask(unit_gradients *g)
{
    const hal_dropout none = {.probability = 0.0F};
    return g->u->relu ? tensor_act_backward(&g->dy, &g->y, true, &none, &g->dy) : WEFT_OK;
}

/* A rank without images brings zeros to the sums of all ranks. */
static weft_status zero_gradients(dense_model *model, const dense_unit *d)
{
    weft_tensor weight = linear_gradient(&d->linear);
    WEFT_TRY(tensor_zero(&weight));
    if (d->linear.bias == LINEAR_NO_BLOCK) {
        return WEFT_OK;
    }
    weft_tensor bias = param_grad(&model->params, d->linear.bias);
    return tensor_zero(&bias);
}

/* Tells the pass's listener of the rows of a convolution. */
static weft_status tell_of_conv(const dense_model *model, const unit_gradients *g, const train_pass *pass,
                                const hal_conv_norm *norm)
{
    if (pass->tap == NULL) {
        return WEFT_OK;
    }
    const param_block *block = &model->params.block[g->d->linear.weight];
    const tap_rows rows = {.block = g->d->linear.weight,
                           .transposed = true,
                           .rows = block->rows,
                           .cols = block->cols,
                           .x = &g->x,
                           .dy = &g->dy,
                           .conv = &g->d->conv->shape,
                           .norm = g->d->conv->shape.norm ? norm : NULL,
                           .images = model->images};
    return pass->tap->take(pass->tap->self, pass, &rows);
}

static weft_status conv_gradients(dense_model *model, unit_gradients *g, const train_pass *pass)
{
    const weft_tensor dweight = linear_gradient(&g->d->linear);
    const hal_conv_norm norm = dense_norm_on_the_way(model, g->u);
    weft_tensor dbias = {.rows = 0};
    if (g->d->linear.bias != LINEAR_NO_BLOCK) {
        dbias = param_grad(&model->params, g->d->linear.bias);
    }
    WEFT_TRY(tell_of_conv(model, g, pass, &norm));
    return hal_conv_backward_weights(model->hal, &(hal_conv_backward_weights_args){.x = tensor_mat(&g->x),
                                                                                   .dy = tensor_mat(&g->dy),
                                                                                   .dweight = tensor_mat(&dweight),
                                                                                   .dbias = tensor_mat(&dbias),
                                                                                   .conv = g->d->conv,
                                                                                   .norm = norm});
}

static weft_status conv_backward(dense_model *model, unit_gradients *g, const train_pass *pass)
{
    WEFT_TRY(mask(g));
    WEFT_TRY(model->images == 0 ? zero_gradients(model, g->d) : conv_gradients(model, g, pass));
    WEFT_TRY(linear_ready(&g->d->linear, pass));
    if (!g->wants_dx || model->images == 0) {
        return WEFT_OK;
    }
    const weft_tensor weight = linear_weight(&g->d->linear);
    return hal_conv_backward_data(model->hal, &(hal_conv_backward_data_args){.dy = tensor_mat(&g->dy),
                                                                             .weight = tensor_mat(&weight),
                                                                             .dx = tensor_mat(&g->dx),
                                                                             .conv = g->d->conv});
}

/* The gradient of a linear layer's input, which may be narrow. */
static weft_status linear_input(dense_model *model, unit_gradients *g)
{
    if (g->slots->wide_dx == ARENA_NO_SLOT) {
        return linear_input_gradient(&g->d->linear, &g->dy, 0.0, &g->dx);
    }
    weft_tensor wide = dense_wide(model, g->slots->wide_dx, g->u->x);
    WEFT_TRY(linear_input_gradient(&g->d->linear, &g->dy, 0.0, &wide));
    return dense_cast(&wide, &g->dx);
}

static weft_status linear_unit_backward(dense_model *model, unit_gradients *g, const train_pass *pass)
{
    if (g->slots->wide_x != ARENA_NO_SLOT) {
        g->x = dense_wide(model, g->slots->wide_x, g->u->x);
    }
    WEFT_TRY(mask(g));
    if (model->images == 0) {
        WEFT_TRY(zero_gradients(model, g->d));
    } else {
        WEFT_TRY(linear_weight_gradient(&g->d->linear, pass, &(linear_rows){.x = &g->x, .images = model->images},
                                        &g->dy, false));
        WEFT_TRY(linear_bias_gradient(&g->d->linear, &g->dy, false));
    }
    WEFT_TRY(linear_ready(&g->d->linear, pass));
    return g->wants_dx ? linear_input(model, g) : WEFT_OK;
}

static weft_status norm_unit_backward(dense_model *model, unit_gradients *g, const train_pass *pass)
{
    const bool adds = g->u->other != UNIT_NO_VALUE, shares = g->slots->share != ARENA_NO_SLOT;
    const weft_tensor share = shares ? dense_slot(model, g->slots->share, g->u->y) : (weft_tensor){.rows = 0};
    const norm_operands operands = {.x = &g->x, .y = adds ? &g->y : NULL, .relu = g->u->relu};
    const norm_gradients gradients = {.dy = &g->dy, .share = shares ? &share : NULL, .dx = &g->dx};
    WEFT_TRY(norm_backward(&g->d->norm, &operands, &gradients));
    WEFT_TRY(train_ready(pass, g->d->norm.gamma));
    return train_ready(pass, g->d->norm.beta);
}

static weft_status add_backward(const dense_model *model, unit_gradients *g)
{
    WEFT_TRY(mask(g));
    if (g->slots->dother == ARENA_NO_SLOT) {
        return WEFT_OK;
    }
    weft_tensor dother = dense_slot(model, g->slots->dother, g->u->other);
    return tensor_axpby(1.0, &g->dy, 0.0, &dother);
}

static weft_status act_backward(const dense_model *model, int index, unit_gradients *g, const train_pass *pass)
{
    const hal_dropout dropout = dense_dropout(model, index, pass);
    const weft_tensor y = dense_by_image(&g->y, model->images);
    weft_tensor dy = dense_by_image(&g->dy, model->images);
    return tensor_act_backward(&dy, &y, g->u->relu, &dropout, &dy);
}

static weft_status pool_backward(const dense_model *model, unit_gradients *g, const weft_tensor *dy)
{
    hal_pool_backward_args args = {.dy = tensor_mat(dy), .dx = tensor_mat(&g->dx), .shape = g->d->pool};
    if (g->slots->index != ARENA_NO_SLOT) {
        weft_tensor chosen = dense_slot(model, g->slots->index, g->u->y);
        chosen.dtype = WEFT_DTYPE_U8;
        args.index = tensor_mat(&chosen);
    }
    return g->wants_dx ? hal_pool_backward(model->hal, &args) : WEFT_OK;
}

static weft_status concat_backward(const dense_model *model, int index, unit_gradients *g)
{
    const weft_tensor front = dense_concatenated(model, index, &g->dy, true);
    const weft_tensor rest = dense_concatenated(model, index, &g->dy, false);
    if (g->slots->dother != ARENA_NO_SLOT) {
        weft_tensor dother = dense_slot(model, g->slots->dother, g->u->other);
        WEFT_TRY(tensor_axpby(1.0, &front, 0.0, &dother));
    }
    return g->wants_dx ? tensor_axpby(1.0, &rest, 0.0, &g->dx) : WEFT_OK;
}

static weft_status gate_unit_backward(const dense_model *model, unit_gradients *g)
{
    const weft_tensor gate = value_again(model, g->u->other);
    const bool wanted = g->slots->dother != ARENA_NO_SLOT;
    weft_tensor dgate = wanted ? dense_slot(model, g->slots->dother, g->u->other) : (weft_tensor){.rows = 0};
    return tensor_gate_backward(&g->dy, &g->x, &gate, wanted ? &dgate : NULL, &g->dx);
}

/* A pixel's gradient is the sum over its block: the average times the block's pixels. */
static weft_status upsample_backward(const dense_model *model, unit_gradients *g)
{
    const hal_pool_shape *pool = &g->d->pool;
    if (!g->wants_dx) {
        return WEFT_OK;
    }
    WEFT_TRY(hal_pool_forward(
        model->hal, &(hal_pool_forward_args){.x = tensor_mat(&g->dy), .y = tensor_mat(&g->dx), .shape = *pool}));
    return tensor_axpby((double)(pool->kernel[0] * pool->kernel[1]), &g->dx, 0.0, &g->dx);
}

static weft_status token_backward(const dense_model *model, unit_gradients *g, const train_pass *pass)
{
    const dense_tokens tokens = {.words = dense_words(model), .tokens = net_pixels(model->list.size[g->u->x])};
    switch (g->u->kind) {
    case UNIT_EMBED:
        return dense_embed_backward(&g->d->embed, pass, tokens.words, &g->dy);
    case UNIT_POSITION:
        return dense_position_backward(&g->d->position, pass, &g->dy, &g->dx);
    case UNIT_ATTENTION:
        return g->wants_dx ? dense_attention_backward(&g->dy, &g->x, tokens, g->u->layer->groups, &g->dx) : WEFT_OK;
    default:
        assert(g->u->kind == UNIT_TOKENMEAN);
        return g->wants_dx ? dense_tokenmean_backward(&g->dy, tokens, &g->dx) : WEFT_OK;
    }
}

static weft_status unit_backward(dense_model *model, int index, unit_gradients *g, const train_pass *pass)
{
    switch (g->u->kind) {
    case UNIT_CONV:
        return conv_backward(model, g, pass);
    case UNIT_LINEAR:
        return linear_unit_backward(model, g, pass);
    case UNIT_NORM:
        return norm_unit_backward(model, g, pass);
    case UNIT_GATE:
        return gate_unit_backward(model, g);
    case UNIT_CONCAT:
        return concat_backward(model, index, g);
    case UNIT_UPSAMPLE:
        return upsample_backward(model, g);
    case UNIT_GAIN:
        return dense_gain_backward(&g->d->gain, pass, &g->x, &g->dy, &g->dx);
    case UNIT_CURVE:
        return tensor_curve_backward(&g->dy, hal_curve_by_output(g->u->curve) ? &g->y : &g->x, g->u->curve, &g->dx);
    case UNIT_GROUPNORM:
    case UNIT_LAYERNORM:
        return dense_group_norm_backward(&g->d->group_norm, pass, &g->x, &g->dy, &g->dx);
    case UNIT_ADD:
        return add_backward(model, g);
    case UNIT_ACT:
        return act_backward(model, index, g, pass);
    case UNIT_POOL:
        return pool_backward(model, g, &g->dy);
    case UNIT_SUBSAMPLE: {
        const weft_tensor inner = dense_subsampled(model, index, &g->dy);
        return pool_backward(model, g, &inner);
    }
    case UNIT_EMBED:
    case UNIT_POSITION:
    case UNIT_ATTENTION:
    case UNIT_TOKENMEAN:
        return token_backward(model, g, pass);
    case UNIT_SCALE:
        return tensor_axpby(g->u->layer->value, &g->dy, 0.0, &g->dy);
    }
    return WEFT_OK;
}

weft_status dense_backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    dense_model *model = self;
    const int output = model->list.output;
    assert(pass->training && model->config.training && dlogits->rows == model->images);
    if (model->plan.logits != ARENA_NO_SLOT) {
        const weft_tensor narrow = dense_slot(model, model->plan.dlogits, output);
        WEFT_TRY(dense_cast(dlogits, &narrow));
    } else if (dlogits->data != dense_value(model, output).data) {
        weft_tensor own = dense_value(model, output);
        WEFT_TRY(tensor_axpby(1.0, dlogits, 0.0, &own));
    }
    for (int i = model->list.units - 1; i >= 0; --i) {
        const int moment = 2 * model->list.units - 1 - i;
        unit_gradients g = gradients_of(model, i);
        WEFT_TRY(make_again(model, g.u->x, moment));
        WEFT_TRY(make_again(model, g.u->y, moment));
        WEFT_TRY(g.u->kind == UNIT_GATE ? make_again(model, g.u->other, moment) : WEFT_OK);
        const weft_activity *activity = dense_activity(g.u);
        ACTIVITY_TRY(activity, unit_backward(model, i, &g, pass));
        WEFT_TRY(add_share(model, g.slots->dother, g.slots->dother_sum, g.u->other));
        WEFT_TRY(add_share(model, g.slots->dx, g.slots->dx_sum, g.u->x));
    }
    return WEFT_OK;
}
