/* dense/engine/dense_model.c: see dense/engine/dense_model.h. */
#include "dense/engine/dense_model.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/philox.h"
#include "train/activities.h"

const weft_activity ACTIVITY_CONVOLVE[1] = {{.text = "convolution", .kind = ACTIVITY_COMPUTES}};

const weft_activity *dense_activity(const unit *u)
{
    return u->kind == UNIT_CONV ? ACTIVITY_CONVOLVE : u->kind == UNIT_LINEAR ? ACTIVITY_LINEAR : ACTIVITY_ELEMENTWISE;
}

int64_t dense_most_images(const dense_config *config)
{
    int64_t most = 0;
    for (int i = 0; i < config->sizes; ++i) {
        most = config->images[i] > most ? config->images[i] : most;
    }
    return most;
}

/* ---- matrices ---- */

static weft_tensor slot_of(const dense_model *model, int slot, int like, weft_dtype type)
{
    const net_size size = model->list.size[like];
    assert(slot >= 0 && slot < model->plan.slots && model->images >= 0);
    weft_tensor t = {.hal = model->hal,
                     .dtype = type,
                     .rows = model->images * net_pixels(size),
                     .cols = size.channels,
                     .ld = size.channels};
    if (t.rows > 0) {
        t.data = (char *)model->arena.data + model->plan.slot[slot].offset;
    }
    return t;
}

weft_tensor dense_slot(const dense_model *model, int slot, int like)
{
    return slot_of(model, slot, like, model->values.type[like]);
}

weft_tensor dense_wide(const dense_model *model, int slot, int like)
{
    return slot_of(model, slot, like, model->dtype);
}

weft_status dense_cast(const weft_tensor *x, const weft_tensor *y)
{
    if (x->dtype == y->dtype) {
        weft_tensor to = *y;
        return tensor_axpby(1.0, x, 0.0, &to);
    }
    return hal_cast(x->hal, &(hal_cast_args){.x = tensor_mat(x), .y = tensor_mat(y)});
}

weft_tensor dense_value(const dense_model *model, int value)
{
    const int slot = model->plan.value[value];
    const weft_tensor *pixels = &model->input->pixels;
    return slot == ARENA_NO_SLOT ? tensor_view(pixels, 0, pixels->rows, 0, pixels->cols)
                                 : dense_slot(model, slot, value);
}

hal_conv_norm dense_norm_on_the_way(const dense_model *model, const unit *conv)
{
    if (!model->values.passing[conv->x]) {
        return (hal_conv_norm){.relu = false};
    }
    const int maker = model->list.maker[conv->x];
    assert(maker != UNIT_NO_UNIT && model->list.unit[maker].kind == UNIT_NORM);
    return norm_vectors(&model->unit[maker].norm, model->list.unit[maker].relu);
}

hal_dropout dense_dropout(const dense_model *model, int index, const train_pass *pass)
{
    return (hal_dropout){.probability = pass->training ? (float)model->list.unit[index].dropout : 0.0F,
                         .seed = pass->seed,
                         .purpose = WEFT_RNG_DROPOUT + (uint32_t)index,
                         .epoch = pass->epoch,
                         .row_id = tensor_mat(&model->input->sample_id)};
}

weft_tensor dense_words(const dense_model *model)
{
    const weft_tensor *pixels = &model->input->pixels;
    return model->config.net->words > 0 ? tensor_view(pixels, 0, pixels->rows, 0, 1) : (weft_tensor){.rows = 0};
}

weft_tensor dense_by_image(const weft_tensor *value, int64_t images)
{
    assert(images == 0 || value->rows % images == 0);
    return images > 0 ? tensor_reshape(value, images, value->rows / images * value->cols) : *value;
}

weft_tensor dense_concatenated(const dense_model *model, int index, const weft_tensor *y, bool other)
{
    const unit *u = &model->list.unit[index];
    const int64_t front = model->list.size[u->other].channels;
    return other ? tensor_view(y, 0, y->rows, 0, front) : tensor_view(y, 0, y->rows, front, y->cols - front);
}

weft_tensor dense_subsampled(const dense_model *model, int index, const weft_tensor *y)
{
    const int64_t in = model->list.size[model->list.unit[index].x].channels;
    assert(model->list.unit[index].kind == UNIT_SUBSAMPLE && in <= y->cols);
    return tensor_view(y, 0, y->rows, (y->cols - in) / 2, in);
}

/* ---- parameters ---- */

static weft_status declare_weights(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    dense_unit *d = &model->unit[index];
    const net_size in = model->list.size[u->x];
    const int64_t out = u->layer->out;
    const char *point = net_parameter_point(u->layer->name);
    assert(u->layer->groups >= 1 && in.channels % u->layer->groups == 0 && out >= 1);
    const int64_t shape[4] = {out, in.channels / u->layer->groups, u->kernel[0], u->kernel[1]};
    const int64_t fan_in = shape[1] * shape[2] * shape[3];
    const bool linear = net_has_matrix(u->layer->kind);
    const bool uniform = linear || u->layer->start == NET_START_UNIFORM;
    const param_init init = uniform ? param_fan_uniform(fan_in) : param_kaiming(fan_in);
    const int64_t flat[2] = {out, fan_in}; /* as PyTorch has it: channels, rows, columns of what is flattened */
    d->linear.weight = param_add_block(&model->params, PARAM_GROUP_DECAY, out, fan_in);
    WEFT_TRY(param_add_tensor(&model->params, d->linear.weight, linear ? 2 : 4, linear ? flat : shape, init,
                              "%s%sweight", u->layer->name, point));
    if (!u->layer->bias) {
        return WEFT_OK;
    }
    d->linear.bias = param_add_block(&model->params, PARAM_GROUP_NO_DECAY, 1, out);
    return param_add_tensor(&model->params, d->linear.bias, 1, &out, linear ? init : param_constant(0.0), "%s%sbias",
                            u->layer->name, point);
}

/* PyTorch's default of group norm. */
#define GROUP_NORM_EPSILON 1e-5

static weft_status declare_other(dense_model *model, const unit *u, dense_unit *d)
{
    const net_size size = model->list.size[u->x];
    const char *name = u->layer->name;
    if (u->kind == UNIT_GAIN) {
        return dense_gain_declare(&d->gain, &model->params, name, size.channels, u->layer->value);
    }
    if (u->kind == UNIT_EMBED) {
        return dense_embed_declare(&d->embed, &model->params, name, u->layer->words, u->layer->out);
    }
    if (u->kind == UNIT_POSITION) {
        return dense_position_declare(&d->position, &model->params, name, net_pixels(size), size.channels);
    }
    if (u->kind != UNIT_GROUPNORM && u->kind != UNIT_LAYERNORM) {
        return WEFT_OK;
    }
    const bool by_pixel = u->kind == UNIT_LAYERNORM;
    d->group_norm = (dense_group_norm){.pixels = by_pixel ? 1 : net_pixels(size),
                                       .groups = by_pixel ? 1 : u->layer->groups,
                                       .epsilon = by_pixel ? u->layer->value : GROUP_NORM_EPSILON,
                                       .by_pixel = by_pixel};
    return dense_group_norm_declare(&d->group_norm, &model->params, name, size.channels);
}

static weft_status declare_parameters(dense_model *model)
{
    static const norm_names names = {"weight", "bias", "running_mean", "running_var"};
    param_store_begin(&model->params, model->hal, model->dtype);
    for (int i = 0; i < model->list.units; ++i) {
        const unit *u = &model->list.unit[i];
        dense_unit *d = &model->unit[i];
        if (u->kind == UNIT_CONV || u->kind == UNIT_LINEAR) {
            WEFT_TRY(declare_weights(model, i));
        } else if (u->kind == UNIT_NORM) {
            const norm_layer layer = {.kind = model->config.norm,
                                      .cols = model->list.size[u->x].channels,
                                      .group = PARAM_GROUP_NO_DECAY,
                                      .layer = u->layer->name,
                                      .names = &names};
            WEFT_TRY(norm_declare(&d->norm, &model->params, &layer));
        } else {
            WEFT_TRY(declare_other(model, u, d));
        }
    }
    for (int i = 0; i < model->list.units; ++i) {
        if (model->list.unit[i].kind == UNIT_NORM) {
            WEFT_TRY(norm_declare_state(&model->unit[i].norm));
        }
    }
    return WEFT_OK;
}

/* ---- what units hold ---- */

hal_conv_shape dense_conv_shape(const dense_config *config, const unit_list *list, const unit *u, weft_dtype dtype)
{
    const net_layer *layer = u->layer;
    const net_size in = list->size[u->x];
    const bool linear = layer->kind == NET_LINEAR;
    return (hal_conv_shape){.height = in.height,
                            .width = in.width,
                            .in = in.channels,
                            .out = layer->out,
                            .groups = layer->groups,
                            .kernel = {u->kernel[0], u->kernel[1]},
                            .stride = {linear ? 1 : layer->stride[0], linear ? 1 : layer->stride[1]},
                            .dilation = {layer->dilation[0], layer->dilation[1]},
                            .pad = {{layer->pad[0], layer->pad[0]}, {layer->pad[1], layer->pad[1]}},
                            .dtype = dtype,
                            .bias = layer->bias,
                            .relu = u->relu && u->kind == UNIT_CONV,
                            .winograd = config->winograd && u->kind == UNIT_CONV,
                            .training = config->training,
                            .backward_data = config->training && u->x != UNIT_INPUT_VALUE};
}

hal_conv_shape dense_unit_shape(const dense_config *config, const unit_list *list, const dense_values *values,
                                const unit *u)
{
    hal_conv_shape shape = dense_conv_shape(config, list, u, values->type[u->x]);
    shape.norm = values->passing[u->x];
    return shape;
}

static weft_status create_conv(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const net_layer *layer = u->layer;
    const bool linear = layer->kind == NET_LINEAR;
    const hal_conv_shape shape = dense_unit_shape(&model->config, &model->list, &model->values, u);
    hal_conv **conv = &model->unit[index].conv;
    WEFT_TRY(model->hal->image.conv_create(model->hal, &shape, model->config.images, model->config.sizes, conv));
    const hal_conv_info info = model->hal->image.conv_info(model->hal, *conv);
    log_debug("%s: %s forward, %s backward by data, %s by weights", layer->name, info.forward, info.backward_data,
              info.backward_weights);
    model->winograd += info.winograd ? 1 : 0;
    /* A linear layer over pixels is a product of matrices by nature. */
    if (info.slow && !linear && model->slow++ == 0) {
        model->slow_layer = layer->name;
    }
    return WEFT_OK;
}

/* Upsampling spreads pixels as an average of blocks spreads its gradient. */
static void set_pool(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    const net_layer *layer = u->layer;
    const bool spreads = u->kind == UNIT_UPSAMPLE;
    const net_size in = model->list.size[spreads ? u->y : u->x];
    const int64_t *kernel = spreads ? layer->stride : u->kernel;
    model->unit[index].pool = (hal_pool_shape){.average = layer->kind != NET_MAXPOOL,
                                               .height = in.height,
                                               .width = in.width,
                                               .kernel = {kernel[0], kernel[1]},
                                               .stride = {layer->stride[0], layer->stride[1]},
                                               .pad = {{layer->pad[0], layer->pad[0]}, {layer->pad[1], layer->pad[1]}}};
}

static weft_status create_unit(dense_model *model, int index)
{
    const unit *u = &model->list.unit[index];
    switch (u->kind) {
    case UNIT_CONV:
        return create_conv(model, index);
    case UNIT_POOL:
    case UNIT_SUBSAMPLE:
    case UNIT_UPSAMPLE:
        set_pool(model, index);
        return WEFT_OK;
    case UNIT_GAIN:
        return dense_gain_create(&model->unit[index].gain);
    case UNIT_POSITION:
        return dense_position_create(&model->unit[index].position);
    case UNIT_LAYERNORM:
        return dense_group_norm_create(&model->unit[index].group_norm,
                                       dense_most_images(&model->config) * net_pixels(model->list.size[u->x]));
    case UNIT_GROUPNORM:
        return dense_group_norm_create(&model->unit[index].group_norm, dense_most_images(&model->config));
    case UNIT_NORM:
        return norm_create(&model->unit[index].norm, model->config.training ? model->comm : NULL,
                           dense_most_images(&model->config) * net_pixels(model->list.size[u->x]));
    default:
        return WEFT_OK;
    }
}

/* The types of values: what a linear layer gives is as wide as its weights, and so is what follows it. */
static weft_status find_types(const dense_config *config, weft_dtype wide, const unit_list *list, weft_dtype *type)
{
    type[UNIT_INPUT_VALUE] = config->values;
    for (int i = 0; i < list->units; ++i) {
        const unit *u = &list->unit[i];
        WEFT_CHECK(u->other == UNIT_NO_VALUE || type[u->other] == type[u->x], WEFT_ERR_UNSUPPORTED,
                   "%s: line %d, %s: with %s it would join figures from before and behind a linear layer",
                   config->net->name, u->layer->line, u->layer->name, weft_dtype_name(config->values));
        type[u->y] = u->kind == UNIT_LINEAR ? wide : type[u->x];
    }
    return WEFT_OK;
}

/* What a norm of a convolution gives to another convolution alone, which takes it so. (The norm of what may leave and
 * be made again itself needs a place.) */
static void find_passing(const weft_hal *hal, const dense_config *config, const unit_list *list, dense_values *values)
{
    for (int i = 0; i < list->units; ++i) {
        const unit *reader = &list->unit[i];
        const int maker = list->maker[reader->x];
        if (reader->kind != UNIT_CONV || maker == UNIT_NO_UNIT) {
            continue;
        }
        const unit *norm = &list->unit[maker];
        const hal_conv_shape shape = dense_conv_shape(config, list, reader, values->type[reader->x]);
        values->passing[reader->x] = norm->kind == UNIT_NORM && norm->other == UNIT_NO_VALUE &&
                                     list->readers[reader->x] == 1 && list->maker[norm->x] != UNIT_NO_UNIT &&
                                     list->unit[list->maker[norm->x]].kind == UNIT_CONV &&
                                     hal->image.conv_norms(hal, &shape);
    }
}

static weft_status plan_arena(const dense_config *config, weft_dtype wide, const unit_list *list,
                              const dense_values *values, arena_plan *plan)
{
    size_t *bytes = NULL;
    WEFT_TRY(WEFT_NEW(&bytes, list->values, WEFT_MEM_GENERAL));
    for (int v = 0; v < list->values; ++v) {
        bytes[v] = weft_dtype_bytes(values->type[v]);
    }
    const arena_need need = {.images = dense_most_images(config),
                             .bytes = bytes,
                             .passing = values->passing,
                             .wide = weft_dtype_bytes(wide),
                             .training = config->training};
    weft_status status = arena_plan_create(list, &need, plan);
    weft_free(bytes);
    return status;
}

/* Free values also after a failure. */
static weft_status find_values(const weft_hal *hal, const dense_config *config, weft_dtype wide, const unit_list *list,
                               dense_values *values)
{
    WEFT_TRY(WEFT_NEW(&values->type, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&values->passing, list->values, WEFT_MEM_GENERAL));
    WEFT_TRY(find_types(config, wide, list, values->type));
    if (hal != NULL) {
        find_passing(hal, config, list, values);
    }
    return WEFT_OK;
}

static void free_values(dense_values *values)
{
    WEFT_FREE_ALL(values->type, values->passing);
}

static weft_status list_units(dense_model *model)
{
    const unit_list *list = &model->list;
    WEFT_TRY(units_create(model->config.net, &model->list));
    WEFT_TRY(WEFT_NEW_ZERO(&model->unit, list->units, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&model->map, list->units, WEFT_MEM_GENERAL));
    for (int i = 0; i < list->units; ++i) {
        model->unit[i].linear = (train_linear){
            .params = &model->params, .weight = LINEAR_NO_BLOCK, .bias = LINEAR_NO_BLOCK, .transposed = true};
    }
    return WEFT_OK;
}

/* [out] cut: of the batches of this model. */
static weft_status create(dense_model *model, dense_cut *cut)
{
    const dense_config *config = &model->config;
    const unit_list *list = &model->list;
    WEFT_TRY(list_units(model));
    *cut = dense_cut_of(model->hal, config, list);
    if (cut->lanes > 0) {
        return WEFT_OK;
    }
    WEFT_TRY(find_values(model->hal, config, model->dtype, list, &model->values));
    WEFT_TRY(plan_arena(config, model->dtype, list, &model->values, &model->plan));
    return tensor_create(model->hal, WEFT_DTYPE_U8, 1, model->plan.bytes, WEFT_MEM_ACTIVATION, &model->arena);
}

/* Returns true if every unit that reads the value is a norm, which subtracts any bias of the value again. */
static bool is_normed(const unit_list *list, int value)
{
    bool normed = list->readers[value] > 0;
    for (int i = 0; i < list->units; ++i) {
        const unit *u = &list->unit[i];
        normed = normed && (u->x != value || u->kind == UNIT_NORM) && u->other != value;
    }
    return normed;
}

/* Lists the layers with weights. A convolution with groups is several maps of different rows, so it is left out. */
static int list_maps(const dense_model *model)
{
    int maps = 0;
    for (int i = 0; i < model->list.units; ++i) {
        const train_linear *linear = &model->unit[i].linear;
        const unit *u = &model->list.unit[i];
        if (linear->weight == LINEAR_NO_BLOCK || u->layer->groups > 1) {
            continue;
        }
        const bool biased = linear->bias != LINEAR_NO_BLOCK && !is_normed(&model->list, u->y);
        model->map[maps++] = (train_map){.block = linear->weight,
                                         .bias = biased ? linear->bias : LINEAR_NO_BLOCK,
                                         .joined = biased,
                                         .transposed = true,
                                         .conv = u->kind == UNIT_CONV};
    }
    return maps;
}

weft_status dense_model_outline(weft_hal *hal, weft_dtype dtype, const dense_config *config, dense_model *model)
{
    *model = (dense_model){.hal = hal, .config = *config, .dtype = dtype};
    WEFT_TRY(list_units(model));
    WEFT_TRY(declare_parameters(model));
    model->interface =
        (train_model){.name = config->net->name, .self = model, .params = &model->params, .map = model->map};
    model->interface.maps = list_maps(model);
    return WEFT_OK;
}

/* Norms are created by all ranks together: one that failed goes on. */
static weft_status create_units(dense_model *model)
{
    weft_status status = WEFT_OK;
    for (int i = 0; i < model->list.units; ++i) {
        const weft_status created = create_unit(model, i);
        status = status == WEFT_OK ? created : status;
    }
    return status;
}

static weft_status create_lanes(dense_model *model, dense_cut cut)
{
    WEFT_TRY(dense_lanes_create(model, cut, &model->lanes));
    const dense_model *lane = dense_lanes_model(model->lanes);
    model->slow = lane->slow;
    model->slow_layer = lane->slow_layer;
    model->winograd = lane->winograd;
    return WEFT_OK;
}

weft_status dense_model_create_lane(const dense_model *whole, weft_hal *hal, const dense_config *config,
                                    dense_model *model)
{
    dense_cut cut;
    *model = (dense_model){.comm = whole->comm, .hal = hal, .config = *config, .dtype = whole->dtype};
    WEFT_TRY(create(model, &cut));
    assert(cut.lanes == 0 && !config->training);
    WEFT_TRY(declare_parameters(model));
    param_store_borrow(&model->params, &whole->params);
    return create_units(model);
}

weft_status dense_model_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const dense_config *config,
                               dense_model *model)
{
    dense_cut cut;
    *model = (dense_model){.comm = comm, .hal = hal, .config = *config, .dtype = dtype};
    WEFT_TRY(comm_agree(comm, create(model, &cut)));
    WEFT_TRY(declare_parameters(model));
    WEFT_TRY(param_store_commit(&model->params, comm));
    WEFT_TRY(comm_agree(comm, cut.lanes > 0 ? create_lanes(model, cut) : create_units(model)));
    model->interface = (train_model){.name = config->net->name,
                                     .self = model,
                                     .params = &model->params,
                                     .map = model->map,
                                     .maps = list_maps(model),
                                     .scaled = config->values == WEFT_DTYPE_F16,
                                     .forward = dense_forward,
                                     .backward = dense_backward};
    return WEFT_OK;
}

void dense_model_destroy(dense_model *model)
{
    dense_lanes_destroy(model->lanes);
    for (int i = 0; model->unit != NULL && i < model->list.units; ++i) {
        if (model->unit[i].conv != NULL) {
            model->hal->image.conv_destroy(model->hal, model->unit[i].conv);
        }
        if (model->list.unit[i].kind == UNIT_NORM) {
            norm_destroy(&model->unit[i].norm);
        }
        dense_group_norm_destroy(&model->unit[i].group_norm);
        dense_gain_destroy(&model->unit[i].gain);
        dense_position_destroy(&model->unit[i].position);
    }
    tensor_destroy(&model->arena);
    param_store_destroy(&model->params);
    arena_plan_destroy(&model->plan);
    units_destroy(&model->list);
    weft_free(model->unit);
    weft_free(model->map);
    free_values(&model->values);
    memset(model, 0, sizeof *model);
}

int64_t dense_model_arena_bytes(const weft_hal *hal, const dense_config *config, weft_dtype dtype)
{
    unit_list list;
    arena_plan plan = {.slots = 0};
    dense_values values = {.type = NULL};
    dense_config one = *config; /* batches of a lane, or whole ones */
    dense_cut cut = {.lanes = 0};
    weft_status status = units_create(config->net, &list);
    if (status == WEFT_OK) {
        cut = dense_cut_of(hal, config, &list);
        one.images = cut.lanes > 0 ? &cut.images : config->images;
        one.sizes = cut.lanes > 0 ? 1 : config->sizes;
        status = find_values(hal, config, dtype, &list, &values);
    }
    status = status == WEFT_OK ? plan_arena(&one, dtype, &list, &values, &plan) : status;
    const int64_t bytes = status == WEFT_OK ? plan.bytes * (cut.lanes > 0 ? cut.lanes : 1) : -1;
    arena_plan_destroy(&plan);
    units_destroy(&list);
    free_values(&values);
    return bytes;
}

weft_status dense_model_scratch_bytes(const weft_hal *hal, const dense_config *config, weft_dtype dtype,
                                      uint64_t *bytes)
{
    unit_list list;
    dense_values values = {.type = NULL};
    weft_status status = units_create(config->net, &list);
    status = status == WEFT_OK ? find_values(hal, config, dtype, &list, &values) : status;
    *bytes = status == WEFT_OK ? dense_scratch_of_units(hal, config, dtype, &list, &values) : 0;
    units_destroy(&list);
    free_values(&values);
    return status;
}
