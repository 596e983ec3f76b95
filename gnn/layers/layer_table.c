/* gnn/layers/layer_table.c: the table of kinds, and what all layers have in common (gnn/layers/layer.h). */
#include <assert.h>
#include <string.h>

#include "gnn/layers/layer_internal.h"

static const gnn_layer_ops *const kinds[] = {
    [GNN_SAGE] = &gnn_layer_sage,   [GNN_GCN] = &gnn_layer_gcn,           [GNN_MLP] = &gnn_layer_mlp,
    [GNN_GAT] = &gnn_layer_gat,     [GNN_GIN] = &gnn_layer_gin,           [GNN_SGC] = &gnn_layer_sgc,
    [GNN_GATV2] = &gnn_layer_gatv2, [GNN_LIGHTGCN] = &gnn_layer_lightgcn,
};

const gnn_layer_ops *gnn_layer_ops_of(const gnn_config *config)
{
    assert((size_t)config->kind < sizeof kinds / sizeof *kinds);
    return gnn_takes_maxima(config) ? &gnn_layer_max : kinds[config->kind];
}

weft_status gnn_layer_declare(gnn_layer *layer, const gnn_layer_plan *plan, param_store *params, int group)
{
    memset(layer, 0, sizeof *layer);
    layer->plan = plan;
    layer->params = params;
    layer->linear =
        (train_linear){.params = params, .weight = LINEAR_NO_BLOCK, .bias = LINEAR_NO_BLOCK, .exact = plan->narrow};
    assert(plan->d_in >= 1 && plan->d_out >= 1);
    return plan->ops->declare(layer, group);
}

weft_status gnn_layer_create(gnn_layer *layer, gnn_aggregator *aggregator, const gnn_part_edges *edges, int64_t n_owned,
                             int64_t n_local, weft_tensor *panel, bool borrow_input)
{
    const gnn_layer_plan *plan = layer->plan;
    weft_hal *hal = layer->params->hal;
    assert(n_owned <= n_local && plan->input_rows >= n_owned && plan->output_rows >= n_owned);
    layer->aggregator = aggregator;
    layer->edges = edges;
    layer->n_owned = n_owned;
    layer->n_local = n_local;
    layer->linear.panel = plan->panels ? panel : NULL;
    if (!borrow_input) {
        WEFT_TRY(tensor_create(hal, plan->input_type, plan->input_rows, plan->input_cols, WEFT_MEM_ACTIVATION,
                               &layer->input));
        WEFT_TRY(tensor_zero(&layer->input));
    }
    WEFT_TRY(tensor_create(hal, plan->output_type, plan->output_rows, plan->output_cols, WEFT_MEM_ACTIVATION,
                           &layer->output));
    WEFT_TRY(tensor_zero(&layer->output));
    return plan->ops->create != NULL ? plan->ops->create(layer) : WEFT_OK;
}

void gnn_layer_destroy(gnn_layer *layer)
{
    TENSOR_DESTROY_ALL(&layer->input, &layer->output, &layer->wide_bias);
    if (layer->own != NULL) {
        layer->plan->ops->destroy(layer);
        weft_free(layer->own);
        layer->own = NULL;
    }
}

weft_tensor gnn_layer_x(const gnn_layer *layer)
{
    return tensor_view(&layer->input, 0, layer->n_owned, 0, layer->plan->d_in);
}

weft_tensor gnn_layer_out(const gnn_layer *layer)
{
    return tensor_view(&layer->output, 0, layer->n_owned, 0, layer->plan->d_out);
}

weft_status gnn_layer_prepare(gnn_layer *layer)
{
    gnn_aggregator_set_scope(layer->aggregator, gnn_scope_of(layer->plan, false));
    return layer->plan->ops->prepare != NULL ? layer->plan->ops->prepare(layer) : WEFT_OK;
}

weft_status gnn_layer_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout)
{
    WEFT_TRY(layer->plan->ops->by_rows ? WEFT_OK : gnn_aggregate_settle(layer->aggregator));
    gnn_aggregator_set_scope(layer->aggregator, gnn_scope_of(layer->plan, pass->training));
    return layer->plan->ops->forward(layer, pass, dropout);
}

weft_status gnn_layer_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx)
{
    WEFT_TRY(layer->plan->ops->by_rows ? WEFT_OK : gnn_aggregate_settle(layer->aggregator));
    gnn_aggregator_set_scope(layer->aggregator, gnn_scope_of(layer->plan, true));
    return layer->plan->ops->backward(layer, pass, dropout, dx);
}
