/* app/predict/predictions.c: see app/predict/predictions.h. */
#include "app/predict/predictions.h"

#include <assert.h>
#include <math.h>

#include "app/predict/gather_rows.h"
#include "io/npy.h"

/* The score that goes with a loss. */
static train_metric metric_of_loss(loss_choice loss)
{
    return loss == LOSS_SQUARED    ? TRAIN_METRIC_RMSE
           : loss == LOSS_ABSOLUTE ? TRAIN_METRIC_MAE
           : loss == LOSS_QUANTILE ? TRAIN_METRIC_PINBALL
           : loss == LOSS_POISSON  ? TRAIN_METRIC_DEVIANCE
           : loss == LOSS_RANK     ? TRAIN_METRIC_NDCG
           : loss == LOSS_HUBER    ? TRAIN_METRIC_RMSE
                                   : TRAIN_METRIC_ACCURACY;
}

train_metric predictions_metric(const weft_options *options, train_loss loss)
{
    const metric_choice metric = option_choice(options, OPT_METRIC);
    if (metric != METRIC_AUTO) {
        return (train_metric)(metric - METRIC_ACC);
    }
    return loss == TRAIN_LOSS_BCE ? TRAIN_METRIC_ROCAUC : metric_of_loss(option_choice(options, OPT_LOSS));
}

int32_t predictions_class(const float *logits, int64_t count)
{
    int32_t best = 0;
    assert(count > 0);
    for (int64_t c = 1; c < count; ++c) {
        if (logits[c] > logits[best]) {
            best = (int32_t)c;
        }
    }
    return best;
}

weft_status predictions_write_array(const app_context *context, const char *folder, const char *name, char kind,
                                    const held_rows *held, const void *rows, int dims, int64_t *shape)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    bool first = comm_rank(context->comm) == 0;
    int64_t width = 1;
    for (int d = 1; d < dims; ++d) {
        width *= shape[d];
    }
    shape[0] = held->total;
    weft_status status = WEFT_OK;
    if (first) {
        status = file_path(path, "%s/%s", folder, name);
        status = status == WEFT_OK ? npy_writer_begin(path, kind, 4, dims, shape, &writer) : status;
    }
    WEFT_TRY(comm_agree(context->comm, status));
    status = gather_rows(context->comm, held, rows, width, GATHER_STRIPE_BYTES, &writer);
    if (first && status == WEFT_OK) {
        status = file_writer_commit(&writer);
    } else if (first) {
        file_writer_discard(&writer);
    }
    return comm_agree(context->comm, status);
}

static weft_status write_rows(const app_context *context, const char *folder, const char *name, char kind,
                              const held_rows *held, const void *rows, int64_t width)
{
    int64_t shape[2] = {0, width};
    return predictions_write_array(context, folder, name, kind, held, rows, 2, shape);
}

weft_status predictions_write(const app_context *context, const char *folder, const held_rows *held,
                              const train_targets *targets, const float *logits)
{
    int64_t outputs = targets->outputs;
    int32_t *answer = NULL;
    if (targets->loss != TRAIN_LOSS_XENT) {
        return write_rows(context, folder, "predictions.npy", 'f', held, logits, outputs);
    }
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW(&answer, held->count, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < held->count; ++i) {
        answer[i] = predictions_class(logits + i * outputs, outputs);
    }
    weft_status status = write_rows(context, folder, "predictions.npy", 'i', held, answer, 1);
    weft_free(answer);
    return status;
}

/* In place, in double; the largest logit is subtracted first, so nothing overflows. */
static void softmax(float *row, int64_t count)
{
    double most = (double)row[predictions_class(row, count)], sum = 0;
    for (int64_t c = 0; c < count; ++c) {
        sum += exp((double)row[c] - most);
    }
    for (int64_t c = 0; c < count; ++c) {
        row[c] = (float)(exp((double)row[c] - most) / sum);
    }
}

weft_status predictions_write_probabilities(const app_context *context, const char *folder, const held_rows *held,
                                            const train_targets *targets, float *logits)
{
    int64_t outputs = targets->outputs;
    if (targets->loss == TRAIN_LOSS_VALUE) {
        return WEFT_OK;
    }
    for (int64_t i = 0; i < held->count; ++i) {
        float *row = logits + i * outputs;
        if (targets->loss == TRAIN_LOSS_XENT) {
            softmax(row, outputs);
            continue;
        }
        for (int64_t c = 0; c < outputs; ++c) {
            row[c] = (float)(1.0 / (1.0 + exp(-(double)row[c])));
        }
    }
    return write_rows(context, folder, "probabilities.npy", 'f', held, logits, outputs);
}
