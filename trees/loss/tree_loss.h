/*
 * trees/loss/tree_loss.h: losses that trees are boosted on: gradients, hessians and the best constant.
 *
 *     loss        margin to answer          gradient           hessian
 *     squared     y = m                     m - y              1
 *     logistic    p = 1 / (1 + exp(-m))     p - y              p (1 - p)
 *     softmax     p = exp(m) / sum exp(m)   p - [y is it]      2 p (1 - p), as XGBoost has it
 *     poisson     mean = exp(m)             mean - y           mean
 *
 * Each is multiplied by the row's weight. The numbers of a row depend on the row alone, and are made without the
 * mathematical library, so that they have the same bits on every processor.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"

#define TREE_LOSSES(X)                                                                                                 \
    X(TREE_LOSS_SQUARED, "squared")                                                                                    \
    X(TREE_LOSS_LOGISTIC, "logistic")                                                                                  \
    X(TREE_LOSS_SOFTMAX, "softmax")                                                                                    \
    X(TREE_LOSS_POISSON, "poisson")
typedef enum tree_loss { TREE_LOSSES(CHOICE_VALUE) } tree_loss;

/* What this rank's rows should answer. */
typedef struct tree_targets {
    tree_loss loss;
    int64_t rows;
    int outputs;         /* classes under softmax, else 1 */
    const float *y;      /* [rows] the number, 0 or 1, or the class; only of rows that count */
    const float *weight; /* [rows] at least 0; NULL: 1 each */
    const uint8_t *counts; /* [rows] not 0: a row of the training */
} tree_targets;

/* [out] gradient, hessian: [outputs, rows] at these margins, [rows, outputs]; zeros for rows that do not count. */
void tree_gradients(const tree_targets *targets, const float *margin, int threads, float *gradient, float *hessian);
/*
 * [out] base[outputs]: the constant margin of least loss over all ranks' rows; zeros under softmax. Sums are made of
 * whole numbers, so the bits do not depend on ranks. WEFT_ERR_DATA: there is no row, or all are of one class.
 * Collective.
 */
weft_status tree_base(weft_comm *comm, const tree_targets *targets, float *base);
/* exp(x) to 1e-9 relative, for x up to 700. */
double tree_exp(double x);
