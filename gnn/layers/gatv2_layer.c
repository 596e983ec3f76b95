/*
 * gnn/layers/gatv2_layer.c: graph attention whose ends meet before they are scored, exact for any partition.
 *
 *     z = x W_l + b_l, t = x W_r + b_r, for each of H heads      score(u, v) = a . LeakyReLU(z[u] + t[v])
 *
 * and sums as in gnn/layers/attention.h. S. Brody, U. Alon, E. Yahav: How attentive are graph attention networks? ICLR
 * 2022, arXiv 2105.14491. A score does not fall into a part of each end, so both ends travel at full width, and every
 * pass works it out again: no matrix of edges exists. Where a vertex's edges lie on several ranks:
 *
 *     forward   z               root -> replicas that are sources
 *               t               root -> replicas that are destinations
 *               highest         replicas -> root, the larger, and back
 *               sums | total    replicas -> root, added
 *     backward  dy|total|mean   root -> replicas that are destinations
 *               dt              replicas -> root, added
 *               dz              replicas that are sources -> root, added
 *
 * What edges add to the gradient of a stays on their rank: gradients of weights are shares of a sum. Matrices besides
 * those of gnn/layers/attention.h, D columns a head:
 *
 *     ends      [n_local, 2 H D]    z | t
 *     dends     [n_local, 2 H D]    dz | dt
 *     highest   [n_local, H]
 *     sums      backward, of every row: what its edges add to the gradient of a
 */
#include "gnn/layers/attention.h"

typedef struct gatv2_layer {
    gnn_attention frame;
    int vector, ends_bias; /* blocks [H, D] and [1, 2 H D] */
    weft_tensor ends, dends, highest;
} gatv2_layer;

static void plan_gatv2(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    attention_plan(plan, number, layer);
    const int64_t heads = layer->heads, width = attention_of(layer).width;
    layer->extra = plan->n_local * (5 * width + 2 * heads);
    layer->aggregated = (6 * width + 5 * heads + 1) / 2;
    layer->weights = 2 * (layer->d_in + 1) * width + width + layer->d_out;
}

static weft_status declare(gnn_layer *layer, int group)
{
    const gnn_layer_plan *plan = layer->plan;
    param_store *params = layer->params;
    gatv2_layer *gat = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&gat, 1, WEFT_MEM_GENERAL));
    layer->own = gat;
    gat->frame = attention_of(plan);
    const int64_t heads = plan->heads, in = plan->d_in, width = gat->frame.width;
    const param_init spread = param_glorot(in, width), zero = param_constant(0.0);
    layer->linear.weight = param_add_block(params, group, in, 2 * width);
    gat->ends_bias = param_add_block(params, group, 1, 2 * width);
    gat->vector = param_add_block(params, group, heads, width / heads);
    layer->linear.bias = param_add_block(params, group, 1, plan->d_out);
    WEFT_TRY(param_add(params, layer->linear.weight, 0, 0, in, width, spread, "%s.source", plan->name));
    WEFT_TRY(param_add(params, layer->linear.weight, 0, width, in, width, spread, "%s.target", plan->name));
    WEFT_TRY(param_add(params, gat->ends_bias, 0, 0, 1, width, zero, "%s.source_bias", plan->name));
    WEFT_TRY(param_add(params, gat->ends_bias, 0, width, 1, width, zero, "%s.target_bias", plan->name));
    WEFT_TRY(param_add(params, gat->vector, 0, 0, heads, width / heads, param_glorot(heads, width / heads), "%s.att",
                       plan->name));
    return param_add(params, layer->linear.bias, 0, 0, 1, plan->d_out, zero, "%s.bias", plan->name);
}

static weft_status create(gnn_layer *layer)
{
    gatv2_layer *gat = layer->own;
    WEFT_TRY(attention_matrix(layer, 2 * gat->frame.width, &gat->ends));
    WEFT_TRY(attention_matrix(layer, 2 * gat->frame.width, &gat->dends));
    WEFT_TRY(attention_matrix(layer, gat->frame.heads, &gat->highest));
    return attention_matrix(layer, gat->frame.width + gat->frame.heads, &gat->frame.sums);
}

static void destroy(gnn_layer *layer)
{
    gatv2_layer *gat = layer->own;
    TENSOR_DESTROY_ALL(&gat->ends, &gat->dends, &gat->highest, &gat->frame.sums);
}

/* All rows of z or t, or of their gradients. */
static weft_tensor end_of(const gnn_layer *layer, const weft_tensor *both, bool target)
{
    const gatv2_layer *gat = layer->own;
    return attention_columns(layer, both, true, target ? gat->frame.width : 0, gat->frame.width);
}

/* What scores edges: views and their struct, which points at them. */
typedef struct edge_scores {
    weft_tensor z, t, block, vector, highest;
    tensor_dynamic dynamic;
} edge_scores;

static void score_edges(const gnn_layer *layer, const train_pass *pass, bool backward_to_sources, edge_scores *s)
{
    const gatv2_layer *gat = layer->own;
    s->z = end_of(layer, &gat->ends, false);
    s->t = end_of(layer, &gat->ends, true);
    s->block = param_value(layer->params, gat->vector);
    s->vector = attention_vector(&s->block);
    s->highest = gat->highest;
    s->dynamic = (tensor_dynamic){.edges = attention_edges(layer, &gat->frame, pass, backward_to_sources),
                                  .x = &s->z,
                                  .target = &s->t,
                                  .vector = &s->vector};
    s->dynamic.edges.highest = &s->highest;
}

/* z and t of the owned rows. */
static weft_status multiply(gnn_layer *layer, const hal_dropout *dropout)
{
    const gatv2_layer *gat = layer->own;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor ends = attention_columns(layer, &gat->ends, false, 0, gat->ends.cols);
    weft_tensor bias = param_value(layer->params, gat->ends_bias);
    return linear_forward(&layer->linear, &(linear_rows){.x = &x, .dropout = dropout}, &bias, 0.0, &ends);
}

/* sums and total of every row, over the edges that are here. */
static weft_status sum_edges(gnn_layer *layer, const train_pass *pass)
{
    gatv2_layer *gat = layer->own;
    edge_scores s;
    score_edges(layer, pass, false, &s);
    weft_tensor sums = attention_columns(layer, &gat->frame.sums, true, 0, gat->frame.width);
    weft_tensor total = attention_columns(layer, &gat->frame.sums, true, gat->frame.width, gat->frame.heads);
    WEFT_TRY(gnn_exchange_sources(layer->edges, HALO_FORWARD, &s.z));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &s.t));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_dynamic_highest(&s.dynamic, &gat->highest));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_REVERSE_MAX, &gat->highest));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &gat->highest));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_dynamic_forward(&s.dynamic, &sums, &total));
    return gnn_exchange_destinations(layer->edges, HALO_REVERSE, &gat->frame.sums);
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    gatv2_layer *gat = layer->own;
    WEFT_TRY(train_need(pass, layer->linear.weight));
    WEFT_TRY(train_need(pass, gat->ends_bias));
    WEFT_TRY(train_need(pass, gat->vector));
    ACTIVITY_TRY(ACTIVITY_LINEAR, multiply(layer, dropout));
    WEFT_TRY(sum_edges(layer, pass));
    WEFT_TRY(train_need(pass, layer->linear.bias));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, attention_finish(layer, &gat->frame));
    return WEFT_OK;
}

/* dz and dt of the owned rows, and the gradient of a. */
static weft_status edges_backward(gnn_layer *layer, const train_pass *pass)
{
    gatv2_layer *gat = layer->own;
    const int heads = gat->frame.heads;
    const int64_t at = attention_dy_at(layer, &gat->frame), width = gat->frame.width;
    weft_tensor sent = attention_columns(layer, &layer->output, true, at, width + (int64_t)2 * heads);
    weft_tensor dy = attention_columns(layer, &sent, true, 0, width);
    weft_tensor total = attention_columns(layer, &sent, true, width, heads);
    weft_tensor mean = attention_columns(layer, &sent, true, width + heads, heads);
    weft_tensor dz = end_of(layer, &gat->dends, false), dt = end_of(layer, &gat->dends, true);
    weft_tensor shares = attention_columns(layer, &gat->frame.sums, true, 0, width);
    weft_tensor block = param_grad(layer->params, gat->vector), dvector = attention_vector(&block);
    edge_scores to, from;
    score_edges(layer, pass, false, &to);
    score_edges(layer, pass, true, &from);
    to.dynamic.edges.total = from.dynamic.edges.total = &total;
    to.dynamic.edges.mean = from.dynamic.edges.mean = &mean;
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &sent));
    activity_begin(ACTIVITY_AGGREGATE);
    weft_status status = tensor_dynamic_backward_targets(&to.dynamic, &dy, &dt, &shares);
    status = status == WEFT_OK ? tensor_dynamic_backward_sources(&from.dynamic, &dy, &dz) : status;
    status = status == WEFT_OK ? tensor_col_sum(&shares, 0.0, &dvector) : status;
    activity_end(ACTIVITY_AGGREGATE);
    WEFT_TRY(status);
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_REVERSE, &dt));
    return gnn_exchange_sources(layer->edges, HALO_REVERSE, &dz);
}

static weft_status linear_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout,
                                   weft_tensor *dx)
{
    const gatv2_layer *gat = layer->own;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor dends = attention_columns(layer, &gat->dends, false, 0, gat->dends.cols);
    weft_tensor dbias = param_grad(layer->params, gat->ends_bias);
    WEFT_TRY(tensor_col_sum(&dends, 0.0, &dbias));
    WEFT_TRY(linear_weight_gradient(&layer->linear, pass, &(linear_rows){.x = &x, .dropout = dropout}, &dends, false));
    return layer_input_gradient(layer, &dends, dx);
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    gatv2_layer *gat = layer->own;
    WEFT_TRY(layer_bias_gradient(layer));
    WEFT_TRY(train_ready(pass, layer->linear.bias));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, attention_begin_backward(layer, &gat->frame));
    WEFT_TRY(edges_backward(layer, pass));
    WEFT_TRY(train_ready(pass, gat->vector));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_backward(layer, pass, dropout, dx));
    WEFT_TRY(train_ready(pass, gat->ends_bias));
    return train_ready(pass, layer->linear.weight);
}

const gnn_layer_ops gnn_layer_gatv2 = {
    GNN_LAYER_OPS, .connects = true,    .heads = true,       .attends = HAL_OP_dynamic_backward_sources,
    .elu = true,   .walks_edges = true, .counts_self = true, .plan = plan_gatv2};
