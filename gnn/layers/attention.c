/* gnn/layers/attention.c: see gnn/layers/attention.h. */
#include "gnn/layers/attention.h"

#include <assert.h>

#include "base/philox.h"

static int64_t width_of(const gnn_layer_plan *layer)
{
    return layer->last ? layer->heads * layer->d_out : layer->d_out;
}

void attention_plan(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const gnn_config *config = &plan->config;
    layer->heads = layer->last ? config->out_heads : config->heads;
    const int64_t heads = layer->heads, width = width_of(layer);
    assert(heads >= 1 && width % heads == 0);
    layer->flow = GNN_FLOW_ATTENTION;
    layer->input_rows = plan->n_owned;
    layer->input_cols = layer->d_in;
    layer->output_rows = plan->n_local;
    layer->output_cols = (layer->last && heads > 1 ? layer->d_out : 0) + width + 2 * heads;
    layer->width = width + 2 * heads;
    layer->sparse = layer_takes_sparse(config, number);
    layer->streams = layer_streams(config, number);
    layer->panels = number == 0 && !layer->sparse && !layer->streams && config->input_dropout > 0.0f;
    layer->slope = config->slope;
    layer->weight_dropout = config->weight_dropout;
}

gnn_attention attention_of(const gnn_layer_plan *plan)
{
    return (gnn_attention){.heads = plan->heads, .width = width_of(plan), .averages = plan->last && plan->heads > 1};
}

weft_status attention_matrix(gnn_layer *layer, int64_t cols, weft_tensor *matrix)
{
    WEFT_TRY(
        tensor_create(layer->params->hal, layer->params->dtype, layer->n_local, cols, WEFT_MEM_ACTIVATION, matrix));
    return tensor_zero(matrix);
}

weft_tensor attention_columns(const gnn_layer *layer, const weft_tensor *matrix, bool all, int64_t col, int64_t cols)
{
    assert(col >= 0 && col + cols <= matrix->cols);
    return tensor_view(matrix, 0, all ? layer->n_local : layer->n_owned, col, cols);
}

int64_t attention_dy_at(const gnn_layer *layer, const gnn_attention *attention)
{
    return attention->averages ? layer->plan->d_out : 0;
}

weft_tensor attention_vector(const weft_tensor *block)
{
    return tensor_reshape(block, 1, block->rows * block->cols);
}

tensor_attention attention_edges(const gnn_layer *layer, const gnn_attention *attention, const train_pass *pass,
                                 bool backward_to_sources)
{
    const gnn_layer_plan *plan = layer->plan;
    const gnn_part_edges *edges = layer->edges;
    return (tensor_attention){
        .rows = edges->n_local,
        .entries = edges->entries,
        .offset = backward_to_sources ? edges->out_offset : edges->in_offset,
        .column = backward_to_sources ? edges->out_column : edges->in_column,
        .how = {.heads = attention->heads,
                .slope = (double)plan->slope,
                .self = edges->n_owned,
                .dropout = {.probability = pass->training ? plan->weight_dropout : 0.0f,
                            .seed = pass->seed,
                            .purpose = (uint32_t)(WEFT_RNG_EDGES + plan->number),
                            .epoch = pass->epoch,
                            .row_id = hal_column_from(edges->id, WEFT_DTYPE_I64, edges->n_local)}}};
}

weft_status attention_finish(gnn_layer *layer, const gnn_attention *attention)
{
    const int64_t width = attention->width, d_out = layer->plan->d_out;
    assert(width % d_out == 0);
    weft_tensor out = gnn_layer_out(layer);
    weft_tensor y = attention_columns(layer, &attention->sums, false, 0, width);
    weft_tensor total = attention_columns(layer, &attention->sums, false, width, attention->heads);
    WEFT_TRY(layer_set_bias(layer));
    WEFT_TRY(tensor_head_scale(&total, true, &y, 0.0, &y));
    for (int64_t col = 0; col < width; col += d_out) {
        weft_tensor part = attention_columns(layer, &attention->sums, false, col, d_out);
        WEFT_TRY(tensor_axpby((double)d_out / (double)width, &part, 1.0, &out));
    }
    return WEFT_OK;
}

weft_status attention_begin_backward(gnn_layer *layer, const gnn_attention *attention)
{
    const int heads = attention->heads;
    const int64_t at = attention_dy_at(layer, attention);
    const int64_t width = attention->width, d_out = layer->plan->d_out;
    weft_tensor dout = gnn_layer_out(layer);
    weft_tensor y = attention_columns(layer, &attention->sums, false, 0, width);
    weft_tensor summed = attention_columns(layer, &attention->sums, false, width, heads);
    weft_tensor dy = attention_columns(layer, &layer->output, false, at, width);
    weft_tensor total = attention_columns(layer, &layer->output, false, at + width, heads);
    weft_tensor mean = attention_columns(layer, &layer->output, false, at + width + heads, heads);
    for (int64_t col = 0; attention->averages && col < width; col += d_out) {
        weft_tensor head = attention_columns(layer, &dy, false, col, d_out);
        WEFT_TRY(tensor_axpby(1.0 / heads, &dout, 0.0, &head));
    }
    WEFT_TRY(tensor_axpby(1.0, &summed, 0.0, &total));
    return tensor_head_dot(&dy, &y, &mean);
}
