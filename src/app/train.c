/* app/train.c: weft train. */
#include <stdio.h>
#include <string.h>

#include "app/command.h"
#include "app/memory_plan.h"
#include "app/train_data.h"
#include "app/train_report.h"
#include "base/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "gnn/dataset.h"

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
                        .decay_first_only = option_choice(o, OPT_DECAY_LAYERS) == 1};
}

static train_loss chosen_loss(const weft_options *o, const weft_graph *graph)
{
    int choice = option_choice(o, OPT_LOSS);
    if (choice == 0) {
        return graph->target != NULL ? TRAIN_LOSS_BCE : TRAIN_LOSS_XENT;
    }
    return choice == 1 ? TRAIN_LOSS_XENT : TRAIN_LOSS_BCE;
}

static train_options loop_options(const weft_options *o, train_loss loss)
{
    int metric = option_choice(o, OPT_METRIC);
    int allreduce = option_choice(o, OPT_ALLREDUCE);
    bool rocauc = metric == 2 || (metric == 0 && loss == TRAIN_LOSS_BCE);
    const char *weights = option_text(o, OPT_INIT_WEIGHTS);
    return (train_options){
        .epochs = option_int(o, OPT_EPOCHS),
        .runs = (int)option_int(o, OPT_RUNS),
        .seed = (uint64_t)option_int(o, OPT_SEED),
        .eval_every = option_int(o, OPT_EVAL_EVERY),
        .patience = option_int(o, OPT_PATIENCE),
        .metric = rocauc ? TRAIN_METRIC_ROCAUC : TRAIN_METRIC_ACCURACY,
        .allreduce = option_flag(o, OPT_REPRODUCIBLE) ? COMM_ALGO_FIXED_ORDER : (comm_algorithm)allreduce,
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
        .init_weights = weights[0] != '\0' ? weights : NULL,
    };
}

/* Everything one training job holds, freed in one place. */
typedef struct train_job {
    app_context context;
    run_dir dir;
    train_data data;
    gnn_config config;
    memory_plan memory;
    gnn_model model;
    gnn_labels labels;
    train_result result;
} train_job;

static weft_status check_data(const train_job *job)
{
    const weft_graph *graph = &job->data.graph;
    WEFT_CHECK(graph->features > 0, WEFT_ERR_DATA, "%s has no features: training needs feature.npy (docs/formats.md)",
               graph->name);
    WEFT_CHECK(graph->label != NULL || graph->target != NULL, WEFT_ERR_DATA,
               "%s has no labels: training needs label.npy or target.npy (docs/formats.md)", graph->name);
    return WEFT_OK;
}

static int64_t halo_rows(const weft_part *part)
{
    int64_t own = part->sources.own_offset != NULL ? part->sources.own_offset[part->parts] : 0;
    int64_t leaf = part->sources.leaf_offset != NULL ? part->sources.leaf_offset[part->parts] : 0;
    return own + leaf;
}

static weft_status plan_memory(train_job *job, uint64_t process)
{
    const weft_part *part = &job->data.part;
    gnn_plan plan;
    gnn_plan_make(&job->config, part->n_owned, part->n_local, job->context.placement.threads, WEFT_DTYPE_F32, &plan);
    memory_plan_make(&job->data.graph, &plan, part->parts, part->edges, part->symmetric, halo_rows(part), process,
                     &job->memory);
    return memory_plan_check(&job->context, &job->memory, option_size(job->context.options, OPT_MEMORY_LIMIT));
}

/* What the layers will do and send, in words: for --dry-run and the log. */
static void print_plan(const train_job *job, const gnn_plan *plan)
{
    double rows = (double)job->data.report.rows_per_layer;
    double bytes = 0;
    for (int l = 0; l < plan->config.layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        int legs = layer->flow == GNN_FLOW_CONSTANT || layer->flow == GNN_FLOW_DENSE ? 0
                   : l == 0 && layer->flow == GNN_FLOW_AGGREGATE_FIRST               ? 1
                                                                                     : 2;
        printf("layer %d: %lld -> %lld, %s\n", l, (long long)layer->d_in, (long long)layer->d_out,
               gnn_flow_text(layer->flow));
        bytes += rows * legs * (double)layer->width * 4.0;
    }
    printf("halo: %.0f rows a layer and direction over all ranks, %.1f MB an epoch\n", rows, bytes / 1e6);
    printf("gradients: %.3f MB all-reduced an epoch\n", (double)plan->parameter_bytes / 5.0 / 1e6);
}

static void print_dry_run(const train_job *job)
{
    const app_context *context = &job->context;
    const partition_report *report = &job->data.report;
    gnn_plan plan;
    gnn_plan_make(&job->config, job->data.part.n_owned, job->data.part.n_local, context->placement.threads,
                  WEFT_DTYPE_F32, &plan);
    printf("%d rank(s) on %d node(s), %d thread(s) each (%s)\n", comm_size(context->comm), context->nodes,
           context->placement.threads, context->placement.reason);
    if (comm_size(context->comm) > 1) {
        printf("partition %s: replication factor %.3f, edge balance %.3f, vertex balance %.3f, root balance %.3f\n",
               option_text(context->options, OPT_PARTITION), report->replication_factor, report->edge_balance,
               report->vertex_balance, report->root_balance);
    }
    print_plan(job, &plan);
    memory_plan_print(&job->memory);
}

static weft_status build_model(train_job *job)
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
        status = gnn_load_labels(context->comm, context->hal, &data->graph, &data->part, chosen_loss(o, &data->graph),
                                 &job->labels);
    }
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_PREPARE);
    status = gnn_model_prepare(&job->model);
    activity_end(ACTIVITY_PREPARE);
    return status;
}

/* Every run loads them anew; here they are only looked at, before the run folder is touched. */
static weft_status check_initial_weights(train_job *job)
{
    const char *path = option_text(job->context.options, OPT_INIT_WEIGHTS);
    weft_status status = path[0] != '\0' ? param_load(&job->model.params, path) : WEFT_OK;
    return comm_agree(job->context.comm, status);
}

static weft_status train_and_report(train_job *job)
{
    const app_context *context = &job->context;
    const train_targets *targets = &job->labels.targets;
    const train_options options = loop_options(context->options, targets->loss);
    train_report report = {.context = context,
                           .dir = &job->dir,
                           .options = &options,
                           .metric = options.metric == TRAIN_METRIC_ACCURACY ? "accuracy" : "ROC-AUC",
                           .started = clock_seconds()};
    const train_observer observer = train_report_observer(&report);
    log_info("training: %lld parameters, %lld/%lld/%lld vertices to train/valid/test",
             (long long)job->model.params.weights, (long long)targets->counted[0], (long long)targets->counted[1],
             (long long)targets->counted[2]);
    WEFT_TRY(
        train_loop(context->comm, context->hal, &job->model.interface, targets, &options, &observer, &job->result));
    activity_begin(ACTIVITY_WRITE);
    int64_t last_seed = (int64_t)options.seed + options.runs - 1;
    weft_status status = train_write_predictions(context, &job->dir, &job->model, targets, &job->data.part, last_seed);
    if (status == WEFT_OK && comm_rank(context->comm) == 0) {
        char path[FILE_PATH_MAX];
        status = file_path(path, "%s/weights.npz", job->dir.path);
        status = status == WEFT_OK ? param_save(&job->model.params, path) : status;
    }
    activity_end(ACTIVITY_WRITE);
    WEFT_TRY(comm_agree(context->comm, status));
    return train_report_close(&report, &job->result, &job->model, &job->data.report, job->memory.peak);
}

static weft_status run_job(train_job *job)
{
    app_context *context = &job->context;
    const weft_options *o = context->options;
    bool dry = option_flag(o, OPT_DRY_RUN);
    bool first = comm_rank(context->comm) == 0;
    uint64_t process = clock_rss_bytes();
    comm_set_stall_timeout(context->comm, option_real(o, OPT_STALL_TIMEOUT));
    WEFT_TRY(run_dir_open(context, &job->dir));
    WEFT_TRY(train_data_open(context, job->dir.path, &job->data));
    WEFT_TRY(check_data(job));
    const weft_graph *graph = &job->data.graph;
    train_loss loss = chosen_loss(o, graph);
    int64_t tasks = graph->target != NULL ? graph->tasks : 1;
    job->config = model_config(o, graph, loss == TRAIN_LOSS_XENT ? graph->classes : tasks);
    WEFT_TRY(plan_memory(job, process));
    if (dry) {
        if (first) {
            print_dry_run(job);
        }
        return train_data_release(context, &job->data);
    }
    WEFT_TRY(build_model(job));
    WEFT_TRY(check_initial_weights(job));
    weft_status status = first ? run_dir_begin(&job->dir, context, graph) : WEFT_OK;
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(train_data_release(context, &job->data));
    return train_and_report(job);
}

/* What is on disk ends with the job, whatever ended it; before app_context_fail, which may not return. */
static weft_status close_files(train_job *job, weft_status status)
{
    char message[FILE_PATH_MAX];
    snprintf(message, sizeof message, "%s", weft_error_message());
    train_data_close(&job->data);
    weft_status closed = run_dir_close(&job->dir, &job->context, status);
    if (status == WEFT_OK) {
        return closed;
    }
    weft_error_clear();
    return message[0] != '\0' ? weft_fail(status, "%s", message) : status;
}

weft_status app_train(const weft_options *options)
{
    train_job *job = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&job, 1, WEFT_MEM_GENERAL));
    activity_reset();
    weft_status status = app_context_open(options, &job->context);
    if (status == WEFT_OK) {
        status = run_job(job);
    }
    status = close_files(job, status);
    if (status != WEFT_OK) {
        app_context_fail(&job->context, status);
    }
    weft_free(job->result.run);
    gnn_labels_destroy(&job->labels);
    gnn_model_destroy(&job->model);
    app_context_close(&job->context);
    weft_free(job);
    return status;
}
