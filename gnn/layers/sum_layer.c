/*
 * gnn/layers/sum_layer.c: layers that are a sum over neighbours and a linear map: products fused, the aggregate before or after
 * them. Products in two, around the time that messages take, are gnn/layers/sum_split.c.
 */
#include "gnn/layers/layer_internal.h"

#include "base/log.h"

weft_status sum_layer_declare(gnn_layer *layer, int group)
{
    const gnn_layer_plan *plan = layer->plan;
    param_store *params = layer->params;
    const int64_t in = plan->d_in;
    const int64_t out = plan->d_out;
    if (plan->self) {
        bool side_by_side = plan->flow == GNN_FLOW_LINEAR_FIRST;
        layer->weight =
            side_by_side ? param_add_block(params, group, in, 2 * out) : param_add_block(params, group, 2 * in, out);
        WEFT_TRY(param_add(params, layer->weight, 0, 0, in, out, param_glorot(in, out), "%s.self", plan->name));
        WEFT_TRY(param_add(params, layer->weight, side_by_side ? 0 : in, side_by_side ? out : 0, in, out,
                           param_glorot(in, out), "%s.neigh", plan->name));
    } else {
        layer->weight = param_add_block(params, group, in, out);
        WEFT_TRY(param_add(params, layer->weight, 0, 0, in, out, param_glorot(in, out), "%s.weight", plan->name));
    }
    layer->bias = param_add_block(params, group, 1, out);
    return param_add(params, layer->bias, 0, 0, 1, out, param_constant(0.0), "%s.bias", plan->name);
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

/* product = operand * W + bias */
static weft_status multiply(gnn_layer *layer, const hal_dropout *dropout, const weft_tensor *bias)
{
    weft_tensor x = operand(layer);
    weft_tensor y = product(layer);
    return layer_multiply(layer, dropout, &x, bias, &y);
}

/* dW = operand^T * d(product) */
static weft_status weight_gradient(gnn_layer *layer, const hal_dropout *dropout)
{
    weft_tensor x = operand(layer);
    weft_tensor dy = product(layer);
    return layer_weight_gradient(layer, dropout, &x, &dy);
}

static weft_status forward_linear_first(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    WEFT_TRY(layer_need_weights(layer, pass));
    weft_tensor bias = param_value(layer->params, layer->bias);
    activity_begin(ACTIVITY_LINEAR);
    weft_status status;
    if (layer->plan->self) {
        weft_tensor front = tensor_view(&layer->wide_bias, 0, 1, 0, layer->plan->d_out);
        status = tensor_axpby(1.0, &bias, 0.0, &front);
        status = status == WEFT_OK ? multiply(layer, dropout, &layer->wide_bias) : status;
    } else {
        status = multiply(layer, dropout, NULL);
        status = status == WEFT_OK ? layer_set_bias(layer) : status; /* the aggregate is added to it */
    }
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    weft_tensor z = layer_local_z(layer);
    weft_tensor out = layer_local_out(layer);
    return gnn_aggregate(layer->aggregator, false, &z, 1.0, &out);
}

weft_status sum_layer_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    if (sum_splits(layer, dropout)) {
        return sum_split_forward(layer, pass);
    }
    if (layer->plan->flow == GNN_FLOW_LINEAR_FIRST) {
        return forward_linear_first(layer, pass, dropout);
    }
    if (layer->plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        weft_tensor x = layer_local_x(layer);
        weft_tensor m = layer_local_m(layer);
        WEFT_TRY(gnn_aggregate(layer->aggregator, false, &x, 0.0, &m));
    }
    WEFT_TRY(layer_need_weights(layer, pass));
    weft_tensor bias = param_value(layer->params, layer->bias);
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = multiply(layer, dropout, &bias);
    activity_end(ACTIVITY_LINEAR);
    return status;
}

/* dx through the weights: dx = d(product) W^T, over both column blocks at once where both feed x. */
static weft_status input_gradient(gnn_layer *layer, weft_tensor *dx)
{
    const gnn_layer_plan *plan = layer->plan;
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor dy = product(layer);
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, plan->d_in);
    if (plan->flow != GNN_FLOW_AGGREGATE_FIRST) {
        return tensor_gemm(&(tensor_product){.a = &dy, .b = &w, .trans_b = true}, &dx_owned);
    }
    weft_tensor dm = tensor_view(&layer->input, 0, layer->n_owned, plan->d_in, plan->d_in);
    if (!plan->self) {
        return tensor_gemm(&(tensor_product){.a = &dy, .b = &w, .trans_b = true}, &dm);
    }
    weft_tensor w_self = layer_half(layer, &w, false);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &dy, .b = &w_self, .trans_b = true}, &dx_owned));
    return tensor_gemm(&(tensor_product){.a = &dy, .b = &w_neigh, .trans_b = true}, &dm);
}

/* All of a layer's products fused, the aggregation before or after them. */
static weft_status backward_fused(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow == GNN_FLOW_LINEAR_FIRST) {
        weft_tensor from = layer_local_out(layer);
        weft_tensor dz = layer_local_z(layer);
        WEFT_TRY(gnn_aggregate(layer->aggregator, true, &from, 0.0, &dz));
    }
    WEFT_TRY(layer_bias_gradient(layer));
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = weight_gradient(layer, dropout);
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    WEFT_TRY(layer_gradients_ready(layer, pass));
    if (dx != NULL) {
        activity_begin(ACTIVITY_LINEAR);
        status = input_gradient(layer, dx);
        activity_end(ACTIVITY_LINEAR);
        WEFT_TRY(status);
    }
    if (dx != NULL && plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        weft_tensor dm = layer_local_m(layer);
        return gnn_aggregate(layer->aggregator, true, &dm, plan->self ? 1.0 : 0.0, dx);
    }
    return WEFT_OK;
}

weft_status sum_layer_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    /* Without an input gradient an aggregate-first layer has nothing to aggregate. */
    if (sum_splits(layer, dropout) && (dx != NULL || layer->plan->flow == GNN_FLOW_LINEAR_FIRST)) {
        return sum_split_backward(layer, pass, dx);
    }
    return backward_fused(layer, pass, dropout, dx);
}

/* What a prepared layer aggregates strip by strip. */
typedef struct strip_work {
    layer_aggregate *aggregate;
    weft_tensor from, to; /* [n_local, width] */
} strip_work;

static weft_status prepare_strip(gnn_layer *layer, int64_t col, int64_t cols, const strip_work *work)
{
    int64_t target = (layer->plan->self ? layer->plan->d_in : 0) + col;
    weft_tensor x = tensor_view(&layer->input, 0, layer->n_owned, col, cols);
    weft_tensor m = tensor_view(&layer->input, 0, layer->n_owned, target, cols);
    weft_tensor from_owned = tensor_view(&work->from, 0, layer->n_owned, 0, cols);
    weft_tensor to_owned = tensor_view(&work->to, 0, layer->n_owned, 0, cols);
    weft_tensor from_strip = tensor_view(&work->from, 0, layer->n_local, 0, cols);
    weft_tensor to_strip = tensor_view(&work->to, 0, layer->n_local, 0, cols);
    WEFT_TRY(tensor_axpby(1.0, &x, 0.0, &from_owned));
    for (int hop = 0; hop < layer->plan->hops; ++hop) {
        const bool back = hop % 2 != 0;
        WEFT_TRY(work->aggregate(layer, back ? &to_strip : &from_strip, back ? &from_strip : &to_strip));
    }
    return tensor_axpby(1.0, layer->plan->hops % 2 != 0 ? &to_owned : &from_owned, 0.0, &m);
}

/* Constant flow: replace the features in the input matrix by (or complete them with) their aggregate, strip by strip. */
weft_status sum_layer_prepare_by(gnn_layer *layer, layer_aggregate *aggregate)
{
    if (layer->plan->flow != GNN_FLOW_CONSTANT) {
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    strip_work work = {.aggregate = aggregate};
    weft_hal *hal = layer->params->hal;
    weft_dtype dtype = layer->plan->input_type;
    int64_t width = layer->plan->width;
    WEFT_TRY_GOTO(tensor_create(hal, dtype, layer->n_local, width, WEFT_MEM_WORKSPACE, &work.from), status, done);
    WEFT_TRY_GOTO(tensor_create(hal, dtype, layer->n_local, width, WEFT_MEM_WORKSPACE, &work.to), status, done);
    WEFT_TRY_GOTO(tensor_zero(&work.from), status, done);
    WEFT_TRY_GOTO(tensor_zero(&work.to), status, done);
    log_progress progress = log_progress_begin("aggregate the features", "columns", (double)layer->plan->d_in);
    for (int64_t col = 0; col < layer->plan->d_in; col += width) {
        int64_t cols = layer->plan->d_in - col < width ? layer->plan->d_in - col : width;
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
