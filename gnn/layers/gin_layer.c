/*
 * gnn/layers/gin_layer.c: graph isomorphism networks. A convolution is a network of two linear maps on (1 + eps) x +
 * the sum over in-neighbours; the first is a layer that sums, so it may come before the sum, and the second a dense
 * layer.
 *
 *     eps = 0        sums of gnn/layers/sum_layer.c, in any order of work
 *     eps learned    z = x W,  out = A z + z + eps z + b             deps = <dout, z>,  dz = A^T dout + dout + eps dout
 *
 * eps is one number a layer and stands on the device, as do the parameters: what it scales rows by is a vector of it. z
 * is what its gradient needs, so the linear map comes first whatever the widths; that costs a vector [n_owned] and,
 * each way, a pass over rows that are `d_out` wide.
 *
 * K. Xu, W. Hu, J. Leskovec, S. Jegelka: How powerful are graph neural networks? ICLR 2019, arXiv 1810.00826: GIN-0,
 * and GIN-eps.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

#include "base/alloc.h"

typedef struct gin_layer {
    weft_tensor scale; /* [n_owned, 1]: eps everywhere, or each row's share of its gradient */
} gin_layer;

static bool learns(const gnn_layer *layer)
{
    return layer->plan->learns_eps;
}

static void plan_gin(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    if (!plan->config.learns_eps) {
        sum_plan_pooled(plan, number, layer);
        return;
    }
    sum_plan(plan, number, GNN_FLOW_LINEAR_FIRST, false, layer);
    layer->learns_eps = true;
    layer->weights += 1;
    layer->extra = plan->n_owned;
}

static gnn_normalisation normalisation(const gnn_config *config)
{
    (void)config;
    return GNN_NORM_SUM_SELF;
}

static weft_status declare(gnn_layer *layer, int group)
{
    WEFT_TRY(sum_layer_declare(layer, group));
    if (!learns(layer)) {
        return WEFT_OK;
    }
    layer->eps = param_add_block(layer->params, group, 1, 1);
    return param_add(layer->params, layer->eps, 0, 0, 1, 1, param_constant(0.0), "%s.eps", layer->plan->name);
}

static weft_status create(gnn_layer *layer)
{
    gin_layer *gin = NULL;
    WEFT_TRY(sum_layer_create(layer));
    if (!learns(layer)) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&gin, 1, WEFT_MEM_GENERAL));
    layer->own = gin;
    return tensor_create(layer->params->hal, layer->params->dtype, layer->n_owned, 1, WEFT_MEM_ACTIVATION, &gin->scale);
}

static void destroy(gnn_layer *layer)
{
    gin_layer *gin = layer->own;
    tensor_destroy(&gin->scale);
}

/* y += eps * x */
static weft_status add_scaled(gnn_layer *layer, const weft_tensor *x, weft_tensor *y)
{
    const gin_layer *gin = layer->own;
    assert(gin != NULL && x->rows == y->rows);
    weft_tensor scale = gin->scale, eps = param_value(layer->params, layer->eps);
    WEFT_TRY(linear_set_rows(&eps, &eps, &scale));
    return tensor_head_scale(&scale, false, x, 1.0, y);
}

static weft_tensor owned_z(const gnn_layer *layer)
{
    return tensor_view(&layer->output, 0, layer->n_owned, layer->plan->d_out, layer->plan->d_out);
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    WEFT_TRY(sum_layer_forward(layer, pass, dropout));
    if (!learns(layer)) {
        return WEFT_OK;
    }
    WEFT_TRY(gnn_aggregate_settle(layer->aggregator));
    WEFT_TRY(train_need(pass, layer->eps));
    weft_tensor z = owned_z(layer), out = gnn_layer_out(layer);
    ACTIVITY_TRY(ACTIVITY_LINEAR, add_scaled(layer, &z, &out));
    return WEFT_OK;
}

/* Before dz takes z's place. */
static weft_status eps_gradient(gnn_layer *layer)
{
    const gin_layer *gin = layer->own;
    weft_tensor share = gin->scale, z = owned_z(layer);
    weft_tensor dout = gnn_layer_out(layer), deps = param_grad(layer->params, layer->eps);
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = tensor_head_dot(&dout, &z, &share);
    status = status == WEFT_OK ? tensor_col_sum(&share, 0.0, &deps) : status;
    activity_end(ACTIVITY_LINEAR);
    return status;
}

/* dW and, where it is wanted, dx of dz. */
static weft_status linear_gradients(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout,
                                    weft_tensor *dx)
{
    weft_tensor x = gnn_layer_x(layer), dz = owned_z(layer), dout = gnn_layer_out(layer);
    WEFT_TRY(add_scaled(layer, &dout, &dz));
    WEFT_TRY(linear_weight_gradient(&layer->linear, pass, &(linear_rows){.x = &x, .dropout = dropout}, &dz, false));
    WEFT_TRY(linear_ready(&layer->linear, pass));
    return layer_input_gradient(layer, &dz, dx);
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    if (!learns(layer)) {
        return sum_layer_backward(layer, pass, dropout, dx);
    }
    WEFT_TRY(gnn_aggregate_settle(layer->aggregator));
    WEFT_TRY(eps_gradient(layer));
    WEFT_TRY(train_ready(pass, layer->eps));
    weft_tensor from = layer_local_out(layer), dz = layer_local_z(layer);
    WEFT_TRY(gnn_aggregate(layer->aggregator, true, &from, 0.0, &dz));
    WEFT_TRY(layer_bias_gradient(layer));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_gradients(layer, pass, dropout, dx));
    return WEFT_OK;
}

const gnn_layer_ops gnn_layer_gin = {GNN_LAYER_OPS,
                                     .plan = plan_gin,
                                     .then = &gnn_layer_mlp,
                                     .connects = true,
                                     .by_rows = true,
                                     .normalisation = normalisation,
                                     .prepare = sum_layer_prepare};
