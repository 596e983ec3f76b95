/* dense/engine/dense_gain.c: see dense/engine/dense_gain.h. */
#include "dense/engine/dense_gain.h"

/* Files have a factor a row; operations take a row of factors. */
static weft_tensor as_row(weft_tensor column)
{
    return tensor_reshape(&column, 1, column.rows);
}

weft_status dense_gain_declare(dense_gain *gain, param_store *params, const char *layer, int64_t channels, double start)
{
    const int64_t shape[3] = {channels, 1, 1};
    gain->params = params;
    gain->block = param_add_block(params, PARAM_GROUP_NO_DECAY, channels, 1);
    return param_add_tensor(params, gain->block, 3, shape, param_constant(start), "%s", layer);
}

weft_status dense_gain_create(dense_gain *gain)
{
    const weft_tensor factor = as_row(param_value(gain->params, gain->block));
    WEFT_TRY(tensor_create(factor.hal, factor.dtype, 3, factor.cols, WEFT_MEM_ACTIVATION, &gain->fixed));
    WEFT_TRY(tensor_create(factor.hal, WEFT_DTYPE_F64, 2, factor.cols, WEFT_MEM_ACTIVATION, &gain->stats));
    weft_tensor rstd = tensor_view(&gain->fixed, 1, 1, 0, factor.cols);
    /* sqrt(1 / (0 + 1)) = 1 without copying an array to the device. */
    const weft_tensor zero = tensor_view(&gain->fixed, 0, 1, 0, factor.cols);
    WEFT_TRY(tensor_zero(&gain->fixed));
    return tensor_bn_rstd(&zero, 1.0, &rstd);
}

void dense_gain_destroy(dense_gain *gain)
{
    tensor_destroy(&gain->fixed);
    tensor_destroy(&gain->stats);
}

weft_status dense_gain_forward(const dense_gain *gain, const train_pass *pass, const weft_tensor *x, weft_tensor *y)
{
    WEFT_TRY(train_need(pass, gain->block));
    const weft_tensor factor = as_row(param_value(gain->params, gain->block));
    const weft_tensor zero = tensor_view(&gain->fixed, 0, 1, 0, factor.cols);
    const weft_tensor one = tensor_view(&gain->fixed, 1, 1, 0, factor.cols);
    return tensor_bn_apply(x, &(tensor_batch_norm){.mean = &zero, .rstd = &one, .gamma = &factor, .beta = &zero}, y);
}

weft_status dense_gain_backward(dense_gain *gain, const train_pass *pass, const weft_tensor *x, const weft_tensor *dy,
                                weft_tensor *dx)
{
    const weft_tensor factor = as_row(param_value(gain->params, gain->block));
    const weft_tensor zero = tensor_view(&gain->fixed, 0, 1, 0, factor.cols);
    const weft_tensor one = tensor_view(&gain->fixed, 1, 1, 0, factor.cols);
    const tensor_batch_norm norm = {.mean = &zero, .rstd = &one, .gamma = &factor, .beta = &zero};
    weft_tensor slope = as_row(param_grad(gain->params, gain->block));
    weft_tensor unused = tensor_view(&gain->fixed, 2, 1, 0, factor.cols); /* the gradient of an offset */
    WEFT_TRY(tensor_zero(&gain->stats)); /* a rank without images brings zeros to the sums of all ranks */
    WEFT_TRY(tensor_bn_backward_stats(dy, x, &norm, &gain->stats));
    WEFT_TRY(tensor_bn_gradients(&gain->stats, &slope, &unused));
    WEFT_TRY(tensor_bn_apply(dy, &norm, dx));
    return train_ready(pass, gain->block);
}
