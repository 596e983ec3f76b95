/*
 * train/norm.h: batch norm over all ranks, and layer norm.
 *
 * Batch norm takes its statistics over the rows of every rank (sums in double, one small all-reduce), so P ranks
 * normalise as one does. Outside training it uses the running statistics, which are state blocks of the parameter
 * store. S. Ioffe, C. Szegedy: Batch normalization. ICML 2015, arXiv 1502.03167. J. Ba, J. Kiros, G. Hinton: Layer
 * normalization. 2016, arXiv 1607.06450.
 */
#ifndef WEFT_TRAIN_NORM_H
#define WEFT_TRAIN_NORM_H

#include "comm/comm.h"
#include "train/param.h"

typedef enum norm_kind { NORM_NONE, NORM_BATCH, NORM_LAYER } norm_kind; /* order of --norm's choices */

typedef struct train_norm {
    norm_kind kind;
    weft_comm *comm;
    param_store *params;
    int64_t rows, cols;
    double all_rows;                            /* over all ranks */
    int gamma, beta, running_mean, running_var; /* blocks */
    weft_tensor mean, var, rstd;                /* [1, cols] in use */
    weft_tensor saved;                          /* layer norm: [rows, 2] */
    weft_tensor stats;                          /* [2, cols] float64 */
    double *host;                               /* [2, cols]: the sums on their way to other ranks; NULL alone */
} train_norm;

/* Declare gamma and beta of layer `number` (before commit); norm_declare_state after all trained blocks. */
weft_status norm_declare(train_norm *norm, norm_kind kind, param_store *params, int64_t cols, int number, bool decays);
weft_status norm_declare_state(train_norm *norm, int number);
/* Allocate for this rank's rows. Collective. */
weft_status norm_create(train_norm *norm, weft_comm *comm, int64_t rows);
/* y = norm(x); x must stay for the backward pass. Collective. */
weft_status norm_forward(train_norm *norm, bool training, const weft_tensor *x, weft_tensor *y);
/* dy becomes dx; the gradients of gamma and beta are overwritten with this rank's share. Collective. */
weft_status norm_backward(train_norm *norm, const weft_tensor *x, weft_tensor *dy);
void norm_destroy(train_norm *norm);

#endif
