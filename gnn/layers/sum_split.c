/*
 * gnn/layers/sum_split.c: the linear part of a layer in two products: the one with x's own weights needs no aggregate
 * and is computed while rows are under way, the other one row by row (row_steps.h), in brackets.
 *
 *     forward    linear first       [z = x W_neigh]  |post z|    out = x W_self + b                 out += aggregate(z)
 *                aggregate first    |post x|    out = x W_self + b     m = aggregate(x), [out += m W_neigh]
 *     backward   linear first                        |post dout| db, dW_self, dx = dout W_self^T
 *                                                               dz = aggregate^T(dout), [dW_neigh, dx += dz W_neigh^T]
 *                aggregate first    [dW_neigh, dm]   |post dm|   db, dW_self, dx = dout W_self^T  dx += aggregate^T(dm)
 *
 * Against the fused products this costs a second pass over x (linear first) or out (aggregate first). A layer without
 * weights of its own for x has nothing to split, masked panels or sparse features would be masked twice, and features
 * on the host brought twice: those stay fused.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

bool sum_splits(const gnn_layer *layer, const hal_dropout *dropout)
{
    const gnn_flow flow = layer->plan->flow;
    return (flow == GNN_FLOW_LINEAR_FIRST || flow == GNN_FLOW_AGGREGATE_FIRST) && layer->plan->self &&
           layer->aggregator->overlaps && !layer->plan->sparse && !layer->plan->streams &&
           !linear_masks(&layer->linear, dropout);
}

/* A piece of the linear part is one product, with a look at the messages under way before and behind it. */
static void begin_piece(gnn_layer *layer)
{
    gnn_aggregate_poll(layer->aggregator);
    activity_begin(ACTIVITY_LINEAR);
}

static weft_status end_piece(gnn_layer *layer, weft_status status)
{
    activity_end(ACTIVITY_LINEAR);
    gnn_aggregate_poll(layer->aggregator);
    return status;
}

/* y = beta y + x W_neigh, of the rows of a span */
static weft_status times_neighbours(gnn_layer *layer, const gnn_row_span *span, const weft_tensor *x, double beta,
                                    const weft_tensor *y)
{
    const train_linear neighbours = layer_half(layer, true);
    weft_tensor from = gnn_span_of(x, span), to = gnn_span_of(y, span);
    begin_piece(layer);
    return end_piece(layer, linear_forward(&neighbours, &(linear_rows){.x = &from}, NULL, beta, &to));
}

/* dx = beta dx + dy W_neigh^T, of the rows of a span */
static weft_status through_neighbours(gnn_layer *layer, const gnn_row_span *span, const weft_tensor *dy, double beta,
                                      const weft_tensor *dx)
{
    const train_linear neighbours = layer_half(layer, true);
    weft_tensor from = gnn_span_of(dy, span), to = gnn_span_of(dx, span);
    begin_piece(layer);
    return end_piece(layer, linear_input_gradient(&neighbours, &from, beta, &to));
}

/* z = x W_neigh */
static weft_status multiply_neighbours(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor x = gnn_layer_x(layer), z = layer_local_z(layer);
    return times_neighbours(layer, span, &x, 0.0, &z);
}

/* out += m W_neigh */
static weft_status multiply_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor m = layer_local_m(layer), out = gnn_layer_out(layer);
    return times_neighbours(layer, span, &m, 1.0, &out);
}

/* out = x W_self + b, of all rows */
static weft_status multiply_self(gnn_layer *layer)
{
    const train_linear own = layer_half(layer, false);
    weft_tensor bias = param_value(layer->params, layer->linear.bias);
    weft_tensor x = gnn_layer_x(layer), out = gnn_layer_out(layer);
    begin_piece(layer);
    return end_piece(layer, linear_forward(&own, &(linear_rows){.x = &x}, &bias, 0.0, &out));
}

static weft_status forward_linear_first(gnn_layer *layer, const train_pass *pass)
{
    const gnn_row_step neighbours = layer_step(layer, pass, multiply_neighbours);
    weft_tensor z = layer_local_z(layer), out = layer_local_out(layer);
    WEFT_TRY(linear_need(&layer->linear, pass));
    WEFT_TRY(layer_rows(layer, &neighbours));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &z, 1.0, &out));
    WEFT_TRY(multiply_self(layer));
    return gnn_aggregate_leave(layer->aggregator);
}

static weft_status forward_aggregate_first(gnn_layer *layer, const train_pass *pass)
{
    const gnn_row_step sums = layer_step(layer, pass, multiply_sums);
    weft_tensor x = layer_local_x(layer), m = layer_local_m(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &x, 0.0, &m));
    WEFT_TRY(linear_need(&layer->linear, pass));
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
static weft_status self_gradients(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    const train_linear own = layer_half(layer, false);
    weft_tensor x = gnn_layer_x(layer), dout = gnn_layer_out(layer);
    WEFT_TRY(layer_bias_gradient(layer));
    begin_piece(layer);
    WEFT_TRY(end_piece(layer, linear_weight_gradient(&own, pass, &(linear_rows){.x = &x}, &dout, false)));
    if (dx == NULL) {
        return WEFT_OK;
    }
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    begin_piece(layer);
    return end_piece(layer, linear_input_gradient(&own, &dout, 0.0, &dx_owned));
}

/* dW_neigh = x^T dy, of the rows of this span and of those before it */
static weft_status neighbours_gradient(const gnn_row_step *step, const gnn_row_span *span, const weft_tensor *x,
                                       const weft_tensor *dy)
{
    gnn_layer *layer = step->self;
    const train_linear neighbours = layer_half(layer, true);
    weft_tensor from = gnn_span_of(x, span), gradient = gnn_span_of(dy, span);
    begin_piece(layer);
    return end_piece(
        layer, linear_weight_gradient(&neighbours, step->pass, &(linear_rows){.x = &from}, &gradient, !span->first));
}

/* dW_neigh = x^T dz, and dx (matrix, without rows when it is not wanted) += dz W_neigh^T */
static weft_status gradients_of_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor x = gnn_layer_x(layer), dz = layer_local_z(layer);
    WEFT_TRY(neighbours_gradient(step, span, &x, &dz));
    return step->matrix.rows > 0 ? through_neighbours(layer, span, &dz, 1.0, &step->matrix) : WEFT_OK;
}

static weft_status backward_linear_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    gnn_row_step gradients = layer_step(layer, pass, gradients_of_sums);
    gradients.done = layer_gradients_done;
    gradients.matrix = dx != NULL ? *dx : (weft_tensor){0};
    weft_tensor from = layer_local_out(layer), dz = layer_local_z(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &from, 0.0, &dz));
    WEFT_TRY(self_gradients(layer, pass, dx));
    WEFT_TRY(gnn_aggregate_leave(layer->aggregator));
    return layer_rows(layer, &gradients);
}

/* dW_neigh = m^T dout, which reads m before dm = dout W_neigh^T takes its place. */
static weft_status gradient_of_sums(const gnn_row_step *step, const gnn_row_span *span)
{
    gnn_layer *layer = step->self;
    weft_tensor m = layer_local_m(layer), dout = gnn_layer_out(layer);
    WEFT_TRY(neighbours_gradient(step, span, &m, &dout));
    return through_neighbours(layer, span, &dout, 0.0, &m);
}

static weft_status backward_aggregate_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    const gnn_row_step gradient = layer_step(layer, pass, gradient_of_sums);
    assert(layer->plan->self && dx != NULL);
    weft_tensor dm = layer_local_m(layer);
    WEFT_TRY(layer_rows(layer, &gradient));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &dm, 1.0, dx));
    WEFT_TRY(self_gradients(layer, pass, dx));
    WEFT_TRY(linear_ready(&layer->linear, pass));
    return gnn_aggregate_leave(layer->aggregator);
}

weft_status sum_split_backward(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    return layer->plan->flow == GNN_FLOW_LINEAR_FIRST ? backward_linear_first(layer, pass, dx)
                                                      : backward_aggregate_first(layer, pass, dx);
}
