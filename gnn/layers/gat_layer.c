/*
 * gnn/layers/gat_layer.c: graph attention, exact for any partition.
 *
 *     z = x W, for each of H heads        source = z . a_src, target = z . a_dst
 *     raw(u, v) = source[u] + target[v]   score = LeakyReLU(raw)
 *     y[v] = sum over u of softmax(score)(u, v) * dropout * z[u], v among the u's;   out = heads side by side, or their mean, + b
 *
 * P. Velickovic, G. Cucurull, A. Casanova, A. Romero, P. Lio, Y. Bengio: Graph attention networks. ICLR 2018,
 * arXiv 1710.10903. No matrix of edges exists: of a vertex and head the largest source score and the sum of powers are kept,
 * and weights are worked out again where they are needed (T. Dao et al.: FlashAttention, NeurIPS 2022, arXiv 2205.14135, do so
 * for dense attention).
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
 * The vertex itself is counted by its root, besides an edge to itself that the data may have. Matrices, D columns a head:
 *
 *     z       [n_local, H D + H]    z | source
 *     sums    [n_local, H D + H]    sums, then y | total; backward dz | dsource
 *     target  [n_local, 2 H]        target | highest
 *     output  [n_local, H D + 2 H]  out, backward dy | total | mean; with a mean of heads, out stands before them
 */
#include "gnn/layers/layer_internal.h"

#include "base/philox.h"

typedef struct gat_layer {
    int heads;
    int64_t width;                    /* H D */
    bool averages;                    /* the mean of heads, of which there are several */
    int source_vector, target_vector; /* blocks [H, D] */
    float slope, weight_dropout;
    uint32_t purpose;
    weft_tensor z, sums, target, dtarget;
} gat_layer;

static int heads_of(const gnn_config *config, bool last)
{
    return last ? config->out_heads : config->heads;
}

static void plan_gat(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const gnn_config *config = &plan->config;
    const int64_t heads = heads_of(config, layer->last);
    const int64_t width = layer->last ? heads * layer->d_out : layer->d_out;
    layer->flow = GNN_FLOW_ATTENTION;
    layer->input_rows = plan->n_owned;
    layer->input_cols = layer->d_in;
    layer->output_rows = plan->n_local;
    layer->output_cols = (layer->last && heads > 1 ? layer->d_out : 0) + width + 2 * heads;
    layer->width = width + 2 * heads;
    layer->extra = plan->n_local * (2 * (width + heads) + 3 * heads);
    layer->aggregated = (4 * width + 9 * heads + 1) / 2;
    layer->weights = layer->d_in * width + 2 * width + layer->d_out;
    layer->sparse = layer_takes_sparse(config, number);
    layer->panels = number == 0 && !layer->sparse && config->input_dropout > 0.0f;
    layer->heads = (int)heads;
    layer->slope = config->slope;
    layer->weight_dropout = config->weight_dropout;
}

static weft_status declare(gnn_layer *layer, int group)
{
    const gnn_layer_plan *plan = layer->plan;
    param_store *params = layer->params;
    gat_layer *gat = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&gat, 1, WEFT_MEM_GENERAL));
    layer->own = gat;
    gat->heads = plan->heads;
    gat->averages = plan->last && plan->heads > 1;
    gat->width = plan->last ? plan->heads * plan->d_out : plan->d_out;
    gat->slope = plan->slope;
    gat->weight_dropout = plan->weight_dropout;
    gat->purpose = (uint32_t)(WEFT_RNG_EDGES + plan->number);
    const int64_t d = gat->width / gat->heads;
    const param_init spread = param_glorot(gat->heads, d);
    layer->weight = param_add_block(params, group, plan->d_in, gat->width);
    gat->source_vector = param_add_block(params, group, gat->heads, d);
    gat->target_vector = param_add_block(params, group, gat->heads, d);
    layer->bias = param_add_block(params, group, 1, plan->d_out);
    WEFT_TRY(param_add(params, layer->weight, 0, 0, plan->d_in, gat->width, param_glorot(plan->d_in, gat->width),
                       "%s.weight", plan->name));
    WEFT_TRY(param_add(params, gat->source_vector, 0, 0, gat->heads, d, spread, "%s.att_src", plan->name));
    WEFT_TRY(param_add(params, gat->target_vector, 0, 0, gat->heads, d, spread, "%s.att_dst", plan->name));
    return param_add(params, layer->bias, 0, 0, 1, plan->d_out, param_constant(0.0), "%s.bias", plan->name);
}

static weft_status create_matrix(gnn_layer *layer, int64_t cols, weft_tensor *matrix)
{
    WEFT_TRY(
        tensor_create(layer->params->hal, layer->params->dtype, layer->n_local, cols, WEFT_MEM_ACTIVATION, matrix));
    return tensor_zero(matrix);
}

static weft_status create(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    WEFT_TRY(create_matrix(layer, gat->width + gat->heads, &gat->z));
    WEFT_TRY(create_matrix(layer, gat->width + gat->heads, &gat->sums));
    WEFT_TRY(create_matrix(layer, (int64_t)2 * gat->heads, &gat->target));
    return create_matrix(layer, gat->heads, &gat->dtarget);
}

static void destroy(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    tensor_destroy(&gat->z);
    tensor_destroy(&gat->sums);
    tensor_destroy(&gat->target);
    tensor_destroy(&gat->dtarget);
    weft_free(gat);
    layer->own = NULL;
}

/* Columns of a matrix, of the owned rows or of all. */
static weft_tensor columns(const gnn_layer *layer, const weft_tensor *matrix, bool all, int64_t col, int64_t cols)
{
    return tensor_view(matrix, 0, all ? layer->n_local : layer->n_owned, col, cols);
}

/* Where dy begins in the output matrix. */
static int64_t dy_at(const gnn_layer *layer)
{
    const gat_layer *gat = layer->own;
    return gat->averages ? layer->plan->d_out : 0;
}

static weft_tensor vector_of(const weft_tensor *block)
{
    return tensor_reshape(block, 1, block->rows * block->cols);
}

static tensor_attention attention_of(const gnn_layer *layer, const train_pass *pass, bool backward_to_sources)
{
    const gat_layer *gat = layer->own;
    const gnn_part_edges *edges = layer->edges;
    return (tensor_attention){
        .rows = edges->n_local,
        .entries = edges->entries,
        .offset = backward_to_sources ? edges->out_offset : edges->in_offset,
        .column = backward_to_sources ? edges->out_column : edges->in_column,
        .how = {.heads = gat->heads,
                .slope = (double)gat->slope,
                .self = edges->n_owned,
                .dropout = {.probability = pass->training ? gat->weight_dropout : 0.0f,
                            .seed = pass->seed,
                            .purpose = gat->purpose,
                            .epoch = pass->epoch,
                            .row_id = hal_column_from(edges->id, WEFT_DTYPE_I64, edges->n_local)}}};
}

/* z, and what it scores on both ends of an edge, of the owned rows. */
static weft_status scores(gnn_layer *layer, const hal_dropout *dropout)
{
    const gat_layer *gat = layer->own;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor z = columns(layer, &gat->z, false, 0, gat->width);
    weft_tensor source = columns(layer, &gat->z, false, gat->width, gat->heads);
    weft_tensor target = columns(layer, &gat->target, false, 0, gat->heads);
    weft_tensor source_block = param_value(layer->params, gat->source_vector);
    weft_tensor target_block = param_value(layer->params, gat->target_vector);
    weft_tensor source_vector = vector_of(&source_block);
    weft_tensor target_vector = vector_of(&target_block);
    WEFT_TRY(layer_multiply(layer, dropout, &x, NULL, &z));
    WEFT_TRY(tensor_head_dot(&z, &source_vector, &source));
    return tensor_head_dot(&z, &target_vector, &target);
}

/* sums and total of every row, over the edges that are here. */
static weft_status sum_edges(gnn_layer *layer, const train_pass *pass)
{
    gat_layer *gat = layer->own;
    weft_tensor z = columns(layer, &gat->z, true, 0, gat->width);
    weft_tensor source = columns(layer, &gat->z, true, gat->width, gat->heads);
    weft_tensor target = columns(layer, &gat->target, true, 0, gat->heads);
    weft_tensor highest = columns(layer, &gat->target, true, gat->heads, gat->heads);
    weft_tensor sums = columns(layer, &gat->sums, true, 0, gat->width);
    weft_tensor total = columns(layer, &gat->sums, true, gat->width, gat->heads);
    tensor_attention attention = attention_of(layer, pass, false);
    attention.source = &source;
    attention.target = &target;
    attention.highest = &highest;
    WEFT_TRY(gnn_exchange_sources(layer->edges, HALO_FORWARD, &gat->z));
    activity_begin(ACTIVITY_AGGREGATE);
    weft_status status = tensor_attention_highest(&attention, &highest);
    activity_end(ACTIVITY_AGGREGATE);
    WEFT_TRY(status);
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_REVERSE_MAX, &highest));
    WEFT_TRY(gnn_exchange_destinations(layer->edges, HALO_FORWARD, &gat->target));
    activity_begin(ACTIVITY_AGGREGATE);
    status = tensor_attention_forward(&attention, &z, &sums, &total);
    activity_end(ACTIVITY_AGGREGATE);
    WEFT_TRY(status);
    return gnn_exchange_destinations(layer->edges, HALO_REVERSE, &gat->sums);
}

/* y in the place of the sums, and out = b + y or + the mean of its heads. */
static weft_status finish(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    const int64_t d_out = layer->plan->d_out;
    weft_tensor out = gnn_layer_out(layer);
    weft_tensor y = columns(layer, &gat->sums, false, 0, gat->width);
    weft_tensor total = columns(layer, &gat->sums, false, gat->width, gat->heads);
    WEFT_TRY(layer_set_bias(layer));
    WEFT_TRY(tensor_head_scale(&total, true, &y, 0.0, &y));
    for (int64_t col = 0; col < gat->width; col += d_out) {
        weft_tensor part = columns(layer, &gat->sums, false, col, d_out);
        WEFT_TRY(tensor_axpby((double)d_out / (double)gat->width, &part, 1.0, &out));
    }
    return WEFT_OK;
}

static weft_status forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    const gat_layer *gat = layer->own;
    WEFT_TRY(train_need(pass, layer->weight));
    WEFT_TRY(train_need(pass, gat->source_vector));
    WEFT_TRY(train_need(pass, gat->target_vector));
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = scores(layer, dropout);
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    WEFT_TRY(sum_edges(layer, pass));
    WEFT_TRY(train_need(pass, layer->bias));
    activity_begin(ACTIVITY_ELEMENTWISE);
    status = finish(layer);
    activity_end(ACTIVITY_ELEMENTWISE);
    return status;
}

/* dy, and what edges need of it: total and mean, of the owned rows. */
static weft_status begin_backward(gnn_layer *layer)
{
    gat_layer *gat = layer->own;
    const int64_t at = dy_at(layer);
    const int64_t d_out = layer->plan->d_out;
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor y = columns(layer, &gat->sums, false, 0, gat->width);
    weft_tensor summed = columns(layer, &gat->sums, false, gat->width, gat->heads);
    weft_tensor dy = columns(layer, &layer->output, false, at, gat->width);
    weft_tensor total = columns(layer, &layer->output, false, at + gat->width, gat->heads);
    weft_tensor mean = columns(layer, &layer->output, false, at + gat->width + gat->heads, gat->heads);
    for (int64_t col = 0; gat->averages && col < gat->width; col += d_out) {
        weft_tensor head = columns(layer, &dy, false, col, d_out);
        WEFT_TRY(tensor_axpby(1.0 / gat->heads, &dout, 0.0, &head));
    }
    WEFT_TRY(tensor_axpby(1.0, &summed, 0.0, &total));
    return tensor_head_dot(&dy, &y, &mean);
}

/* dtarget, and dz | dsource in the place of y, of the owned rows. */
static weft_status edges_backward(gnn_layer *layer, const train_pass *pass)
{
    gat_layer *gat = layer->own;
    const int64_t at = dy_at(layer);
    weft_tensor z = columns(layer, &gat->z, true, 0, gat->width);
    weft_tensor source = columns(layer, &gat->z, true, gat->width, gat->heads);
    weft_tensor target = columns(layer, &gat->target, true, 0, gat->heads);
    weft_tensor highest = columns(layer, &gat->target, true, gat->heads, gat->heads);
    weft_tensor sent = columns(layer, &layer->output, true, at, gat->width + (int64_t)2 * gat->heads);
    weft_tensor dy = columns(layer, &sent, true, 0, gat->width);
    weft_tensor total = columns(layer, &sent, true, gat->width, gat->heads);
    weft_tensor mean = columns(layer, &sent, true, gat->width + gat->heads, gat->heads);
    weft_tensor dz = columns(layer, &gat->sums, true, 0, gat->width);
    weft_tensor dsource = columns(layer, &gat->sums, true, gat->width, gat->heads);
    tensor_attention attention = attention_of(layer, pass, false);
    tensor_attention transposed = attention_of(layer, pass, true);
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
    return gnn_exchange_sources(layer->edges, HALO_REVERSE, &gat->sums);
}

/* The gradient of a vector, and what it adds to dz; dy's place is free by now. */
static weft_status vector_backward(gnn_layer *layer, int block, const weft_tensor *dscore, weft_tensor *dz)
{
    const gat_layer *gat = layer->own;
    weft_tensor z = columns(layer, &gat->z, false, 0, gat->width);
    weft_tensor scratch = columns(layer, &layer->output, false, dy_at(layer), gat->width);
    weft_tensor value = param_value(layer->params, block);
    weft_tensor gradient = param_grad(layer->params, block);
    weft_tensor vector = vector_of(&value);
    weft_tensor dvector = vector_of(&gradient);
    WEFT_TRY(tensor_head_scale(dscore, false, &z, 0.0, &scratch));
    WEFT_TRY(tensor_col_sum(&scratch, 0.0, &dvector));
    return tensor_head_scale(dscore, false, &vector, 1.0, dz);
}

static weft_status linear_backward(gnn_layer *layer, const hal_dropout *dropout, weft_tensor *dx)
{
    const gat_layer *gat = layer->own;
    weft_tensor x = gnn_layer_x(layer);
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor dz = columns(layer, &gat->sums, false, 0, gat->width);
    weft_tensor dsource = columns(layer, &gat->sums, false, gat->width, gat->heads);
    weft_tensor dtarget = columns(layer, &gat->dtarget, false, 0, gat->heads);
    WEFT_TRY(vector_backward(layer, gat->target_vector, &dtarget, &dz));
    WEFT_TRY(vector_backward(layer, gat->source_vector, &dsource, &dz));
    WEFT_TRY(layer_weight_gradient(layer, dropout, &x, &dz));
    if (dx == NULL) {
        return WEFT_OK;
    }
    weft_tensor dx_owned = tensor_view(dx, 0, layer->n_owned, 0, layer->plan->d_in);
    return tensor_gemm(&(tensor_product){.a = &dz, .b = &w, .trans_b = true}, &dx_owned);
}

static weft_status backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    const gat_layer *gat = layer->own;
    WEFT_TRY(layer_bias_gradient(layer));
    WEFT_TRY(train_ready(pass, layer->bias));
    activity_begin(ACTIVITY_ELEMENTWISE);
    weft_status status = begin_backward(layer);
    activity_end(ACTIVITY_ELEMENTWISE);
    WEFT_TRY(status);
    WEFT_TRY(edges_backward(layer, pass));
    activity_begin(ACTIVITY_LINEAR);
    status = linear_backward(layer, dropout, dx);
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    WEFT_TRY(train_ready(pass, gat->target_vector));
    WEFT_TRY(train_ready(pass, gat->source_vector));
    return train_ready(pass, layer->weight);
}

const gnn_layer_ops gnn_layer_gat = {.connects = true,
                                     .heads = true,
                                     .elu = true,
                                     .weighs_edges = true,
                                     .plan = plan_gat,
                                     .declare = declare,
                                     .create = create,
                                     .destroy = destroy,
                                     .forward = forward,
                                     .backward = backward};
