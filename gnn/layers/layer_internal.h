/*
 * gnn/layers/layer_internal.h: layers as the files of their kinds see them: the rows of the table of kinds
 * (layer_table.c), and functions for kinds that sum: sum_plan.c (sizes), sum_layer.c (products fused, the aggregate
 * before or after them) and sum_split.c (products in two, one of them while the aggregate's rows are under way).
 */
#pragma once

#include "gnn/layers/layer.h"
#include "train/activities.h"

extern const gnn_layer_ops gnn_layer_sage, gnn_layer_gcn, gnn_layer_mlp, gnn_layer_gat, gnn_layer_gin, gnn_layer_sgc,
    gnn_layer_gatv2, gnn_layer_lightgcn, gnn_layer_max; /* of sage with aggregator max */

/* Returns true if layer `number` reads the features, and these are held sparse. */
static inline bool layer_takes_sparse(const gnn_config *config, int number)
{
    const bool multiplies_first = config->order != GNN_ORDER_AGGREGATE_FIRST && !gnn_takes_maxima(config);
    return number == 0 && config->density > 0.0 && multiplies_first;
}

/* Returns true if layer `number` reads the features, and these stay on the host. */
static inline bool layer_streams(const gnn_config *config, int number)
{
    return number == 0 && config->streams && gnn_may_stream(config);
}

static inline weft_tensor layer_local_out(const gnn_layer *layer)
{
    return tensor_view(&layer->output, 0, layer->n_local, 0, layer->plan->d_out);
}

static inline weft_tensor layer_local_z(const gnn_layer *layer)
{
    return tensor_view(&layer->output, 0, layer->n_local, layer->plan->d_out, layer->plan->d_out);
}

static inline weft_tensor layer_local_x(const gnn_layer *layer)
{
    return tensor_view(&layer->input, 0, layer->n_local, 0, layer->plan->d_in);
}

static inline weft_tensor layer_local_m(const gnn_layer *layer)
{
    return tensor_view(&layer->input, 0, layer->n_local, layer->plan->d_in, layer->plan->d_in);
}

/* The map of x itself, or of its aggregate, where a layer has weights for both. */
static inline train_linear layer_half(const gnn_layer *layer, bool neighbours)
{
    const gnn_layer_plan *plan = layer->plan;
    if (plan->flow == GNN_FLOW_LINEAR_FIRST) {
        return linear_part(&layer->linear, 0, plan->d_in, neighbours ? plan->d_out : 0, plan->d_out);
    }
    return linear_part(&layer->linear, neighbours ? plan->d_in : 0, plan->d_in, 0, plan->d_out);
}

/* A step of this layer for gnn_aggregate_rows. */
static inline gnn_row_step layer_step(gnn_layer *layer, const train_pass *pass,
                                      weft_status (*run)(const gnn_row_step *step, const gnn_row_span *span))
{
    return (gnn_row_step){.run = run, .self = layer, .pass = pass};
}

static inline weft_status layer_rows(gnn_layer *layer, const gnn_row_step *step)
{
    return gnn_aggregate_rows(layer->aggregator, layer->n_owned, step);
}

/* Reports gradients that are final, behind the last rows of a step. */
static inline weft_status layer_gradients_done(const gnn_row_step *step)
{
    const gnn_layer *layer = step->self;
    return linear_ready(&layer->linear, step->pass);
}

/* The gradient of the bias. A bias that a norm takes off again gets 0: its sums would be rounding alone, which Adam's
 * step makes as large as any other. */
static inline weft_status layer_bias_gradient(const gnn_layer *layer)
{
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor dbias = param_grad(layer->params, layer->linear.bias);
    if (layer->plan->centred) {
        return tensor_zero(&dbias);
    }
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_bias_gradient(&layer->linear, &dout, false));
    return WEFT_OK;
}

/* dx of the owned rows from the gradient dz of the layer's products; dx NULL: it is not wanted. */
static inline weft_status layer_input_gradient(const gnn_layer *layer, const weft_tensor *dz, const weft_tensor *dx)
{
    if (dx == NULL) {
        return WEFT_OK;
    }
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    return linear_input_gradient(&layer->linear, dz, 0.0, &dx_owned);
}

/* Every row of out = bias. */
static inline weft_status layer_set_bias(const gnn_layer *layer)
{
    weft_tensor bias = param_value(layer->params, layer->linear.bias);
    weft_tensor w = param_value(layer->params, layer->linear.weight);
    weft_tensor out = gnn_layer_out(layer);
    return linear_set_rows(&w, &bias, &out);
}

/* The operations of gnn_layer_ops for sums. */
weft_status sum_layer_declare(gnn_layer *layer, int group);
weft_status sum_layer_create(gnn_layer *layer);
weft_status sum_layer_prepare(gnn_layer *layer);
/* An aggregate that sum_layer_prepare_by uses instead of the layer's sum: out = aggregate(x) on the owned rows; x and
 * out are [n_local, d]. */
typedef weft_status layer_aggregate(gnn_layer *layer, weft_tensor *x, weft_tensor *out);
weft_status sum_layer_prepare_by(gnn_layer *layer, layer_aggregate *aggregate);
weft_status sum_layer_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout);
weft_status sum_layer_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx);

/* Sizes of a layer of this flow (sum_plan.c). self: x has weights of its own, besides those of its aggregate. */
void sum_plan(const gnn_plan *plan, int number, gnn_flow flow, bool self, gnn_layer_plan *layer);
/* Sizes of a layer of a kind with one matrix, whose order of work is decided by the widths (sum_plan.c). */
void sum_plan_pooled(const gnn_plan *plan, int number, gnn_layer_plan *layer);

/* Returns true if the product with x's own weights is computed by itself. sum_split_forward and _backward then do the
 * layer's work. */
bool sum_splits(const gnn_layer *layer, const hal_dropout *dropout);
weft_status sum_split_forward(gnn_layer *layer, const train_pass *pass);
weft_status sum_split_backward(gnn_layer *layer, const train_pass *pass, weft_tensor *dx);
