/* app/clicks/clicks_workers.c: worker threads of a rank (train/loop/team.h): a copy of the model, a backend and a lane
 * of the rows of embeddings for each. */
#include "app/clicks/clicks_job.h"
#include "base/log.h"

int clicks_workers(const workload *work)
{
    const int64_t asked = work->trained ? 1 : option_int(work->context->options, OPT_CLICK_WORKERS);
    return asked > 1 ? (int)asked : 0;
}

weft_status clicks_check_workers(const workload *work)
{
    const weft_options *o = work->context->options;
    const int workers = clicks_workers(work);
    if (workers == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(option_choice(o, OPT_SYNC) == SYNC_SHADOW, WEFT_ERR_USAGE,
               FLAG_CLICK_WORKERS " %d: gradients are of parameters of some batches before, which " FLAG_SYNC
                                  " %s promises not to be: give " FLAG_SYNC " shadow, or leave it out",
               workers, option_text(o, OPT_SYNC));
    WEFT_CHECK(!option_flag(o, OPT_REPRODUCIBLE), WEFT_ERR_USAGE,
               FLAG_CLICK_WORKERS
               " %d and --reproducible: losses depend on the number of workers: leave one of the two "
               "out",
               workers);
    WEFT_CHECK(option_int(o, OPT_ROW_EXPIRE) == 0, WEFT_ERR_USAGE,
               FLAG_CLICK_WORKERS " %d and " FLAG_ROW_EXPIRE
                                  " %lld: rows would leave whose batch is under way: leave one of the two out",
               workers, (long long)option_int(o, OPT_ROW_EXPIRE));
    WEFT_CHECK(option_choice(o, OPT_ROW_AHEAD) != CLICK_AHEAD_ON, WEFT_ERR_USAGE,
               FLAG_CLICK_WORKERS " %d and " FLAG_ROW_AHEAD
                                  " on: workers' batches travel while others compute already: leave one of the two out",
               workers);
    return WEFT_OK;
}

/* A worker's part of the rank's threads. */
static int threads_of(const app_context *context, int workers)
{
    const int share = context->placement.threads / (workers > 0 ? workers : 1);
    return share > 0 ? share : 1;
}

static weft_status open_worker(workload *work, const click_source_options *source, worker_parts *parts)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    click_source_options batches = *source;
    click_model_desc desc = job->desc;
    embed_table *lane = NULL;
    batches.loaders = 0; /* what comes behind a worker's batch is another worker's */
    batches.ahead = false;
    desc.worker = true;
    const int threads = threads_of(context, clicks_workers(work));
    WEFT_TRY(comm_agree(context->comm, weft_hal_open_alike(context->hal, threads, &parts->hal)));
    WEFT_TRY(click_source_create(context->comm, parts->hal, &job->rows, &batches, &parts->source));
    WEFT_TRY(embed_open_lane(job->table, click_rows_most(&job->rows, job->desc.samples), &lane));
    return click_model_create(parts->hal, context->comm, &desc, lane, &parts->model);
}

weft_status clicks_open_workers(workload *work, const click_source_options *source)
{
    clicks_job *job = work->self;
    const app_context *context = work->context;
    const int workers = clicks_workers(work);
    if (workers == 0) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW_ZERO(&job->parts, workers, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&job->workers.worker, workers, WEFT_MEM_GENERAL) : status;
    WEFT_TRY(comm_agree(context->comm, status));
    for (; job->workers.count < workers; ++job->workers.count) {
        worker_parts *parts = &job->parts[job->workers.count];
        const weft_status opened = open_worker(work, source, parts);
        if (opened != WEFT_OK) {
            job->workers.count += 1; /* what it has is closed with the others */
            return opened;
        }
        job->workers.worker[job->workers.count] =
            (train_worker){click_model_interface(parts->model), click_source_of(parts->source)};
    }
    work->model->workers = &job->workers;
    log_info(FLAG_CLICK_WORKERS
             " %d: so many batches of a rank are computed side by side, %d thread%s each, on parameters "
             "that up to %d batches have changed since: another training than that of one worker",
             workers, threads_of(context, workers), threads_of(context, workers) == 1 ? "" : "s", workers - 1);
    return WEFT_OK;
}

void clicks_close_workers(clicks_job *job)
{
    for (int i = 0; i < job->workers.count; ++i) {
        click_model_destroy(job->parts[i].model);
        click_source_destroy(job->parts[i].source);
        weft_hal_close(job->parts[i].hal);
    }
    WEFT_FREE_ALL(job->parts, job->workers.worker);
}
