/*
 * gnn/product_gain.h: whether the products of a network are faster with values of bfloat16 than with float32 on this
 * processor.
 *
 * The products of the network's layers, forward, of gradients of weights and of gradients of inputs, run over a few
 * thousand rows of zeros in both types in turns, a few times each. Memory: a matrix of these rows for a layer's inputs
 * and one for its outputs, freed before the function returns.
 */
#pragma once

#include "gnn/layers/layer_plan.h"

typedef struct gnn_product_gain {
    int64_t rows;                     /* rows that the products were measured on */
    double seconds_f32, seconds_bf16; /* of all layers' products over these rows */
} gnn_product_gain;

/* [out] gain: of a network of this config, whose bf16 is ignored, on up to n_owned rows. Local, but ranks of a node
 * should measure at the same time, as they train. WEFT_ERR_RESOURCE: no memory for the matrices. */
weft_status gnn_product_gain_measure(weft_hal *hal, const gnn_config *config, int64_t n_owned, gnn_product_gain *gain);
