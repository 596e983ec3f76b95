/* gnn/layers/layer_plan.c: see gnn/layers/layer_plan.h. */
#include "gnn/layers/layer_plan.h"

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
    }
    return "unknown";
}

static gnn_flow choose_flow(const gnn_config *config, int number, int64_t d_in, int64_t d_out)
{
    if (config->kind == GNN_MLP) {
        return GNN_FLOW_DENSE;
    }
    bool constant_input = number == 0 && config->input_dropout <= 0.0f;
    if (config->order == GNN_ORDER_LINEAR_FIRST) {
        return GNN_FLOW_LINEAR_FIRST;
    }
    if (constant_input) {
        return GNN_FLOW_CONSTANT;
    }
    int64_t aggregate_first = number == 0 ? d_in : 2 * d_in;
    bool prefer_linear = config->order == GNN_ORDER_AUTO && 2 * d_out < aggregate_first;
    return prefer_linear ? GNN_FLOW_LINEAR_FIRST : GNN_FLOW_AGGREGATE_FIRST;
}

static void size_layer(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    bool first = number == 0;
    switch (layer->flow) {
    case GNN_FLOW_DENSE:
        layer->input_rows = plan->n_owned;
        layer->input_cols = layer->d_in;
        layer->output_rows = plan->n_owned;
        layer->output_cols = layer->d_out;
        break;
    case GNN_FLOW_LINEAR_FIRST:
        layer->input_rows = plan->n_owned;
        layer->input_cols = layer->d_in;
        layer->output_rows = plan->n_local;
        layer->output_cols = 2 * layer->d_out;
        layer->width = layer->d_out;
        break;
    case GNN_FLOW_AGGREGATE_FIRST:
        layer->input_rows = plan->n_local;
        layer->input_cols = 2 * layer->d_in;
        layer->output_rows = plan->n_owned;
        layer->output_cols = layer->d_out;
        layer->width = layer->d_in;
        break;
    case GNN_FLOW_CONSTANT:
        layer->input_rows = plan->n_owned;
        layer->input_cols = layer->self ? 2 * layer->d_in : layer->d_in;
        layer->output_rows = plan->n_owned;
        layer->output_cols = layer->d_out;
        layer->width = layer->d_in < GNN_STRIP ? layer->d_in : GNN_STRIP;
        break;
    }
    layer->panels = first && plan->config.input_dropout > 0.0f &&
                    (layer->flow == GNN_FLOW_DENSE || layer->flow == GNN_FLOW_LINEAR_FIRST);
}

static int64_t layer_weights(const gnn_layer_plan *layer)
{
    return layer->d_in * layer->d_out * (layer->self ? 2 : 1) + layer->d_out;
}

static void count_bytes(gnn_plan *plan, int threads, uint64_t element)
{
    int64_t activations = 0;
    int64_t parameters = 0;
    int64_t norm_vectors = plan->config.norm == NORM_NONE ? 0 : 4;
    for (int l = 0; l < plan->config.layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        if (l > 0) {
            activations += layer->input_rows * layer->input_cols;
        }
        activations += layer->output_rows * layer->output_cols;
        parameters += layer_weights(layer) + (layer->last ? 0 : norm_vectors * layer->d_out);
    }
    activations += plan->n_local * plan->gradient_cols;
    const gnn_layer_plan *first = &plan->layer[0];
    int64_t feature = first->input_rows * first->input_cols;
    if (first->flow == GNN_FLOW_AGGREGATE_FIRST && plan->config.input_dropout > 0.0f) {
        feature += plan->n_owned * first->d_in; /* the features themselves, besides their masked copy */
    }
    if (first->panels) {
        int64_t rows = PANEL_BYTES_A_THREAD * threads / (int64_t)(element * (uint64_t)first->d_in);
        plan->panel_rows = rows < 256 ? 256 : rows;
        activations += plan->panel_rows * first->d_in;
    }
    if (first->flow == GNN_FLOW_CONSTANT) {
        plan->setup_bytes = 2 * (uint64_t)(plan->n_local * first->width) * element;
    }
    plan->feature_bytes = (uint64_t)feature * element;
    plan->activation_bytes = (uint64_t)activations * element;
    plan->parameter_bytes = 5 * (uint64_t)parameters * element; /* value, gradient, two moments, best */
}

void gnn_plan_make(const gnn_config *config, int64_t n_owned, int64_t n_local, int threads, weft_dtype dtype,
                   gnn_plan *plan)
{
    assert(config->layers >= 1 && config->layers <= GNN_MAX_LAYERS);
    assert(n_owned >= 0 && n_owned <= n_local && threads >= 1);
    memset(plan, 0, sizeof *plan);
    plan->config = *config;
    plan->n_owned = n_owned;
    plan->n_local = n_local;
    for (int l = 0; l < config->layers; ++l) {
        gnn_layer_plan *layer = &plan->layer[l];
        layer->d_in = l == 0 ? config->inputs : config->hidden;
        layer->d_out = l == config->layers - 1 ? config->outputs : config->hidden;
        layer->last = l == config->layers - 1;
        layer->self = config->kind == GNN_SAGE && config->aggregator == GNN_SAGE_MEAN;
        layer->flow = choose_flow(config, l, layer->d_in, layer->d_out);
        size_layer(plan, l, layer);
        plan->max_width = layer->width > plan->max_width ? layer->width : plan->max_width;
        if (layer->flow == GNN_FLOW_LINEAR_FIRST || layer->flow == GNN_FLOW_AGGREGATE_FIRST) {
            plan->aggregated_width +=
                (double)layer->width * (l == 0 && layer->flow == GNN_FLOW_AGGREGATE_FIRST ? 1 : 2);
        }
    }
    for (int l = 1; l < config->layers; ++l) {
        /* The gradient of an aggregate-first layer's input is summed, replicas included, into the layer below. */
        if (plan->layer[l].flow == GNN_FLOW_AGGREGATE_FIRST) {
            plan->layer[l - 1].output_rows = n_local;
        }
    }
    if (config->norm != NORM_NONE && config->layers > 1) {
        plan->gradient_cols = config->hidden;
    }
    count_bytes(plan, threads, weft_dtype_bytes(dtype));
}
