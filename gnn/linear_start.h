/*
 * gnn/linear_start.h: --weight-init linear: a network of two convolutions begins as the linear model of least squares.
 *
 *     S = second(first(X W))      first, second: the sums over neighbours of the two convolutions, without what stands
 *                                 between them; of GraphSAGE first(X W) = X W_self + M X W_neigh, second = a I + b M
 *
 * W [features, classes] takes a few steps of conjugate gradients towards the labels of training vertices. Few steps are
 * the ridge: directions along which features vary little are not learned. A step costs two sums over neighbours and two
 * products of the width of the classes, so all of them are about an epoch of training. Of GraphSAGE a and b are 1 until
 * W is found, and then the two numbers by which S comes closest to the labels: a mean of neighbours has less noise than
 * a vertex' own row, so b is mostly the larger one. With fewer training vertices than half of the features both stay 1.
 * The network computes S:
 *
 *     hidden column j      relu( S_1 / d),  S_1 = column j of first(X W), d = its deviation over all vertices; in front
 *                          of batch norm its weights have a length that does not depend on the features' scale
 *     hidden column C + j  relu(-S_1 / d)   relu(x) - relu(-x) = x
 *     others               as they were drawn; weights behind them are 0 and train from there
 *     last layer           d times the difference of both, times SHARPNESS, which makes a label likely in softmax, and
 *                          a and b
 *
 * With fewer than two hidden columns for each class, a class has the column relu((S_1 + l) / d) alone. The lift l is
 * the same for all classes: S_1 + l is mostly positive, what ReLU cuts off says little, and sums of l over neighbours
 * add the same to the answers of all classes.
 *
 * Batch norm begins with shifts and running statistics that make these columns of it. Sums over ranks are in
 * float64, so P ranks begin where one begins, to rounding.
 */
#pragma once

#include "gnn/gnn_model.h"

/* What decides whether a network can begin so. */
typedef struct gnn_start_facts {
    gnn_kind kind;
    bool maxima; /* of neighbours */
    int layers;
    bool passed_by; /* something leads past the layers, or stands behind them */
    norm_kind norm;
    bool learns_classes;
    int64_t outputs, hidden;
    bool whole; /* float32, and features in the backend's memory */
} gnn_start_facts;

/* Returns why a network of these facts cannot begin so, NULL: it can. */
const char *gnn_start_obstacle(const gnn_start_facts *facts);
/* Returns why a network of this plan, trained towards these targets, cannot begin so, NULL: it can. */
const char *gnn_linear_start_obstacle(const gnn_plan *plan, const train_targets *targets);
/* Bytes that it takes on the host and the backend before the first epoch; 0: the plan does not ask for it. */
uint64_t gnn_linear_start_bytes(const gnn_plan *plan);
/* Every run of the model will begin so, if there is no obstacle. The targets stay the caller's. Local. */
void gnn_linear_start(gnn_model *model, const train_targets *targets);
