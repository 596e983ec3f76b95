/* dense/engine/dense_group_norm.c: see dense/engine/dense_group_norm.h. */
#include "dense/engine/dense_group_norm.h"

static weft_status declare(dense_group_norm *norm, const char *layer, const char *name, int64_t channels, double value,
                           int *block)
{
    *block = param_add_block(norm->params, PARAM_GROUP_NO_DECAY, 1, channels);
    return param_add_tensor(norm->params, *block, 1, &channels, param_constant(value), "%s.%s", layer, name);
}

weft_status dense_group_norm_declare(dense_group_norm *norm, param_store *params, const char *layer, int64_t channels)
{
    norm->params = params;
    WEFT_TRY(declare(norm, layer, "weight", channels, 1.0, &norm->gamma));
    return declare(norm, layer, "bias", channels, 0.0, &norm->beta);
}

weft_status dense_group_norm_create(dense_group_norm *norm, int64_t images)
{
    return tensor_create(norm->params->hal, norm->params->dtype, images, 2 * norm->groups, WEFT_MEM_ACTIVATION,
                         &norm->saved);
}

void dense_group_norm_destroy(dense_group_norm *norm)
{
    tensor_destroy(&norm->saved);
}

weft_status dense_group_norm_forward(dense_group_norm *norm, const train_pass *pass, const weft_tensor *x,
                                     weft_tensor *y)
{
    WEFT_TRY(train_need(pass, norm->gamma));
    WEFT_TRY(train_need(pass, norm->beta));
    const weft_tensor gamma = param_value(norm->params, norm->gamma), beta = param_value(norm->params, norm->beta);
    weft_tensor saved = tensor_view(&norm->saved, 0, x->rows / norm->pixels, 0, norm->saved.cols);
    if (norm->by_pixel) {
        const tensor_layer_norm vectors = {.gamma = &gamma, .beta = &beta, .saved = &saved, .epsilon = norm->epsilon};
        return tensor_ln_forward(x, &vectors, y);
    }
    const tensor_group_norm vectors = {.gamma = &gamma,
                                       .beta = &beta,
                                       .saved = &saved,
                                       .pixels = norm->pixels,
                                       .groups = norm->groups,
                                       .epsilon = norm->epsilon};
    return tensor_gn_forward(x, &vectors, y);
}

weft_status dense_group_norm_backward(dense_group_norm *norm, const train_pass *pass, const weft_tensor *x,
                                      const weft_tensor *dy, weft_tensor *dx)
{
    const weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma), dbeta = param_grad(norm->params, norm->beta);
    weft_tensor saved = tensor_view(&norm->saved, 0, x->rows / norm->pixels, 0, norm->saved.cols);
    WEFT_TRY(tensor_zero(&dgamma));
    WEFT_TRY(tensor_zero(&dbeta));
    if (norm->by_pixel) {
        const tensor_layer_norm vectors = {.gamma = &gamma, .saved = &saved};
        WEFT_TRY(tensor_ln_backward(dy, x, &vectors, &dgamma, &dbeta, dx));
    } else {
        const tensor_group_norm vectors = {
            .gamma = &gamma, .saved = &saved, .pixels = norm->pixels, .groups = norm->groups};
        WEFT_TRY(tensor_gn_backward(dy, x, &vectors, &dgamma, &dbeta, dx));
    }
    WEFT_TRY(train_ready(pass, norm->gamma));
    return train_ready(pass, norm->beta);
}
