/* app/cli/model_job.c: see app/cli/model_job.h. */
#include "app/cli/model_job.h"

#include "app/setup/signals.h"
#include "base/log.h"

static weft_status begin_folder(model_job *job, const char *known, const char *holds)
{
    const bool force = option_flag(job->asked, OPT_FORCE);
    char recognised[FILE_PATH_MAX];
    WEFT_TRY(file_path(recognised, "%s/%s", job->out, known));
    WEFT_CHECK(!force || !file_exists(job->out) || file_exists(recognised), WEFT_ERR_USAGE,
               "%s: exists and holds no %s: --force replaces folders of %s only", job->out, known, holds);
    WEFT_TRY(folder_begin(job->out, force, job->folder));
    signals_remove_empty(job->folder);
    return WEFT_OK;
}

weft_status model_job_begin_folder(model_job *job, const char *out, const char *known, const char *holds)
{
    weft_comm *comm = job->context.comm;
    weft_status status = file_path(job->out, "%s", out);
    status = status == WEFT_OK && comm_rank(comm) == 0 ? begin_folder(job, known, holds) : status;
    return comm_agree(comm, status);
}

weft_status model_job_commit_folder(model_job *job)
{
    weft_status status = WEFT_OK;
    if (comm_rank(job->context.comm) == 0) {
        status = folder_commit(job->folder, job->out, option_flag(job->asked, OPT_FORCE));
        job->folder[0] = '\0';
    }
    return comm_agree(job->context.comm, status);
}

/* Nothing half-done stays; the message of what went wrong does. */
static weft_status clean_up(model_job *job, weft_status status)
{
    char message[FILE_PATH_MAX];
    predictor_abandon(&job->predictor);
    snprintf(message, sizeof message, "%s", weft_error_message());
    const bool first = job->context.comm != NULL && comm_rank(job->context.comm) == 0;
    if (first && job->folder[0] != '\0' && file_exists(job->folder) && folder_remove(job->folder) != WEFT_OK) {
        log_warn("left behind: %s", weft_error_message());
    }
    weft_error_clear();
    return status != WEFT_OK && message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

static weft_status run_and_print(model_job *job, const weft_options *options, const model_work *work, void *self)
{
    const app_context *context = &job->context;
    weft_status status = app_context_open(options, &job->context);
    if (status == WEFT_OK) {
        job->asked = context->options;
        status = work->run(job, self);
    }
    status = clean_up(job, status);
    if (status != WEFT_OK) {
        app_context_fail(context, status);
        return status;
    }
    return comm_rank(context->comm) == 0 ? work->print(job, self) : WEFT_OK;
}

weft_status model_job_run(const weft_options *options, const model_work *work, void *self)
{
    model_job *job = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&job, 1, WEFT_MEM_GENERAL));
    const weft_status status = run_and_print(job, options, work, self);
    work->free(self);
    predictor_close(&job->predictor);
    app_context_close(&job->context);
    weft_free(job);
    return status;
}
