/* app/predict/predictor.c: see app/predict/predictor.h; what predictor_open does is in app/predict/predictor_open.c. */
#include "app/predict/predictor.h"

#include <assert.h>

#include "base/log.h"

void predictor_on(workload *work, predictor *p)
{
    *p = (predictor){.work = work};
}

/* ---- step by step ---- */

static weft_status forward_step(const workload *work, int64_t step, weft_tensor *out)
{
    const train_model *model = work->model;
    const train_source *source = &work->source;
    train_batch batch;
    train_pass pass = {.training = false, .step = step};
    WEFT_TRY(source->batch(source->self, &pass, &batch));
    pass.batch = &batch;
    return model->forward(model->self, &pass, out);
}

weft_status predictor_run(const predictor *p, weft_status (*take)(void *self, const predicted_rows *rows), void *self)
{
    const workload *work = p->work;
    assert(work->model != NULL);
    predicted_rows rows = {.steps = work->source.eval_steps};
    for (; rows.step < rows.steps; ++rows.step) {
        weft_tensor out;
        WEFT_TRY(forward_step(work, rows.step, &out));
        rows.rows = out.rows;
        rows.logits = &out;
        WEFT_TRY(take(self, &rows));
        rows.first += out.rows;
    }
    return WEFT_OK;
}

weft_status predictor_explain(const predictor *p, const explain_request *how,
                              weft_status (*take)(void *self, const explained_rows *rows), void *self)
{
    const workload *work = p->work;
    WEFT_CHECK(work->ops->explain != NULL, WEFT_ERR_UNSUPPORTED,
               "models on %s do not say what each input adds to an answer", work->ops->field);
    explained_rows rows = {.steps = work->source.eval_steps, .outputs = work->outputs, .inputs = work->inputs};
    for (; rows.step < rows.steps; ++rows.step) {
        WEFT_TRY(work->ops->explain(work, how, rows.step, &rows.contribution, &rows.rows));
        WEFT_TRY(take(self, &rows));
        rows.first += rows.rows;
    }
    return WEFT_OK;
}

/* ---- all at once ---- */

/* One step's rows are all there are, or join the others. */
static weft_status collect(void *self, const predicted_rows *rows)
{
    weft_tensor *all = self;
    if (rows->steps == 1) {
        *all = *rows->logits;
        return WEFT_OK;
    }
    weft_tensor part = tensor_view(all, rows->first, rows->rows, 0, all->cols);
    return tensor_axpby(1.0, rows->logits, 0.0, &part);
}

/* The model's own matrix serves the host where that sees it. */
static weft_status collect_all(const predictor *p, weft_tensor *view, float **host, float **own)
{
    weft_hal *hal = p->work->context->hal;
    WEFT_TRY(predictor_run(p, collect, view));
    if (!view->owns && hal_host_visible(hal) && view->dtype == WEFT_DTYPE_F32 && view->ld == view->cols) {
        *host = view->data;
        return hal->stream.sync(hal);
    }
    WEFT_TRY(WEFT_NEW(own, view->rows * view->cols, WEFT_MEM_WORKSPACE));
    *host = *own;
    return tensor_download(view, *host);
}

weft_status predictor_answers(const predictor *p, weft_tensor *view, float **host, float **own)
{
    workload *work = p->work;
    const app_context *context = work->context;
    const train_source *source = &work->source;
    weft_status status = WEFT_OK;
    *view = (weft_tensor){.rows = 0};
    *host = *own = NULL;
    if (source->eval_steps > 1) {
        status =
            tensor_create(context->hal, WEFT_DTYPE_F32, source->eval_rows, source->outputs, WEFT_MEM_WORKSPACE, view);
    }
    /* Batches are collective: a rank without memory must not leave the others alone in one. */
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(comm_agree(context->comm, collect_all(p, view, host, own)));
    if (!work->smooths) {
        return WEFT_OK;
    }
    WEFT_TRY(work->ops->smooth(work, p->asked, *host));
    return comm_agree(context->comm, *own != NULL ? tensor_upload(view, *host) : WEFT_OK);
}

/* ---- the end ---- */

void predictor_abandon(predictor *p)
{
    const app_context *context = p->context;
    char message[FILE_PATH_MAX];
    const weft_status failed = weft_error_code();
    snprintf(message, sizeof message, "%s", weft_error_message());
    workload_abandon(&p->own);
    const bool first = context != NULL && context->comm != NULL && comm_rank(context->comm) == 0;
    if (first && p->scratch[0] != '\0' && file_exists(p->scratch) && folder_remove(p->scratch) != WEFT_OK) {
        log_warn("left behind: %s", weft_error_message());
    }
    weft_error_clear();
    if (failed != WEFT_OK && message[0] != '\0') {
        (void)weft_fail(failed, "%s", message);
    }
}

void predictor_close(predictor *p)
{
    app_context *context = p->context;
    predictor_abandon(p);
    workload_end(&p->own);
    if (context != NULL && context->options != p->asked) {
        option_destroy(context->decided);
        context->decided = NULL;
        context->options = p->asked;
    }
    saved_model_close(p->model);
    option_destroy(p->options);
    WEFT_FREE_ALL(p->path, p->only);
    *p = (predictor){.work = NULL};
}
