/* app/train/train_job.c: see app/train/train_job.h. */
#include "app/train/train_job.h"

#include <string.h>

#include "app/predict/predictions.h"
#include "app/setup/choices.h"
#include "app/setup/comm_setup.h"
#include "app/setup/sync_setup.h"
#include "app/train/resume.h"
#include "app/workload/class_match.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/trace/trace.h"
#include "comm/comm_options.def"
#include "io/trace_file.h"
#include "train/activities.h"
#include "train/train_options.def"

static weft_status loop_options(const weft_options *o, const workload *work, const saved_model *initial,
                                train_options *options)
{
    train_loss loss = work->targets->loss;
    const metric_choice metric = option_choice(o, OPT_METRIC);
    bool rocauc = metric == METRIC_ROCAUC || (metric == METRIC_AUTO && loss == TRAIN_LOSS_BCE);
    *options = (train_options){
        .epochs = option_int(o, OPT_EPOCHS),
        .runs = (int)option_int(o, OPT_RUNS),
        .seed = (uint64_t)option_int(o, OPT_SEED),
        .accumulate = (int)option_int(o, OPT_ACCUMULATE),
        .eval_every = option_int(o, OPT_EVAL_EVERY),
        .patience = option_int(o, OPT_PATIENCE),
        .smoothing = option_real(o, OPT_LABEL_SMOOTHING),
        .metric = rocauc ? TRAIN_METRIC_ROCAUC : TRAIN_METRIC_ACCURACY,
        .sync = sync_options_of(o, work->ops->shards),
        .optimizer = {.kind = option_choice(o, OPT_OPTIMIZER),
                      .weight_decay = option_real(o, OPT_WEIGHT_DECAY),
                      .momentum = option_real(o, OPT_MOMENTUM),
                      .nesterov = option_flag(o, OPT_NESTEROV),
                      .trust = option_real(o, OPT_LARS_TRUST),
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8},
        .schedule = {.kind = option_choice(o, OPT_SCHEDULE),
                     .base = option_real(o, OPT_LR),
                     .gamma = option_real(o, OPT_SCHEDULE_GAMMA),
                     .power = option_real(o, OPT_SCHEDULE_POWER),
                     .step = option_int(o, OPT_SCHEDULE_STEP),
                     .warmup = option_int(o, OPT_WARMUP),
                     .epochs = option_int(o, OPT_EPOCHS)},
        .init_weights = initial != NULL ? &initial->weights : NULL,
    };
    if (options->smoothing > 0.0 && loss != TRAIN_LOSS_XENT) {
        log_warn("%s %s has no effect: these labels are tasks, whose loss is binary cross-entropy",
                 FLAG_LABEL_SMOOTHING, option_value_text(o, OPT_LABEL_SMOOTHING));
    }
    WEFT_TRY(loss_scale_read(option_text(o, OPT_LOSS_SCALE), &options->loss_scale));
    char line[SCHEDULE_LINE_BYTES];
    WEFT_TRY(schedule_read_decays(option_text(o, OPT_SCHEDULE_AT), &options->schedule));
    schedule_find_unreached(&options->schedule, line);
    if (line[0] != '\0') {
        log_warn("%s", line);
    }
    return WEFT_OK;
}

static weft_status write_results(train_job *job)
{
    const app_context *context = job->context;
    const workload *work = &job->work;
    float *logits = NULL;
    weft_tensor view;
    activity_begin(ACTIVITY_WRITE);
    weft_status status =
        comm_agree(context->comm, predictions_logits(context, work->model, &work->source, &view, &logits));
    if (status == WEFT_OK) {
        status = train_outcome_measure(work, job->options.metric, &view, logits, &job->report.outcome);
        status =
            status == WEFT_OK ? predictions_write(context, job->dir.path, &work->held, work->targets, logits) : status;
    }
    if (status == WEFT_OK && comm_rank(context->comm) == 0) {
        char path[FILE_PATH_MAX];
        status = file_path(path, "%s/weights.npz", job->dir.path);
        status = status == WEFT_OK ? param_save(work->model->params, work->moments, path) : status;
    }
    weft_free(logits);
    tensor_destroy(&view);
    activity_end(ACTIVITY_WRITE);
    return comm_agree(context->comm, status);
}

/* Read once, by rank 0, before anything is decided: how the inputs are scaled goes with the weights. */
static weft_status open_initial_weights(train_job *job)
{
    weft_comm *comm = job->context->comm;
    const weft_options *o = job->context->options;
    const char *path = option_text(o, OPT_INIT_WEIGHTS);
    if (path[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? saved_model_open_weights(path, o, &job->initial) : WEFT_OK));
    WEFT_TRY(saved_model_share(comm, &job->initial));
    job->work.start = job->initial;
    job->work.moments = &job->initial->weights.moments;
    return WEFT_OK;
}

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

/* Looked at here, before the run folder is touched. */
static weft_status place_initial_weights(train_job *job)
{
    const saved_model *m = job->initial;
    const weft_options *o = job->context->options;
    if (m == NULL) {
        return WEFT_OK;
    }
    WEFT_CHECK(saved_model_agrees(m, o), WEFT_ERR_DATA, "%s: the model of these weights is not --model %s", m->path,
               option_text(o, OPT_MODEL));
    return comm_agree(job->context->comm, weights_assign(&m->weights, m->path, job->work.model->params));
}

/* A last layer that begins as another class's would be told in no figure. */
static weft_status check_initial_classes(const train_job *job)
{
    const workload *work = &job->work;
    const saved_model *m = job->initial;
    weft_status status = WEFT_OK;
    if (m != NULL && work->classes > 0) {
        const class_side model = {m->path, (const char *const *)m->classes.text, m->classes.count};
        const class_side data = {work->name, work->class_name, work->classes};
        status = class_match_check_start(&model, &data);
    }
    return comm_agree(job->context->comm, status);
}

/*
 * A dry run refuses the weights that the run would refuse: by now their file was read, and what is left is the shape of each matrix.
 * Shapes are those of a model that is built, which takes the memory that was just found to be there; a plan for other numbers of
 * ranks (--dry-ranks) has no such model.
 */
static weft_status check_initial_weights(train_job *job)
{
    const int64_t ranks = option_int(job->context->options, OPT_DRY_RANKS);
    if (job->initial == NULL || (ranks > 0 && ranks != comm_size(job->context->comm))) {
        return WEFT_OK;
    }
    WEFT_TRY(job->work.ops->build(&job->work));
    WEFT_TRY(place_initial_weights(job));
    return check_initial_classes(job);
}

/* Rank 0: metrics.jsonl reaches as far as the checkpoint that is about to be written. */
static weft_status sync_run_dir(void *self)
{
    train_job *job = self;
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
    char what[256];
    char command[2048];
    snprintf(what, sizeof what, "%s", weft_error_message());
    resume_command(job->context, job->dir.path, command, sizeof command);
    return weft_fail(WEFT_STOPPED, "%s, with a checkpoint in %s; to go on: %s", what, job->checkpoint_folder, command);
}

static weft_status run_epochs(train_job *job)
{
    const train_observer observer = train_report_observer(&job->report);
    if (job->stop.training != NULL) {
        job->stop.training(true);
    }
    weft_status status = train_loop(job->context->comm, job->context->hal, job->work.model, &job->work.source,
                                    &job->options, &observer, &job->result);
    if (job->stop.training != NULL) {
        job->stop.training(false);
    }
    return status == WEFT_STOPPED ? tell_stop(job) : status;
}

static void log_sync(const train_job *job)
{
    const sync_options *sync = &job->options.sync;
    char text[160];
    if (comm_size(job->context->comm) == 1) {
        return;
    }
    sync_setup_describe(sync, sync->mode, comm_size(job->context->comm), text, sizeof text);
    log_info("sync %s: %s", sync_mode_name(sync->mode), text);
    if (sync->wire != COMM_WIRE_SAME && sync->algorithm == COMM_ALGO_AUTO && job->context->nodes == 1) {
        log_warn(FLAG_WIRE " %s has no effect: all ranks are on one node",
                 option_text(job->context->options, OPT_WIRE));
    }
    sync_setup_describe_tracking(sync, sync->mode, text, sizeof text);
    if (text[0] != '\0') {
        log_info("%s", text);
    }
}

static weft_status train(train_job *job)
{
    const app_context *context = job->context;
    const workload *work = &job->work;
    const int64_t *counted = work->targets->counted;
    run_choices choices;
    WEFT_TRY(choices_of(context, &choices));
    WEFT_TRY(loop_options(context->options, work, job->initial, &job->options));
    job->options.sync.preferred = choices.allreduce;
    job->options.sync.topk.preferred = choices.topk;
    job->options.sync.topk.select.threads = context->placement.threads;
    job->report = (train_report){
        .context = context,
        .outcome = {.rows = work->ops->rows, .split_cure = work->split_cure, .test_cure = work->test_cure},
        .work = work,
        .dir = &job->dir,
        .events = &job->events,
        .options = &job->options,
        .metric = job->options.metric == TRAIN_METRIC_ACCURACY ? "accuracy" : "ROC-AUC",
        .job_started = job->started,
        .started = clock_seconds()};
    job->report.last_line = job->report.started;
    job->options.checkpoints = &job->checkpoints;
    log_sync(job);
    log_info("training: %lld parameters, %lld/%lld/%lld %s to train/valid/test",
             (long long)work->model->params->weights, (long long)counted[0], (long long)counted[1],
             (long long)counted[2], work->ops->rows);
    log_info("first epoch after %.2f s", job->report.started - job->started);
    WEFT_TRY(train_load_begin(&job->report.load, context));
    weft_status status = run_epochs(job);
    train_load_end(&job->report.load);
    WEFT_TRY(status);
    WEFT_TRY(write_results(job));
    return train_report_close(&job->report, &job->result);
}

/* The results, or the checkpoint, are safe by now: a trace that cannot be written is a warning. */
static weft_status write_trace(train_job *job, weft_status trained)
{
    const app_context *context = job->context;
    char path[FILE_PATH_MAX];
    char message[FILE_PATH_MAX];
    if (!option_flag(context->options, OPT_TRACE) || (trained != WEFT_OK && trained != WEFT_STOPPED)) {
        return trained;
    }
    snprintf(message, sizeof message, "%s", weft_error_message());
    weft_status status = folder_make(job->dir.path); /* where nodes do not share a file system */
    status = status == WEFT_OK ? file_path(path, "%s/trace-%d.json", job->dir.path, comm_rank(context->comm)) : status;
    status = status == WEFT_OK ? trace_write(path, comm_rank(context->comm)) : status;
    if (comm_agree(context->comm, status) != WEFT_OK) {
        log_warn("trace not written: %s", weft_error_message());
        weft_error_clear();
    }
    return trained == WEFT_OK ? WEFT_OK : weft_fail(trained, "%s", message);
}

static weft_status run_job(train_job *job)
{
    app_context *context = job->context;
    const weft_options *o = context->options;
    bool dry = option_flag(o, OPT_DRY_RUN);
    workload *work = &job->work;
    const char *folder = job->dir.path;
    run_choices choices;
    WEFT_TRY(option_check_rules(o));
    WEFT_TRY(sync_setup_check(o));
    WEFT_TRY(choices_of(context, &choices));
    WEFT_TRY(resume_plan(o, job->started, &job->checkpoints));
    WEFT_TRY(workload_begin(workload_of(o), context, work));
    WEFT_TRY(run_dir_open(context, work, &job->dir));
    if (dry && job->stop.remove != NULL && comm_rank(context->comm) == 0) {
        job->stop.remove(folder);
    }
    WEFT_TRY(open_initial_weights(job));
    WEFT_TRY(comm_setup(context, !dry));
    WEFT_TRY(work->ops->open(work, folder));
    WEFT_TRY(workload_decide(work, context, true));
    option_warn_idle(context->options, work->ops->idle, work->ops->idle_where);
    if (!dry) {
        WEFT_TRY(resume_open(context, &job->dir, work, &job->from));
        WEFT_TRY(choices_adopt(context, resume_choices(context, job->from)));
        WEFT_TRY(resume_adopt_network(context, job->from));
        WEFT_TRY(resume_adopt_place(context, job->from));
        WEFT_TRY(adopt_moments(job));
    }
    WEFT_TRY(work->ops->plan(work, folder, 0));
    if (dry) {
        WEFT_TRY(check_initial_weights(job));
        return work->ops->release(work);
    }
    WEFT_TRY(work->ops->build(work));
    WEFT_TRY(choices_keep(context, work->forms, work->model->params->weights * (int64_t)sizeof(float)));
    WEFT_TRY(place_initial_weights(job));
    WEFT_TRY(check_initial_classes(job));
    WEFT_TRY(plan_checkpoints(job));
    WEFT_TRY(work->ops->release(work));
    return write_trace(job, train(job));
}

/* What is on disk ends with the job, whatever ended it. */
static weft_status close_files(train_job *job, weft_status status)
{
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    workload_abandon(&job->work);
    train_events_close(&job->events);
    weft_status closed = run_dir_close(&job->dir, job->context, status);
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
    activity_reset();
    return WEFT_OK;
}

weft_status train_job_run(train_job *job, app_context *context)
{
    job->context = context;
    if (option_flag(context->options, OPT_TRACE)) {
        WEFT_TRY(trace_open(0));
        job->traced = true;
        trace_thread("main");
    }
    return close_files(job, run_job(job));
}

void train_job_destroy(train_job *job)
{
    if (job == NULL) {
        return;
    }
    weft_free(job->result.run);
    train_report_destroy(&job->report);
    train_load_end(&job->report.load);
    checkpoint_close(job->from);
    saved_model_close(job->initial);
    input_moments_destroy(&job->resumed_moments);
    workload_end(&job->work);
    if (job->traced) {
        trace_close();
    }
    weft_free(job);
}
