/*
 * gnn/layers/sum_split.c: the linear part of a layer in two products: the one with x's own weights needs no aggregate and is
 * computed while rows are under way.
 *
 *     forward    linear first       z = x W_neigh   |post z|      out = x W_self + b                 out += aggregate(z)
 *                aggregate first    |post x|    out = x W_self + b     m = aggregate(x), out += m W_neigh
 *     backward   linear first                       |post dout| db, dW_self, dx = dout W_self^T
 *                                                               dz = aggregate^T(dout), dW_neigh, dx += dz W_neigh^T
 *                aggregate first    dW_neigh, dm    |post dm|   db, dW_self, dx = dout W_self^T  dx += aggregate^T(dm)
 *
 * Against the fused products this costs a second pass over x (linear first) or out (aggregate first). A layer without
 * weights of its own for x has nothing to split, and masked panels or sparse features would be masked twice: those stay fused.
 */
#include "gnn/layers/layer_internal.h"

bool sum_splits(const gnn_layer *layer, const hal_dropout *dropout)
{
    const gnn_flow flow = layer->plan->flow;
    return (flow == GNN_FLOW_LINEAR_FIRST || flow == GNN_FLOW_AGGREGATE_FIRST) && layer->plan->self &&
           layer->aggregator->overlaps && !layer->plan->sparse && !layer_masked(layer, dropout);
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

/* z = x W_neigh; while z is on its way, out = x W_self + b. */
static weft_status forward_linear_first(gnn_layer *layer)
{
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor bias = param_value(layer->params, layer->bias);
    weft_tensor w_self = layer_half(layer, &w, false);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor z = layer_local_z(layer);
    weft_tensor z_owned = tensor_view(&z, 0, layer->n_owned, 0, z.cols);
    weft_tensor out = layer_local_out(layer);
    weft_tensor out_owned = gnn_layer_out(layer);
    WEFT_TRY(piece(layer, &(tensor_product){.a = &x, .b = &w_neigh}, &z_owned));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &z, 1.0, &out));
    WEFT_TRY(piece(layer, &(tensor_product){.a = &x, .b = &w_self, .bias = &bias}, &out_owned));
    return gnn_aggregate_end(layer->aggregator);
}

/* m = aggregate(x); while x is on its way, out = x W_self + b, and m W_neigh is added to that. */
static weft_status forward_aggregate_first(gnn_layer *layer, const train_pass *pass)
{
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor bias = param_value(layer->params, layer->bias);
    weft_tensor w_self = layer_half(layer, &w, false);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    weft_tensor x = layer_local_x(layer);
    weft_tensor m = layer_local_m(layer);
    weft_tensor x_owned = gnn_layer_x(layer);
    weft_tensor m_owned = tensor_view(&m, 0, layer->n_owned, 0, m.cols);
    weft_tensor out = gnn_layer_out(layer);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, false, &x, 0.0, &m));
    WEFT_TRY(layer_need_weights(layer, pass));
    WEFT_TRY(piece(layer, &(tensor_product){.a = &x_owned, .b = &w_self, .bias = &bias}, &out));
    WEFT_TRY(gnn_aggregate_end(layer->aggregator));
    return piece(layer, &(tensor_product){.a = &m_owned, .b = &w_neigh, .beta = 1.0}, &out);
}

weft_status sum_split_forward(gnn_layer *layer, const train_pass *pass)
{
    if (layer->plan->flow == GNN_FLOW_AGGREGATE_FIRST) {
        return forward_aggregate_first(layer, pass);
    }
    WEFT_TRY(layer_need_weights(layer, pass));
    return forward_linear_first(layer);
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

/* dz = aggregate^T(dout); while dout is on its way, everything that dz has no part in. */
static weft_status backward_linear_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor from = layer_local_out(layer);
    weft_tensor dz = layer_local_z(layer);
    weft_tensor dz_owned = tensor_view(&dz, 0, layer->n_owned, 0, dz.cols);
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor dw = param_grad(layer->params, layer->weight);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    weft_tensor dw_neigh = layer_half(layer, &dw, true);
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &from, 0.0, &dz));
    WEFT_TRY(self_gradients(layer, dx));
    WEFT_TRY(gnn_aggregate_end(layer->aggregator));
    WEFT_TRY(piece(layer, &(tensor_product){.a = &x, .b = &dz_owned, .trans_a = true}, &dw_neigh));
    WEFT_TRY(layer_gradients_ready(layer, pass));
    if (dx == NULL) {
        return WEFT_OK;
    }
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    return piece(layer, &(tensor_product){.a = &dz_owned, .b = &w_neigh, .trans_b = true, .beta = 1.0}, &dx_owned);
}

/* dx = dout W_self^T + aggregate^T(dm), dm = dout W_neigh^T in m's place, which dW_neigh has to read before. */
static weft_status backward_aggregate_first(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor m = layer_local_m(layer);
    weft_tensor m_owned = tensor_view(&m, 0, layer->n_owned, 0, m.cols);
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor dw = param_grad(layer->params, layer->weight);
    weft_tensor w_neigh = layer_half(layer, &w, true);
    weft_tensor dw_neigh = layer_half(layer, &dw, true);
    WEFT_TRY(piece(layer, &(tensor_product){.a = &m_owned, .b = &dout, .trans_a = true}, &dw_neigh));
    WEFT_TRY(piece(layer, &(tensor_product){.a = &dout, .b = &w_neigh, .trans_b = true}, &m_owned));
    WEFT_TRY(gnn_aggregate_begin(layer->aggregator, true, &m, 1.0, dx));
    WEFT_TRY(self_gradients(layer, dx));
    WEFT_TRY(layer_gradients_ready(layer, pass));
    return gnn_aggregate_end(layer->aggregator);
}

weft_status sum_split_backward(gnn_layer *layer, const train_pass *pass, weft_tensor *dx)
{
    return layer->plan->flow == GNN_FLOW_LINEAR_FIRST ? backward_linear_first(layer, pass, dx)
                                                      : backward_aggregate_first(layer, pass, dx);
}
