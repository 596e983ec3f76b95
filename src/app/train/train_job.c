/* app/train/train_job.c: see app/train/train_job.h. */
#include "app/train/train_job.h"

#include <string.h>

#include "app/predict/predictions.h"
#include "app/setup/comm_setup.h"
#include "app/setup/sync_setup.h"
#include "app/train/auto_options.h"
#include "app/train/resume.h"
#include "base/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/trace.h"
#include "io/trace_file.h"

static gnn_config model_config(const weft_options *o, const weft_graph *graph, int64_t outputs)
{
    double dropout = option_real(o, OPT_DROPOUT);
    double input_dropout = option_real(o, OPT_INPUT_DROPOUT);
    return (gnn_config){.kind = (gnn_kind)option_choice(o, OPT_MODEL),
                        .aggregator = (gnn_sage_aggregator)option_choice(o, OPT_AGGREGATOR),
                        .layers = (int)option_int(o, OPT_LAYERS),
                        .inputs = graph->features,
                        .hidden = option_int(o, OPT_HIDDEN),
                        .outputs = outputs,
                        .norm = (norm_kind)option_choice(o, OPT_NORM),
                        .dropout = (float)dropout,
                        .input_dropout = (float)(input_dropout < 0 ? dropout : input_dropout),
                        .order = (gnn_order)option_choice(o, OPT_ORDER),
                        .decay_first_only = option_choice(o, OPT_DECAY_LAYERS) == 1,
                        .overlap = (gnn_overlap)option_choice(o, OPT_HALO_OVERLAP)};
}

static train_loss chosen_loss(const weft_options *o, const weft_graph *graph)
{
    int choice = option_choice(o, OPT_LOSS);
    if (choice == 0) {
        return graph->target != NULL ? TRAIN_LOSS_BCE : TRAIN_LOSS_XENT;
    }
    return choice == 1 ? TRAIN_LOSS_XENT : TRAIN_LOSS_BCE;
}

static train_options loop_options(const weft_options *o, train_loss loss, const saved_model *initial)
{
    int metric = option_choice(o, OPT_METRIC);
    bool rocauc = metric == 2 || (metric == 0 && loss == TRAIN_LOSS_BCE);
    return (train_options){
        .epochs = option_int(o, OPT_EPOCHS),
        .runs = (int)option_int(o, OPT_RUNS),
        .seed = (uint64_t)option_int(o, OPT_SEED),
        .eval_every = option_int(o, OPT_EVAL_EVERY),
        .patience = option_int(o, OPT_PATIENCE),
        .metric = rocauc ? TRAIN_METRIC_ROCAUC : TRAIN_METRIC_ACCURACY,
        .sync = sync_options_of(o, SYNC_SHARDS_REGIONS),
        .optimizer = {.kind = (optimizer_kind)option_choice(o, OPT_OPTIMIZER),
                      .weight_decay = option_real(o, OPT_WEIGHT_DECAY),
                      .momentum = option_real(o, OPT_MOMENTUM),
                      .nesterov = option_flag(o, OPT_NESTEROV),
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8},
        .schedule = {.kind = (schedule_kind)option_choice(o, OPT_SCHEDULE),
                     .base = option_real(o, OPT_LR),
                     .gamma = option_real(o, OPT_SCHEDULE_GAMMA),
                     .step = option_int(o, OPT_SCHEDULE_STEP),
                     .warmup = option_int(o, OPT_WARMUP),
                     .epochs = option_int(o, OPT_EPOCHS)},
        .init_weights = initial != NULL ? &initial->weights : NULL,
    };
}

static bool has_labels(const weft_graph *graph)
{
    return graph->label != NULL || graph->target != NULL;
}

static weft_status check_data(const train_job *job, bool labels_needed)
{
    const weft_graph *graph = &job->data.graph;
    WEFT_CHECK(
        graph->features > 0, WEFT_ERR_DATA,
        "%s has no features (feature.npy), and a model reads them: weft convert INPUT --features degree --out STORE "
        "makes some of the graph's input; so do onehot, random:D and spectral:D, or give a file (docs/formats.md)",
        graph->name);
    WEFT_CHECK(
        !labels_needed || has_labels(graph), WEFT_ERR_DATA,
        "%s has no labels (label.npy or target.npy) to train for: weft convert INPUT --labels FILE --random-split "
        "60/20/20 --out STORE takes a class for each vertex (docs/formats.md)",
        graph->name);
    return WEFT_OK;
}

static int64_t halo_rows(const weft_part *part)
{
    int64_t own = part->sources.own_offset != NULL ? part->sources.own_offset[part->parts] : 0;
    int64_t leaf = part->sources.leaf_offset != NULL ? part->sources.leaf_offset[part->parts] : 0;
    return own + leaf;
}

static weft_status check_memory(train_job *job, int64_t n_owned, int64_t n_local, int64_t edges, int64_t halo,
                                bool symmetric)
{
    const app_context *context = &job->context;
    gnn_plan plan;
    gnn_plan_make(&job->config, n_owned, n_local, context->placement.threads, WEFT_DTYPE_F32, &plan);
    sync_options sync = sync_options_of(context->options, SYNC_SHARDS_REGIONS);
    memory_plan_make(&job->data.graph, &plan, comm_size(context->comm), edges, symmetric, halo,
                     gnn_overlaps(context->comm, job->config.overlap), job->process, &job->memory);
    memory_plan_add_sync(&job->memory, sync_setup_bytes(&sync, plan.parameter_bytes / 5, comm_size(context->comm)));
    return memory_plan_check(context, &job->memory, option_size(context->options, OPT_MEMORY_LIMIT));
}

/* Before anything is allocated: a rank's even share without replicas, the least it will need. */
static weft_status check_memory_early(train_job *job)
{
    const weft_graph *graph = &job->data.graph;
    int ranks = comm_size(job->context.comm);
    int64_t n = graph->vertices / ranks;
    return check_memory(job, n, n, graph->edges / ranks, 0, graph->symmetric);
}

/* With the part known: what will be allocated. */
static weft_status check_memory_of_part(train_job *job)
{
    const weft_part *part = &job->data.part;
    return check_memory(job, part->n_owned, part->n_local, part->edges, halo_rows(part), part->symmetric);
}

/* Labels of the owned rows; without any, the number of answers alone. */
static weft_status load_labels(train_job *job, bool needed)
{
    const app_context *context = &job->context;
    const weft_graph *graph = &job->data.graph;
    train_loss loss = chosen_loss(context->options, graph);
    if (needed || (has_labels(graph) && graph->split != NULL)) {
        return gnn_load_labels(context->comm, context->hal, graph, &job->data.part, loss, &job->labels);
    }
    job->labels.targets = (train_targets){.rows = job->data.part.n_owned, .outputs = job->config.outputs, .loss = loss};
    return WEFT_OK;
}

static weft_status build_model(train_job *job, bool labels_needed)
{
    const app_context *context = &job->context;
    const weft_options *o = context->options;
    train_data *data = &job->data;
    activity_begin(ACTIVITY_PREPARE);
    weft_status status = gnn_model_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->config, &data->part,
                                          (hal_spmm_form)option_choice(o, OPT_SPMM), &job->model);
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(comm_agree(context->comm, status));
    activity_begin(ACTIVITY_LOAD);
    weft_tensor features = gnn_model_features(&job->model);
    status = gnn_load_features(context->comm, &data->graph, &data->part,
                               (gnn_feature_scaling)option_choice(o, OPT_NORMALIZE), &features);
    if (status == WEFT_OK) {
        status = load_labels(job, labels_needed);
    }
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_PREPARE);
    status = gnn_model_prepare(&job->model);
    activity_end(ACTIVITY_PREPARE);
    return status;
}

/* Read once, by rank 0; looked at here, before the run folder is touched. */
static weft_status load_initial_weights(train_job *job)
{
    const app_context *context = &job->context;
    const char *path = option_text(context->options, OPT_INIT_WEIGHTS);
    if (path[0] == '\0') {
        return WEFT_OK;
    }
    weft_status status = comm_rank(context->comm) == 0 ? saved_model_open(path, NULL, &job->initial) : WEFT_OK;
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(saved_model_share(context->comm, &job->initial));
    const saved_model *m = job->initial;
    bool same = m->config.kind == job->config.kind &&
                (m->config.kind != GNN_SAGE || m->config.aggregator == job->config.aggregator);
    WEFT_CHECK(!m->kind_known || same, WEFT_ERR_DATA, "%s: the model of these weights is not --model %s", m->path,
               option_text(context->options, OPT_MODEL));
    return comm_agree(context->comm, weights_assign(&m->weights, m->path, &job->model.params));
}

static weft_status write_results(train_job *job)
{
    const app_context *context = &job->context;
    const train_targets *targets = &job->labels.targets;
    float *logits = NULL;
    weft_tensor view;
    activity_begin(ACTIVITY_WRITE);
    weft_status status = comm_agree(context->comm, predictions_logits(&job->model, &view, &logits));
    if (status == WEFT_OK) {
        status = train_outcome_measure(context, targets, job->options.metric, &view, logits, &job->report.outcome);
        status =
            status == WEFT_OK ? predictions_write(context, job->dir.path, &job->data.part, targets, logits) : status;
    }
    if (status == WEFT_OK && comm_rank(context->comm) == 0) {
        char path[FILE_PATH_MAX];
        status = file_path(path, "%s/weights.npz", job->dir.path);
        status = status == WEFT_OK ? param_save(&job->model.params, path) : status;
    }
    weft_free(logits);
    activity_end(ACTIVITY_WRITE);
    return comm_agree(context->comm, status);
}

/* Rank 0: metrics.jsonl reaches as far as the checkpoint that is about to be written. */
static weft_status sync_run_dir(void *self)
{
    train_job *job = self;
    return run_dir_sync(&job->dir);
}

static weft_status plan_checkpoints(train_job *job)
{
    const app_context *context = &job->context;
    WEFT_TRY(resume_plan(context->options, job->started, &job->checkpoints));
    WEFT_TRY(file_path(job->checkpoint_folder, "%s/ckpt", job->dir.path));
    job->checkpoints.folder = job->checkpoint_folder;
    job->checkpoints.options = context->options;
    job->checkpoints.graph_hash = job->dir.facts.hash;
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
    resume_command(&job->context, job->dir.path, command, sizeof command);
    return weft_fail(WEFT_STOPPED, "%s, with a checkpoint in %s; to go on: %s", what, job->checkpoint_folder, command);
}

static weft_status run_epochs(train_job *job)
{
    const train_observer observer = train_report_observer(&job->report);
    if (job->stop.training != NULL) {
        job->stop.training(true);
    }
    const train_source source = source_whole(&job->labels.targets);
    weft_status status = train_loop(job->context.comm, job->context.hal, &job->model.interface, &source, &job->options,
                                    &observer, &job->result);
    if (job->stop.training != NULL) {
        job->stop.training(false);
    }
    return status == WEFT_STOPPED ? tell_stop(job) : status;
}

static void log_sync(const train_job *job)
{
    const sync_options *sync = &job->options.sync;
    char text[160];
    if (comm_size(job->context.comm) == 1) {
        return;
    }
    sync_setup_describe(sync, sync->mode, text, sizeof text);
    log_info("sync %s: %s", sync_mode_name(sync->mode), text);
    sync_setup_describe_tracking(sync, sync->mode, text, sizeof text);
    if (text[0] != '\0') {
        log_info("%s", text);
    }
}

static weft_status train(train_job *job)
{
    const app_context *context = &job->context;
    const train_targets *targets = &job->labels.targets;
    job->options = loop_options(context->options, targets->loss, job->initial);
    job->report = (train_report){.context = context,
                                 .dir = &job->dir,
                                 .events = &job->events,
                                 .options = &job->options,
                                 .metric = job->options.metric == TRAIN_METRIC_ACCURACY ? "accuracy" : "ROC-AUC",
                                 .job_started = job->started,
                                 .started = clock_seconds()};
    job->options.checkpoints = &job->checkpoints;
    log_sync(job);
    log_info("training: %lld parameters, %lld/%lld/%lld vertices to train/valid/test",
             (long long)job->model.params.weights, (long long)targets->counted[0], (long long)targets->counted[1],
             (long long)targets->counted[2]);
    log_info("first epoch after %.2f s", job->report.started - job->started);
    WEFT_TRY(train_load_begin(&job->report.load, context));
    weft_status status = run_epochs(job);
    train_load_end(&job->report.load);
    WEFT_TRY(status);
    WEFT_TRY(write_results(job));
    return train_report_close(&job->report, &job->result, &job->model, &job->data.report, &job->data.part,
                              job->memory.peak);
}

/* The results, or the checkpoint, are safe by now: a trace that cannot be written is a warning. */
static weft_status write_trace(train_job *job, weft_status trained)
{
    const app_context *context = &job->context;
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

weft_status train_job_load(train_job *job, const char *folder, int64_t outputs, bool dry)
{
    const app_context *context = &job->context;
    const weft_options *o = context->options;
    const weft_graph *graph = &job->data.graph;
    bool labels_needed = outputs == 0;
    WEFT_TRY(check_data(job, labels_needed));
    if (has_labels(graph)) {
        int64_t tasks = graph->target != NULL ? graph->tasks : 1;
        outputs = chosen_loss(o, graph) == TRAIN_LOSS_XENT ? graph->classes : tasks;
    }
    job->config = model_config(o, graph, outputs);
    WEFT_TRY(check_memory_early(job));
    WEFT_TRY(train_data_cut(context, folder, &job->data));
    WEFT_TRY(check_memory_of_part(job));
    return dry ? WEFT_OK : build_model(job, labels_needed);
}

static weft_status run_job(train_job *job)
{
    app_context *context = &job->context;
    const weft_options *o = context->options;
    bool dry = option_flag(o, OPT_DRY_RUN);
    job->process = clock_rss_bytes();
    WEFT_TRY(option_check_rules(o));
    WEFT_TRY(sync_setup_check(o));
    WEFT_TRY(resume_plan(o, job->started, &job->checkpoints));
    WEFT_TRY(run_dir_open(context, &job->dir));
    WEFT_TRY(comm_setup(context, !dry));
    WEFT_TRY(train_data_open(context, job->dir.path, &job->data));
    WEFT_TRY(auto_options_decide(context, &job->data.graph, true));
    if (!dry) {
        WEFT_TRY(resume_open(context, &job->dir, &job->data.graph, &job->from));
    }
    WEFT_TRY(train_job_load(job, job->dir.path, 0, dry));
    if (dry) {
        return train_data_release(context, &job->data);
    }
    WEFT_TRY(load_initial_weights(job));
    WEFT_TRY(plan_checkpoints(job));
    run_dir_describe(&job->dir, &job->data.graph);
    WEFT_TRY(train_data_release(context, &job->data));
    return write_trace(job, train(job));
}

/* What is on disk ends with the job, whatever ended it. */
static weft_status close_files(train_job *job, weft_status status)
{
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    train_data_close(&job->data);
    train_events_close(&job->events);
    weft_status closed = run_dir_close(&job->dir, &job->context, status);
    if (status == WEFT_OK) {
        return closed;
    }
    weft_error_clear();
    return message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

weft_status train_job_create(train_job **job)
{
    return WEFT_NEW_ZERO(job, 1, WEFT_MEM_GENERAL);
}

weft_status train_job_run(train_job *job, const weft_options *options)
{
    job->started = clock_seconds();
    activity_reset();
    WEFT_TRY(app_context_open(options, &job->context));
    if (option_flag(job->context.options, OPT_TRACE)) {
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
    saved_model_close(job->initial);
    train_load_end(&job->report.load);
    checkpoint_close(job->from);
    gnn_labels_destroy(&job->labels);
    gnn_model_destroy(&job->model);
    app_context_close(&job->context);
    if (job->traced) {
        trace_close();
    }
    weft_free(job);
}
