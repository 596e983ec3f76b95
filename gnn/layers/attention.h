/*
 * gnn/layers/attention.h: functions that layers with attention over edges share; their ways to score an edge are in
 * gat_layer.c and gatv2_layer.c.
 *
 *     y[v] = sum over u of weight(u, v) * dropout * z[u], a head at a time, v among the u's
 *     out  = heads side by side, or their mean, + b
 *
 * D columns a head; `sums` and the output matrix of a layer have places for what edges need:
 *
 *     sums    [n_local, H D + H]    sums, then y | total
 *     output  [n_local, H D + 2 H]  out, backward dy | total | mean; with a mean of heads, out stands before them
 */
#pragma once

#include "gnn/layers/layer_internal.h"

typedef struct gnn_attention {
    int heads;
    int64_t width; /* H D */
    bool averages; /* the mean of heads, of which there are several */
    weft_tensor sums;
} gnn_attention;

/* Flow and sizes of layer `number`, but for what is particular to the kind: extra, aggregated, weights. */
void attention_plan(const gnn_plan *plan, int number, gnn_layer_plan *layer);
gnn_attention attention_of(const gnn_layer_plan *plan);
/* A matrix for all local rows, zeroed. */
weft_status attention_matrix(gnn_layer *layer, int64_t cols, weft_tensor *matrix);
/* Columns of a matrix, of the owned rows or of all. */
weft_tensor attention_columns(const gnn_layer *layer, const weft_tensor *matrix, bool all, int64_t col, int64_t cols);
/* Returns the column of the output matrix at which dy begins. */
int64_t attention_dy_at(const gnn_layer *layer, const gnn_attention *attention);
/* The block of a vector for each head as one row. */
weft_tensor attention_vector(const weft_tensor *block);
/* The edges towards destinations, or of the transposed matrix; scores are the caller's. */
tensor_attention attention_edges(const gnn_layer *layer, const gnn_attention *attention, const train_pass *pass,
                                 bool backward_to_sources);
/* y in the place of the sums, and out = b + y or + the mean of its heads. */
weft_status attention_finish(gnn_layer *layer, const gnn_attention *attention);
/* dy, and what edges need of it: total and mean, of the owned rows. */
weft_status attention_begin_backward(gnn_layer *layer, const gnn_attention *attention);

/* Returns gat's block [heads, D] of vectors that score an edge's source. */
int gat_source_vector(const gnn_layer *layer);
