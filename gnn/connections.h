/*
 * gnn/connections.h: connections that lead past layers of a graph network: residual and jumping connections.
 *
 *     residual    y_k = act(norm(conv_k(y_k-1)) + y_k-1)   of hidden convolutions but the first, whose widths are equal
 *                 (K. He, X. Zhang, S. Ren, J. Sun: Deep residual learning for image recognition. CVPR 2016, arXiv
 *                 1512.03385)
 *     jumping     out = [y_0 | y_1 | ...] W + b, or max(y_0, y_1, ...) W + b, element by element; all convolutions are
 *                 hidden (K. Xu, C. Li, Y. Tian, T. Sonobe, K. Kawarabayashi, S. Jegelka: Representation learning on
 *                 graphs with jumping knowledge networks. ICML 2018, arXiv 1806.03536)
 *
 * Both work on owned rows alone: they move none. Results stand side by side, so that the maximum of a row's is a
 * pooling over an image of one row, whose pixels are the convolutions.
 */
#pragma once

#include "gnn/layers/layer.h"

typedef struct gnn_connections {
    const gnn_plan *plan;
    weft_tensor skipped;   /* [n_owned, skip_cols]: a gradient on its way past a convolution */
    weft_tensor collected; /* [n_owned, jump_cols]: results; with cat a view of the last layer's input */
    weft_tensor gradient;  /* gradient of `collected`, of the same shape */
    weft_tensor index;     /* [n_owned, hidden] uint8, with max: number of the convolution with the largest value */
} gnn_connections;

/* last: the model's last layer, whose matrices stand. Free with gnn_connections_destroy, also after a failure. */
weft_status gnn_connections_create(weft_hal *hal, const gnn_plan *plan, const gnn_layer *last, gnn_connections *c);
void gnn_connections_destroy(gnn_connections *c);

/* Views [n_owned, hidden] of the jumping result of convolution k, and of the gradient of that result. */
weft_tensor gnn_jump_result(const gnn_connections *c, int k);
weft_tensor gnn_jump_gradient(const gnn_connections *c, int k);
/* Computes the input x of the last layer from the results of all convolutions. With cat nothing is left to do. */
weft_status gnn_jump_forward(const gnn_connections *c, const weft_tensor *x);
/* Returns the matrix that takes the gradient of the last layer's input: with max a view of `scratch` [>= n_owned,
 * hidden], else `gradient`. */
weft_tensor gnn_jump_input_gradient(const gnn_connections *c, const weft_tensor *scratch);
/* Turns the gradient of the last layer's input into the gradients of all results. */
weft_status gnn_jump_backward(const gnn_connections *c, const weft_tensor *input_gradient);
