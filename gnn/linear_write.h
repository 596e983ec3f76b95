/*
 * gnn/linear_write.h: the weights of a network that computes the answers of a linear model, S = second(first(X W)).
 *
 *     hidden column j      relu( S_1 / d),  S_1 = column j of first(X W), d = its deviation over all vertices; in front
 *                          of batch norm its weights have a length that does not depend on the features' scale
 *     hidden column C + j  relu(-S_1 / d)   relu(x) - relu(-x) = x
 *     others               as they were drawn; weights behind them are 0 and train from there
 *     last layer           d times the difference of both, times SHARPNESS, which makes a label likely in softmax, and
 *                          of sage times the shares of a vertex and of its neighbours
 *
 * Batch norm begins with scales, shifts and running statistics that make these columns of it. With fewer than two
 * hidden columns a class a column is relu((S_1 + shift) / d), whose shift, one of all classes, softmax does not see.
 *
 *     gat   the columns are of the first head, whose vector of sources is a tenth of what was drawn, as is the last
 *           layer's, so attention is nearly uniform. ELU is in the place of relu: elu(x) - elu(-x) is 1.52 x by least
 *           squares over a normal x
 *     gin   the second map of the first network passes pairs on. That of the last has C hidden columns: relu of S in
 *           deviations, shifted by two of them
 */
#pragma once

#include "gnn/linear_sums.h"

typedef struct gnn_linear_model {
    double *w;           /* [halves * features, classes] */
    double *bias;        /* [classes]: what answers lack at training vertices on average */
    const double *share; /* [2]: of a vertex and of its neighbours in sage's last layer; 1 elsewhere */
    /* [classes] each, over all vertices: mean and deviation of first(X W), and of S (gin) */
    double *mean, *deviation, *second_mean, *second_deviation;
    double *spread; /* [classes], written here: deviations of the network's hidden columns */
    float *host;    /* room for gnn_linear_write_numbers */
} gnn_linear_model;

/* Returns true if moments of S are read. */
bool gnn_linear_reads_second(const gnn_plan *plan);
/* Returns the numbers of the largest block that is edited. */
int64_t gnn_linear_write_numbers(const gnn_plan *plan);
/* Local. */
weft_status gnn_linear_write(gnn_model *model, gnn_linear_model *linear);
