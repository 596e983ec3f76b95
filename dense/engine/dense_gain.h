/*
 * dense/engine/dense_gain.h: a trained factor for each channel as a layer, y = factor * x. Networks that add many
 * branches begin with small factors: H. Touvron et al.: Going deeper with image transformers. ICCV 2021, arXiv
 * 2103.17239. The parameter is named like the layer, and [channels, 1, 1] in files.
 *
 * It is computed as a batch norm whose statistics are mean 0 and deviation 1, so every backend has it.
 */
#pragma once

#include "tensor/tensor.h"
#include "train/model.h"
#include "train/param.h"

typedef struct dense_gain {
    param_store *params;
    int block;
    weft_tensor fixed; /* [3, channels] mean and offset 0; deviation 1; room for a gradient that nobody reads */
    weft_tensor stats; /* [2, channels] float64, sums of the backward pass */
} dense_gain;

/* Declares the factors, which begin as `start` (train/param.h). layer: its name. */
weft_status dense_gain_declare(dense_gain *gain, param_store *params, const char *layer, int64_t channels,
                               double start);
/* After the store's commit. Not collective. */
weft_status dense_gain_create(dense_gain *gain);
void dense_gain_destroy(dense_gain *gain);

/* x, y: [images * pixels, channels]; y may be x. */
weft_status dense_gain_forward(const dense_gain *gain, const train_pass *pass, const weft_tensor *x, weft_tensor *y);
/* Gradients of x and of the factors; dx may be dy. */
weft_status dense_gain_backward(dense_gain *gain, const train_pass *pass, const weft_tensor *x, const weft_tensor *dy,
                                weft_tensor *dx);
