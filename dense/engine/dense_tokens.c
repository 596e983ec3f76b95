/* dense/engine/dense_tokens.c: see dense/engine/dense_tokens.h. */
#include "dense/engine/dense_tokens.h"

#include "dense/net/net.h"
#include "tensor/tensor_tokens.h"

#define DEVIATION 0.02

/* ---- embedding -------------------------------------------------------------------------------------------------- */

weft_status dense_embed_declare(dense_embed *embed, param_store *params, const char *layer, int64_t words,
                                int64_t channels)
{
    const int64_t shape[2] = {words, channels};
    embed->params = params;
    embed->block = param_add_block(params, PARAM_GROUP_NO_DECAY, words, channels);
    return param_add_tensor(params, embed->block, 2, shape, (param_init){PARAM_NORMAL, DEVIATION}, "%s%sweight", layer,
                            net_parameter_point(layer));
}

weft_status dense_embed_forward(const dense_embed *embed, const train_pass *pass, weft_tensor words, weft_tensor *y)
{
    WEFT_TRY(train_need(pass, embed->block));
    const weft_tensor table = param_value(embed->params, embed->block);
    return tensor_lookup_forward(&words, &table, y);
}

weft_status dense_embed_backward(dense_embed *embed, const train_pass *pass, weft_tensor words, const weft_tensor *dy)
{
    weft_tensor gradient = param_grad(embed->params, embed->block);
    WEFT_TRY(tensor_lookup_backward(dy, &words, &gradient));
    return train_ready(pass, embed->block);
}

/* ---- positions -------------------------------------------------------------------------------------------------- */

/* An image in one row. */
static weft_tensor in_rows(const weft_tensor *x, int64_t cols)
{
    return tensor_reshape(x, x->rows * x->cols / cols, cols);
}

static weft_tensor as_row(weft_tensor block)
{
    return tensor_reshape(&block, 1, block.rows * block.cols);
}

weft_status dense_position_declare(dense_position *position, param_store *params, const char *layer, int64_t tokens,
                                   int64_t channels)
{
    const int64_t shape[2] = {tokens, channels};
    position->params = params;
    position->block = param_add_block(params, PARAM_GROUP_NO_DECAY, tokens, channels);
    return param_add_tensor(params, position->block, 2, shape, (param_init){PARAM_NORMAL, DEVIATION}, "%s", layer);
}

weft_status dense_position_create(dense_position *position)
{
    const weft_tensor added = as_row(param_value(position->params, position->block));
    WEFT_TRY(tensor_create(added.hal, added.dtype, 2, added.cols, WEFT_MEM_ACTIVATION, &position->fixed));
    weft_tensor one = tensor_view(&position->fixed, 1, 1, 0, added.cols);
    /* sqrt(1 / (0 + 1)) = 1 without copying an array to the device. */
    const weft_tensor zero = tensor_view(&position->fixed, 0, 1, 0, added.cols);
    WEFT_TRY(tensor_zero(&position->fixed));
    return tensor_bn_rstd(&zero, 1.0, &one);
}

void dense_position_destroy(dense_position *position)
{
    tensor_destroy(&position->fixed);
}

weft_status dense_position_forward(const dense_position *position, const train_pass *pass, const weft_tensor *x,
                                   weft_tensor *y)
{
    WEFT_TRY(train_need(pass, position->block));
    const weft_tensor added = as_row(param_value(position->params, position->block));
    const weft_tensor zero = tensor_view(&position->fixed, 0, 1, 0, added.cols);
    const weft_tensor one = tensor_view(&position->fixed, 1, 1, 0, added.cols);
    const weft_tensor from = in_rows(x, added.cols);
    weft_tensor to = in_rows(y, added.cols);
    return tensor_bn_apply(&from, &(tensor_batch_norm){.mean = &zero, .rstd = &one, .gamma = &one, .beta = &added},
                           &to);
}

weft_status dense_position_backward(dense_position *position, const train_pass *pass, const weft_tensor *dy,
                                    weft_tensor *dx)
{
    weft_tensor gradient = as_row(param_grad(position->params, position->block));
    const weft_tensor from = in_rows(dy, gradient.cols);
    WEFT_TRY(tensor_zero(&gradient)); /* a rank without images brings zeros to the sums of all ranks */
    WEFT_TRY(tensor_col_sum(&from, 0.0, &gradient));
    WEFT_TRY(train_ready(pass, position->block));
    return dx->data != dy->data ? tensor_axpby(1.0, dy, 0.0, dx) : WEFT_OK;
}

/* ---- what reads all tokens of an image -------------------------------------------------------------------------- */

static tensor_tokens tokens_of(const dense_tokens *tokens)
{
    return (tensor_tokens){.key = tokens->words.rows > 0 ? &tokens->words : NULL, .tokens = tokens->tokens};
}

weft_status dense_attention_forward(const weft_tensor *x, dense_tokens tokens, int64_t heads, weft_tensor *y)
{
    const tensor_tokens of = tokens_of(&tokens);
    return tensor_attend_forward(x, &of, heads, y);
}

weft_status dense_attention_backward(const weft_tensor *dy, const weft_tensor *x, dense_tokens tokens, int64_t heads,
                                     weft_tensor *dx)
{
    const tensor_tokens of = tokens_of(&tokens);
    return tensor_attend_backward(dy, x, &of, heads, dx);
}

weft_status dense_tokenmean_forward(const weft_tensor *x, dense_tokens tokens, weft_tensor *y)
{
    const tensor_tokens of = tokens_of(&tokens);
    return tensor_token_mean_forward(x, &of, y);
}

weft_status dense_tokenmean_backward(const weft_tensor *dy, dense_tokens tokens, weft_tensor *dx)
{
    const tensor_tokens of = tokens_of(&tokens);
    return tensor_token_mean_backward(dy, &of, dx);
}
