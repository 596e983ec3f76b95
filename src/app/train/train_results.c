/* app/train/train_results.c: see app/train/train_results.h. */
#include "app/train/train_results.h"

#include "app/predict/predictions.h"
#include "app/predict/predictor.h"
#include "base/log.h"
#include "io/trace_file.h"
#include "train/activities.h"

/* The model's file: weights, or what the kind has in their place. */
static weft_status write_model(const workload *work, const run_dir *dir)
{
    const workload_ops *ops = work->ops;
    const bool first = comm_rank(work->context->comm) == 0;
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", dir->path, ops->model_file != NULL ? ops->model_file : "weights.npz"));
    if (ops->save != NULL) {
        return ops->save(work, first ? path : NULL);
    }
    if (work->model->beside != NULL) {
        const train_beside *beside = work->model->beside;
        uint64_t mark;
        WEFT_TRY(param_mark(work->model->params, work->context->comm, &mark));
        WEFT_TRY(comm_agree(work->context->comm, beside->save(beside->self, dir->path, mark)));
    }
    return first ? param_save(work->model->params, work->moments, path) : WEFT_OK;
}

weft_status train_results_write(workload *work, const run_dir *dir, train_metric metric, train_outcome *outcome)
{
    const app_context *context = work->context;
    float *logits, *own = NULL;
    weft_tensor view;
    predictor answering;
    activity_begin(ACTIVITY_WRITE);
    predictor_on(work, &answering);
    weft_status status = predictor_answers(&answering, &view, &logits, &own);
    if (status == WEFT_OK) {
        status = train_outcome_measure(work, metric, &view, logits, outcome);
        status = status == WEFT_OK ? predictions_write(context, dir->path, &work->held, work->targets, logits) : status;
    }
    status = status == WEFT_OK ? write_model(work, dir) : status;
    weft_free(own);
    tensor_destroy(&view);
    activity_end(ACTIVITY_WRITE);
    return comm_agree(context->comm, status);
}

weft_status train_trace_write(const app_context *context, const run_dir *dir, double since, weft_status trained)
{
    char path[FILE_PATH_MAX], message[FILE_PATH_MAX];
    if (!option_flag(context->options, OPT_TRACE) || (trained != WEFT_OK && trained != WEFT_STOPPED)) {
        return trained;
    }
    snprintf(message, sizeof message, "%s", weft_error_message());
    weft_status status = folder_make(dir->path); /* where nodes do not share a file system */
    status = status == WEFT_OK ? file_path(path, "%s/trace-%d.json", dir->path, comm_rank(context->comm)) : status;
    status = status == WEFT_OK ? trace_write(path, comm_rank(context->comm), since) : status;
    if (comm_agree(context->comm, status) != WEFT_OK) {
        log_warn("trace not written: %s", weft_error_message());
        weft_error_clear();
    }
    return trained == WEFT_OK ? WEFT_OK : weft_fail(trained, "%s", message);
}
