/*
 * dense/engine/dense_tokens.h: layers of networks on texts, and of attention over pixels: A. Vaswani et al.: Attention
 * is all you need. NeurIPS 2017, arXiv 1706.03762. A token is a pixel, a row of a value. What the operations compute
 * says hal/ops.def; attention and the mean have no parameters.
 *
 * Parameters are LAYER.weight [words, channels] of an embedding, as nn.Embedding has it, and LAYER [tokens, channels]
 * of positions. Both begin normal with deviation 0.02, as BERT does (J. Devlin et al., NAACL 2019, arXiv 1810.04805),
 * and weight decay leaves them alone.
 */
#pragma once

#include "tensor/tensor.h"
#include "train/model.h"
#include "train/param.h"

/* words: [images * tokens, 1], 0 behind the end of a text; no rows where the input is images, which have no end. */
typedef struct dense_tokens {
    weft_tensor words;
    int64_t tokens;
} dense_tokens;

typedef struct dense_embed {
    param_store *params;
    int block;
} dense_embed;

weft_status dense_embed_declare(dense_embed *embed, param_store *params, const char *layer, int64_t words,
                                int64_t channels);
weft_status dense_embed_forward(const dense_embed *embed, const train_pass *pass, weft_tensor words, weft_tensor *y);
weft_status dense_embed_backward(dense_embed *embed, const train_pass *pass, weft_tensor words, const weft_tensor *dy);

typedef struct dense_position {
    param_store *params;
    int block;
    weft_tensor fixed; /* [2, tokens * channels] of 0 and of 1, by which a sum is a batch norm, which backends have */
} dense_position;

weft_status dense_position_declare(dense_position *position, param_store *params, const char *layer, int64_t tokens,
                                   int64_t channels);
/* After the store's commit. Not collective. */
weft_status dense_position_create(dense_position *position);
void dense_position_destroy(dense_position *position);
/* y may be x, and dx dy. */
weft_status dense_position_forward(const dense_position *position, const train_pass *pass, const weft_tensor *x,
                                   weft_tensor *y);
weft_status dense_position_backward(dense_position *position, const train_pass *pass, const weft_tensor *dy,
                                    weft_tensor *dx);

/* x, dx: [images * tokens, 3 channels]; y, dy: [images * tokens, channels]. */
weft_status dense_attention_forward(const weft_tensor *x, dense_tokens tokens, int64_t heads, weft_tensor *y);
weft_status dense_attention_backward(const weft_tensor *dy, const weft_tensor *x, dense_tokens tokens, int64_t heads,
                                     weft_tensor *dx);

/* x, dx: [images * tokens, channels]; y, dy: [images, channels]. */
weft_status dense_tokenmean_forward(const weft_tensor *x, dense_tokens tokens, weft_tensor *y);
weft_status dense_tokenmean_backward(const weft_tensor *dy, dense_tokens tokens, weft_tensor *dx);
