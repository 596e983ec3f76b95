/* gnn/layers/layer_plan.c: see gnn/layers/layer_plan.h. */
#include "gnn/layers/layer.h"

#include <assert.h>
#include <string.h>

#define PANEL_BYTES_A_THREAD ((int64_t)2 << 20)

const char *gnn_flow_text(gnn_flow flow)
{
    switch (flow) {
    case GNN_FLOW_DENSE:
        return "dense";
    case GNN_FLOW_LINEAR_FIRST:
        return "linear first";
    case GNN_FLOW_AGGREGATE_FIRST:
        return "aggregate first";
    case GNN_FLOW_CONSTANT:
        return "aggregate once";
    case GNN_FLOW_ATTENTION:
        return "linear first, attention";
    }
    return "unknown";
}

static void count_bytes(gnn_plan *plan, int threads, weft_dtype dtype)
{
    const uint64_t element = weft_dtype_bytes(plan->values);
    uint64_t activation_bytes = 0;
    int64_t parameters = 0;
    int64_t norm_vectors = plan->config.norm == NORM_NONE ? 0 : 4;
    for (int l = 0; l < plan->config.layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        if (l > 0) {
            activation_bytes += (uint64_t)(layer->input_rows * layer->input_cols) * weft_dtype_bytes(layer->input_type);
        }
        activation_bytes += (uint64_t)(layer->output_rows * layer->output_cols) * weft_dtype_bytes(layer->output_type);
        activation_bytes += (uint64_t)layer->extra * element;
        parameters += layer->weights + (layer->last ? 0 : norm_vectors * layer->d_out);
    }
    activation_bytes += (uint64_t)(plan->n_local * plan->gradient_cols) * element;
    const gnn_layer_plan *first = &plan->layer[0];
    int64_t feature = first->sparse ? 0 : first->input_rows * first->input_cols;
    if (first->flow == GNN_FLOW_AGGREGATE_FIRST && plan->config.input_dropout > 0.0f) {
        feature += plan->n_owned * first->d_in; /* the features themselves, besides their masked copy */
    }
    if (first->panels) {
        int64_t rows = PANEL_BYTES_A_THREAD * threads / (int64_t)(element * (uint64_t)first->d_in);
        plan->panel_rows = rows < 256 ? 256 : rows;
        activation_bytes += (uint64_t)(plan->panel_rows * first->d_in) * element;
    }
    if (first->flow == GNN_FLOW_CONSTANT) {
        plan->setup_bytes = 2 * (uint64_t)(plan->n_local * first->width) * element;
    }
    plan->feature_bytes = (uint64_t)feature * element;
    if (first->sparse) {
        const double rows = (double)plan->n_owned;
        const double cols = (double)first->d_in;
        plan->feature_bytes = tensor_features_bytes(rows, cols, rows * cols * plan->config.density);
    }
    plan->activation_bytes = activation_bytes;
    plan->parameter_bytes = 5 * (uint64_t)parameters * weft_dtype_bytes(dtype); /* value, gradient, two moments, best */
}

void gnn_plan_make(const gnn_config *config, int64_t n_owned, int64_t n_local, int threads, weft_dtype dtype,
                   gnn_plan *plan)
{
    assert(config->layers >= 1 && config->layers <= GNN_MAX_LAYERS);
    assert(n_owned >= 0 && n_owned <= n_local && threads >= 1);
    assert(!config->bf16 || dtype == WEFT_DTYPE_F32);
    memset(plan, 0, sizeof *plan);
    plan->config = *config;
    plan->n_owned = n_owned;
    plan->n_local = n_local;
    plan->values = config->bf16 ? WEFT_DTYPE_BF16 : dtype;
    const gnn_layer_ops *ops = gnn_layer_ops_of(config->kind);
    const int64_t hidden = config->hidden * (ops->heads ? config->heads : 1);
    for (int l = 0; l < config->layers; ++l) {
        gnn_layer_plan *layer = &plan->layer[l];
        layer->d_in = l == 0 ? config->inputs : hidden;
        layer->d_out = l == config->layers - 1 ? config->outputs : hidden;
        layer->last = l == config->layers - 1;
        layer->input_type = plan->values;
        layer->output_type = layer->last ? dtype : plan->values;
        layer->ops = ops;
        layer->ops->plan(plan, l, layer);
        plan->max_width = layer->width > plan->max_width ? layer->width : plan->max_width;
    }
    for (int l = 1; l < config->layers; ++l) {
        /* The gradient of an aggregate-first layer's input is summed, replicas included, into the layer below. */
        if (plan->layer[l].flow == GNN_FLOW_AGGREGATE_FIRST) {
            plan->layer[l - 1].output_rows = n_local;
        }
    }
    if (config->norm != NORM_NONE && config->layers > 1) {
        plan->gradient_cols = hidden;
    }
    count_bytes(plan, threads, dtype);
}
