/* dense/engine/dense_forward.c: values of a batch, unit by unit; see dense/engine/dense_model.h. */
#include "dense/engine/dense_model.h"

#include <assert.h>

/* A unit's weight and bias, once they may be read. [out] bias  empty where there is none */
static weft_status need_weights(const dense_model *model, const dense_unit *d, const train_pass *pass,
                                weft_tensor *weight, weft_tensor *bias)
{
    const int block = d->linear.bias;
    WEFT_TRY(linear_need(&d->linear, pass));
    *weight = linear_weight(&d->linear);
    *bias = block != LINEAR_NO_BLOCK ? param_value(&model->params, block) : (weft_tensor){.rows = 0};
    return WEFT_OK;
}

static weft_status conv_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    const dense_unit *d = &model->unit[index];
    weft_tensor weight;
    const weft_tensor x = dense_value(model, u->x), y = dense_value(model, u->y);
    weft_tensor bias;
    WEFT_TRY(need_weights(model, d, pass, &weight, &bias));
    return hal_conv_forward(model->hal, &(hal_conv_forward_args){.x = tensor_mat(&x),
                                                                 .weight = tensor_mat(&weight),
                                                                 .bias = tensor_mat(&bias),
                                                                 .y = tensor_mat(&y),
                                                                 .conv = d->conv,
                                                                 .norm = dense_norm_on_the_way(model, u)});
}

static weft_status linear_unit_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    const dense_unit *d = &model->unit[index];
    const int wide = model->plan.unit[index].wide_x;
    weft_tensor x = dense_value(model, u->x), y = dense_value(model, u->y);
    weft_tensor weight, bias;
    WEFT_TRY(need_weights(model, d, pass, &weight, &bias));
    if (wide != ARENA_NO_SLOT) {
        const weft_tensor narrow = x;
        x = dense_wide(model, wide, u->x);
        WEFT_TRY(dense_cast(&narrow, &x));
    }
    WEFT_TRY(linear_forward(&d->linear, &(linear_rows){.x = &x}, bias.rows > 0 ? &bias : NULL, 0.0, &y));
    return u->relu ? tensor_act_forward(&y, true, &(hal_dropout){.probability = 0.0F}, &y) : WEFT_OK;
}

static weft_status norm_unit_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    dense_unit *d = &model->unit[index];
    const weft_tensor x = dense_value(model, u->x);
    weft_tensor y = dense_value(model, u->y);
    weft_tensor residual = {.rows = 0};
    norm_operands operands = {.x = &x, .y = model->values.passing[u->y] ? NULL : &y, .relu = u->relu};
    if (u->other != UNIT_NO_VALUE) {
        residual = dense_value(model, u->other);
        operands.residual = &residual;
    }
    WEFT_TRY(train_need(pass, d->norm.gamma));
    WEFT_TRY(train_need(pass, d->norm.beta));
    return norm_forward(&d->norm, pass->training, &operands);
}

static weft_status add_forward(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const weft_tensor x = dense_value(model, u->x), other = dense_value(model, u->other);
    weft_tensor y = dense_value(model, u->y);
    WEFT_TRY(tensor_axpby(1.0, &x, 0.0, &y));
    WEFT_TRY(tensor_axpby(1.0, &other, 1.0, &y));
    return u->relu ? tensor_act_forward(&y, true, &(hal_dropout){.probability = 0.0F}, &y) : WEFT_OK;
}

static weft_status act_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    const hal_dropout dropout = dense_dropout(model, index, pass);
    const weft_tensor from = dense_value(model, u->x), to = dense_value(model, u->y);
    const weft_tensor x = dense_by_image(&from, model->images);
    weft_tensor y = dense_by_image(&to, model->images);
    return tensor_act_forward(&x, u->relu, &dropout, &y);
}

static weft_status pool_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    const int slot = model->plan.unit[index].index;
    const weft_tensor x = dense_value(model, u->x), y = dense_value(model, u->y);
    hal_pool_forward_args args = {.x = tensor_mat(&x), .y = tensor_mat(&y), .shape = model->unit[index].pool};
    if (slot != ARENA_NO_SLOT && pass->training) {
        weft_tensor chosen = dense_slot(model, slot, u->y);
        chosen.dtype = WEFT_DTYPE_U8;
        args.index = tensor_mat(&chosen);
    }
    return hal_pool_forward(model->hal, &args);
}

static weft_status subsample_forward(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const weft_tensor x = dense_value(model, u->x);
    weft_tensor y = dense_value(model, u->y);
    const weft_tensor inner = dense_subsampled(model, index, &y);
    WEFT_TRY(tensor_zero(&y));
    return hal_pool_forward(
        model->hal,
        &(hal_pool_forward_args){.x = tensor_mat(&x), .y = tensor_mat(&inner), .shape = model->unit[index].pool});
}

static weft_status concat_forward(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const weft_tensor x = dense_value(model, u->x), other = dense_value(model, u->other);
    const weft_tensor y = dense_value(model, u->y);
    weft_tensor front = dense_concatenated(model, index, &y, true), rest = dense_concatenated(model, index, &y, false);
    WEFT_TRY(tensor_axpby(1.0, &other, 0.0, &front));
    return tensor_axpby(1.0, &x, 0.0, &rest);
}

static weft_status gate_unit_forward(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const weft_tensor x = dense_value(model, u->x), gate = dense_value(model, u->other);
    weft_tensor y = dense_value(model, u->y);
    return tensor_gate_forward(&x, &gate, &y);
}

/* The gradient of an average is the pixel's share; a block takes as many shares as it has pixels. */
static weft_status upsample_forward(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const hal_pool_shape *pool = &model->unit[index].pool;
    const weft_tensor x = dense_value(model, u->x);
    weft_tensor y = dense_value(model, u->y);
    WEFT_TRY(hal_pool_backward(model->hal,
                               &(hal_pool_backward_args){.dy = tensor_mat(&x), .dx = tensor_mat(&y), .shape = *pool}));
    return tensor_axpby((double)(pool->kernel[0] * pool->kernel[1]), &y, 0.0, &y);
}

/* Layers of one operation. */
static weft_status plain_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    dense_unit *d = &model->unit[index];
    const weft_tensor x = dense_value(model, u->x);
    weft_tensor y = dense_value(model, u->y);
    const dense_tokens tokens = {.words = dense_words(model), .tokens = net_pixels(model->list.size[u->x])};
    switch (u->kind) {
    case UNIT_GROUPNORM:
    case UNIT_LAYERNORM:
        return dense_group_norm_forward(&d->group_norm, pass, &x, &y);
    case UNIT_GAIN:
        return dense_gain_forward(&d->gain, pass, &x, &y);
    case UNIT_CURVE:
        return tensor_curve_forward(&x, u->curve, &y);
    case UNIT_EMBED:
        return dense_embed_forward(&d->embed, pass, dense_words(model), &y);
    case UNIT_POSITION:
        return dense_position_forward(&d->position, pass, &x, &y);
    case UNIT_ATTENTION:
        return dense_attention_forward(&x, tokens, u->layer->groups, &y);
    case UNIT_TOKENMEAN:
        return dense_tokenmean_forward(&x, tokens, &y);
    default:
        assert(u->kind == UNIT_SCALE);
        return tensor_axpby(u->layer->value, &x, 0.0, &y);
    }
}

static weft_status unit_forward(dense_model *model, int index, const train_pass *pass)
{
    const unit *u = &model->list.unit[index];
    switch (u->kind) {
    case UNIT_CONV:
        return conv_forward(model, index, pass);
    case UNIT_LINEAR:
        return linear_unit_forward(model, index, pass);
    case UNIT_NORM:
        return norm_unit_forward(model, index, pass);
    case UNIT_GATE:
        return gate_unit_forward(model, index);
    case UNIT_CONCAT:
        return concat_forward(model, index);
    case UNIT_UPSAMPLE:
        return upsample_forward(model, index);
    case UNIT_ADD:
        return add_forward(model, index);
    case UNIT_ACT:
        return act_forward(model, index, pass);
    case UNIT_POOL:
        return pool_forward(model, index, pass);
    case UNIT_SUBSAMPLE:
        return subsample_forward(model, index);
    case UNIT_GROUPNORM:
    case UNIT_LAYERNORM:
    case UNIT_CURVE:
    case UNIT_SCALE:
    case UNIT_GAIN:
    case UNIT_EMBED:
    case UNIT_POSITION:
    case UNIT_ATTENTION:
    case UNIT_TOKENMEAN:
        return plain_forward(model, index, pass);
    }
    return WEFT_OK;
}

static void begin_batch(dense_model *model, const train_pass *pass)
{
    model->input = pass->batch->input;
    model->images = model->input->rows;
    assert(model->images >= 0 && model->images <= model->input->all_rows);
    if (!pass->training) {
        return;
    }
    for (int i = 0; i < model->list.units; ++i) {
        const unit *u = &model->list.unit[i];
        if (u->kind == UNIT_NORM) {
            const net_size at = model->list.size[u->x];
            const int64_t pixels = at.height * at.width;
            norm_set_rows(&model->unit[i].norm, model->images * pixels, model->input->all_rows * pixels);
        }
    }
}

weft_status dense_forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    dense_model *model = self;
    assert(model->config.training || !pass->training);
    if (model->lanes != NULL) {
        return dense_lanes_forward(model->lanes, pass, logits);
    }
    const int narrow = model->plan.value[UNIT_INPUT_VALUE], output = model->list.output;
    begin_batch(model, pass);
    if (narrow != ARENA_NO_SLOT) {
        const weft_tensor input = dense_value(model, UNIT_INPUT_VALUE);
        WEFT_TRY(dense_cast(&model->input->pixels, &input));
    }
    for (int i = 0; i < model->list.units; ++i) {
        const weft_activity *activity = dense_activity(&model->list.unit[i]);
        ACTIVITY_TRY(activity, unit_forward(model, i, pass));
    }
    *logits = dense_value(model, output);
    if (model->plan.logits == ARENA_NO_SLOT) {
        return WEFT_OK;
    }
    const weft_tensor answered = *logits;
    *logits = dense_wide(model, model->plan.logits, output);
    return dense_cast(&answered, logits);
}
