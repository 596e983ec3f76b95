/* gnn/layers/layer_plan.c: see gnn/layers/layer_plan.h. */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gnn/layers/layer_internal.h"

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

/* The part of a layer's rows that travels in a training epoch. */
static double part_sent(const gnn_halo_options *halo, const gnn_layer_plan *layer)
{
    if (halo->delay <= 1) {
        return halo->sample > 0.0 ? halo->sample : 1.0;
    }
    const double forward = (double)(layer->width * layer->sums[0]);
    const double backward = layer->aggregated > 0 ? 1.0 - forward / (double)layer->aggregated : 0.0;
    const double whole = halo->fresh_gradients ? backward : 0.0;
    return whole + (1.0 - whole) / halo->delay;
}

int64_t gnn_plan_epoch_width(const gnn_plan *plan)
{
    int64_t most = 0, width = 0;
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        if (layer->aggregated > most) {
            most = layer->aggregated;
            width = layer->width;
        }
    }
    return width;
}

double gnn_plan_halo_bytes(const gnn_plan *plan, const gnn_halo_options *halo)
{
    double bytes = 0.0;
    for (int l = 0; l < plan->layers && !halo->none; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        const weft_dtype type = layer->flow == GNN_FLOW_LINEAR_FIRST ? layer->output_type : layer->input_type;
        const int64_t legs = layer->width > 0 ? layer->aggregated / layer->width : 0;
        const comm_halo_code code = {.codec = halo->codec, .mean_bits = halo->mean_bits};
        const int64_t many = 1024; /* rows of a message, whose length they share */
        const double coded = (double)comm_halo_code_bytes(&code, many, layer->width) / (double)many;
        /* fixed point: 16 bits on the way there, 32 on the way back */
        const double cell = plan->config.fixed_rows ? 3.0 : (double)weft_dtype_bytes(type);
        const double every = gnn_halo_codes(halo) ? (double)legs * coded : (double)layer->aggregated * cell;
        /* Every leg's way there or back concerns rows that are read, the other one replicas that feed them: nearly
         * all. */
        bytes += part_sent(halo, layer) * every * (1.0 + layer->share) / 2.0;
    }
    return bytes;
}

/* Aggregates of features are no numbers of bfloat16, so features that stand beside them, or make way for them, are not
 * held so. */
static void narrow_features(gnn_plan *plan)
{
    gnn_layer_plan *first = &plan->layer[0];
    const bool multiplied =
        first->flow == GNN_FLOW_DENSE || first->flow == GNN_FLOW_LINEAR_FIRST || first->flow == GNN_FLOW_ATTENTION;
    first->narrow = plan->config.narrow_features && plan->values == WEFT_DTYPE_F32 && multiplied && !first->sparse &&
                    !first->streams;
    first->input_type = first->narrow ? WEFT_DTYPE_BF16 : first->input_type;
}

static void count_bytes(gnn_plan *plan, int threads)
{
    const uint64_t element = weft_dtype_bytes(plan->values);
    uint64_t activation_bytes = 0;
    const bool batch = plan->config.norm == NORM_BATCH || plan->config.norm == NORM_BATCH_LOCAL;
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        if (l > 0) {
            activation_bytes += (uint64_t)(layer->input_rows * layer->input_cols) * weft_dtype_bytes(layer->input_type);
        }
        activation_bytes += (uint64_t)(layer->output_rows * layer->output_cols) * weft_dtype_bytes(layer->output_type);
        activation_bytes += (uint64_t)layer->extra * element;
        const int64_t norm_cols = layer->last || plan->config.norm == NORM_NONE ? 0 : layer->d_out;
        plan->parameters += layer->weights + 2 * norm_cols; /* gamma, beta */
        plan->state += batch ? 2 * norm_cols : 0;           /* running mean and variance */
        plan->largest = layer->weights > plan->largest ? layer->weights : plan->largest;
    }
    plan->parameters += plan->config.head != NULL ? plan->config.head->parameters : 0;
    activation_bytes += (uint64_t)(plan->n_local * plan->gradient_cols) * element;
    activation_bytes += (uint64_t)(plan->n_owned * (plan->skip_cols + plan->jump_cols)) * element;
    if (plan->config.jumping == GNN_JUMPING_MAX) { /* the results themselves, and which was the largest */
        const int64_t width = plan->jump_cols / plan->convolutions;
        activation_bytes += (uint64_t)plan->n_owned * ((uint64_t)plan->jump_cols * element + (uint64_t)width);
    }
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
    if (first->streams) {
        const int64_t rows = plan->config.stream_rows;
        plan->stream_rows = rows > 0 ? rows : tensor_stream_block_rows(plan->values, plan->n_owned, first->d_in);
        plan->host_feature_bytes = (uint64_t)feature * element;
        feature = 2 * plan->stream_rows * first->d_in;
    }
    plan->setup_bytes = (uint64_t)first->strips * (uint64_t)(plan->n_local * first->width) * element;
    plan->feature_bytes = (uint64_t)feature * weft_dtype_bytes(first->input_type);
    if (first->sparse) {
        const double rows = (double)plan->n_owned, cols = (double)first->d_in;
        plan->feature_bytes = tensor_features_bytes(rows, cols, rows * cols * plan->config.density);
    }
    plan->activation_bytes = activation_bytes;
}

/* One more behind the others; number: of its convolution. */
static gnn_layer_plan *add_layer(gnn_plan *plan, const gnn_layer_ops *ops, const char *name, int number, bool last)
{
    gnn_layer_plan *layer = &plan->layer[plan->layers++];
    layer->ops = ops;
    layer->number = number;
    layer->last = last;
    layer->centred = !last && (plan->config.norm == NORM_BATCH || plan->config.norm == NORM_BATCH_LOCAL);
    layer->skip = -1;
    layer->hops = 1;
    layer->share = 1.0;
    layer->input_type = layer->output_type = plan->values;
    snprintf(layer->name, sizeof layer->name, "%s%d", name, number);
    return layer;
}

/* Convolution k, of one layer or two. */
static void add_convolution(gnn_plan *plan, const gnn_layer_ops *ops, int k, int64_t d_in, int64_t d_out, bool last)
{
    const int first = plan->layers;
    gnn_layer_plan *layer = add_layer(plan, ops, "layer", k, last && ops->then == NULL);
    layer->d_in = d_in;
    layer->d_out = d_out;
    if (ops->then != NULL) {
        layer->inner = true;
        layer = add_layer(plan, ops->then, "mlp", k, last);
        layer->d_in = layer->d_out = d_out;
    }
    if (plan->config.residual && k > 0 && !last) {
        layer->skip = first;
        plan->skip_cols = d_out;
    }
}

static void add_layers(gnn_plan *plan)
{
    const gnn_config *config = &plan->config;
    const gnn_layer_ops *ops = gnn_layer_ops_of(config);
    const int64_t hidden = config->hidden * (ops->heads ? config->heads : 1);
    const bool jumps = config->jumping != GNN_JUMPING_NONE;
    plan->convolutions = ops->hops ? 1 : config->layers;
    plan->convolution_layers = ops->then != NULL ? 2 : 1;
    for (int k = 0; k < plan->convolutions; ++k) {
        const bool last = k == plan->convolutions - 1 && !jumps;
        add_convolution(plan, ops, k, k == 0 ? config->inputs : hidden, last ? config->outputs : hidden, last);
    }
    if (jumps) {
        plan->jump_cols = plan->convolutions * hidden;
        gnn_layer_plan *layer = add_layer(plan, &gnn_layer_mlp, "jump", 0, true);
        layer->d_in = config->jumping == GNN_JUMPING_CAT ? plan->jump_cols : hidden;
        layer->d_out = config->outputs;
    }
}

/* Rows that nobody reads may be left out of the last sum where nothing behind it mixes rows. */
static void cut_last_sum(gnn_plan *plan)
{
    int l = plan->layers - 1;
    while (l >= 0 && plan->layer[l].aggregated == 0) {
        --l;
        if (l >= 0 && plan->layer[l].centred) {
            return;
        }
    }
    if (l >= 0 && plan->layer[l].hops == 1 && plan->layer[l].ops->normalisation != NULL) {
        plan->layer[l].share = plan->config.read_share;
        plan->read_width = plan->config.read_share < 1.0 ? plan->layer[l].width : 0;
    }
}

void gnn_plan_make(const gnn_config *config, int64_t n_owned, int64_t n_local, int threads, weft_dtype dtype,
                   gnn_plan *plan)
{
    assert(config->layers >= 1 && config->layers <= GNN_MAX_CONVOLUTIONS);
    assert(n_owned >= 0 && n_owned <= n_local && threads >= 1);
    assert(!config->bf16 || dtype == WEFT_DTYPE_F32);
    memset(plan, 0, sizeof *plan);
    plan->config = *config;
    plan->n_owned = n_owned;
    plan->n_local = n_local;
    plan->values = config->bf16 ? WEFT_DTYPE_BF16 : dtype;
    add_layers(plan);
    plan->layer[plan->layers - 1].output_type = dtype;
    for (int l = 0; l < plan->layers; ++l) {
        gnn_layer_plan *layer = &plan->layer[l];
        layer->ops->plan(plan, l, layer);
        layer->init = config->init;
        plan->max_width = layer->width > plan->max_width ? layer->width : plan->max_width;
        if (config->norm != NORM_NONE && !layer->last && layer->d_out > plan->gradient_cols) {
            plan->gradient_cols = layer->d_out;
        }
    }
    narrow_features(plan);
    if (config->read_share > 0.0) {
        cut_last_sum(plan);
    }
    for (int l = 1; l < plan->layers; ++l) {
        /* The gradient of an aggregate-first layer's input is summed, replicas included, into the layer below. */
        if (plan->layer[l].flow == GNN_FLOW_AGGREGATE_FIRST) {
            plan->layer[l - 1].output_rows = n_local;
        }
    }
    count_bytes(plan, threads);
}

void gnn_plan_share(gnn_plan *plan, int64_t sums)
{
    const uint64_t element = weft_dtype_bytes(plan->values);
    assert(sums >= 0 && gnn_takes_maxima(&plan->config));
    for (int l = 0; l < plan->layers && sums > 0; ++l) {
        gnn_layer_plan *layer = &plan->layer[l];
        if (layer->flow == GNN_FLOW_AGGREGATE_FIRST) {
            const int64_t extra = plan->n_local > 0 ? layer->extra / plan->n_local * sums : 0;
            const uint64_t input = (uint64_t)(sums * layer->input_cols) * weft_dtype_bytes(layer->input_type);
            layer->input_rows += sums;
            layer->extra += extra;
            *(l > 0 ? &plan->activation_bytes : &plan->feature_bytes) += input;
            plan->activation_bytes += (uint64_t)extra * element;
        } else if (layer->flow == GNN_FLOW_CONSTANT) { /* a copy of a strip, with room for them */
            plan->setup_bytes += (uint64_t)((plan->n_local + sums) * layer->width) * element;
        }
    }
}
