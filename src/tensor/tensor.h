/*
 * tensor/tensor.h: a matrix on a backend, and the ops on it with their shapes checked and their cost counted.
 *
 * A weft_tensor is row-major [rows, cols] with leading dimension ld. Images are [N*H*W, C] views of the same thing. A
 * view shares its owner's storage and must not outlive it. All ops return WEFT_ERR_INTERNAL with both shapes in the
 * message when shapes, types or backends disagree: that is a bug of the caller, not of the data.
 *
 * Each op adds its flops and bytes to the hal_cost of the calling thread and leaves a span in the trace (hal/hal.h).
 * None of these functions is collective.
 */
#pragma once

#include "hal/hal.h"

extern weft_mem_tag WEFT_MEM_ACTIVATION[1]; /* of layers, and their gradients */

typedef struct weft_tensor {
    weft_hal *hal;
    weft_dtype dtype;
    int64_t rows, cols, ld;
    void *data; /* device pointer; NULL when empty */
    bool owns;
} weft_tensor;

/* [out] t  rows x cols, ld = cols, uninitialised; free with tensor_destroy. */
weft_status tensor_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, weft_mem_tag *tag,
                          weft_tensor *t);
void tensor_destroy(weft_tensor *t); /* frees owned storage, zeroes *t; NULL and zeroed tensors are fine */
/* Destroys each of these tensors. */
void tensor_destroy_each(weft_tensor *const *t, size_t count);
#define TENSOR_DESTROY_ALL(...)                                                                                        \
    tensor_destroy_each((weft_tensor *const[]){__VA_ARGS__},                                                           \
                        sizeof((weft_tensor *const[]){__VA_ARGS__}) / sizeof(weft_tensor *))
/* Rows [row, row + rows) and columns [col, col + cols) of t. */
weft_tensor tensor_view(const weft_tensor *t, int64_t row, int64_t rows, int64_t col, int64_t cols);
/* The same memory as a narrower matrix with ld = cols: rows * cols elements must fit in t. Contiguous t only. */
weft_tensor tensor_reshape(const weft_tensor *t, int64_t rows, int64_t cols);
weft_status tensor_upload(weft_tensor *t, const void *host); /* host: rows x cols, contiguous */
weft_status tensor_download(const weft_tensor *t, void *host);
weft_status tensor_zero(weft_tensor *t);

hal_mat tensor_mat(const weft_tensor *t); /* as an operand of hal/ops.def; NULL: one that is left out */

/* c = op(a) op(b) + beta * c + bias; op(a) is the transpose of a when trans_a. beta = 0 never reads c. Each of a, b and
 * c is float32 or bfloat16, or all are float64. */
typedef struct tensor_product {
    const weft_tensor *a, *b;
    const weft_tensor *bias; /* [1, c.cols] or NULL */
    bool trans_a, trans_b;
    bool exact; /* b and c are float32, and b is not rounded where a is bfloat16: see gemm in hal/ops.def */
    double beta;
} tensor_product;
weft_status tensor_gemm(const tensor_product *product, weft_tensor *c);
weft_status tensor_col_sum(const weft_tensor *a, double beta, weft_tensor *out); /* out [1, a.cols] */
weft_status tensor_axpby(double alpha, const weft_tensor *x, double beta, weft_tensor *y);
weft_status tensor_scale_rows(const weft_tensor *scale, const weft_tensor *x, weft_tensor *y); /* scale [rows,1] */
weft_status tensor_act_forward(const weft_tensor *x, bool relu, const hal_dropout *dropout, weft_tensor *y);
weft_status tensor_act_backward(const weft_tensor *dy, const weft_tensor *y, bool relu, const hal_dropout *dropout,
                                weft_tensor *dx);
/* A curve, and back through it: `known` is its output or its input (hal_curve_by_output). */
weft_status tensor_curve_forward(const weft_tensor *x, hal_curve curve, weft_tensor *y);
weft_status tensor_curve_backward(const weft_tensor *dy, const weft_tensor *known, hal_curve curve, weft_tensor *dx);
/* y = x [images * pixels, n] times gate [images, n], and the gradients of both; dgate: NULL if it is not wanted. */
weft_status tensor_gate_forward(const weft_tensor *x, const weft_tensor *gate, weft_tensor *y);
weft_status tensor_gate_backward(const weft_tensor *dy, const weft_tensor *x, const weft_tensor *gate,
                                 weft_tensor *dgate, weft_tensor *dx);
/* ELU, and back through it: y is its output or what dropout with probability 1 - keep made of that. */
weft_status tensor_elu_forward(const weft_tensor *x, weft_tensor *y);
weft_status tensor_elu_backward(const weft_tensor *dy, const weft_tensor *y, double keep, weft_tensor *dx);
/* out = beta * out + post * (A (pre * x)) + diag * x. x: [cols of A, f]; out: [rows of A, f]; types as of a product. */
typedef struct tensor_sparse {
    hal_spmm *spmm;
    int64_t rows, cols, entries;
} tensor_sparse;
typedef struct tensor_spmm_terms {
    const weft_tensor *pre, *post, *diag; /* [A.cols, 1], [A.rows, 1], [A.rows, 1], or NULL */
    double beta;
    int slice, slices; /* one slice of it, 0 .. slices - 1 in this order: see spmm_run in hal/ops.def; 0: the whole */
    hal_spmm_part part;
} tensor_spmm_terms;
weft_status tensor_spmm(const tensor_sparse *a, const weft_tensor *x, const tensor_spmm_terms *terms, weft_tensor *out);

/* Matrices of heads, [m, heads * d], and a number for each head, [m, heads]. y, and x of _scale, may be one row that
 * stands for all. y = beta * y + x * scale, or x / scale. */
weft_status tensor_head_dot(const weft_tensor *x, const weft_tensor *y, weft_tensor *out);
weft_status tensor_head_scale(const weft_tensor *scale, bool divide, const weft_tensor *x, double beta, weft_tensor *y);

/* Attention over edges; see attention_* in hal/ops.def. n rows are the ends of edges. */
typedef struct tensor_attention {
    int64_t rows, entries;
    const int64_t *offset; /* the device's, [rows + 1] */
    const int32_t *column; /* the device's, [entries] */
    hal_attention how;
    const weft_tensor *source, *target, *highest; /* [n, heads] */
    const weft_tensor *total, *mean;              /* [n, heads], backward */
} tensor_attention;
weft_status tensor_attention_highest(const tensor_attention *a, weft_tensor *highest);
weft_status tensor_attention_forward(const tensor_attention *a, const weft_tensor *x, weft_tensor *out,
                                     weft_tensor *total);
weft_status tensor_attention_backward_targets(const tensor_attention *a, const weft_tensor *x, const weft_tensor *dy,
                                              weft_tensor *dtarget);
weft_status tensor_attention_backward_sources(const tensor_attention *a, const weft_tensor *x, const weft_tensor *dy,
                                              weft_tensor *dx, weft_tensor *dsource);

/* The same where ends meet in every column; see dynamic_* in hal/ops.def. */
typedef struct tensor_dynamic {
    tensor_attention edges;        /* without source and target */
    const weft_tensor *x, *target; /* [n, heads * d] */
    const weft_tensor *vector;     /* [1, heads * d] */
} tensor_dynamic;
weft_status tensor_dynamic_highest(const tensor_dynamic *a, weft_tensor *highest);
weft_status tensor_dynamic_forward(const tensor_dynamic *a, weft_tensor *out, weft_tensor *total);
/* dvector: [rows, heads * d], what each row adds to the gradient of vector. */
weft_status tensor_dynamic_backward_targets(const tensor_dynamic *a, const weft_tensor *dy, weft_tensor *dtarget,
                                            weft_tensor *dvector);
weft_status tensor_dynamic_backward_sources(const tensor_dynamic *a, const weft_tensor *dy, weft_tensor *dx);

/* The largest over edges, element by element; see max_* in hal/ops.def. */
typedef struct tensor_edges {
    int64_t rows, entries;
    const int64_t *offset;    /* the device's, [rows + 1] */
    const int32_t *column;    /* the device's, [entries] */
    const uint8_t *elsewhere; /* the device's, [rows], or NULL: see max_forward */
} tensor_edges;
/* out, ties, dx: [rows, n]; ties of the type of parameters; dy becomes dy / ties. edges of _backward: the transposed
 * ones. count: NULL, or how often the last rows of x count (max_ties in hal/ops.def), of the type of ties. */
weft_status tensor_max_forward(const tensor_edges *edges, const weft_tensor *x, weft_tensor *out);
weft_status tensor_max_ties(const tensor_edges *edges, const weft_tensor *x, const weft_tensor *y,
                            const weft_tensor *count, weft_tensor *ties);
weft_status tensor_max_share(const weft_tensor *ties, weft_tensor *dy);
weft_status tensor_max_backward(const tensor_edges *edges, const weft_tensor *x, const weft_tensor *y,
                                const weft_tensor *dy, weft_tensor *dx);

/* Batch norm over columns; see bn_* in hal/ops.def. Vectors [1, x.cols]; stats: [2, x.cols] float64, sums. */
typedef struct tensor_batch_norm {
    const weft_tensor *mean, *rstd, *gamma, *beta;
    bool relu;                   /* behind it */
    const weft_tensor *residual; /* forward: added in front of ReLU, or NULL */
    /* of tensor_bn_backward_stats, each or NULL: */
    const weft_tensor *y;     /* with relu: what forward gave, which must be there behind a residual */
    const weft_tensor *share; /* joins dy */
    weft_tensor *counted;     /* what counts of dy; may be dy; must be there with a share */
} tensor_batch_norm;
weft_status tensor_bn_stats(const weft_tensor *x, weft_tensor *stats);
/* mean, var and rstd, [1, n] each, of stats over `count` rows; rstd of a variance alone. */
weft_status tensor_bn_finish(const weft_tensor *stats, double count, double epsilon, weft_tensor *mean,
                             weft_tensor *var, weft_tensor *rstd);
weft_status tensor_bn_rstd(const weft_tensor *var, double epsilon, weft_tensor *rstd);
/* The gradients of gamma and beta out of tensor_bn_backward_stats. */
weft_status tensor_bn_gradients(const weft_tensor *stats, weft_tensor *dgamma, weft_tensor *dbeta);
weft_status tensor_bn_apply(const weft_tensor *x, const tensor_batch_norm *norm, weft_tensor *y);
weft_status tensor_bn_backward_stats(const weft_tensor *dy, const weft_tensor *x, const tensor_batch_norm *norm,
                                     weft_tensor *stats);
/* relu: of a norm without residual whose dy was not counted. */
weft_status tensor_bn_backward_apply(const weft_tensor *dy, const weft_tensor *x, const tensor_batch_norm *norm,
                                     const weft_tensor *stats, double count, weft_tensor *dx);

/* Layer norm over rows. gamma, beta, dgamma, dbeta: [1, x.cols]; saved: [x.rows, 2]. */
typedef struct tensor_layer_norm {
    const weft_tensor *gamma, *beta; /* beta: forward only */
    weft_tensor *saved;
    double epsilon;
} tensor_layer_norm;
weft_status tensor_ln_forward(const weft_tensor *x, const tensor_layer_norm *norm, weft_tensor *y);
/* dgamma += and dbeta += */
weft_status tensor_ln_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_layer_norm *norm,
                               weft_tensor *dgamma, weft_tensor *dbeta, weft_tensor *dx);

/* Group norm of images of `pixels` rows (hal/ops.def). gamma, beta, dgamma, dbeta: [1, x.cols]; saved:
 * [x.rows / pixels, 2 * groups]. */
typedef struct tensor_group_norm {
    const weft_tensor *gamma, *beta; /* beta: forward only */
    weft_tensor *saved;
    int64_t pixels, groups;
    double epsilon;
} tensor_group_norm;
weft_status tensor_gn_forward(const weft_tensor *x, const tensor_group_norm *norm, weft_tensor *y);
/* dgamma += and dbeta += */
weft_status tensor_gn_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_group_norm *norm,
                               weft_tensor *dgamma, weft_tensor *dbeta, weft_tensor *dx);

/* Losses over the rows whose mask is not 0, added to loss [1, 1] float64; dx = scale * gradient, or NULL. The arrays
 * are the device's, one entry a row of x. */
typedef struct tensor_loss_rows {
    const uint8_t *mask; /* NULL: every row counts */
    const float *weight; /* softmax_xent: of each row; NULL: 1 */
    double scale;
    double smoothing; /* of the labels of softmax_xent (hal/ops.def); 0: none */
} tensor_loss_rows;
weft_status tensor_softmax_xent(const weft_tensor *x, const int32_t *label, const tensor_loss_rows *rows,
                                weft_tensor *loss, weft_tensor *dx);
/* target: [x.rows, x.cols] 0, 1 or NaN */
weft_status tensor_bce_logits(const weft_tensor *x, const float *target, const tensor_loss_rows *rows,
                              weft_tensor *loss, weft_tensor *dx);
/* counts: [1, 2] int64 += the rows whose mask is not 0 (NULL: all rows) that are right, then all of those */
weft_status tensor_accuracy(const weft_tensor *x, const int32_t *label, const uint8_t *mask, weft_tensor *counts);

/* Optimiser steps over flat tensors [1, n]; `step` gives the scalars, its operands are filled in. velocity is NULL
 * without momentum. */
weft_status tensor_adam(const hal_adam_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *m,
                        weft_tensor *v);
weft_status tensor_adadelta(const hal_adadelta_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *squares,
                            weft_tensor *moves);
weft_status tensor_sgd(const hal_sgd_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *velocity);
/* norms: [1, 2] float64, sums of squares of w and g; NULL: their ratio is 1. */
weft_status tensor_lars(const hal_lars_args *step, weft_tensor *w, const weft_tensor *g, weft_tensor *velocity,
                        const weft_tensor *norms);
/* out: [1, 1] float64 = the sum of the squares of x [1, n] */
weft_status tensor_sum_squares(const weft_tensor *x, weft_tensor *out);
