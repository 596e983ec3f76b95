/*
 * dense/engine/dense_group_norm.h: group norm as a layer: each image is normalised by itself, over its pixels and the
 * channels of a group, in training and outside alike. No statistics are kept and none travel, so that what an image
 * gives depends on no other image: neither on the batch nor on ranks. Parameters are PyTorch's weight and bias, one a
 * channel, from 1 and 0; epsilon of group norm is 1e-5. Y. Wu, K. He: Group normalization. ECCV 2018, arXiv 1803.08494.
 * Layer norm takes each pixel by itself, over all of its channels: J. Ba, J. Kiros, G. Hinton, arXiv 1607.06450.
 */
#pragma once

#include "tensor/tensor.h"
#include "train/model.h"
#include "train/param.h"

typedef struct dense_group_norm {
    param_store *params;
    int64_t pixels, groups; /* of an image; layer norm: 1 and 1, a pixel is an image of its own */
    double epsilon;
    bool by_pixel;     /* layer norm */
    int gamma, beta;   /* blocks */
    weft_tensor saved; /* [most images, 2 * groups] mean and 1 / deviation of the pass under way */
} dense_group_norm;

/* Declares weight and bias of `channels` elements each (train/param.h). layer: its name. */
weft_status dense_group_norm_declare(dense_group_norm *norm, param_store *params, const char *layer, int64_t channels);
/* After the store's commit. images: the most of a batch; of layer norm the most pixels. Not collective. */
weft_status dense_group_norm_create(dense_group_norm *norm, int64_t images);
void dense_group_norm_destroy(dense_group_norm *norm);

/* x, y: [images * pixels, channels]. */
weft_status dense_group_norm_forward(dense_group_norm *norm, const train_pass *pass, const weft_tensor *x,
                                     weft_tensor *y);
/* Gradients of the last forward pass, of x and the parameters; dx may be dy. */
weft_status dense_group_norm_backward(dense_group_norm *norm, const train_pass *pass, const weft_tensor *x,
                                      const weft_tensor *dy, weft_tensor *dx);
