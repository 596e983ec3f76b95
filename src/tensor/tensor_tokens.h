/*
 * tensor/tensor_tokens.h: operations on tokens (hal/ops.def): rows of x are images of `tokens` rows each.
 *
 * key: [rows, 1] in the type of parameters, or NULL. A row whose cell is 0 is padding. Shapes that do not fit are
 * WEFT_ERR_INTERNAL.
 */
#pragma once

#include "tensor/tensor.h"

typedef struct tensor_tokens {
    const weft_tensor *key; /* NULL: no row is padding */
    int64_t tokens;         /* rows of an image */
} tensor_tokens;

/* Attention over the tokens of each image. x: [rows, 3 n], y: [rows, n] of `heads` heads. */
weft_status tensor_attend_forward(const weft_tensor *x, const tensor_tokens *tokens, int64_t heads, weft_tensor *y);
weft_status tensor_attend_backward(const weft_tensor *dy, const weft_tensor *x, const tensor_tokens *tokens,
                                   int64_t heads, weft_tensor *dx);

/* Rows of table [words, n] by id [rows, 1]. */
weft_status tensor_lookup_forward(const weft_tensor *id, const weft_tensor *table, weft_tensor *y);
weft_status tensor_lookup_backward(const weft_tensor *dy, const weft_tensor *id, weft_tensor *dtable);

/* Mean over the tokens of each image. x: [rows, n], y: [images, n]. */
weft_status tensor_token_mean_forward(const weft_tensor *x, const tensor_tokens *tokens, weft_tensor *y);
weft_status tensor_token_mean_backward(const weft_tensor *dy, const tensor_tokens *tokens, weft_tensor *dx);
