/*
 * gnn/smooth.h: correct and smooth: what a trained model answers, improved by the labels of the training vertices
 * alone.
 *
 *     S = D^-1/2 A D^-1/2, D = in-degree      propagate(x): x <- alpha S x + (1 - alpha) x_0, `iterations` times
 *
 *     correct   e = the training rows' labels less their probabilities, 0 elsewhere; e' = propagate(e), within [-1, 1];
 *               y = probabilities + e' scaled, row by row, to the mean sum of |e| of a training row (by 1 where that
 *               would be more than 1000 times)
 *     smooth    y = the labels in training rows; propagate(y), within [0, 1]
 *
 * Q. Huang, H. He, A. Singh, S.-N. Lim, A. R. Benson: Combining label propagation and simple models out-performs graph
 * neural networks. ICLR 2021, arXiv 2010.13993. An iteration aggregates one matrix [n, classes]; any partition computes
 * what one rank does, up to rounding.
 */
#pragma once

#include "gnn/layers/aggregate.h"
#include "train/model.h"

typedef struct gnn_smoothing {
    double correct_alpha, smooth_alpha; /* 0 .. 1 */
    int iterations;                     /* of each */
} gnn_smoothing;

/*
 * logits: [targets->rows, targets->outputs] of the owned rows, in: the model's; out: logarithms of the smoothed
 * answers, whose softmax is their share of their row. a: float32, GNN_NORM_SYMMETRIC_OTHERS. targets: classes. Labels
 * of validation and test are not read. Collective. WEFT_ERR_RESOURCE: no memory.
 */
weft_status gnn_correct_and_smooth(gnn_aggregator *a, const train_targets *targets, const gnn_smoothing *smoothing,
                                   float *logits);
