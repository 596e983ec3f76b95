/*
 * gnn/layers/sum_plan.c: the kinds of layers that are a sum over neighbours and a linear map: GraphSAGE, GCN, and MLP,
 * which sums nothing (GIN: gnn/layers/gin_layer.c). Here they differ and are sized; what they compute is
 * gnn/layers/sum_layer.c.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

/* Sparse features are multiplied, wherever the order allows it: their aggregates are not as sparse. So are features on
 * the host, which are never on the device all at once; the aggregate of a constant input takes their place there, but
 * does not stand beside them: passing twice as many columns takes longer than aggregating the products. */
static gnn_flow choose_flow(const gnn_config *config, int number, bool self, int64_t d_in, int64_t d_out)
{
    const bool constant_input = number == 0 && config->input_dropout <= 0.0f;
    if (layer_takes_sparse(config, number) || (layer_streams(config, number) && (self || !constant_input))) {
        return GNN_FLOW_LINEAR_FIRST;
    }
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

/* A constant input's columns are summed where they stand, and their sums written where they stay. Two strips are
 * between them where replicas have rows behind the owned ones, or the features are the host's; one where sums take the
 * place of what they sum. */
static int count_strips(const gnn_plan *plan, const gnn_layer_plan *layer)
{
    if (layer->streams || plan->n_local > plan->n_owned) {
        return 2;
    }
    return layer->self ? 0 : 1;
}

static void size_layer(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const bool first = number == 0;
    int64_t most = 0;
    layer->sparse = layer_takes_sparse(&plan->config, number);
    layer->streams = layer_streams(&plan->config, number);
    assert(layer->d_in >= 1 && layer->d_out >= 1 && plan->n_owned <= plan->n_local);
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
        most = layer->streams ? GNN_NARROW_STRIP : GNN_STRIP;
        layer->width = layer->d_in < most ? layer->d_in : most;
        layer->strips = count_strips(plan, layer);
        break;
    case GNN_FLOW_ATTENTION: /* no sum of this file */
        break;
    }
    layer->panels = first && !layer->sparse && !layer->streams && plan->config.input_dropout > 0.0f &&
                    (layer->flow == GNN_FLOW_DENSE || layer->flow == GNN_FLOW_LINEAR_FIRST);
}

void sum_plan(const gnn_plan *plan, int number, gnn_flow flow, bool self, gnn_layer_plan *layer)
{
    layer->flow = flow;
    layer->self = self;
    size_layer(plan, number, layer);
    layer->weights = layer->d_in * layer->d_out * (self ? 2 : 1) + layer->d_out;
    if (flow == GNN_FLOW_LINEAR_FIRST || flow == GNN_FLOW_AGGREGATE_FIRST) {
        const bool turns_back = number > 0 || flow == GNN_FLOW_LINEAR_FIRST; /* the first input needs no gradient */
        layer->sums[0] = layer->hops;
        layer->sums[1] = turns_back ? layer->hops : 0;
        layer->aggregated = layer->width * (layer->sums[0] + layer->sums[1]);
    }
}

static void plan_sage(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    const bool self = plan->config.aggregator == GNN_SAGE_MEAN;
    const gnn_flow flow = choose_flow(&plan->config, number, self, layer->d_in, layer->d_out);
    sum_plan(plan, number, flow, self, layer);
}

void sum_plan_pooled(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    sum_plan(plan, number, choose_flow(&plan->config, number, false, layer->d_in, layer->d_out), false, layer);
}

static void plan_mlp(const gnn_plan *plan, int number, gnn_layer_plan *layer)
{
    sum_plan(plan, number, GNN_FLOW_DENSE, false, layer);
}

static gnn_normalisation sage_normalisation(const gnn_config *config)
{
    return config->aggregator == GNN_SAGE_MEAN ? GNN_NORM_MEAN : GNN_NORM_MEAN_SELF;
}

static gnn_normalisation gcn_normalisation(const gnn_config *config)
{
    (void)config;
    return GNN_NORM_SYMMETRIC;
}

/* What all layers of sums have in common. */
#define SUM_LAYER                                                                                                      \
    .by_rows = true, .declare = sum_layer_declare, .create = sum_layer_create, .prepare = sum_layer_prepare,           \
    .forward = sum_layer_forward, .backward = sum_layer_backward

const gnn_layer_ops gnn_layer_sage = {SUM_LAYER, .plan = plan_sage, .connects = true,
                                      .normalisation = sage_normalisation};

const gnn_layer_ops gnn_layer_gcn = {SUM_LAYER, .plan = sum_plan_pooled, .connects = true,
                                     .normalisation = gcn_normalisation};

const gnn_layer_ops gnn_layer_mlp = {SUM_LAYER, .plan = plan_mlp};
