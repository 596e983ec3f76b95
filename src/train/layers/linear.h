/*
 * train/layers/linear.h: the linear map y = x W + b of every model, forward and backward. Weight gradients of linear
 * maps are made here and nowhere else.
 *
 *      forward            y  = x W + b            linear_forward
 *      input gradient     dx = dy W^T             linear_input_gradient
 *      weight gradient    dW = x^T dy             linear_weight_gradient, which tells the pass's listener (train/tap.h)
 *      bias gradient      db = column sums of dy  linear_bias_gradient
 *
 * Rows are independent, so a caller may take them in spans: it passes views of x, y and dy, and adds up the gradients
 * of weights and biases over its spans. A map may also stand for a sub-matrix of a block (linear_part): two maps that
 * read the same rows share a block and are one product, until their rows come at different times.
 *
 *      train_linear map = {.params = &params, .weight = block, .bias = LINEAR_NO_BLOCK};
 *      WEFT_TRY(linear_forward(&map, &(linear_rows){.x = &x}, NULL, 0.0, &y));
 *
 * Three kinds of input need more than a product:
 *
 *      panel       input dropout of constant features: rows are masked panel by panel, and never stored masked as a
 *                  whole
 *      stream      features that stay on the host: rows come in blocks, and a mask is applied where the block stands
 *      features    features that are mostly zeros: products walk the other elements, and mask them as they are read
 *
 * Rows of any kind may be bfloat16 beside a map and results of float32 (`exact`): they are multiplied as what they are,
 * float32 numbers in fewer bytes, and a panel is of float32.
 *
 * Sums over pieces are added in the order of the rows, so bits are the same in every run.
 */
#pragma once

#include "tensor/tensor_features.h"
#include "tensor/tensor_stream.h"
#include "train/model.h"

enum { LINEAR_NO_BLOCK = -1 };

/* A linear map. Zeros beyond `params`, `weight` and `bias`: the whole of a block [in, out], of an input that needs
 * nothing. */
typedef struct train_linear {
    param_store *params;
    /* Blocks of the store; a map without bias has LINEAR_NO_BLOCK there. */
    int weight, bias;
    /* The block holds the transposed weights, [out, in], as files of PyTorch do. */
    bool transposed;
    /* Rows of bfloat16 are exact, and the weights are not rounded for their sake. */
    bool exact;
    /* The sub-matrix of the block that the map stands for; rows == 0: all of it. */
    int64_t row, rows, col, cols;
    /* Scratch for masked rows [panel rows, in]; NULL: input rows have no mask, or are masked already. */
    const weft_tensor *panel;
    /* Blocks that rows of the host pass through; NULL: rows are on the backend. */
    tensor_stream *stream;
    /* Sparse input; NULL: dense rows. */
    const tensor_features *features;
} train_linear;

/* Rows that a map reads. */
typedef struct linear_rows {
    /* [n, in]. With `features` a shape without data, of all rows; with `stream` a view of rows on the host. */
    const weft_tensor *x;
    /* Mask of the input; only maps with panel, stream or features apply it. NULL: none. */
    const hal_dropout *dropout;
    /* Number of the first row of `x` among the rows of the layer, which the listener of a pass gets. */
    int64_t first;
    /* Gradient of the rows that are sums of the map's result, for the listener of a pass; NULL: nothing is summed. */
    const weft_tensor *dsum;
    /* Images, or texts, of which `x` holds equally many rows each, for the listener of a pass; 0: rows are no parts of
     * images. */
    int64_t images;
} linear_rows;

/* The map of rows [row, row + rows) and columns [col, col + cols) of the block of `map`. */
train_linear linear_part(const train_linear *map, int64_t row, int64_t rows, int64_t col, int64_t cols);

/* The map's weights in the store, and their gradient: a view of the block, or of its sub-matrix. */
weft_tensor linear_weight(const train_linear *map);
weft_tensor linear_gradient(const train_linear *map);

/* Returns true if rows under this mask are masked piece by piece on their way into a product. */
bool linear_masks(const train_linear *map, const hal_dropout *dropout);

/* The weights and the bias are about to be read. */
weft_status linear_need(const train_linear *map, const train_pass *pass);
/* The gradients of bias and weights are final. */
weft_status linear_ready(const train_linear *map, const train_pass *pass);

/* y = x W + beta y + bias. bias: [1, out], or NULL. beta is 0 where rows come in pieces. */
weft_status linear_forward(const train_linear *map, const linear_rows *rows, const weft_tensor *bias, double beta,
                           weft_tensor *y);
/* dW = x^T dy, or with `add` dW += x^T dy. The gradient is written also where there are no rows. */
weft_status linear_weight_gradient(const train_linear *map, const train_pass *pass, const linear_rows *rows,
                                   const weft_tensor *dy, bool add);
/* dx = dy W^T + beta dx */
weft_status linear_input_gradient(const train_linear *map, const weft_tensor *dy, double beta, weft_tensor *dx);
/* db = column sums of dy, or with `add` db += them. A map without bias has nothing to do. */
weft_status linear_bias_gradient(const train_linear *map, const weft_tensor *dy, bool add);

/* Every row of y becomes `row` [1, cols]. like: any matrix of the type of the parameters. */
weft_status linear_set_rows(const weft_tensor *like, const weft_tensor *row, weft_tensor *y);
