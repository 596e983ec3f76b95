/* train/norm.c: see train/norm.h. */
#include "train/norm.h"

#include <string.h>

/* As PyTorch's defaults, so that results compare. */
#define EPSILON  1e-5
#define MOMENTUM 0.1

weft_status norm_declare(train_norm *norm, norm_kind kind, param_store *params, int64_t cols, int number, bool decays)
{
    memset(norm, 0, sizeof *norm);
    norm->kind = kind;
    norm->params = params;
    norm->cols = cols;
    if (kind == NORM_NONE) {
        return WEFT_OK;
    }
    norm->gamma = param_add_block(params, 1, cols, true, decays);
    WEFT_TRY(param_add(params, norm->gamma, 0, 0, 1, cols, param_constant(1.0), "norm%d.gamma", number));
    norm->beta = param_add_block(params, 1, cols, true, decays);
    return param_add(params, norm->beta, 0, 0, 1, cols, param_constant(0.0), "norm%d.beta", number);
}

weft_status norm_declare_state(train_norm *norm, int number)
{
    if (norm->kind != NORM_BATCH) {
        return WEFT_OK;
    }
    norm->running_mean = param_add_block(norm->params, 1, norm->cols, false, false);
    WEFT_TRY(
        param_add(norm->params, norm->running_mean, 0, 0, 1, norm->cols, param_constant(0.0), "norm%d.mean", number));
    norm->running_var = param_add_block(norm->params, 1, norm->cols, false, false);
    return param_add(norm->params, norm->running_var, 0, 0, 1, norm->cols, param_constant(1.0), "norm%d.var", number);
}

weft_status norm_create(train_norm *norm, weft_comm *comm, int64_t rows)
{
    weft_hal *hal = norm->params->hal;
    weft_dtype dtype = norm->params->dtype;
    norm->comm = comm;
    norm->rows = rows;
    if (norm->kind == NORM_NONE) {
        return WEFT_OK;
    }
    if (norm->kind == NORM_LAYER) {
        return tensor_create(hal, dtype, rows, 2, WEFT_MEM_ACTIVATION, &norm->saved);
    }
    norm->all_rows = (double)rows;
    WEFT_TRY(comm_allreduce(comm, &norm->all_rows, 1, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->mean));
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->var));
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->rstd));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F64, 2, norm->cols, WEFT_MEM_ACTIVATION, &norm->stats));
    return comm_size(comm) > 1 ? WEFT_NEW(&norm->host, 2 * norm->cols, WEFT_MEM_WORKSPACE) : WEFT_OK;
}

void norm_destroy(train_norm *norm)
{
    tensor_destroy(&norm->stats);
    tensor_destroy(&norm->mean);
    tensor_destroy(&norm->var);
    tensor_destroy(&norm->rstd);
    tensor_destroy(&norm->saved);
    weft_free(norm->host);
    memset(norm, 0, sizeof *norm);
}

/* norm->stats becomes their sum over all ranks. Alone, they stay where they are. */
static weft_status reduce_stats(train_norm *norm)
{
    if (comm_size(norm->comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_download(&norm->stats, norm->host));
    WEFT_TRY(comm_allreduce(norm->comm, norm->host, 2 * norm->cols, WEFT_DTYPE_F64, COMM_SUM));
    return tensor_upload(&norm->stats, norm->host);
}

/* The sums over all ranks become mean and 1 / sqrt(var + eps), and move the running statistics. */
static weft_status use_batch_statistics(train_norm *norm)
{
    double n = norm->all_rows;
    double unbias = n > 1 ? n / (n - 1) : 1.0;
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    WEFT_TRY(tensor_bn_finish(&norm->stats, n, EPSILON, &norm->mean, &norm->var, &norm->rstd));
    /* running = (1 - momentum) * running + momentum * (mean, unbiased variance) */
    WEFT_TRY(tensor_axpby(MOMENTUM, &norm->mean, 1.0 - MOMENTUM, &running_mean));
    return tensor_axpby(MOMENTUM * unbias, &norm->var, 1.0 - MOMENTUM, &running_var);
}

static weft_status use_running_statistics(train_norm *norm)
{
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    WEFT_TRY(tensor_axpby(1.0, &running_mean, 0.0, &norm->mean));
    return tensor_bn_rstd(&running_var, EPSILON, &norm->rstd);
}

static weft_status batch_forward(train_norm *norm, bool training, const weft_tensor *x, weft_tensor *y)
{
    if (training) {
        WEFT_TRY(tensor_bn_stats(x, &norm->stats));
        WEFT_TRY(reduce_stats(norm));
        WEFT_TRY(use_batch_statistics(norm));
    } else {
        WEFT_TRY(use_running_statistics(norm));
    }
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    const tensor_batch_norm vectors = {.mean = &norm->mean, .rstd = &norm->rstd, .gamma = &gamma, .beta = &beta};
    return tensor_bn_apply(x, &vectors, y);
}

weft_status norm_forward(train_norm *norm, bool training, const weft_tensor *x, weft_tensor *y)
{
    if (norm->kind == NORM_BATCH) {
        return batch_forward(norm, training, x, y);
    }
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    const tensor_layer_norm vectors = {.gamma = &gamma, .beta = &beta, .saved = &norm->saved, .epsilon = EPSILON};
    return tensor_ln_forward(x, &vectors, y);
}

static weft_status batch_backward(train_norm *norm, const weft_tensor *x, weft_tensor *dy)
{
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    const tensor_batch_norm vectors = {.mean = &norm->mean, .rstd = &norm->rstd, .gamma = &gamma};
    WEFT_TRY(tensor_bn_backward_stats(dy, x, &vectors, &norm->stats));
    WEFT_TRY(tensor_bn_gradients(&norm->stats, &dgamma, &dbeta));
    WEFT_TRY(reduce_stats(norm));
    return tensor_bn_backward_apply(dy, x, &vectors, &norm->stats, norm->all_rows, dy);
}

weft_status norm_backward(train_norm *norm, const weft_tensor *x, weft_tensor *dy)
{
    if (norm->kind == NORM_BATCH) {
        return batch_backward(norm, x, dy);
    }
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    WEFT_TRY(tensor_zero(&dgamma));
    WEFT_TRY(tensor_zero(&dbeta));
    const tensor_layer_norm vectors = {.gamma = &gamma, .saved = &norm->saved, .epsilon = EPSILON};
    return tensor_ln_backward(dy, x, &vectors, &dgamma, &dbeta, dy);
}
