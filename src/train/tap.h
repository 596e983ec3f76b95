/*
 * train/tap.h: a listener that sees what the weight gradients of a training pass are made of.
 *
 *      linear map      y = x W          dW = sum over calls of x^T dy
 *      convolution     y = x * W        dW = the same sum over the patches of x
 *
 * A layer calls its listener where it makes a weight gradient, because there the rows of its input and the rows of its
 * output gradient are both in memory. Second-order methods collect x^T x and dy^T dy there. The listener gets each of a
 * rank's own rows once for each sub-matrix of the weights, in runs of rows: a layer that masks, streams or overlaps
 * takes its rows in several runs. The parts of a batch are passes of their own (train_pass.part), so a listener adds up
 * over them.
 *
 * Nobody copies rows for a listener: it reads them where they stand, during the call. Without a listener a pass costs
 * one comparison for each run of rows.
 */
#pragma once

#include "tensor/tensor_features.h"
#include "train/model.h"

/* A run of rows of one layer. All matrices are on the backend and valid during the call. */
typedef struct tap_rows {
    /* Block of the parameter store that holds the weights. */
    int block;
    /* The block holds the transposed weights, [out, in]: convolutions and linear maps in the order of PyTorch's
     * files. */
    bool transposed;
    /* Number of the first of these rows among the rows of the layer, from 0. */
    int64_t first;
    /* The sub-matrix of the block that these rows are multiplied with. Maps that share a block, such as a vertex' own
     * weights and its neighbours', may be reported together or one by one. */
    int64_t row, rows, col, cols;
    /* Input rows [n, in], under the dropout mask of the input where there is one. NULL: `sparse` holds them. */
    const weft_tensor *x;
    /* Input rows [n, in] that are held as their nonzero elements, and the mask that products apply to them (NULL:
     * none). */
    const tensor_features *sparse;
    const hal_dropout *dropout;
    /* Gradient [n, out] of the output, before bias and behind the activation's derivative. It is a share of the mean
     * over the batch of all ranks, times the scale of the loss where train_model.scaled. */
    const weft_tensor *dy;
    /* Gradient [n, out] of the sums over edges that stand behind the map, like dy; NULL: nothing is summed, or the rows
     * come in several runs. */
    const weft_tensor *dsum;
    /* Geometry of a convolution, whose x is [images * height * width, in] and whose dy has a row for each pixel of the
     * output; NULL: a linear map. */
    const hal_conv_shape *conv;
    /* Convolutions: the batch norm that x passes on its way into the convolution (hal_conv_norm); NULL: none. */
    const hal_conv_norm *norm;
    /* Images of a convolution, or images or texts of which x and dy hold equally many rows each; 0: rows stand
     * alone. */
    int64_t images;
} tap_rows;

typedef struct train_tap {
    void *self;
    /* Asked once before each training pass. Returns true if `take` is to be called in it. */
    bool (*wants)(void *self, const train_pass *pass);
    /* A run of rows; n >= 1. Called by the thread of the pass. Not collective: ranks may have different numbers of
     * runs. */
    weft_status (*take)(void *self, const train_pass *pass, const tap_rows *rows);
} train_tap;

/* The listener of a pass that is about to begin; NULL: `tap` is NULL or does not want this pass. */
static inline const train_tap *train_tap_of(const train_tap *tap, const train_pass *pass)
{
    return tap != NULL && tap->wants(tap->self, pass) ? tap : NULL;
}
