/*
 * gnn/layers/layer.h: one layer of a graph network: its weights, its two matrices, and both directions of its linear
 * part.
 *
 * Each kind of layer has its computations in a file of its own, as a row of functions (gnn_layer_ops). The table of
 * kinds is gnn/layers/layer_table.c. Sums over neighbours (GraphSAGE, GCN, MLP) lay their matrices out as
 *
 *     input   [x | m]   x: the layer's input, m: its aggregate (aggregate first)
 *     output  [out | z] out: the linear part's result, z: what is aggregated (linear first)
 *
 * Backward, the gradient of `out` stands in `out`'s place and the gradients of z and m in z's and m's: no further
 * matrix is needed. Activation and normalisation lie between the layers and belong to gnn/gnn_model.c.
 */
#pragma once

#include "gnn/layers/aggregate.h"
#include "gnn/layers/layer_plan.h"
#include "gnn/layers/part_edges.h"
#include "train/layers/linear.h"
#include "train/model.h"

typedef struct gnn_layer {
    const gnn_layer_plan *plan;
    int64_t n_owned, n_local;
    param_store *params;
    gnn_aggregator *aggregator;  /* of kinds that sum over neighbours */
    const gnn_part_edges *edges; /* of kinds that walk edges */
    /* Blocks [W_self | W_neigh], [W_self ; W_neigh] or W, and b. Of a layer whose plan says sparse `input` is a shape
     * without data; of one whose plan says streams it is rows on the host. */
    train_linear linear;
    int eps;   /* block of GIN's, where it is learned */
    void *own; /* what the kind keeps besides; NULL: nothing, see destroy */
    weft_tensor input, output;
    weft_tensor wide_bias; /* sums: [1, 2 d_out]: b, then zeros for z */
} gnn_layer;

/* A kind of layer. A function that is NULL does nothing. */
struct gnn_layer_ops {
    /* Decide flow and sizes of layer `number`, whose d_in, d_out and last are set; the layers below it are planned. */
    void (*plan)(const gnn_plan *plan, int number, gnn_layer_plan *layer);
    const gnn_layer_ops *then; /* the second layer of a convolution, of its width; NULL: one layer is all */
    bool hops;                 /* all config.layers are hops of one layer */
    bool connects;             /* takes residual and jumping connections */
    bool heads;                /* a hidden layer is config.heads results of width config.hidden, side by side */
    hal_op attends;            /* with heads: the operation with the largest scratch memory */
    bool elu;                  /* between layers, in place of ReLU */
    bool by_rows;       /* rows of its input, or of out's gradient, may still be for row steps alone (row_steps.h) */
    bool walks_edges;   /* works on gnn_part_edges */
    bool shares_maxima; /* of which partial maxima may take the place (gnn/edges/shared_edges.h) */
    bool counts_self;   /* every vertex is among its own neighbours, once, whether the graph has its self-loop or not */
    /* Returns the scaling of sums over neighbours; NULL: the kind has no use for an aggregator. */
    gnn_normalisation (*normalisation)(const gnn_config *config);
    weft_status (*declare)(gnn_layer *layer, int group);
    weft_status (*create)(gnn_layer *layer); /* what it needs besides its two matrices */
    void (*destroy)(gnn_layer *layer);       /* what layer->own holds, which is not NULL */
    weft_status (*prepare)(gnn_layer *layer);
    weft_status (*forward)(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout);
    weft_status (*backward)(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx);
};

/* The members of a kind whose file calls its functions so. */
#define GNN_LAYER_OPS .declare = declare, .create = create, .destroy = destroy, .forward = forward, .backward = backward
/* Returns the functions of config's kind; for sage, of the kind and its aggregator. */
const gnn_layer_ops *gnn_layer_ops_of(const gnn_config *config);

/* Declare the layer's parameters as NAME.self, .neigh, .weight, .bias, by the plan's name. */
weft_status gnn_layer_declare(gnn_layer *layer, const gnn_layer_plan *plan, param_store *params, int group);
/* Allocate matrices, zeroed. `borrow_input`: the input matrix is set by the caller (features). */
weft_status gnn_layer_create(gnn_layer *layer, gnn_aggregator *aggregator, const gnn_part_edges *edges, int64_t n_owned,
                             int64_t n_local, weft_tensor *panel, bool borrow_input);
void gnn_layer_destroy(gnn_layer *layer);

weft_tensor gnn_layer_x(const gnn_layer *layer);   /* [n_owned, d_in] */
weft_tensor gnn_layer_out(const gnn_layer *layer); /* [n_owned, d_out] */

/* Forward pass of the layer. Until gnn_aggregate_settle only row steps may touch the rows of the result.
 * dropout: mask of the input, used by the first layer's panels; NULL = none. Collective. */
weft_status gnn_layer_forward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout);
/* Backward pass of the layer, whose `out` holds the gradient of the result. dx: [n_local or n_owned rows, d_in]
 * receives the input gradient; NULL = not wanted. Until gnn_aggregate_settle only row steps may touch the rows
 * of dx. */
weft_status gnn_layer_backward(gnn_layer *layer, const train_pass *pass, const hal_dropout *dropout, weft_tensor *dx);

/* Work done once, with the features in place: the first layer's aggregate of a constant input. Collective. */
weft_status gnn_layer_prepare(gnn_layer *layer);

/* Returns true if sum_layer_sample serves the layer: it multiplies sparse features, and sums the products once. */
bool sum_layer_samples(const gnn_layer *layer);
/* train_map.sums of such a layer; self: the layer. Collective, between two passes. */
weft_status sum_layer_sample(void *self, const int64_t *row, int64_t count, weft_tensor *columns);
