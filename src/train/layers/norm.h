/*
 * train/layers/norm.h: batch norm, over all ranks or each rank by itself, and layer norm.
 *
 *                        a batch is normalised by            running statistics
 *      NORM_BATCH        its rows on every rank: sums in     of those, the same on all ranks
 *                        double, one small all-reduce
 *      NORM_BATCH_LOCAL  its rows on this rank, without      of this rank's; evaluation and files have their mean over
 *                        a message                           ranks, training goes on from each rank's own
 *
 * So P ranks normalise as one does with NORM_BATCH, and not with NORM_BATCH_LOCAL, whose batches are the ranks'
 * shares. Running statistics are the mean of many batches' statistics, (1 - momentum) * running + momentum * (mean,
 * unbiased variance) a step; ranks are more batches, so what averages over steps, means and variances each, averages
 * over ranks as well. The rule is linear: it does not matter how often the mean is taken. A rank without rows in a
 * batch keeps its own. They are state blocks of the parameter store, and what normalises outside training.
 *
 * S. Ioffe, C. Szegedy: Batch normalization. ICML 2015, arXiv 1502.03167. J. Ba, J. Kiros, G. Hinton: Layer
 * normalization. 2016, arXiv 1607.06450.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"
#include "train/param.h"

/* What --norm offers, and batch norm of each rank by itself, which models ask for. */
#define NORM_KINDS(X)                                                                                                  \
    X(NORM_NONE, "none")                                                                                               \
    X(NORM_BATCH, "batch")                                                                                             \
    X(NORM_LAYER, "layer")
typedef enum norm_kind { NORM_KINDS(CHOICE_VALUE) NORM_BATCH_LOCAL } norm_kind;

/* Added to variances, so that a column of one value is not divided by 0. */
#define NORM_EPSILON 1e-5

/* How files call the four parameters of a layer: behind the layer's name and a dot. */
typedef struct norm_names {
    const char *gamma, *beta, *mean, *var;
} norm_names;

/* A layer to be declared. The texts must outlive norm_declare_state. */
typedef struct norm_layer {
    norm_kind kind;
    int64_t cols;
    int group;               /* of gamma and beta */
    const char *layer;       /* its name */
    const norm_names *names; /* NULL: gamma, beta, mean, var */
} norm_layer;

typedef struct train_norm {
    norm_layer layer;
    norm_kind kind; /* of the layer */
    weft_comm *comm;
    param_store *params;
    int64_t rows, cols;
    double count;                               /* rows that a batch is normalised by */
    int gamma, beta, running_mean, running_var; /* blocks */
    weft_tensor mean, var, rstd;                /* [1, cols] in use */
    weft_tensor saved;                          /* layer norm: [rows, 2] */
    weft_tensor stats;                          /* [2, cols] float64 */
    double *host;                               /* [2, cols]: the sums on their way to other ranks; NULL alone */
} train_norm;

/* Declare gamma and beta of a layer (train/param.h), before commit; norm_declare_state after all trained blocks. */
weft_status norm_declare(train_norm *norm, param_store *params, const norm_layer *layer);
weft_status norm_declare_state(train_norm *norm);
/* Allocate for at most this many rows of this rank; a batch has all of them until norm_set_rows. Collective. comm NULL:
 * for evaluations alone, which ask no other rank; local. */
weft_status norm_create(train_norm *norm, weft_comm *comm, int64_t rows);
/* The batches that follow have `rows` rows on this rank, 0 or more, and all_rows on all ranks together. Local. */
void norm_set_rows(train_norm *norm, int64_t rows, int64_t all_rows);
/* x and y: [rows of the batch, cols]. */
typedef struct norm_operands {
    const weft_tensor *x; /* must stay for the backward pass */
    weft_tensor *
        /* written forward, NULL: its reader makes it, of norm_vectors; read backward, of batch norm with relu behind a
         * residual */
        y;
    /* of batch norm: */
    const weft_tensor *residual; /* forward: added to what is normalised; or NULL */
    bool relu;                   /* y = max(0, norm(x) + residual) */
} norm_operands;

/* Gradients [rows of the batch, cols]. */
typedef struct norm_gradients {
    weft_tensor *dy;          /* of y; behind a residual it becomes the gradient of the residual, unless it is dx */
    const weft_tensor *share; /* of batch norm: another part of the gradient of y, which is added first; or NULL */
    weft_tensor *dx;          /* written; may be dy */
} norm_gradients;

/* y = norm(x). Collective. */
weft_status norm_forward(train_norm *norm, bool training, const norm_operands *operands);
/* Batch norm: y once more, to the bit, of a training pass whose backward pass has not come here yet. Local. */
weft_status norm_forward_again(const train_norm *norm, const norm_operands *operands);
/* Batch norm: the same for a convolution that makes y on its way. Valid until the next forward pass. Local. */
hal_conv_norm norm_vectors(const train_norm *norm, bool relu);
/* The gradients of gamma and beta are overwritten with this rank's share. Collective. */
weft_status norm_backward(train_norm *norm, const norm_operands *operands, const norm_gradients *gradients);
void norm_destroy(train_norm *norm);
