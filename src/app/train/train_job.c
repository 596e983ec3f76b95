/* app/train/train_job.c: see app/train/train_job.h. */
#include "app/train/train_job.h"

#include <assert.h>

#include "app/predict/predictions.h"
#include "app/predict/run_threshold.h"
#include "app/predict/subgroups.h"
#include "app/setup/choices.h"
#include "app/setup/comm_setup.h"
#include "app/setup/sync_setup.h"
#include "app/train/fit_gradient.h"
#include "app/train/option_change.h"
#include "app/train/resume.h"
#include "app/train/train_results.h"
#include "base/clock.h"
#include "base/disk/file_sync.h"
#include "base/log.h"
#include "base/trace/trace.h"

/* ---- checkpoints ---- */

/* Means and deviations that a checkpoint has are those that its run began with. */
static weft_status adopt_moments(train_job *job)
{
    weft_comm *comm = job->context->comm;
    WEFT_TRY(comm_agree(comm, job->from != NULL ? checkpoint_moments(job->from, &job->resumed_moments) : WEFT_OK));
    WEFT_TRY(input_moments_share(comm, &job->resumed_moments));
    if (job->resumed_moments.columns > 0) {
        job->work.moments = &job->resumed_moments;
    }
    return WEFT_OK;
}

/* Rank 0: metrics.jsonl reaches as far as the checkpoint that is about to be written, and both are on the disk. */
static weft_status sync_run_dir(void *self)
{
    train_job *job = self;
    file_sync_later(false);
    return run_dir_sync(&job->dir);
}

static weft_status plan_checkpoints(train_job *job)
{
    const app_context *context = job->context;
    WEFT_TRY(resume_plan(context->options, job->started, &job->checkpoints));
    WEFT_TRY(file_path(job->checkpoint_folder, "%s/ckpt", job->dir.path));
    job->checkpoints.folder = job->checkpoint_folder;
    job->checkpoints.options = context->options;
    job->checkpoints.data_hash = job->work.hash;
    job->checkpoints.moments = job->work.moments;
    job->checkpoints.passing = job->passing;
    job->checkpoints.threads = context->placement.threads;
    job->checkpoints.self = job;
    job->checkpoints.asked_to_stop = job->stop.asked;
    job->checkpoints.before_write = sync_run_dir;
    job->checkpoints.resume = job->from;
    return WEFT_OK;
}

/* The message of a job that stopped: what happened, and how it goes on. */
static weft_status tell_stop(const train_job *job)
{
    char what[256], command[2048];
    snprintf(what, sizeof what, "%s", weft_error_message());
    resume_command(job->context, job->dir.path, command, sizeof command);
    return weft_fail(WEFT_STOPPED, "%s, with a checkpoint in %s; to go on: %s", what, job->checkpoint_folder, command);
}

/* ---- a fit ---- */

static weft_status run_epochs(train_job *job)
{
    workload *work = &job->work;
    WEFT_TRY(
        lr_find(work, job->context, job->initial, &job->services, resume_rate(job->context, job->from), &job->dir));
    if (job->stop.training != NULL) {
        job->stop.training(true);
    }
    weft_status status = work->ops->fit != NULL ? work->ops->fit(work, &job->services, &job->result)
                                                : fit_by_gradient(work, job->initial, &job->services, &job->result);
    if (job->stop.training != NULL) {
        job->stop.training(false);
    }
    return status == WEFT_STOPPED ? tell_stop(job) : status;
}

static fit_services services_of(const train_job *job)
{
    const weft_options *o = job->context->options;
    return (fit_services){.comm = job->context->comm,
                          .observers = &job->report.observer,
                          .checkpoints = &job->checkpoints,
                          .epochs = option_int(o, OPT_EPOCHS),
                          .runs = (int)option_int(o, OPT_RUNS),
                          .seed = (uint64_t)option_int(o, OPT_SEED),
                          .eval_every = option_int(o, OPT_EVAL_EVERY),
                          .patience = option_int(o, OPT_PATIENCE),
                          .metric = predictions_metric(o, job->work.targets->loss)};
}

static void log_start(const train_job *job)
{
    const workload *work = &job->work;
    const int64_t *counted = work->targets->counted;
    char parameters[64] = "";
    if (workload_parameters(work) > 0) {
        snprintf(parameters, sizeof parameters, "%lld parameters, ", (long long)workload_parameters(work));
    }
    log_info("training: %s%lld/%lld/%lld %s to train/valid/test, %lld epochs", parameters, (long long)counted[0],
             (long long)counted[1], (long long)counted[2], work->rows, (long long)job->services.epochs);
    log_info("first epoch after %.2f s", job->report.started - job->started);
}

static weft_status train(train_job *job)
{
    const app_context *context = job->context;
    const workload *work = &job->work;
    assert(work->model != NULL && work->targets != NULL); /* built */
    job->services = services_of(job);
    job->report = (train_report){.context = context,
                                 .outcome = {.rows = work->rows,
                                             .split_cure = work->split_cure,
                                             .test_cure = work->test_cure,
                                             .guess_cure = work->guess_cure},
                                 .work = work,
                                 .dir = &job->dir,
                                 .events = &job->events,
                                 .services = &job->services,
                                 .account = &job->account,
                                 .lanes_before = job->lanes_before,
                                 .metric = metric_kind_of(job->services.metric)->text,
                                 .job_started = job->started,
                                 .started = clock_seconds()};
    job->report.last_line = job->report.started;
    job->report.observer = train_report_observer(&job->report, job->observers);
    log_start(job);
    WEFT_TRY(job->passing ? WEFT_OK : train_load_begin(&job->report.load, context));
    weft_status status = run_epochs(job);
    train_load_end(&job->report.load);
    WEFT_TRY(status);
    WEFT_TRY(train_results_write(&job->work, &job->dir, job->services.metric, &job->report.outcome));
    return train_report_close(&job->report, &job->result);
}

/* ---- the steps ---- */

/* Of a fit, before its data are opened or decided on: what can be refused at once. */
static weft_status begin_fit(train_job *job)
{
    app_context *context = job->context;
    const weft_options *o = context->options;
    run_choices choices;
    index_threshold threshold;
    WEFT_TRY(option_check_rules(o));
    WEFT_TRY(lr_find_check(o));
    WEFT_TRY(threshold_asked(o, NULL, &threshold));
    WEFT_TRY(sync_setup_check(o));
    WEFT_TRY(choices_of(context, workload_of(o)->choice, &choices));
    file_sync_later(job->passing && comm_rank(context->comm) == 0);
    return resume_plan(o, job->started, &job->checkpoints);
}

static weft_status open_folder(train_job *job)
{
    app_context *context = job->context;
    WEFT_TRY(run_dir_open(context, &job->work, job->passing, &job->dir));
    if (option_flag(context->options, OPT_DRY_RUN) && job->stop.remove != NULL && comm_rank(context->comm) == 0) {
        job->stop.remove(job->dir.path);
    }
    return fit_open_initial(&job->work, &job->initial);
}

static weft_status decide(train_job *job)
{
    const workload_ops *ops = job->work.ops;
    WEFT_TRY(workload_decide(&job->work, job->context, true));
    option_warn_unserved(job->context->options, ops->options->traits, ops->field);
    return WEFT_OK;
}

static weft_status open_data(train_job *job)
{
    app_context *context = job->context;
    workload *work = &job->work;
    WEFT_TRY(begin_fit(job));
    WEFT_TRY(workload_begin(workload_of(context->options), context, work));
    work->keeps = job->keeps;
    WEFT_TRY(open_folder(job));
    WEFT_TRY(comm_setup_begin(context));
    WEFT_TRY(work->ops->open(work, job->dir.path));
    WEFT_TRY(decide(job));
    const bool needs_links = job->keeps || work->ops->needs_links == NULL || work->ops->needs_links(work);
    return comm_setup(context, needs_links && !option_flag(context->options, OPT_DRY_RUN));
}

static weft_status dry_run(train_job *job)
{
    workload *work = &job->work;
    WEFT_TRY(work->ops->plan(work, job->dir.path, 0));
    /* A dry run refuses the weights that the run would refuse: their file was read, and what is left is the shape of
     * each matrix, which a built model has, in the memory that was just found to be there. A plan for another number
     * of ranks has no such model. */
    if (job->initial != NULL && !work->elsewhere) {
        WEFT_TRY(work->ops->build(work));
        WEFT_TRY(fit_place_initial(work, job->initial));
    }
    return workload_release(work);
}

static weft_status build(train_job *job)
{
    app_context *context = job->context;
    workload *work = &job->work;
    WEFT_TRY(resume_open(context, &job->dir, work, job->changed, &job->from));
    WEFT_TRY(choices_adopt(context, resume_choices(context, job->from)));
    WEFT_TRY(adopt_moments(job));
    app_context_hold_memory(context, true);
    const weft_status planned = work->ops->plan(work, job->dir.path, 0);
    app_context_hold_memory(context, false);
    WEFT_TRY(planned);
    WEFT_TRY(work->ops->build(work));
    threshold_warn_idle(context->options, work->targets);
    WEFT_TRY(subgroups_check(work, option_text(context->options, OPT_BY)));
    WEFT_TRY(fit_keep_choices(context, work));
    WEFT_TRY(fit_place_initial(work, job->initial));
    WEFT_TRY(plan_checkpoints(job));
    return work->keeps ? WEFT_OK : workload_release(work);
}

static weft_status run_job(train_job *job)
{
    WEFT_TRY(open_data(job));
    if (option_flag(job->context->options, OPT_DRY_RUN)) {
        return dry_run(job);
    }
    WEFT_TRY(build(job));
    return train_trace_write(job->context, &job->dir, job->started, train(job));
}

/* Closes the files of a fit, whatever ended it. Generated data are removed when the job ends. */
static weft_status close_files(train_job *job, weft_status status)
{
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    if (!job->keeps) {
        workload_abandon(&job->work);
    }
    train_events_close(&job->events);
    weft_status closed = run_dir_close(&job->dir, job->context, status);
    file_sync_later(false);
    if (status == WEFT_OK) {
        return closed;
    }
    weft_error_clear();
    return message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

weft_status train_job_create(train_job **job)
{
    WEFT_TRY(WEFT_NEW_ZERO(job, 1, WEFT_MEM_GENERAL));
    (*job)->started = clock_seconds();
    job_account_begin(&(*job)->account);
    return WEFT_OK;
}

/* A communicator may have served other jobs, and other fits. */
static void note_lanes(train_job *job)
{
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        job->lanes_before[lane] = comm_lane_stats(job->context->comm, (comm_lane)lane);
    }
}

static weft_status begin_job(train_job *job, app_context *context)
{
    job->context = context;
    job->first = job->asked = context->options;
    note_lanes(job);
    if (option_flag(context->options, OPT_TRACE)) {
        WEFT_TRY(trace_open(0));
        job->traced = true;
        trace_thread("main");
    }
    return WEFT_OK;
}

weft_status train_job_run(train_job *job, app_context *context)
{
    assert(!job->keeps);
    WEFT_TRY(begin_job(job, context));
    return close_files(job, run_job(job));
}

weft_status train_job_open(train_job *job, app_context *context)
{
    assert(job->keeps);
    WEFT_CHECK(!option_flag(context->options, OPT_DRY_RUN), WEFT_ERR_USAGE,
               "--dry-run opens data for one look: leave it out where they stay open");
    WEFT_TRY(begin_job(job, context));
    const weft_status status = open_data(job);
    return status == WEFT_OK ? status : close_files(job, status);
}

weft_status train_job_build(train_job *job)
{
    assert(job->keeps && job->work.model == NULL);
    const weft_status status = build(job);
    return status == WEFT_OK ? status : close_files(job, status);
}

weft_status train_job_fit(train_job *job)
{
    assert(job->keeps && job->work.model != NULL);
    return close_files(job, train_trace_write(job->context, &job->dir, job->started, train(job)));
}

/* ---- another fit on the same data ---- */

static void forget_fit(train_job *job)
{
    weft_free(job->result.run);
    job->result = (train_result){.runs = 0};
    train_outcome_destroy(&job->report.outcome);
    train_load_end(&job->report.load);
    checkpoint_close(job->from);
    saved_model_close(job->initial);
    input_moments_destroy(&job->resumed_moments);
    job->from = NULL;
    job->initial = NULL;
    job->work.start = NULL;
    job->work.moments = NULL;
}

/* The context has these options, none of which is decided. */
static void take_options(train_job *job, weft_options *own, const weft_options *options)
{
    app_context *context = job->context;
    option_destroy(context->decided);
    option_destroy(job->own);
    context->decided = NULL;
    context->options = options;
    job->own = own;
    job->asked = options;
}

/* [out] own: rank 0's options, on every rank. Collective. */
static weft_status copy_options(weft_comm *comm, const weft_options *options, weft_options **own)
{
    *own = NULL;
    WEFT_TRY(app_share_options(comm, option_catalog_of(options), options, own));
    return comm_agree(comm, *own == NULL ? option_copy(options, own) : WEFT_OK);
}

static weft_status check_again(const train_job *job, const weft_options *options)
{
    const workload *work = &job->work;
    WEFT_CHECK(work->ops->unbuild != NULL, WEFT_ERR_UNSUPPORTED, "%s: %s are opened for one training at a time",
               work->name, work->ops->data);
    WEFT_CHECK(workload_of(options) == work->ops, WEFT_ERR_USAGE,
               "--model %s is no model on %s, which are open: begin another job", option_text(options, OPT_MODEL),
               work->ops->field);
    return option_check_refit(work, job->asked, options);
}

weft_status train_job_again(train_job *job, const weft_options *options)
{
    weft_comm *comm = job->context->comm;
    weft_options *own = NULL;
    assert(job->keeps && job->work.self != NULL);
    weft_status status = copy_options(comm, options, &own);
    status = status == WEFT_OK ? comm_agree(comm, check_again(job, own)) : status;
    if (status != WEFT_OK) {
        option_destroy(own);
        return status;
    }
    forget_fit(job);
    job->work.ops->unbuild(&job->work);
    job->started = clock_seconds();
    job_account_end(&job->account); /* figures of a fit are its own */
    job_account_begin(&job->account);
    note_lanes(job);
    take_options(job, own, own);
    status = begin_fit(job);
    status = status == WEFT_OK ? open_folder(job) : status;
    status = status == WEFT_OK ? decide(job) : status;
    return status == WEFT_OK ? status : close_files(job, status);
}

void train_job_destroy(train_job *job)
{
    if (job == NULL) {
        return;
    }
    forget_fit(job);
    workload_end(&job->work);
    if (job->own != NULL) {
        take_options(job, NULL, job->first);
    }
    if (job->traced) {
        trace_close();
    }
    job_account_end(&job->account);
    weft_free(job);
}
