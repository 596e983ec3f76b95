/*
 * gnn/linear_start.h: --weight-init linear: a network of two convolutions begins as the linear model of least squares.
 *
 *     S = second(first(X W))      the sums over neighbours of the two convolutions, without what stands between them:
 *                                 gnn/linear_sums.h
 *
 * W [features, classes] takes steps of conjugate gradients towards the labels of training vertices. Few steps are the
 * ridge: directions along which features vary little are not learned. Of few training vertices, and of attention,
 * steps end where the mean probability of the labels of validation vertices is largest; else there are three. A step
 * costs two sums over neighbours and two products of the width of the classes: three are about an epoch of training.
 * With more training vertices GraphSAGE's second is a I + b M, M the mean over neighbours, where a and b are 1 until W
 * is found, and then the two numbers by which S comes closest to the labels: a mean has less noise than a vertex' own
 * row. The network computes S (gnn/linear_write.h). Sums over ranks are in float64, so P ranks begin where one begins,
 * to rounding.
 */
#pragma once

#include "gnn/gnn_model.h"

/* What decides whether a network can begin so. */
typedef struct gnn_start_facts {
    gnn_kind kind;
    bool maxima; /* of neighbours */
    int convolutions;
    int out_heads;  /* of gat */
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
