/*
 * gnn/layers/sum_split.c: the linear part of a layer in two products: the one with x's own weights needs no aggregate and is
 * computed while rows are under way, the other one row by row (row_steps.h), in brackets.
 *
 *     forward    linear first       [z = x W_neigh]  |post z|    out = x W_self + b                 out += aggregate(z)
 *                aggregate first    |post x|    out = x W_self + b     m = aggregate(x), [out += m W_neigh]
 *     backward   linear first                        |post dout| db, dW_self, dx = dout W_self^T
 *                                                               dz = aggregate^T(dout), [dW_neigh, dx += dz W_neigh^T]
 *                aggregate first    [dW_neigh, dm]   |post dm|   db, dW_self, dx = dout W_self^T  dx += aggregate^T(dm)
 *
 * Against the fused products this costs a second pass over x (linear first) or out (aggregate first). A layer without
 * weights of its own for x has nothing to split, masked panels or sparse features would be masked twice, and features on the host
 * brought twice: those stay fused.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

bool sum_splits(const gnn_layer *layer, const hal_dropout *dropout)
{
    const gnn_flow flow = layer->plan->flow;
    return (flow == GNN_FLOW_LINEAR_FIRST || flow == GNN_FLOW_AGGREGATE_FIRST) && layer->plan->self &&
           layer->aggregator->overlaps && !layer->plan->sparse && !layer->plan->streams &&
           !layer_masked(layer, dropout);
}

/* One product of the linear part, with a look at the messages under way. */
static weft_status piece(gnn_layer *layer, const tensor_product *product, weft_tensor *c)
{
    gnn_aggregate_poll(layer->aggregator);
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = tensor_gemm(product, c);
    activity_end(ACTIVITY_LINEAR);
    gnn_aggregate_poll(layer->aggregator);
    return status;
}

/* y = beta y + x W_neigh, or with its transpose, of these rows */
static weft_status times_neighbours(gnn_layer *layer, const gnn_row_span *span, const weft_tensor *x, bool transposed,
                                    double beta, const weft_tensor *y)
{
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    weft_tensor from = gnn_span_of(x, span);
    weft_tensor to = gnn_span_of(y, span);
    return piece(layer, &(tensor_product){.a = &from, .b = &w_neigh, .trans_b = transposed, .beta = beta}, &to);
}

/* z = x W_neigh */
static weft_status multiply_neighbours(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor z = layer_local_z(layer);
    return times_neighbours(layer, span, &x, false, 0.0, &z);
}

/* out += m W_neigh */
static weft_status multiply_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor m = layer_local_m(layer);
    weft_tensor out = gnn_layer_out(layer);
    return times_neighbours(layer, span, &m, false, 1.0, &out);
}

/* out = x W_self + b, of all rows */
static weft_status multiply_self(gnn_layer *layer)
{
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor bias = param_value(layer->params, layer->bias);
    weft_tensor w_self = layer_half(layer, &w, false);
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor out = gnn_layer_out(layer);
    return piece(layer, &(tensor_product){.a = &x, .b = &w_self, .bias = &bias}, &out);
}

static weft_status forward_linear_first(gnn_layer *layer, const train_pass *pass)
{
    const gnn_row_step neighbours = layer_step(layer, pass, multiply_neighbours);
    weft_tensor z = layer_local_z(layer);
    weft_tensor out = layer_local_out(layer);
    WEFT_TRY(layer_need_weights(layer, pass));
    WEFT_TRY(layer_rows(layer, &neighbours));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &z, 1.0, &out));
    WEFT_TRY(multiply_self(layer));
    return gnn_aggregate_leave(layer->aggregator);
}

static weft_status forward_aggregate_first(gnn_layer *layer, const train_pass *pass)
{
    const gnn_row_step sums = layer_step(layer, pass, multiply_sums);
    weft_tensor x = layer_local_x(layer);
    weft_tensor m = layer_local_m(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &x, 0.0, &m));
    WEFT_TRY(layer_need_weights(layer, pass));
    WEFT_TRY(multiply_self(layer));
    WEFT_TRY(gnn_aggregate_leave(layer->aggregator));
    return layer_rows(layer, &sums);
}

weft_status sum_split_forward(gnn_layer *layer, const train_pass *pass)
{
    return layer->plan->flow == GNN_FLOW_LINEAR_FIRST ? forward_linear_first(layer, pass)
                                                      : forward_aggregate_first(layer, pass);
}

/* dW_self = x^T dout, and dx = dout W_self^T when it is wanted: what needs no aggregate. */
static weft_status self_gradients(gnn_layer *layer, weft_tensor *dx)
{
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor dw = param_grad(layer->params, layer->weight);
    weft_tensor w_self = layer_half(layer, &w, false);
    weft_tensor dw_self = layer_half(layer, &dw, false);
    WEFT_TRY(layer_bias_gradient(layer));
    WEFT_TRY(piece(layer, &(tensor_product){.a = &x, .b = &dout, .trans_a = true}, &dw_self));
    if (dx == NULL) {
        return WEFT_OK;
    }
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    return piece(layer, &(tensor_product){.a = &dout, .b = &w_self, .trans_b = true}, &dx_owned);
}

/* dW_neigh = x^T dy, of these rows and those before */
static weft_status neighbours_gradient(gnn_layer *layer, const gnn_row_span *span, const weft_tensor *x,
                                       const weft_tensor *dy)
{
    weft_tensor dw = param_grad(layer->params, layer->weight);
    weft_tensor dw_neigh = layer_half(layer, &dw, true);
    weft_tensor from = gnn_span_of(x, span);
    weft_tensor gradient = gnn_span_of(dy, span);
    const tensor_product product = {.a = &from, .b = &gradient, .trans_a = true, .beta = span->first ? 0.0 : 1.0};
    return piece(layer, &product, &dw_neigh);
}

/* dW_neigh = x^T dz, and dx (matrix, without rows when it is not wanted) += dz W_neigh^T */
static weft_status gradients_of_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor dz = layer_local_z(layer);
    WEFT_TRY(neighbours_gradient(layer, span, &x, &dz));
    return step->matrix.rows > 0 ? times_neighbours(layer, span, &dz, true, 1.0, &step->matrix) : WEFT_OK;
}

static weft_status backward_linear_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    gnn_row_step gradients = layer_step(layer, pass, gradients_of_sums);
    gradients.done = layer_gradients_done;
    gradients.matrix = dx != NULL ? *dx : (weft_tensor){0};
    weft_tensor from = layer_local_out(layer);
    weft_tensor dz = layer_local_z(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &from, 0.0, &dz));
    WEFT_TRY(self_gradients(layer, dx));
    WEFT_TRY(gnn_aggregate_leave(layer->aggregator));
    return layer_rows(layer, &gradients);
}

/* dW_neigh = m^T dout, which reads m before dm = dout W_neigh^T takes its place. */
static weft_status gradient_of_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor m = layer_local_m(layer);
    weft_tensor dout = gnn_layer_out(layer);
    WEFT_TRY(neighbours_gradient(layer, span, &m, &dout));
    return times_neighbours(layer, span, &dout, true, 0.0, &m);
}

static weft_status backward_aggregate_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    const gnn_row_step gradient = layer_step(layer, pass, gradient_of_sums);
    assert(layer->plan->self && dx != NULL);
    weft_tensor dm = layer_local_m(layer);
    WEFT_TRY(layer_rows(layer, &gradient));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &dm, 1.0, dx));
    WEFT_TRY(self_gradients(layer, dx));
    WEFT_TRY(layer_gradients_ready(layer, pass));
    return gnn_aggregate_leave(layer->aggregator);
}

weft_status sum_split_backward(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    return layer->plan->flow == GNN_FLOW_LINEAR_FIRST ? backward_linear_first(layer, pass, dx)
                                                      : backward_aggregate_first(layer, pass, dx);
}
