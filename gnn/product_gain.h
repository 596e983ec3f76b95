/*
 * gnn/product_gain.h: whether the products and sums of a network are faster with values of bfloat16 than with float32
 * on this processor.
 *
 * What an epoch does with each layer runs over GNN_GAIN_ROWS rows of zeros in both types in turns, a few times each,
 * some milliseconds a layer: products forward, of gradients of weights and of gradients of inputs, and sums over
 * random neighbours, as many as a vertex has on average; of more than 64, 64 are measured in each of up to four rows
 * for every source, and count as often. Rounds of that follow one another until the least times stay as they are.
 * Attention, whose rows are float32, is not measured. Memory: these rows of a layer's inputs and outputs and up to
 * 256 edges for each of them, freed before the function returns.
 */
#pragma once

#include "gnn/layers/layer_plan.h"

/* Rows that are measured: so many take the way of a large matrix (hal/cpu/gemm/gemm_tall.h). */
enum { GNN_GAIN_ROWS = 1 << 14 };

typedef struct gnn_product_gain {
    double seconds_f32, seconds_bf16; /* of all layers' work over GNN_GAIN_ROWS rows */
} gnn_product_gain;

/* Returns true if bfloat16 saves a tenth and more: what is measured lies in caches in part, which makes more of half
 * the bytes than memory does. */
static inline bool gnn_product_gain_pays(const gnn_product_gain *gain)
{
    return gain->seconds_bf16 <= 0.9 * gain->seconds_f32;
}

/* degree: edges a vertex. [out] gain: of a network of this config, whose bf16 is ignored. Local, but ranks of a node
 * should measure at the same time, as they train. WEFT_ERR_RESOURCE: no memory for the matrices. */
weft_status gnn_product_gain_measure(weft_hal *hal, const gnn_config *config, double degree, gnn_product_gain *gain);
