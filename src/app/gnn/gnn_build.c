/* app/gnn/gnn_build.c: a planned model with its labels, features and aggregation, and the smoothing of its answers. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_links.h"
#include "app/setup/choices.h"
#include "app/setup/load_watch.h"
#include "base/alloc.h"
#include "base/log.h"
#include "gnn/layers/aggregate.h"
#include "gnn/layers/fixed_range.h"
#include "gnn/linear_start.h"
#include "gnn/smooth.h"
#include "hal/spmm_least.h"

/* Of any vertex: looked through after a failure only. */
static bool has_labels(const weft_graph *graph)
{
    bool found = false;
    for (int64_t v = 0; graph->label != NULL && v < graph->vertices && !found; ++v) {
        found = graph->label[v] >= 0;
    }
    for (int64_t i = 0; graph->target != NULL && i < graph->vertices * graph->tasks && !found; ++i) {
        found = !isnan(graph->target[i]);
    }
    return found;
}

/* Labels of the owned rows; without any, the number of answers alone. */
static weft_status load_labels(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_graph *graph = &job->data.graph;
    train_loss loss = gnn_loss_asked(context->options, graph);
    if (!job->labels_needed && !(work->labelled && graph->split != NULL)) {
        job->labels.targets =
            (train_targets){.rows = job->data.part.n_owned, .outputs = job->config.outputs, .loss = loss};
        return WEFT_OK;
    }
    WEFT_TRY(gnn_load_labels(context->comm, context->hal, graph, &job->data.part, loss, job->class_of, &job->labels));
    WEFT_CHECK(!job->labels_needed || job->labels.targets.loss_entries > 0 || has_labels(graph), WEFT_ERR_DATA,
               "no vertex of %s is labelled (in label.npy all are -1, in target.npy NaN): weft convert INPUT --labels "
               "FILE --out STORE takes labels",
               graph->name);
    WEFT_CHECK(
        !job->labels_needed || job->labels.targets.loss_entries > 0, WEFT_ERR_DATA,
        "no vertex of %s is both labelled and in the training split: choose another --split-index or convert with "
        "--splits",
        graph->name);
    return WEFT_OK;
}

/* Means and deviations of a trained model serve its answers, and a training that goes on from it. */
static weft_status take_moments(workload *work, gnn_feature_scaling scaling)
{
    gnn_job *job = work->self;
    const input_moments *given = work->moments;
    if (scaling != GNN_SCALE_STANDARD || given == NULL || given->columns == 0) {
        return WEFT_OK;
    }
    WEFT_CHECK(given->columns == job->data.graph.features, WEFT_ERR_DATA,
               "the model has means and deviations of %lld features, and %s has %lld", (long long)given->columns,
               work->name, (long long)job->data.graph.features);
    return input_moments_copy(given, &job->moments);
}

/* Of fixed point, of which a column has one scale. */
static weft_status warn_of_wide_range(const app_context *context, const gnn_job *job, const weft_tensor *features)
{
    gnn_fixed_range range;
    if (!job->config.fixed_rows) {
        return WEFT_OK;
    }
    WEFT_TRY(gnn_fixed_range_find(context->comm, features, &range));
    if (range.share > GNN_FIXED_COARSE) {
        log_warn("column %lld of the features: " FLAG_FEATURE_ROWS
                 " i16 changes %.0f %% of its numbers but 0 by over 3 %% of themselves, beside one that is so much "
                 "larger: take " FLAG_NORMALIZE " standard or logarithms, or leave it out where results differ",
                 (long long)range.column, 100.0 * range.share);
    }
    return WEFT_OK;
}

static weft_status load_features(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_graph *graph = &job->data.graph;
    const gnn_feature_scaling scaling = option_choice(context->options, OPT_NORMALIZE);
    if (job->model.plan.layer[0].sparse) {
        return gnn_load_sparse_features(context->comm, context->hal, graph, &job->data.part, scaling,
                                        &job->model.sparse);
    }
    weft_tensor features = gnn_model_features(&job->model);
    WEFT_TRY(comm_agree(context->comm, take_moments(work, scaling)));
    WEFT_TRY(gnn_load_features(context->comm, graph, &job->data.part, scaling, &job->moments, &features));
    work->moments = &job->moments;
    return warn_of_wide_range(context, job, &features);
}

static weft_status create_smoother(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const gnn_aggregator_options options = {.normalisation = GNN_NORM_SYMMETRIC_OTHERS,
                                            .forms = {.form = option_choice(context->options, OPT_SPMM),
                                                      .by_rule = option_flag(context->options, OPT_REPRODUCIBLE),
                                                      .max_width = job->config.outputs},
                                            .overlap = job->config.overlap};
    return gnn_aggregator_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->data.part, &options,
                                 &job->smoother);
}

weft_status gnn_smooth(workload *work, const weft_options *asked, float *logits)
{
    gnn_job *job = work->self;
    assert(work->smooths && work->model != NULL); /* build made the smoother */
    const train_targets *targets = &job->labels.targets;
    const gnn_smoothing smoothing = {.correct_alpha = option_real(asked, OPT_CORRECT_ALPHA),
                                     .smooth_alpha = option_real(asked, OPT_SMOOTH_ALPHA),
                                     .iterations = (int)option_int(asked, OPT_SMOOTH_ITERATIONS)};
    WEFT_CHECK(targets->loss == TRAIN_LOSS_XENT, WEFT_ERR_USAGE,
               FLAG_SMOOTH " spreads classes; graph %s has binary tasks or numbers: leave it out", work->name);
    WEFT_CHECK(targets->counted[TRAIN_SPLIT_TRAIN] > 0, WEFT_ERR_DATA,
               FLAG_SMOOTH " needs labels of training vertices, of which graph %s has none: leave it out, or take the "
                           "store that the model was trained on",
               work->name);
    return gnn_correct_and_smooth(&job->smoother, targets, &smoothing, logits);
}

static weft_status create_model(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const bool cuts = job->config.read_share > 0.0;
    const bool alone = job->lists_alone && gnn_takes_maxima(&job->config); /* sums have the letters of their forms */
    const hal_spmm_form form = alone ? HAL_SPMM_ROWS : option_choice(context->options, OPT_SPMM);
    uint8_t *read = NULL;
    weft_status status = comm_agree(context->comm, cuts ? gnn_read_rows(&job->labels.targets, &read) : WEFT_OK);
    if (status == WEFT_OK) {
        status = gnn_model_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->config, &job->data.part, read,
                                  form, &job->model);
    }
    weft_free(read);
    return status;
}

/* Rank 0 of a model without aggregation matrices has chosen nothing. */
static void keep_forms(workload *work)
{
    const gnn_job *job = work->self;
    char forms[GNN_FORMS + 1];
    gnn_aggregator_forms(&job->model.aggregator, forms);
    const bool none = forms[strspn(forms, "-")] == '\0';
    snprintf(work->choice, sizeof work->choice, "%s", none && comm_rank(work->context->comm) == 0 ? "" : forms);
}

/* A recipe takes --weight-init linear for many models, so it gives way where nobody asked for it. */
static weft_status start_linear(workload *work)
{
    gnn_job *job = work->self;
    const weft_options *o = work->context->options;
    const train_targets *targets = &job->labels.targets;
    const bool wanted = job->config.init == GNN_INIT_LINEAR && !work->trained;
    const char *obstacle = !wanted               ? NULL
                           : job->predicts_links ? "it is for classes of vertices"
                                                 : gnn_linear_start_obstacle(&job->model.plan, targets);
    WEFT_CHECK(obstacle == NULL || option_was_decided(o, OPT_WEIGHT_INIT), WEFT_ERR_USAGE,
               FLAG_WEIGHT_INIT " linear: %s; leave it out", obstacle);
    if (wanted && obstacle == NULL) {
        gnn_linear_start(&job->model, targets);
    } else if (wanted) {
        log_info("first weights: drawn, not linear (%s)", obstacle);
    }
    return WEFT_OK;
}

weft_status gnn_build(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    graph_data *data = &job->data;
    assert(work->model == NULL && data->part.offset != NULL); /* planned, and not built yet */
    run_choices choices;
    WEFT_TRY(choices_of(context, work->ops->choice, &choices));
    snprintf(job->config.forms, sizeof job->config.forms, "%.*s", (int)GNN_FORMS, choices.own);
    job->config.forms_by_rule = option_flag(o, OPT_REPRODUCIBLE);
    if (job->lists_alone && job->config.forms[0] == '\0') {
        log_info("form of aggregation: lists, as others may need more memory than is left (--spmm auto)");
        memset(job->config.forms, gnn_form_letter(HAL_SPMM_LISTS), GNN_FORMS);
    }
    if (gnn_layer_ops_of(&job->config)->normalisation != NULL) {
        WEFT_TRY(job_forms_find(context, &data->part, &job->config, &job->forms));
    }
    if (!job->predicts_links) {
        ACTIVITY_TRY(ACTIVITY_LOAD, load_labels(work));
        WEFT_TRY(work->trained ? WEFT_OK : gnn_tell_label_distance(work));
    }
    activity_begin(ACTIVITY_PREPARE);
    weft_status status =
        work->smooths ? create_smoother(work) : WEFT_OK; /* first: the model lets go of the part's edges */
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(comm_agree(context->comm, status));
    activity_begin(ACTIVITY_PREPARE);
    load_watch watch = {.look = NULL};
    if (job->forms.kept && !job->forms.remembered && data->part.edges >= HAL_SPMM_LEAST) {
        load_watch_begin(&watch);
    }
    status = create_model(work);
    const double others = load_watch_end(&watch, &context->placement);
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(comm_agree(context->comm, status));
    job_forms_tell(context, &job->model.aggregator, others, &job->forms);
    ACTIVITY_TRY(ACTIVITY_LOAD, load_features(work));
    activity_begin(ACTIVITY_PREPARE);
    status = gnn_model_prepare(&job->model);
    activity_end(ACTIVITY_PREPARE);
    keep_forms(work);
    status = status == WEFT_OK ? start_linear(work) : status;
    if (job->predicts_links) {
        WEFT_TRY(comm_agree(context->comm, status));
        return gnn_links_build(work);
    }
    work->model = &job->model.interface;
    work->targets = &job->labels.targets;
    work->source = source_whole(work->targets);
    work->held = (held_rows){.total = data->part.n_global, .count = data->part.n_owned, .id = data->part.gid};
    return status;
}

weft_status gnn_embeddings(const workload *work, held_rows *held, float **row, int64_t *width)
{
    const gnn_job *job = work->self;
    const gnn_model *model = &job->model;
    const int top = model->plan.layers - 1;
    WEFT_CHECK(job->predicts_links || top > 0, WEFT_ERR_UNSUPPORTED,
               "--embeddings: %s has one layer, which reads the features: leave it out", work->name);
    const weft_tensor rows = job->predicts_links ? job->link_model.rows : gnn_layer_x(&model->layer[top]);
    WEFT_CHECK(rows.dtype == WEFT_DTYPE_F32, WEFT_ERR_UNSUPPORTED,
               "--embeddings: rows of " FLAG_PRECISION " %s are not written: take f32",
               option_value_text(work->context->options, OPT_PRECISION));
    *held = (held_rows){.total = job->data.part.n_global, .count = job->data.part.n_owned, .id = job->data.part.gid};
    *width = rows.cols;
    WEFT_TRY(WEFT_NEW(row, rows.rows * rows.cols, WEFT_MEM_WORKSPACE));
    return tensor_download(&rows, *row);
}
