/*
 * gnn/layers/sum_layer.c: layers that are a sum over neighbours and a linear map: products fused, the aggregate before
 * or after them. Products in two, around the time that messages take, are gnn/layers/sum_split.c.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

#include "base/log.h"

weft_status sum_layer_declare(gnn_layer *layer, int group)
{
    const gnn_layer_plan *plan = layer->plan;
    param_store *params = layer->params;
    const int64_t in = plan->d_in;
    const int64_t out = plan->d_out;
    const bool uniform = plan->init == GNN_INIT_UNIFORM;
    const param_init draw = uniform ? param_fan_uniform(in) : param_glorot(in, out);
    if (plan->self) {
        bool side_by_side = plan->flow == GNN_FLOW_LINEAR_FIRST;
        layer->linear.weight =
            side_by_side ? param_add_block(params, group, in, 2 * out) : param_add_block(params, group, 2 * in, out);
        WEFT_TRY(param_add(params, layer->linear.weight, 0, 0, in, out, draw, "%s.self", plan->name));
        WEFT_TRY(param_add(params, layer->linear.weight, side_by_side ? 0 : in, side_by_side ? out : 0, in, out, draw,
                           "%s.neigh", plan->name));
    } else {
        layer->linear.weight = param_add_block(params, group, in, out);
        WEFT_TRY(param_add(params, layer->linear.weight, 0, 0, in, out, draw, "%s.weight", plan->name));
    }
    layer->linear.bias = param_add_block(params, group, 1, out);
    return param_add(params, layer->linear.bias, 0, 0, 1, out, uniform ? draw : param_constant(0.0), "%s.bias",
                     plan->name);
}

weft_status sum_layer_create(gnn_layer *layer)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow != GNN_FLOW_LINEAR_FIRST || !plan->self) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(layer->params->hal, layer->params->dtype, 1, 2 * plan->d_out, WEFT_MEM_PARAMETER,
                           &layer->wide_bias));
    return tensor_zero(&layer->wide_bias);
}

/* What the weights multiply: x, m, or both. */
static weft_tensor operand(const gnn_layer *layer)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow == GNN_FLOW_AGGREGATE_FIRST && !plan->self) {
        return tensor_view(&layer->input, 0, layer->n_owned, plan->d_in, plan->d_in);
    }
    return tensor_view(&layer->input, 0, layer->n_owned, 0,
                       plan->flow == GNN_FLOW_AGGREGATE_FIRST ? 2 * plan->d_in : layer->input.cols);
}

/* What the weights produce: out, z, or both. */
static weft_tensor product(const gnn_layer *layer)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow != GNN_FLOW_LINEAR_FIRST) {
        return gnn_layer_out(layer);
    }
    return plan->self ? tensor_view(&layer->output, 0, layer->n_owned, 0, 2 * plan->d_out)
                      : tensor_view(&layer->output, 0, layer->n_owned, plan->d_out, plan->d_out);
}

/* product = operand * W + bias, row by row; with z alone the bias stands in out, which the aggregate is added to. */
static weft_status multiply_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    const bool linear_first = layer->plan->flow == GNN_FLOW_LINEAR_FIRST;
    weft_tensor all_x = operand(layer);
    weft_tensor all_y = product(layer);
    weft_tensor x = gnn_span_of(&all_x, span);
    weft_tensor y = gnn_span_of(&all_y, span);
    weft_tensor bias = param_value(layer->params, layer->linear.bias);
    hal_dropout here;
    const linear_rows rows = {.x = &x, .dropout = gnn_span_mask(step->dropout, span, &here)};
    activity_begin(ACTIVITY_LINEAR);
    weft_status status;
    if (linear_first && !layer->plan->self) {
        weft_tensor all_out = gnn_layer_out(layer);
        weft_tensor out = gnn_span_of(&all_out, span);
        weft_tensor w = param_value(layer->params, layer->linear.weight);
        status = linear_forward(&layer->linear, &rows, NULL, 0.0, &y);
        status = status == WEFT_OK ? linear_set_rows(&w, &bias, &out) : status;
    } else {
        status = linear_forward(&layer->linear, &rows, linear_first ? &layer->wide_bias : &bias, 0.0, &y);
    }
    activity_end(ACTIVITY_LINEAR);
    return status;
}

/* Sparse features cannot be taken apart by rows. */
static weft_status add_product(gnn_layer *layer, const gnn_row_step *step)
{
    if (layer->linear.features == NULL) {
        return layer_rows(layer, step);
    }
    WEFT_TRY(gnn_aggregate_settle(layer->aggregator));
    WEFT_TRY(layer_rows(layer, step));
    return gnn_aggregate_settle(layer->aggregator);
}

static weft_status multiply(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    WEFT_TRY(linear_need(&layer->linear, pass));
    if (layer->wide_bias.cols > 0) {
        weft_tensor bias = param_value(layer->params, layer->linear.bias);
        weft_tensor front = tensor_view(&layer->wide_bias, 0, 1, 0, layer->plan->d_out);
        WEFT_TRY(tensor_axpby(1.0, &bias, 0.0, &front));
    }
    assert(layer->n_owned <= layer->n_local && (dropout == NULL || dropout->probability < 1.0f));
    gnn_row_step step = layer_step(layer, pass, multiply_rows);
    step.dropout = dropout;
    return add_product(layer, &step);
}

static weft_status begin_forward(gnn_layer *layer)
{
    const bool linear_first = layer->plan->flow == GNN_FLOW_LINEAR_FIRST;
    weft_tensor from = linear_first ? layer_local_z(layer) : layer_local_x(layer);
    weft_tensor to = linear_first ? layer_local_out(layer) : layer_local_m(layer);
    return gnn_aggregate_begin(layer->aggregator, false, &from, linear_first ? 1.0 : 0.0, &to);
}

weft_status sum_layer_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    if (sum_splits(layer, dropout)) {
        return sum_split_forward(layer, pass);
    }
    if (layer->plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        WEFT_TRY(begin_forward(layer));
        WEFT_TRY(gnn_aggregate_leave(layer->aggregator));
    }
    WEFT_TRY(multiply(layer, pass, dropout));
    if (layer->plan->flow != GNN_FLOW_LINEAR_FIRST) {
        return WEFT_OK;
    }
    WEFT_TRY(begin_forward(layer));
    return gnn_aggregate_leave(layer->aggregator);
}

static weft_status bias_gradient_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor all = gnn_layer_out(layer);
    weft_tensor dout = gnn_span_of(&all, span);
    if (layer->plan->centred) {
        return span->first ? layer_bias_gradient(layer) : WEFT_OK;
    }
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_bias_gradient(&layer->linear, &dout, !span->first));
    return WEFT_OK;
}

/* dW = operand^T * d(product) */
static weft_status weight_gradient_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor all_x = operand(layer);
    weft_tensor all_dy = product(layer);
    weft_tensor x = gnn_span_of(&all_x, span);
    weft_tensor dy = gnn_span_of(&all_dy, span);
    const weft_tensor all_out = gnn_layer_out(layer), dout = gnn_span_of(&all_out, span);
    const bool sums = layer->linear.features != NULL && layer->plan->flow == GNN_FLOW_LINEAR_FIRST;
    hal_dropout here;
    const linear_rows rows = {
        .x = &x, .dropout = gnn_span_mask(step->dropout, span, &here), .first = span->row, .dsum = sums ? &dout : NULL};
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_weight_gradient(&layer->linear, step->pass, &rows, &dy, !span->first));
    return WEFT_OK;
}

/* dx through the weights, over both column blocks at once where both feed x; dm takes m's place. */
static weft_status input_gradient(gnn_layer *layer, const weft_tensor *dy, const gnn_row_span *span, weft_tensor *dx)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow != GNN_FLOW_AGGREGATE_FIRST) {
        return linear_input_gradient(&layer->linear, dy, 0.0, dx);
    }
    weft_tensor dm = tensor_view(&layer->input, span->row, span->rows, plan->d_in, plan->d_in);
    if (!plan->self) {
        return linear_input_gradient(&layer->linear, dy, 0.0, &dm);
    }
    const train_linear own = layer_half(layer, false), neighbours = layer_half(layer, true);
    WEFT_TRY(linear_input_gradient(&own, dy, 0.0, dx));
    return linear_input_gradient(&neighbours, dy, 0.0, &dm);
}

/* matrix: dx, all rows. */
static weft_status input_gradient_rows(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor all_dy = product(layer);
    weft_tensor dy = gnn_span_of(&all_dy, span);
    weft_tensor dx = gnn_span_of(&step->matrix, span);
    ACTIVITY_TRY(ACTIVITY_LINEAR, input_gradient(layer, &dy, span, &dx));
    return WEFT_OK;
}

/* All of a layer's products fused, the aggregation before or after them. */
static weft_status backward_fused(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    const gnn_layer_plan *plan = layer->plan;
    const gnn_row_step bias = layer_step(layer, pass, bias_gradient_rows);
    gnn_row_step weight = layer_step(layer, pass, weight_gradient_rows);
    gnn_row_step input = layer_step(layer, pass, input_gradient_rows);
    weight.dropout = dropout;
    weight.done = layer_gradients_done;
    if (plan->flow == GNN_FLOW_LINEAR_FIRST) {
        weft_tensor from = layer_local_out(layer);
        weft_tensor dz = layer_local_z(layer);
        WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &from, 0.0, &dz));
        WEFT_TRY(layer_bias_gradient(layer));
        WEFT_TRY(gnn_aggregate_leave(layer->aggregator));
    } else {
        WEFT_TRY(layer_rows(layer, &bias));
    }
    WEFT_TRY(add_product(layer, &weight));
    if (dx == NULL) {
        return WEFT_OK;
    }
    input.matrix = *dx;
    WEFT_TRY(layer_rows(layer, &input));
    if (plan->flow != GNN_FLOW_AGGREGATE_FIRST) {
        return WEFT_OK;
    }
    weft_tensor dm = layer_local_m(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &dm, plan->self ? 1.0 : 0.0, dx));
    return gnn_aggregate_leave(layer->aggregator);
}

weft_status sum_layer_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    /* Without an input gradient an aggregate-first layer has nothing to aggregate. A listener gets x and m, or the
     * gradients of out and z, side by side as one rank alone has them. */
    if (sum_splits(layer, dropout) && pass->tap == NULL && (dx != NULL || layer->plan->flow == GNN_FLOW_LINEAR_FIRST)) {
        return sum_split_backward(layer, pass, dx);
    }
    return backward_fused(layer, pass, dropout, dx);
}

/* What a prepared layer aggregates strip by strip: from `from` to `to` and, with several hops, back. */
typedef struct strip_work {
    layer_aggregate *aggregate;
    weft_tensor from, to; /* [n_local, width], as far as the plan has strips; else columns of the input matrix */
} strip_work;

/* From columns of the input matrix to a strip, or back; the matrix may be on the host. */
static weft_status take_strip(const weft_tensor *x, weft_tensor *strip)
{
    return x->hal == strip->hal ? tensor_axpby(1.0, x, 0.0, strip) : tensor_stream_upload(x, strip);
}

static weft_status give_strip(const weft_tensor *strip, weft_tensor *m)
{
    return m->hal == strip->hal ? tensor_axpby(1.0, strip, 0.0, m) : tensor_stream_download(strip, m);
}

static weft_status prepare_strip(gnn_layer *layer, int64_t col, int64_t cols, const strip_work *work)
{
    const int64_t target = (layer->plan->self ? layer->plan->d_in : 0) + col;
    const bool takes = layer->plan->strips > 1;
    const bool gives = layer->plan->strips > 0;
    weft_tensor x = tensor_view(&layer->input, 0, layer->n_owned, col, cols);
    weft_tensor m = tensor_view(&layer->input, 0, layer->n_owned, target, cols);
    weft_tensor from = takes ? tensor_reshape(&work->from, layer->n_local, cols) : x;
    weft_tensor to = gives ? tensor_reshape(&work->to, layer->n_local, cols) : m;
    weft_tensor from_owned = tensor_view(&from, 0, layer->n_owned, 0, cols);
    weft_tensor to_owned = tensor_view(&to, 0, layer->n_owned, 0, cols);
    WEFT_TRY(takes ? take_strip(&x, &from_owned) : WEFT_OK);
    for (int hop = 0; hop < layer->plan->hops; ++hop) {
        const bool back = hop % 2 != 0;
        WEFT_TRY(work->aggregate(layer, back ? &to : &from, back ? &from : &to));
    }
    const bool ends_in_to = layer->plan->hops % 2 != 0;
    const weft_tensor *sum = ends_in_to ? &to_owned : &from_owned;
    return (ends_in_to ? gives : takes) ? give_strip(sum, &m) : WEFT_OK;
}

static weft_status create_strips(const gnn_layer *layer, strip_work *work)
{
    const gnn_layer_plan *plan = layer->plan;
    weft_hal *hal = layer->params->hal;
    const int64_t rows = layer->n_local;
    assert(plan->strips <= 2 && (plan->strips > 0 || plan->hops == 1));
    if (plan->strips > 0) {
        WEFT_TRY(tensor_create(hal, plan->input_type, rows, plan->width, WEFT_MEM_WORKSPACE, &work->to));
    }
    return plan->strips > 1 ? tensor_create(hal, plan->input_type, rows, plan->width, WEFT_MEM_WORKSPACE, &work->from)
                            : WEFT_OK;
}

/* Rows of replicas are finite before they are first read. */
static weft_status zero_strips(const gnn_layer *layer, strip_work *work)
{
    WEFT_TRY(layer->plan->strips > 0 ? tensor_zero(&work->to) : WEFT_OK);
    return layer->plan->strips > 1 ? tensor_zero(&work->from) : WEFT_OK;
}

/* Constant flow: replace the features in the input matrix by (or complete them with) their aggregate, strip by
 * strip. */
weft_status sum_layer_prepare_by(gnn_layer *layer, layer_aggregate *aggregate)
{
    if (layer->plan->flow != GNN_FLOW_CONSTANT) {
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    strip_work work = {.aggregate = aggregate};
    const int64_t width = layer->plan->width;
    WEFT_TRY_GOTO(create_strips(layer, &work), status, done);
    log_progress progress = log_progress_begin("aggregate the features", "columns", (double)layer->plan->d_in);
    for (int64_t col = 0; col < layer->plan->d_in; col += width) {
        int64_t cols = layer->plan->d_in - col < width ? layer->plan->d_in - col : width;
        if (col == 0 || cols < width) { /* in narrower strips rows of replicas are other elements */
            WEFT_TRY_GOTO(zero_strips(layer, &work), status, done);
        }
        WEFT_TRY_GOTO(prepare_strip(layer, col, cols, &work), status, done);
        log_progress_update(&progress, (double)(col + cols));
    }
    log_progress_end(&progress);
done:
    tensor_destroy(&work.from);
    tensor_destroy(&work.to);
    return status;
}

static weft_status sum_of_neighbours(gnn_layer *layer, weft_tensor *x, weft_tensor *out)
{
    return gnn_aggregate(layer->aggregator, false, x, 0.0, out);
}

weft_status sum_layer_prepare(gnn_layer *layer)
{
    return sum_layer_prepare_by(layer, sum_of_neighbours);
}
