/*
 * gnn/layers/gat_layer.c: graph attention, exact for any partition.
 *
 *     z = x W, for each of H heads        source = z . a_src, target = z . a_dst
 *     raw(u, v) = source[u] + target[v]   score = LeakyReLU(raw)
 *     y[v] = sum over u of softmax(score)(u, v) * dropout * z[u], v among the u's
 *     out  = heads side by side, or their mean, + b
 *
 * z[u] may pass dropout between scores and sums, as in the authors' program: its root masks it before it travels, so
 * that all ranks sum the same row, and masks dz once all have added to it.
 *
 * P. Velickovic, G. Cucurull, A. Casanova, A. Romero, P. Lio, Y. Bengio: Graph attention networks. ICLR 2018,
 * arXiv 1710.10903. No matrix of edges exists: of a vertex and head the largest source score and the sum of powers are
 * kept, and weights are worked out again where they are needed (T. Dao et al.: FlashAttention, NeurIPS 2022, arXiv
 * 2205.14135, do so for dense attention).
 *
 * A vertex's edges may lie on several ranks. LeakyReLU ascends, so the largest score follows from the largest source:
 *
 *     forward   z | source      root -> replicas that are sources
 *               highest         replicas -> root, the larger
 *               target|highest  root -> replicas that are destinations
 *               sums | total    replicas -> root, added
 *     backward  dy|total|mean   root -> replicas that are destinations
 *               dtarget         replicas -> root, added
 *               dz | dsource    replicas that are sources -> root, added
 *
 * The vertex itself is counted by its root; self-loops of the graph are left out (gnn/layers/part_edges.h), as in PyG's
 * GATConv. Matrices, D columns a head:
 *
 *     z       [n_local, H D + H]    z | source, z as it is summed
 *     plain   [n_owned, H D]        z as it is scored, where dropout makes it another
 *     sums    [n_local, H D + H]    sums, then y | total; backward dz | dsource
 *     target  [n_local, 2 H]        target | highest
 *     output  [n_local, H D + 2 H]  out, backward dy | total | mean; with a mean of heads, out stands before them
 */
#include "gnn/layers/attention.h"

#include <assert.h>

#include "base/philox.h"

typedef struct gat_layer {
    gnn_attention frame;
    int source_vector, target_vector; /* blocks [H, D] */
    weft_tensor z, plain, target, dtarget;
} gat_layer;

static void plan_gat(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    attention_plan(plan, number, layer);
    const int64_t heads = layer->heads, width = attention_of(layer).width;
    layer->value_dropout = plan->config.value_dropout;
    layer->extra =
        plan->n_local * (2 * (width + heads) + 3 * heads) + (layer->value_dropout > 0.0f ? plan->n_owned * width : 0);
    layer->aggregated = (4 * width + 9 * heads + 1) / 2;
    layer->weights = layer->d_in * width + 2 * width + layer->d_out;
}

static weft_status declare(gnn_layer *layer, int group)
{
    const gnn_layer_plan *plan = layer->plan;
    param_store *params = layer->params;
    gat_layer *gat = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&gat, 1, WEFT_MEM_GENERAL));
    layer->own = gat;
    gat->frame = attention_of(plan);
    const int64_t d = gat->frame.width / gat->frame.heads;
    const param_init spread = param_glorot(gat->frame.heads, d);
    layer->linear.weight = param_add_block(params, group, plan->d_in, gat->frame.width);
    gat->source_vector = param_add_block(params, group, gat->frame.heads, d);
    gat->target_vector = param_add_block(params, group, gat->frame.heads, d);
    layer->linear.bias = param_add_block(params, group, 1, plan->d_out);
    WEFT_TRY(param_add(params, layer->linear.weight, 0, 0, plan->d_in, gat->frame.width,
                       param_glorot(plan->d_in, gat->frame.width), "%s.weight", plan->name));
    WEFT_TRY(param_add(params, gat->source_vector, 0, 0, gat->frame.heads, d, spread, "%s.att_src", plan->name));
    WEFT_TRY(param_add(params, gat->target_vector, 0, 0, gat->frame.heads, d, spread, "%s.att_dst", plan->name));
    return param_add(params, layer->linear.bias, 0, 0, 1, plan->d_out, param_constant(0.0), "%s.bias", plan->name);
}

static weft_status create(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    assert(gat != NULL && gat->frame.heads >= 1);
    WEFT_TRY(attention_matrix(layer, gat->frame.width + gat->frame.heads, &gat->z));
    if (layer->plan->value_dropout > 0.0f) {
        WEFT_TRY(tensor_create(layer->params->hal, layer->params->dtype, layer->n_owned, gat->frame.width,
                               WEFT_MEM_ACTIVATION, &gat->plain));
    }
    WEFT_TRY(attention_matrix(layer, gat->frame.width + gat->frame.heads, &gat->frame.sums));
    WEFT_TRY(attention_matrix(layer, (int64_t)2 * gat->frame.heads, &gat->target));
    return attention_matrix(layer, gat->frame.heads, &gat->dtarget);
}

static void destroy(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    TENSOR_DESTROY_ALL(&gat->z, &gat->plain, &gat->frame.sums, &gat->target, &gat->dtarget);
}

/* Of z between scores and sums. */
static hal_dropout value_mask(const gnn_layer *layer, const train_pass *pass)
{
    return (hal_dropout){.probability = pass->training ? layer->plan->value_dropout : 0.0f,
                         .seed = pass->seed,
                         .purpose = (uint32_t)(WEFT_RNG_VALUES + layer->plan->number),
                         .epoch = pass->epoch,
                         .row_id = hal_column_from(layer->edges->id, WEFT_DTYPE_I64, layer->n_owned)};
}

/* z of the owned rows as scores read it. */
static weft_tensor scored(const gnn_layer *layer, const hal_dropout *mask)
{
    const gat_layer *gat = layer->own;
    return mask->probability > 0.0f ? gat->plain : attention_columns(layer, &gat->z, false, 0, gat->frame.width);
}

/* z, and what it scores on both ends of an edge, of the owned rows. */
static weft_status scores(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    const gat_layer *gat = layer->own;
    const hal_dropout mask = value_mask(layer, pass);
    weft_tensor x = gnn_layer_x(layer), plain = scored(layer, &mask);
    weft_tensor z = attention_columns(layer, &gat->z, false, 0, gat->frame.width);
    weft_tensor source = attention_columns(layer, &gat->z, false, gat->frame.width, gat->frame.heads);
    weft_tensor target = attention_columns(layer, &gat->target, false, 0, gat->frame.heads);
    weft_tensor source_block = param_value(layer->params, gat->source_vector);
    weft_tensor target_block = param_value(layer->params, gat->target_vector);
    weft_tensor source_vector = attention_vector(&source_block);
    weft_tensor target_vector = attention_vector(&target_block);
    WEFT_TRY(linear_forward(&layer->linear, &(linear_rows){.x = &x, .dropout = dropout}, NULL, 0.0, &plain));
    WEFT_TRY(tensor_head_dot(&plain, &source_vector, &source));
    WEFT_TRY(tensor_head_dot(&plain, &target_vector, &target));
    return mask.probability > 0.0f ? tensor_act_forward(&plain, false, &mask, &z) : WEFT_OK;
}

/* sums and total of every row, over the edges that are here. */
static weft_status sum_edges(gnn_layer *layer, const train_pass *pass)
{
    gat_layer *gat = layer->own;
    weft_tensor z = attention_columns(layer, &gat->z, true, 0, gat->frame.width);
    weft_tensor source = attention_columns(layer, &gat->z, true, gat->frame.width, gat->frame.heads);
    weft_tensor target = attention_columns(layer, &gat->target, true, 0, gat->frame.heads);
    weft_tensor highest = attention_columns(layer, &gat->target, true, gat->frame.heads, gat->frame.heads);
    weft_tensor sums = attention_columns(layer, &gat->frame.sums, true, 0, gat->frame.width);
    weft_tensor total = attention_columns(layer, &gat->frame.sums, true, gat->frame.width, gat->frame.heads);
    tensor_attention attention = attention_edges(layer, &gat->frame, pass, false);
    attention.source = &source;
    attention.target = &target;
    attention.highest = &highest;
    WEFT_TRY(gnn_exchange_sources(layer->edges, HALO_FORWARD, &gat->z));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_attention_highest(&attention, &highest));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_REVERSE_MAX, &highest));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &gat->target));
    ACTIVITY_TRY(ACTIVITY_AGGREGATE, tensor_attention_forward(&attention, &z, &sums, &total));
    return gnn_exchange_destinations(layer->edges, HALO_REVERSE, &gat->frame.sums);
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    const gat_layer *gat = layer->own;
    WEFT_TRY(train_need(pass, layer->linear.weight));
    WEFT_TRY(train_need(pass, gat->source_vector));
    WEFT_TRY(train_need(pass, gat->target_vector));
    ACTIVITY_TRY(ACTIVITY_LINEAR, scores(layer, pass, dropout));
    WEFT_TRY(sum_edges(layer, pass));
    WEFT_TRY(train_need(pass, layer->linear.bias));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, attention_finish(layer, &gat->frame));
    return WEFT_OK;
}

/* dtarget, and dz | dsource in the place of y, of the owned rows. */
static weft_status edges_backward(gnn_layer *layer, const train_pass *pass)
{
    gat_layer *gat = layer->own;
    const int64_t at = attention_dy_at(layer, &gat->frame);
    weft_tensor z = attention_columns(layer, &gat->z, true, 0, gat->frame.width);
    weft_tensor source = attention_columns(layer, &gat->z, true, gat->frame.width, gat->frame.heads);
    weft_tensor target = attention_columns(layer, &gat->target, true, 0, gat->frame.heads);
    weft_tensor highest = attention_columns(layer, &gat->target, true, gat->frame.heads, gat->frame.heads);
    weft_tensor sent =
        attention_columns(layer, &layer->output, true, at, gat->frame.width + (int64_t)2 * gat->frame.heads);
    weft_tensor dy = attention_columns(layer, &sent, true, 0, gat->frame.width);
    weft_tensor total = attention_columns(layer, &sent, true, gat->frame.width, gat->frame.heads);
    weft_tensor mean = attention_columns(layer, &sent, true, gat->frame.width + gat->frame.heads, gat->frame.heads);
    weft_tensor dz = attention_columns(layer, &gat->frame.sums, true, 0, gat->frame.width);
    weft_tensor dsource = attention_columns(layer, &gat->frame.sums, true, gat->frame.width, gat->frame.heads);
    tensor_attention attention = attention_edges(layer, &gat->frame, pass, false);
    tensor_attention transposed = attention_edges(layer, &gat->frame, pass, true);
    attention.source = transposed.source = &source;
    attention.target = transposed.target = &target;
    attention.highest = transposed.highest = &highest;
    attention.total = transposed.total = &total;
    attention.mean = transposed.mean = &mean;
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &sent));
    activity_begin(ACTIVITY_AGGREGATE);
    weft_status status = tensor_attention_backward_targets(&attention, &z, &dy, &gat->dtarget);
    status = status == WEFT_OK ? tensor_attention_backward_sources(&transposed, &z, &dy, &dz, &dsource) : status;
    activity_end(ACTIVITY_AGGREGATE);
    WEFT_TRY(status);
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_REVERSE, &gat->dtarget));
    return gnn_exchange_sources(layer->edges, HALO_REVERSE, &gat->frame.sums);
}

/* The gradient of a vector, and what it adds to dz; dy's place is free by now. */
static weft_status vector_backward(gnn_layer *layer, int block, const weft_tensor *z, const weft_tensor *dscore,
                                   weft_tensor *dz)
{
    const gat_layer *gat = layer->own;
    weft_tensor scratch =
        attention_columns(layer, &layer->output, false, attention_dy_at(layer, &gat->frame), gat->frame.width);
    weft_tensor value = param_value(layer->params, block);
    weft_tensor gradient = param_grad(layer->params, block), vector = attention_vector(&value);
    weft_tensor dvector = attention_vector(&gradient);
    WEFT_TRY(tensor_head_scale(dscore, false, z, 0.0, &scratch));
    WEFT_TRY(tensor_col_sum(&scratch, 0.0, &dvector));
    return tensor_head_scale(dscore, false, &vector, 1.0, dz);
}

static weft_status linear_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout,
                                   weft_tensor *dx)
{
    const gat_layer *gat = layer->own;
    const hal_dropout mask = value_mask(layer, pass);
    weft_tensor x = gnn_layer_x(layer), plain = scored(layer, &mask);
    weft_tensor dz = attention_columns(layer, &gat->frame.sums, false, 0, gat->frame.width);
    weft_tensor dsource = attention_columns(layer, &gat->frame.sums, false, gat->frame.width, gat->frame.heads);
    weft_tensor dtarget = attention_columns(layer, &gat->dtarget, false, 0, gat->frame.heads);
    if (mask.probability > 0.0f) {
        WEFT_TRY(tensor_act_backward(&dz, &dz, false, &mask, &dz));
    }
    WEFT_TRY(vector_backward(layer, gat->target_vector, &plain, &dtarget, &dz));
    WEFT_TRY(vector_backward(layer, gat->source_vector, &plain, &dsource, &dz));
    WEFT_TRY(linear_weight_gradient(&layer->linear, pass, &(linear_rows){.x = &x, .dropout = dropout}, &dz, false));
    return layer_input_gradient(layer, &dz, dx);
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    const gat_layer *gat = layer->own;
    WEFT_TRY(layer_bias_gradient(layer));
    WEFT_TRY(train_ready(pass, layer->linear.bias));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, attention_begin_backward(layer, &gat->frame));
    WEFT_TRY(edges_backward(layer, pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_backward(layer, pass, dropout, dx));
    WEFT_TRY(train_ready(pass, gat->target_vector));
    WEFT_TRY(train_ready(pass, gat->source_vector));
    return train_ready(pass, layer->linear.weight);
}

int gat_source_vector(const gnn_layer *layer)
{
    const gat_layer *gat = layer->own;
    return gat->source_vector;
}

const gnn_layer_ops gnn_layer_gat = {
    GNN_LAYER_OPS, .connects = true,    .heads = true,       .attends = HAL_OP_attention_backward_sources,
    .elu = true,   .walks_edges = true, .counts_self = true, .plan = plan_gat};
