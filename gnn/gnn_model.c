/* gnn/gnn_model.c: see gnn/gnn_model.h. */
#include "gnn/gnn_model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "train/activities.h"

static int layer_count(const gnn_model *model)
{
    return model->plan.layers;
}

static weft_status declare_parameters(gnn_model *model, weft_dtype dtype)
{
    const gnn_plan *plan = &model->plan;
    param_store_begin(&model->params, model->hal, dtype);
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *shape = &plan->layer[l];
        const bool decays = l < plan->convolution_layers || !plan->config.decay_first_only;
        const int group = decays ? PARAM_GROUP_DECAY : PARAM_GROUP_NO_DECAY;
        WEFT_TRY(gnn_layer_declare(&model->layer[l], shape, &model->params, group));
        snprintf(model->norm_name[l], sizeof model->norm_name[l], "%s%d", shape->inner ? "mlp" : "norm", shape->number);
        const norm_layer layer = {.kind = shape->last ? NORM_NONE : plan->config.norm,
                                  .cols = shape->d_out,
                                  .group = group,
                                  .layer = model->norm_name[l]};
        WEFT_TRY(norm_declare(&model->norm[l], &model->params, &layer));
    }
    if (plan->config.head != NULL) {
        WEFT_TRY(plan->config.head->declare(plan->config.head->self, &model->params));
    }
    for (int l = 0; l < plan->layers; ++l) {
        WEFT_TRY(norm_declare_state(&model->norm[l]));
    }
    return WEFT_OK;
}

/* A bias behind a sum over neighbours is not of the rows that its layer's weights write. */
static train_map map_of(gnn_model *model, int l)
{
    gnn_layer *layer = &model->layer[l];
    const gnn_layer_plan *plan = layer->plan;
    const bool sums_behind = plan->flow == GNN_FLOW_LINEAR_FIRST || plan->flow == GNN_FLOW_ATTENTION;
    return (train_map){.block = layer->linear.weight,
                       .bias = plan->centred ? LINEAR_NO_BLOCK : layer->linear.bias,
                       .transposed = layer->linear.transposed,
                       .joined = !sums_behind,
                       .constant = l == 0 && (plan->sparse || model->plan.config.input_dropout <= 0.0f),
                       .sums = sum_layer_samples(layer) ? sum_layer_sample : NULL,
                       .sums_self = layer,
                       .beside = plan->self};
}

static void list_maps(gnn_model *model)
{
    for (int l = 0; l < layer_count(model); ++l) {
        model->map[l] = map_of(model, l);
    }
    model->interface.map = model->map;
    model->interface.maps = layer_count(model);
}

weft_status gnn_model_outline(weft_hal *hal, weft_dtype dtype, const gnn_plan *plan, gnn_model *model)
{
    memset(model, 0, sizeof *model);
    model->hal = hal;
    model->plan = *plan;
    model->interface = (train_model){.name = "gnn", .self = model, .params = &model->params};
    WEFT_TRY(declare_parameters(model, dtype));
    list_maps(model);
    return WEFT_OK;
}

static bool keeps_features_apart(const gnn_model *model)
{
    return model->plan.layer[0].flow == GNN_FLOW_AGGREGATE_FIRST;
}

static weft_status create_matrices(gnn_model *model)
{
    const gnn_plan *plan = &model->plan;
    const weft_dtype dtype = plan->values;
    weft_hal *hal = model->hal;
    gnn_layer *first = &model->layer[0];
    if (plan->panel_rows > 0) {
        WEFT_TRY(tensor_create(hal, dtype, plan->panel_rows, plan->config.inputs, WEFT_MEM_ACTIVATION, &model->panel));
    }
    for (int l = 0; l < layer_count(model); ++l) {
        bool borrow = l == 0 && !keeps_features_apart(model);
        WEFT_TRY(gnn_layer_create(&model->layer[l], &model->aggregator, &model->edges, plan->n_owned, plan->n_local,
                                  &model->panel, borrow));
        WEFT_TRY(norm_create(&model->norm[l], model->comm, plan->n_owned));
    }
    if (keeps_features_apart(model)) {
        WEFT_TRY(tensor_create(hal, dtype, plan->n_owned, plan->config.inputs, WEFT_MEM_FEATURE, &model->features));
    } else if (first->plan->sparse) {
        first->linear.features = &model->sparse;
        first->input = (weft_tensor){.hal = hal,
                                     .dtype = dtype,
                                     .rows = first->plan->input_rows,
                                     .cols = first->plan->input_cols,
                                     .ld = first->plan->input_cols};
    } else if (first->plan->streams) {
        WEFT_TRY(tensor_stream_create(hal, dtype, first->plan->input_rows, first->plan->input_cols, plan->stream_rows,
                                      WEFT_MEM_FEATURE, &model->stream));
        first->linear.stream = &model->stream;
        first->input = tensor_view(&model->stream.rows, 0, first->plan->input_rows, 0, first->plan->input_cols);
    } else {
        WEFT_TRY(tensor_create(hal, first->plan->input_type, first->plan->input_rows, first->plan->input_cols,
                               WEFT_MEM_FEATURE, &first->input));
    }
    if (plan->gradient_cols > 0) {
        WEFT_TRY(tensor_create(hal, dtype, plan->n_local, plan->gradient_cols, WEFT_MEM_ACTIVATION, &model->gradient));
        WEFT_TRY(tensor_zero(&model->gradient));
    }
    return gnn_connections_create(hal, plan, &model->layer[layer_count(model) - 1], &model->connections);
}

static weft_status upload_row_ids(gnn_model *model, const weft_part *part)
{
    size_t bytes = (size_t)part->n_owned * sizeof(int64_t);
    WEFT_TRY(model->hal->mem.alloc(model->hal, bytes, WEFT_MEM_GRAPH, (void **)&model->row_id));
    return model->hal->mem.upload(model->hal, model->row_id, part->gid, bytes);
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits);
static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits);

static weft_status state(void *self, const sync_buffer **buffer, int *count)
{
    gnn_model *model = self;
    return gnn_aggregator_state_buffers(&model->aggregator, buffer, count);
}

static weft_status restored(void *self)
{
    gnn_model *model = self;
    return gnn_aggregator_restored(&model->aggregator);
}

/* A delay that holds already is left alone: setting it anew would exchange every row once. */
static weft_status set_delay(void *self, int epochs)
{
    gnn_model *model = self;
    const bool holds = gnn_aggregator_delay(&model->aggregator) == epochs;
    return holds ? WEFT_OK : gnn_aggregator_tune_delay(&model->aggregator, epochs);
}

/* Announce the aggregations that a layer makes in one direction of a training pass. */
static weft_status foresee_layer(gnn_model *model, const gnn_layer_plan *layer, bool transposed)
{
    gnn_aggregator_set_scope(&model->aggregator, gnn_scope_of(layer, true));
    for (int i = 0; i < layer->sums[transposed]; ++i) {
        WEFT_TRY(gnn_aggregator_foresee(&model->aggregator, transposed, layer->width));
    }
    return WEFT_OK;
}

/* Announce the aggregations of a training pass, in the order of the pass, where the aggregator remembers rows. */
static weft_status foresee_aggregations(gnn_model *model)
{
    const gnn_plan *plan = &model->plan;
    if (!gnn_aggregator_remembers(&model->aggregator)) {
        return WEFT_OK;
    }
    model->interface.state = state;
    model->interface.restored = restored;
    model->interface.delay = set_delay;
    model->interface.delay_most = plan->config.halo.delay > 1 ? plan->config.halo.delay : 1;
    model->interface.delay_least = plan->config.halo.hidden ? model->interface.delay_most : 2;
    for (int l = 0; l < layer_count(model); ++l) {
        WEFT_TRY(foresee_layer(model, &plan->layer[l], false));
    }
    for (int l = layer_count(model) - 1; l >= 0; --l) {
        WEFT_TRY(foresee_layer(model, &plan->layer[l], true));
    }
    return WEFT_OK;
}

/* What a trial of forms may take: the memory of features and activations, which come later, less the part's edges and
 * the forms on trial, which go before. */
static uint64_t trial_bytes(const gnn_plan *plan, const weft_part *part)
{
    const uint64_t later = plan->feature_bytes + plan->activation_bytes;
    const uint64_t now = 12 * (uint64_t)part->edges;
    return later > now ? later - now : 0;
}

/* Edges one by one, for layers that walk them. Partial maxima that rows share stand behind the rows of inputs. */
static weft_status create_edges(const weft_part *part, hal_spmm_form form, gnn_model *model)
{
    gnn_plan *plan = &model->plan;
    const gnn_layer_ops *ops = gnn_layer_ops_of(&plan->config);
    const gnn_edge_use use = {.loops_count = !ops->counts_self,
                              .may_share = ops->shares_maxima && (form == HAL_SPMM_AUTO || form == HAL_SPMM_SHARED),
                              .must_share = form == HAL_SPMM_SHARED};
    WEFT_TRY(gnn_part_edges_create(model->comm, model->hal, part, plan->max_width, &use, &model->edges));
    if (model->edges.shared.sums > 0) {
        gnn_plan_share(plan, model->edges.shared.sums);
    }
    return WEFT_OK;
}

weft_status gnn_model_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const gnn_config *config,
                             weft_part *part, const uint8_t *read, hal_spmm_form form, gnn_model *model)
{
    memset(model, 0, sizeof *model);
    model->comm = comm;
    model->hal = hal;
    gnn_plan_make(config, part->n_owned, part->n_local, hal->threads, dtype, &model->plan);
    model->interface =
        (train_model){.name = "gnn", .self = model, .params = &model->params, .forward = forward, .backward = backward};
    const gnn_layer_ops *ops = gnn_layer_ops_of(config);
    if (ops->normalisation != NULL) {
        const gnn_aggregator_options options = {.normalisation = ops->normalisation(config),
                                                .forms = {.form = config->fixed_rows ? HAL_SPMM_I16 : form,
                                                          .letters = config->forms,
                                                          .by_rule = config->forms_by_rule,
                                                          .max_width = model->plan.max_width,
                                                          .width = gnn_plan_epoch_width(&model->plan),
                                                          .operand_bytes = trial_bytes(&model->plan, part)},
                                                .overlap = config->overlap,
                                                .halo = config->halo,
                                                .read_width = model->plan.read_width,
                                                .read = read};
        WEFT_TRY(gnn_aggregator_create(comm, hal, dtype, part, &options, &model->aggregator));
        WEFT_TRY(foresee_aggregations(model));
    }
    if (ops->walks_edges) {
        WEFT_TRY(create_edges(part, form, model));
    }
    if (!config->keeps_edges) {
        part_release_edges(part);
    }
    WEFT_TRY(declare_parameters(model, dtype));
    WEFT_TRY(param_store_commit(&model->params, model->comm));
    WEFT_TRY(create_matrices(model));
    list_maps(model);
    model->interface.row_id = part->gid;
    model->interface.row_ids = part->n_owned;
    return upload_row_ids(model, part);
}

weft_tensor gnn_model_features(gnn_model *model)
{
    return keeps_features_apart(model) ? tensor_view(&model->features, 0, model->plan.n_owned, 0, model->features.cols)
                                       : gnn_layer_x(&model->layer[0]);
}

weft_status gnn_model_prepare(gnn_model *model)
{
    return gnn_layer_prepare(&model->layer[0]);
}

void gnn_model_destroy(gnn_model *model)
{
    if (model->hal == NULL) {
        return;
    }
    gnn_aggregator_destroy(&model->aggregator); /* first: messages under way write to the layers' matrices */
    gnn_part_edges_destroy(&model->edges);
    for (int l = 0; l < layer_count(model); ++l) {
        gnn_layer_destroy(&model->layer[l]);
        if (model->norm[l].params != NULL) {
            norm_destroy(&model->norm[l]);
        }
    }
    gnn_connections_destroy(&model->connections);
    tensor_destroy(&model->features);
    tensor_features_destroy(&model->sparse);
    tensor_stream_destroy(&model->stream);
    TENSOR_DESTROY_ALL(&model->panel, &model->gradient);
    if (model->row_id != NULL) {
        model->hal->mem.free(model->hal, model->row_id);
    }
    param_store_destroy(&model->params);
    memset(model, 0, sizeof *model);
}

/* The mask of layer l's output, or of the input for l = -1; no mask within a convolution, or outside training. */
static hal_dropout dropout_of(const gnn_model *model, const train_pass *pass, int l)
{
    const gnn_plan *plan = &model->plan;
    float probability = l < 0 ? plan->config.input_dropout : plan->layer[l].inner ? 0.0f : plan->config.dropout;
    return (hal_dropout){.probability = pass->training ? probability : 0.0f,
                         .seed = pass->seed,
                         .purpose = (uint32_t)(WEFT_RNG_DROPOUT + 1 + l),
                         .epoch = pass->epoch,
                         .row_id = hal_column_from(model->row_id, WEFT_DTYPE_I64, model->plan.n_owned)};
}

/* y = dropout(ReLU or ELU of x) */
static weft_status act_forward(const gnn_model *model, const weft_tensor *x, const hal_dropout *dropout, weft_tensor *y)
{
    if (!model->plan.layer[0].ops->elu) {
        return tensor_act_forward(x, true, dropout, y);
    }
    WEFT_TRY(tensor_elu_forward(x, y));
    return dropout->probability > 0.0f ? tensor_act_forward(y, false, dropout, y) : WEFT_OK;
}

static weft_status act_backward(const gnn_model *model, const weft_tensor *y, const hal_dropout *dropout,
                                weft_tensor *dy)
{
    if (!model->plan.layer[0].ops->elu) {
        return tensor_act_backward(dy, y, true, dropout, dy);
    }
    if (dropout->probability > 0.0f) {
        WEFT_TRY(tensor_act_backward(dy, y, false, dropout, dy));
    }
    return tensor_elu_backward(dy, y, 1.0 - (double)dropout->probability, dy);
}

/* Does layer l's result, besides where it goes next, jump to the last layer? */
static bool jumps(const gnn_model *model, int l)
{
    return model->plan.jump_cols > 0 && !model->plan.layer[l].inner;
}

/* The last convolution's result jumps and goes nowhere else. */
static bool jumps_only(const gnn_model *model, int l)
{
    return jumps(model, l) && l == layer_count(model) - 2;
}

/* Where layer l's result stands, behind norm, activation and dropout. */
static weft_tensor result_of(const gnn_model *model, int l)
{
    return jumps_only(model, l) ? gnn_jump_result(&model->connections, model->plan.layer[l].number)
                                : gnn_layer_x(&model->layer[l + 1]);
}

static weft_status jump_forward(gnn_model *model, int l, const weft_tensor *y)
{
    if (jumps_only(model, l)) {
        weft_tensor x = gnn_layer_x(&model->layer[l + 1]);
        return gnn_jump_forward(&model->connections, &x);
    }
    weft_tensor to = gnn_jump_result(&model->connections, model->plan.layer[l].number);
    return tensor_axpby(1.0, y, 0.0, &to);
}

/* Is what stands between two layers work of single rows? Norms are not, and connections past layers are left whole. */
static bool between_by_rows(const gnn_model *model, int l)
{
    const gnn_plan *plan = &model->plan;
    assert(l >= 0 && l < plan->layers - 1);
    return model->norm[l].kind == NORM_NONE && plan->skip_cols == 0 && plan->jump_cols == 0;
}

static weft_status add_step(gnn_model *model, const train_pass *pass, const weft_tensor *matrix, int number,
                            weft_status (*run)(const gnn_row_step *step, const gnn_row_span *span))
{
    const gnn_row_step step = {.run = run,
                               .self = model,
                               .pass = pass,
                               .matrix = matrix != NULL ? *matrix : (weft_tensor){0},
                               .number = number};
    return gnn_aggregate_rows(&model->aggregator, model->plan.n_owned, &step);
}

static weft_status activate_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    const gnn_model *model = step->self;
    const int l = step->number;
    weft_tensor all_x = gnn_layer_out(&model->layer[l]), all_y = result_of(model, l);
    weft_tensor x = gnn_span_of(&all_x, span), y = gnn_span_of(&all_y, span);
    hal_dropout dropout = dropout_of(model, step->pass, l);
    hal_dropout here;
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, act_forward(model, &x, gnn_span_mask(&dropout, span, &here), &y));
    return WEFT_OK;
}

static weft_status activate(gnn_model *model, const train_pass *pass, int l)
{
    const int skip = model->plan.layer[l].skip;
    weft_tensor x = gnn_layer_out(&model->layer[l]), y = result_of(model, l);
    hal_dropout dropout = dropout_of(model, pass, l);
    if (model->norm[l].kind != NORM_NONE) {
        WEFT_TRY(train_need(pass, model->norm[l].gamma));
        WEFT_TRY(train_need(pass, model->norm[l].beta));
        WEFT_TRY(norm_forward(&model->norm[l], pass->training, &(norm_operands){.x = &x, .y = &y}));
        x = y;
    }
    if (skip >= 0) {
        weft_tensor from = gnn_layer_x(&model->layer[skip]);
        WEFT_TRY(tensor_axpby(1.0, &from, 1.0, &x));
    }
    WEFT_TRY(act_forward(model, &x, &dropout, &y));
    return jumps(model, l) ? jump_forward(model, l, &y) : WEFT_OK;
}

static weft_status between_forward(gnn_model *model, const train_pass *pass, int l)
{
    if (between_by_rows(model, l)) {
        return add_step(model, pass, NULL, l, activate_rows);
    }
    WEFT_TRY(gnn_aggregate_settle(&model->aggregator));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, activate(model, pass, l));
    return WEFT_OK;
}

static weft_status mask_features(const gnn_row_step *step, const gnn_row_span *span)
{
    const gnn_model *model = step->self;
    weft_tensor all_x = gnn_layer_x(&model->layer[0]), from = gnn_span_of(&model->features, span);
    weft_tensor x = gnn_span_of(&all_x, span);
    hal_dropout dropout = dropout_of(model, step->pass, -1);
    hal_dropout here;
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, tensor_act_forward(&from, false, gnn_span_mask(&dropout, span, &here), &x));
    return WEFT_OK;
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    gnn_model *model = self;
    hal_dropout input_dropout = dropout_of(model, pass, -1);
    weft_status status = gnn_aggregator_start_pass(
        &model->aggregator, &(gnn_halo_pass){.training = pass->training, .epoch = pass->epoch, .seed = pass->seed});
    model->interface.staleness = gnn_aggregator_staleness(&model->aggregator);
    if (status == WEFT_OK && keeps_features_apart(model)) {
        status = add_step(model, pass, NULL, 0, mask_features);
    }
    for (int l = 0; status == WEFT_OK && l < layer_count(model); ++l) {
        status = gnn_layer_forward(&model->layer[l], pass, l == 0 ? &input_dropout : NULL);
        if (status == WEFT_OK && l < layer_count(model) - 1) {
            status = between_forward(model, pass, l);
        }
    }
    status = status == WEFT_OK ? gnn_aggregate_settle(&model->aggregator) : status;
    *logits = gnn_layer_out(&model->layer[layer_count(model) - 1]);
    return status;
}

/* Where the gradient of layer l's activation is collected: beside `out` when normalisation still needs `out`. */
static weft_tensor gradient_of(gnn_model *model, int l)
{
    const gnn_layer *layer = &model->layer[l];
    if (model->norm[l].kind == NORM_NONE) {
        return tensor_view(&layer->output, 0, layer->output.rows, 0, layer->plan->d_out);
    }
    return tensor_view(&model->gradient, 0, model->gradient.rows, 0, layer->plan->d_out);
}

/* What connections past the layer above add to the gradient of layer l's result; of the last convolution's it is
 * all. */
static weft_status join_gradients(gnn_model *model, int l, weft_tensor *gradient)
{
    const gnn_plan *plan = &model->plan;
    const int above = l + plan->convolution_layers; /* the last of the convolution above */
    if (above < plan->layers && plan->layer[above].skip == l + 1) {
        WEFT_TRY(tensor_axpby(1.0, &model->connections.skipped, 1.0, gradient));
    }
    if (!jumps(model, l)) {
        return WEFT_OK;
    }
    weft_tensor jumped = gnn_jump_gradient(&model->connections, plan->layer[l].number);
    return tensor_axpby(1.0, &jumped, jumps_only(model, l) ? 0.0 : 1.0, gradient);
}

/* From the gradient of layer l's result to the gradient of its linear part, in `out`. */
static weft_status deactivate(gnn_model *model, const train_pass *pass, int l, weft_tensor *gradient)
{
    weft_tensor y = result_of(model, l);
    weft_tensor owned = tensor_view(gradient, 0, model->plan.n_owned, 0, gradient->cols);
    hal_dropout dropout = dropout_of(model, pass, l);
    WEFT_TRY(join_gradients(model, l, &owned));
    WEFT_TRY(act_backward(model, &y, &dropout, &owned));
    if (model->plan.layer[l].skip >= 0) {
        WEFT_TRY(tensor_axpby(1.0, &owned, 0.0, &model->connections.skipped));
    }
    if (model->norm[l].kind == NORM_NONE) {
        return WEFT_OK;
    }
    weft_tensor out = gnn_layer_out(&model->layer[l]);
    WEFT_TRY(
        norm_backward(&model->norm[l], &(norm_operands){.x = &out}, &(norm_gradients){.dy = &owned, .dx = &owned}));
    WEFT_TRY(train_ready(pass, model->norm[l].beta));
    WEFT_TRY(train_ready(pass, model->norm[l].gamma));
    return tensor_axpby(1.0, &owned, 0.0, &out);
}

static weft_status deactivate_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    const gnn_model *model = step->self;
    const int l = step->number;
    weft_tensor all_y = result_of(model, l), y = gnn_span_of(&all_y, span);
    weft_tensor dy = gnn_span_of(&step->matrix, span);
    hal_dropout dropout = dropout_of(model, step->pass, l);
    hal_dropout here;
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, act_backward(model, &y, gnn_span_mask(&dropout, span, &here), &dy));
    return WEFT_OK;
}

/* From the gradient of layer l's result to that of its linear part. */
static weft_status between_backward(gnn_model *model, const train_pass *pass, int l, weft_tensor *gradient)
{
    if (between_by_rows(model, l)) {
        return add_step(model, pass, gradient, l, deactivate_rows);
    }
    WEFT_TRY(gnn_aggregate_settle(&model->aggregator));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, deactivate(model, pass, l, gradient));
    return WEFT_OK;
}

static weft_status jump_backward(gnn_model *model, const train_pass *pass, int l, const weft_tensor *below)
{
    weft_tensor dx = gnn_jump_input_gradient(&model->connections, below);
    WEFT_TRY(gnn_layer_backward(&model->layer[l], pass, NULL, &dx));
    WEFT_TRY(gnn_aggregate_settle(&model->aggregator));
    return gnn_jump_backward(&model->connections, &dx);
}

static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    gnn_model *model = self;
    hal_dropout input_dropout = dropout_of(model, pass, -1);
    const int top = layer_count(model) - 1;
    assert(dlogits->data == gnn_layer_out(&model->layer[top]).data); /* in the logits' own place */
    (void)dlogits;
    for (int l = top; l > 0; --l) {
        weft_tensor below = gradient_of(model, l - 1);
        WEFT_TRY(jumps_only(model, l - 1) ? jump_backward(model, pass, l, &below)
                                          : gnn_layer_backward(&model->layer[l], pass, NULL, &below));
        WEFT_TRY(between_backward(model, pass, l - 1, &below));
    }
    WEFT_TRY(gnn_layer_backward(&model->layer[0], pass, &input_dropout, NULL));
    return gnn_aggregate_settle(&model->aggregator);
}
