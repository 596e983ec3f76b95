/* train/layers/norm.c: see train/layers/norm.h. */
#include "train/layers/norm.h"

#include <assert.h>
#include <string.h>

#include "train/activities.h"

/* As PyTorch's defaults, so that results compare. */
#define MOMENTUM 0.1

static const norm_names own_names = {"gamma", "beta", "mean", "var"};

/* Parameters of the layer, one a column. [out] block  its number */
static weft_status declare(train_norm *norm, int group, double value, const char *name, int *block)
{
    const int64_t cols = norm->cols;
    *block = param_add_block(norm->params, group, 1, cols);
    if (norm->layer.names == &own_names) { /* whose files hold rows */
        return param_add(norm->params, *block, 0, 0, 1, cols, param_constant(value), "%s.%s", norm->layer.layer, name);
    }
    return param_add_tensor(norm->params, *block, 1, &cols, param_constant(value), "%s.%s", norm->layer.layer, name);
}

weft_status norm_declare(train_norm *norm, param_store *params, const norm_layer *layer)
{
    *norm = (train_norm){.layer = *layer, .kind = layer->kind, .params = params, .cols = layer->cols};
    if (norm->layer.names == NULL) {
        norm->layer.names = &own_names;
    }
    if (norm->kind == NORM_NONE) {
        return WEFT_OK;
    }
    WEFT_TRY(declare(norm, layer->group, 1.0, norm->layer.names->gamma, &norm->gamma));
    return declare(norm, layer->group, 0.0, norm->layer.names->beta, &norm->beta);
}

static bool is_batch(const train_norm *norm)
{
    return norm->kind == NORM_BATCH || norm->kind == NORM_BATCH_LOCAL;
}

/* Whether statistics are summed over ranks. */
static bool is_summed(const train_norm *norm)
{
    return norm->kind == NORM_BATCH && norm->comm != NULL && comm_size(norm->comm) > 1;
}

weft_status norm_declare_state(train_norm *norm)
{
    if (!is_batch(norm)) {
        return WEFT_OK;
    }
    int group = norm->kind == NORM_BATCH_LOCAL ? PARAM_GROUP_LOCAL_STATE : PARAM_GROUP_STATE;
    WEFT_TRY(declare(norm, group, 0.0, norm->layer.names->mean, &norm->running_mean));
    return declare(norm, group, 1.0, norm->layer.names->var, &norm->running_var);
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
    norm->count = (double)rows;
    if (is_summed(norm)) {
        WEFT_TRY(comm_allreduce(comm, &norm->count, 1, WEFT_DTYPE_F64, COMM_SUM));
    }
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->mean));
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->var));
    WEFT_TRY(tensor_create(hal, dtype, 1, norm->cols, WEFT_MEM_ACTIVATION, &norm->rstd));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F64, 2, norm->cols, WEFT_MEM_ACTIVATION, &norm->stats));
    return is_summed(norm) ? WEFT_NEW(&norm->host, 2 * norm->cols, WEFT_MEM_WORKSPACE) : WEFT_OK;
}

void norm_set_rows(train_norm *norm, int64_t rows, int64_t all_rows)
{
    assert(rows >= 0 && rows <= norm->rows && rows <= all_rows);
    norm->count = (double)(norm->kind == NORM_BATCH_LOCAL ? rows : all_rows);
}

void norm_destroy(train_norm *norm)
{
    TENSOR_DESTROY_ALL(&norm->stats, &norm->mean, &norm->var, &norm->rstd, &norm->saved);
    weft_free(norm->host);
    memset(norm, 0, sizeof *norm);
}

/* norm->stats becomes their sum over all ranks. Alone, or of each rank by itself, they stay where they are. */
static weft_status reduce_stats(train_norm *norm)
{
    if (!is_summed(norm)) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_download(&norm->stats, norm->host));
    activity_begin(ACTIVITY_NORM_SUMS);
    weft_status status = comm_allreduce(norm->comm, norm->host, 2 * norm->cols, WEFT_DTYPE_F64, COMM_SUM);
    activity_end(ACTIVITY_NORM_SUMS);
    return status == WEFT_OK ? tensor_upload(&norm->stats, norm->host) : status;
}

/* The sums become mean and 1 / sqrt(var + eps), and move the running statistics. */
static weft_status use_batch_statistics(train_norm *norm)
{
    double n = norm->count;
    if (n == 0) { /* nothing to normalise, and nothing learned */
        return WEFT_OK;
    }
    double unbias = n > 1 ? n / (n - 1) : 1.0;
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    WEFT_TRY(tensor_bn_finish(&norm->stats, n, NORM_EPSILON, &norm->mean, &norm->var, &norm->rstd));
    /* running = (1 - momentum) * running + momentum * (mean, unbiased variance) */
    WEFT_TRY(tensor_axpby(MOMENTUM, &norm->mean, 1.0 - MOMENTUM, &running_mean));
    return tensor_axpby(MOMENTUM * unbias, &norm->var, 1.0 - MOMENTUM, &running_var);
}

static weft_status use_running_statistics(train_norm *norm)
{
    weft_tensor running_mean = param_value(norm->params, norm->running_mean);
    weft_tensor running_var = param_value(norm->params, norm->running_var);
    WEFT_TRY(tensor_axpby(1.0, &running_mean, 0.0, &norm->mean));
    return tensor_bn_rstd(&running_var, NORM_EPSILON, &norm->rstd);
}

weft_status norm_forward_again(const train_norm *norm, const norm_operands *operands)
{
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    const tensor_batch_norm vectors = {.mean = &norm->mean,
                                       .rstd = &norm->rstd,
                                       .gamma = &gamma,
                                       .beta = &beta,
                                       .relu = operands->relu,
                                       .residual = operands->residual};
    return tensor_bn_apply(operands->x, &vectors, operands->y);
}

static weft_status batch_forward(train_norm *norm, bool training, const norm_operands *operands)
{
    if (training) {
        WEFT_TRY(tensor_bn_stats(operands->x, &norm->stats));
        WEFT_TRY(reduce_stats(norm));
        WEFT_TRY(use_batch_statistics(norm));
    } else {
        WEFT_TRY(use_running_statistics(norm));
    }
    return operands->y != NULL ? norm_forward_again(norm, operands) : WEFT_OK;
}

hal_conv_norm norm_vectors(const train_norm *norm, bool relu)
{
    const weft_tensor gamma = param_value(norm->params, norm->gamma);
    const weft_tensor beta = param_value(norm->params, norm->beta);
    return (hal_conv_norm){.mean = tensor_mat(&norm->mean),
                           .rstd = tensor_mat(&norm->rstd),
                           .gamma = tensor_mat(&gamma),
                           .beta = tensor_mat(&beta),
                           .relu = relu};
}

weft_status norm_forward(train_norm *norm, bool training, const norm_operands *operands)
{
    if (is_batch(norm)) {
        return batch_forward(norm, training, operands);
    }
    assert(operands->residual == NULL && !operands->relu);
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    weft_tensor saved = tensor_view(&norm->saved, 0, operands->x->rows, 0, 2);
    const tensor_layer_norm vectors = {.gamma = &gamma, .beta = &beta, .saved = &saved, .epsilon = NORM_EPSILON};
    return tensor_ln_forward(operands->x, &vectors, operands->y);
}

static weft_status batch_backward(train_norm *norm, const norm_operands *operands, const norm_gradients *gradients)
{
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor beta = param_value(norm->params, norm->beta);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    const bool by_output = operands->relu && operands->y != NULL;
    tensor_batch_norm vectors = {.mean = &norm->mean,
                                 .rstd = &norm->rstd,
                                 .gamma = &gamma,
                                 .beta = &beta,
                                 .relu = operands->relu,
                                 .y = operands->y,
                                 .share = gradients->share};
    if (by_output || gradients->share != NULL) {
        vectors.counted = gradients->dy;
    }
    WEFT_TRY(tensor_bn_backward_stats(gradients->dy, operands->x, &vectors, &norm->stats));
    WEFT_TRY(tensor_bn_gradients(&norm->stats, &dgamma, &dbeta));
    WEFT_TRY(reduce_stats(norm));
    vectors.relu = operands->relu && vectors.counted == NULL;
    return tensor_bn_backward_apply(gradients->dy, operands->x, &vectors, &norm->stats, norm->count, gradients->dx);
}

weft_status norm_backward(train_norm *norm, const norm_operands *operands, const norm_gradients *gradients)
{
    if (is_batch(norm)) {
        return batch_backward(norm, operands, gradients);
    }
    assert(gradients->share == NULL && !operands->relu);
    weft_tensor gamma = param_value(norm->params, norm->gamma);
    weft_tensor dgamma = param_grad(norm->params, norm->gamma);
    weft_tensor dbeta = param_grad(norm->params, norm->beta);
    WEFT_TRY(tensor_zero(&dgamma));
    WEFT_TRY(tensor_zero(&dbeta));
    weft_tensor saved = tensor_view(&norm->saved, 0, operands->x->rows, 0, 2);
    const tensor_layer_norm vectors = {.gamma = &gamma, .saved = &saved, .epsilon = NORM_EPSILON};
    return tensor_ln_backward(gradients->dy, operands->x, &vectors, &dgamma, &dbeta, gradients->dx);
}
