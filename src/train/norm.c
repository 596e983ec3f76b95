/* train/norm.c: see train/norm.h. */
#include "train/norm.h"

#include <math.h>
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
    WEFT_TRY(param_add(params, norm->gamma, 0, 0, 1, cols, PARAM_INIT_ONE, "norm%d.gamma", number));
    norm->beta = param_add_block(params, 1, cols, true, decays);
    return param_add(params, norm->beta, 0, 0, 1, cols, PARAM_INIT_ZERO, "norm%d.beta", number);
}

weft_status norm_declare_state(train_norm *norm, int number)
{
    if (norm->kind != NORM_BATCH) {
        return WEFT_OK;
    }
    norm->running_mean = param_add_block(norm->params, 1, norm->cols, false, false);
    WEFT_TRY(param_add(norm->params, norm->running_mean, 0, 0, 1, norm->cols, PARAM_INIT_ZERO, "norm%d.mean", number));
    norm->running_var = param_add_block(norm->params, 1, norm->cols, false, false);
    return param_add(norm->params, norm->running_var, 0, 0, 1, norm->cols, PARAM_INIT_ONE, "norm%d.var", number);
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
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->rstd));
    size_t bytes = 2 * (size_t)norm->cols * sizeof(double);
    WEFT_TRY(hal->mem.alloc(hal, bytes, WEFT_MEM_ACTIVATION, (void **)&norm->stats));
    WEFT_TRY(WEFT_NEW(&norm->host, 2 * norm->cols, WEFT_MEM_WORKSPACE));
    return WEFT_NEW((double **)&norm->convert, norm->cols, WEFT_MEM_WORKSPACE);
}

void norm_destroy(train_norm *norm)
{
    if (norm->stats != NULL) {
        norm->params->hal->mem.free(norm->params->hal, norm->stats);
    }
    tensor_destroy(&norm->mean);
    tensor_destroy(&norm->rstd);
    tensor_destroy(&norm->saved);
    weft_free(norm->host);
    weft_free(norm->convert);
    memset(norm, 0, sizeof *norm);
}

static weft_status vector_upload(train_norm *norm, const double *values, weft_tensor *vector)
{
    if (vector->dtype == WEFT_DTYPE_F64) {
        return tensor_upload(vector, values);
    }
    float *narrow = norm->convert;
    for (int64_t c = 0; c < norm->cols; ++c) {
        narrow[c] = (float)values[c];
    }
    return tensor_upload(vector, narrow);
}

static weft_status vector_download(train_norm *norm, const weft_tensor *vector, double *values)
{
    if (vector->dtype == WEFT_DTYPE_F64) {
        return tensor_download(vector, values);
    }
    const float *narrow = norm->convert;
    WEFT_TRY(tensor_download(vector, norm->convert));
    for (int64_t c = 0; c < norm->cols; ++c) {
        values[c] = narrow[c];
    }
    return WEFT_OK;
}

/* host[0, cols) and [cols, 2 cols) hold sums; they become mean and 1 / sqrt(var + eps), and move the running
 * statistics. */
static weft_status use_batch_statistics(train_norm *norm)
{
    double n = norm->all_rows;
    double *mean = norm->host;
    double *var = norm->host + norm->cols;
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    for (int64_t c = 0; c < norm->cols; ++c) {
        mean[c] /= n;
        var[c] = fmax(var[c] / n - mean[c] * mean[c], 0.0);
    }
    WEFT_TRY(vector_upload(norm, mean, &norm->mean));
    /* running = (1 - momentum) * running + momentum * (mean, unbiased variance) */
    WEFT_TRY(tensor_axpby(MOMENTUM, &norm->mean, 1.0 - MOMENTUM, &running_mean));
    double unbias = n > 1 ? n / (n - 1) : 1.0;
    WEFT_TRY(vector_upload(norm, var, &norm->rstd));
    WEFT_TRY(tensor_axpby(MOMENTUM * unbias, &norm->rstd, 1.0 - MOMENTUM, &running_var));
    for (int64_t c = 0; c < norm->cols; ++c) {
        var[c] = 1.0 / sqrt(var[c] + EPSILON);
    }
    return vector_upload(norm, var, &norm->rstd);
}

static weft_status use_running_statistics(train_norm *norm)
{
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    WEFT_TRY(tensor_axpby(1.0, &running_mean, 0.0, &norm->mean));
    WEFT_TRY(vector_download(norm, &running_var, norm->host));
    for (int64_t c = 0; c < norm->cols; ++c) {
        norm->host[c] = 1.0 / sqrt(norm->host[c] + EPSILON);
    }
    return vector_upload(norm, norm->host, &norm->rstd);
}

/* norm->host = the sums in norm->stats over all ranks. */
static weft_status reduce_stats(train_norm *norm)
{
    weft_hal *hal = norm->params->hal;
    WEFT_TRY(hal->mem.download(hal, norm->host, norm->stats, 2 * (size_t)norm->cols * sizeof(double)));
    return comm_allreduce(norm->comm, norm->host, 2 * norm->cols, WEFT_DTYPE_F64, COMM_SUM);
}

static weft_status batch_forward(train_norm *norm, bool training, const weft_tensor *x, weft_tensor *y)
{
    weft_hal *hal = norm->params->hal;
    if (training) {
        WEFT_TRY(hal->nn.bn_stats(hal, x->dtype, x->rows, x->cols, x->data, x->ld, norm->stats));
        WEFT_TRY(reduce_stats(norm));
        WEFT_TRY(use_batch_statistics(norm));
    } else {
        WEFT_TRY(use_running_statistics(norm));
    }
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    return hal->nn.bn_apply(hal, x->dtype, x->rows, x->cols, x->data, x->ld, norm->mean.data, norm->rstd.data,
                            gamma.data, beta.data, y->data, y->ld);
}

weft_status norm_forward(train_norm *norm, bool training, const weft_tensor *x, weft_tensor *y)
{
    if (norm->kind == NORM_BATCH) {
        return batch_forward(norm, training, x, y);
    }
    weft_hal *hal = norm->params->hal;
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    return hal->nn.ln_forward(hal, x->dtype, x->rows, x->cols, x->data, x->ld, gamma.data, beta.data, EPSILON,
                              norm->saved.data, y->data, y->ld);
}

static weft_status batch_backward(train_norm *norm, const weft_tensor *x, weft_tensor *dy)
{
    weft_hal *hal = norm->params->hal;
    size_t bytes = 2 * (size_t)norm->cols * sizeof(double);
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    WEFT_TRY(hal->nn.bn_backward_stats(hal, x->dtype, x->rows, x->cols, dy->data, dy->ld, x->data, x->ld,
                                       norm->mean.data, norm->rstd.data, norm->stats));
    WEFT_TRY(hal->mem.download(hal, norm->host, norm->stats, bytes));
    WEFT_TRY(vector_upload(norm, norm->host, &dbeta));
    WEFT_TRY(vector_upload(norm, norm->host + norm->cols, &dgamma));
    WEFT_TRY(comm_allreduce(norm->comm, norm->host, 2 * norm->cols, WEFT_DTYPE_F64, COMM_SUM));
    WEFT_TRY(hal->mem.upload(hal, norm->stats, norm->host, bytes));
    return hal->nn.bn_backward_apply(hal, x->dtype, x->rows, x->cols, dy->data, dy->ld, x->data, x->ld, norm->mean.data,
                                     norm->rstd.data, gamma.data, norm->stats, norm->all_rows, dy->data, dy->ld);
}

weft_status norm_backward(train_norm *norm, const weft_tensor *x, weft_tensor *dy)
{
    if (norm->kind == NORM_BATCH) {
        return batch_backward(norm, x, dy);
    }
    weft_hal *hal = norm->params->hal;
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    WEFT_TRY(tensor_zero(&dgamma));
    WEFT_TRY(tensor_zero(&dbeta));
    return hal->nn.ln_backward(hal, x->dtype, x->rows, x->cols, dy->data, dy->ld, x->data, x->ld, gamma.data,
                               norm->saved.data, dgamma.data, dbeta.data, dy->data, dy->ld);
}
