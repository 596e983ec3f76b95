/* app/gnn/gnn_workload.c: see app/gnn/gnn_workload.h. What is told is in gnn_describe.c, models on disk in
 * gnn_saved.c. */
#include "app/gnn/gnn_workload.h"

#include <assert.h>
#include <string.h>

#include "app/gnn/auto_options.h"
#include "app/gnn/bench/bench_spmm.h"
#include "app/gnn/convert/convert_graph.h"
#include "app/gnn/divide/command_partition.h"
#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_links.h"
#include "app/gnn/info/info_graph.h"
#include "app/setup/second_setup.h"
#include "base/alloc.h"
#include "base/log.h"
#include "gnn/layers/aggregate.h"
#include "gnn/layers/form_choice.h"
#include "partition/methods/metis_call.h"

/* ---- the data ---- */

/* Do the data say what to answer with? Pairs that somebody asks for have no answers. */
static bool gnn_is_labelled(const gnn_job *job)
{
    const weft_graph *graph = &job->data.graph;
    return job->predicts_links ? job->links.total > 0 : graph->label != NULL || graph->target != NULL;
}

static weft_status gnn_open(workload *work, const char *folder)
{
    gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    WEFT_TRY(gnn_check_options(work->context));
    WEFT_TRY(gnn_links_check_pairs(work));
    WEFT_TRY(graph_data_open(work->context, folder, &job->data));
    WEFT_TRY(gnn_links_asked(work->context->options) ? gnn_links_open(work, folder) : WEFT_OK);
    job->facts = (weft_graph){.vertices = graph->vertices,
                              .edges = graph->edges,
                              .features = graph->features,
                              .classes = graph->classes,
                              .symmetric = graph->symmetric};
    memcpy(job->facts.name, graph->name, sizeof graph->name);
    memcpy(job->facts.hash, graph->hash, sizeof graph->hash);
    snprintf(work->name, sizeof work->name, "%s", graph->name);
    memcpy(work->hash, graph->hash, sizeof work->hash);
    job->weight = graph->weight;
    work->generated = graph_data_is_generated(work->context) || job->data.derived;
    work->context->hal->keep_folder = work->generated ? NULL : job->data.store;
    work->labelled = gnn_is_labelled(job);
    work->classes = graph->label != NULL ? graph->classes : 0;
    if (graph->class_names.text != NULL) {
        WEFT_TRY(comm_agree(work->context->comm, name_list_copy((const char *const *)graph->class_names.text,
                                                                graph->class_names.count, &job->facts.class_names)));
    }
    work->class_name = (const char *const *)job->facts.class_names.text;
    const bool answers = work->trained && !job->predicts_links && comm_rank(work->context->comm) == 0 &&
                         graph->vertices <= WORKLOAD_NAMED_ROWS;
    return comm_agree(work->context->comm, answers ? graph_vertex_names(graph, &job->vertex_names) : WEFT_OK);
}

static void gnn_count_classes(const workload *work, int64_t *rows)
{
    const weft_graph *graph = &((const gnn_job *)work->self)->data.graph;
    assert(graph->label != NULL); /* only data with classes are counted */
    memset(rows, 0, (size_t)graph->classes * sizeof *rows);
    for (int64_t v = 0; v < graph->vertices; ++v) {
        if (graph->label[v] >= 0) {
            rows[graph->label[v]] += 1;
        }
    }
}

/* Labels stay in the store: they are mapped as they are loaded (gnn_load_labels). */
static weft_status gnn_relabel(workload *work, const int32_t *class_of, int64_t classes, char *const *names)
{
    gnn_job *job = work->self;
    weft_graph *graph = &job->data.graph;
    WEFT_TRY(WEFT_NEW(&job->class_of, work->classes, WEFT_MEM_GENERAL));
    memcpy(job->class_of, class_of, (size_t)work->classes * sizeof *class_of);
    name_list_free(&job->facts.class_names);
    if (names != NULL) {
        WEFT_TRY(name_list_copy((const char *const *)names, classes, &job->facts.class_names));
    }
    graph->classes = job->facts.classes = work->classes = classes;
    work->class_name = (const char *const *)job->facts.class_names.text;
    if (classes == 0) {
        graph->label = NULL;
        work->labelled = false;
    }
    return WEFT_OK;
}

/* --normalize standard of a model that is there already: does it say by which means and deviations? */
static weft_status check_moments(const workload *work, const weft_options *options, bool training)
{
    const weft_graph *graph = &((const gnn_job *)work->self)->data.graph;
    const int64_t columns = work->moments != NULL ? work->moments->columns : 0;
    if (option_choice(options, OPT_NORMALIZE) != GNN_SCALE_STANDARD || (training && work->start == NULL)) {
        return WEFT_OK;
    }
    if (columns == 0) {
        log_warn(
            "%s does not say by which means and deviations its features were standardised (files of earlier "
            "versions and of other programs do not): those of %s are measured and taken, which are the model's own "
            "only if it was trained on that store",
            training ? work->start->path : "the model", graph->name);
        return WEFT_OK;
    }
    WEFT_CHECK(!training || columns == graph->features, WEFT_ERR_DATA, "%s: made for %lld features, and %s has %lld",
               work->start->path, (long long)columns, graph->name, (long long)graph->features);
    log_info("features: standardised by the means and deviations of %s", training ? work->start->path : "the model");
    return WEFT_OK;
}

static weft_status gnn_decide(workload *work, weft_options *options, bool training)
{
    gnn_job *job = work->self;
    const gnn_facts *facts = &job->counts;
    WEFT_TRY(job->predicts_links ? gnn_links_decide(options, training) : WEFT_OK);
    if (gnn_asks_for_host(work->context) && option_is_auto(options, OPT_FEATURE_FORM)) {
        WEFT_TRY(option_decide(options, OPT_FEATURE_FORM, "whole")); /* sparse ones are on the device */
    }
    WEFT_TRY(auto_options_decide(work->context->comm, &job->data.graph, training, options, &job->counts));
    if (training) {
        gnn_warn_model(options);
    }
    WEFT_TRY(check_moments(work, options, training));
    job->weighted = option_choice(options, OPT_EDGE_WEIGHTS) == GNN_WEIGHTS_ON;
    if (!job->weighted) {
        job->data.graph.weight = NULL; /* for everything that follows */
    }
    job->density = option_choice(options, OPT_FEATURE_FORM) == GNN_FEATURES_SPARSE ? gnn_density(facts) : 0.0;
    job->read_share = training && option_choice(options, OPT_LAST_LAYER) == GNN_LAST_READ ? gnn_read_share(facts) : 0.0;
    return WEFT_OK;
}

static weft_status gnn_release(workload *work)
{
    gnn_job *job = work->self;
    return graph_data_release(work->context, &job->data);
}

/* The store, its facts and the part stay; graph_data_fits says whether the next model can have that part. */
static void gnn_unbuild(workload *work)
{
    gnn_job *job = work->self;
    gnn_links_unbuild(job);
    labels_destroy(&job->labels);
    input_moments_destroy(&job->moments);
    gnn_aggregator_destroy(&job->smoother);
    gnn_model_destroy(&job->model);
    job->labels = (train_labels){0};
    job->moments = (input_moments){.columns = 0};
    job->smoother = (gnn_aggregator){0};
    job->forms = (job_forms){.kept = 0};
    job->config = (gnn_config){.layers = 0};
    job->data.graph.weight = job->weight;
    work->model = NULL;
    work->targets = NULL;
    work->choice[0] = '\0';
}

/* How the graph is cut; the order of the vertices is part of that. */
/* An epoch of a large graph on one node has seconds of sums and one all-reduce of less than a millisecond, whose
 * fixed figures choose what measured ones choose there. */
static bool gnn_needs_links(const workload *work)
{
    const gnn_job *job = work->self;
    const weft_options *o = work->context->options;
    return job->predicts_links || !graph_data_is_large(&job->data) || comm_get_layout(work->context->comm)->nodes > 1 ||
           option_choice(o, OPT_SYNC) != SYNC_ALLREDUCE || option_choice(o, OPT_PRECONDITION) != SECOND_NONE ||
           option_text(o, OPT_COMM_MODEL)[0] != '\0' || option_choice(o, OPT_CALIBRATE) == CALIBRATE_ALWAYS;
}

static bool gnn_needs_other_data(const workload *work, option_id id)
{
    const char *section = option_row_in(work->context->options, id)->section;
    return strcmp(section, "partition") == 0 || strcmp(section, "partitioner") == 0 || id == OPT_REORDER;
}

static void gnn_abandon(workload *work)
{
    gnn_job *job = work->self;
    work->context->hal->keep_folder = NULL;
    graph_data_close(&job->data);
}

static weft_status gnn_gather_figures(const workload *work)
{
    gnn_job *job = work->self;
    WEFT_TRY(gnn_links_rank(work));
    return job_forms_judge(work->context, &job->model.aggregator, &job->forms);
}

static void gnn_end(workload *work)
{
    gnn_job *job = work->self;
    gnn_unbuild(work);
    name_list_free(&job->facts.class_names);
    name_list_free(&job->vertex_names);
    link_set_destroy(&job->links);
    weft_free(job->class_of);
}

/* Every word of --model that is a kind of layers; "auto" may become one. */
static workload_claim claim_model(const char *model)
{
    static const char *const kinds[] = {GNN_KINDS(CHOICE_NAME)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i], model) == 0) {
            return CLAIM_CERTAIN;
        }
    }
    return strcmp(model, "auto") == 0 ? CLAIM_POSSIBLE : CLAIM_NO;
}

static workload_claims gnn_claims(const weft_options *options)
{
    return (workload_claims){.model = claim_model(option_text(options, OPT_MODEL)),
                             .data = gnn_claim_data(option_text(options, OPT_DATA))};
}

static train_habits gnn_habits(const weft_options *o)
{
    const bool delays = option_int(o, OPT_DELAY) > 1 || option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH;
    const double input_dropout = option_real(o, OPT_INPUT_DROPOUT);
    return (train_habits){.normed = option_choice(o, OPT_NORM) != NORM_NONE,
                          .normalized = option_choice(o, OPT_NORMALIZE) != GNN_SCALE_NONE,
                          .input_dropped = (input_dropout < 0 ? option_real(o, OPT_DROPOUT) : input_dropout) > 0,
                          .old_gradients = delays && !option_flag(o, OPT_FRESH_GRADIENTS)};
}

static const char *checkpoint_value(const app_context *context, const checkpoint *ck, option_id id)
{
    return ck != NULL ? checkpoint_option(ck, option_row_in(context->options, id)->name) : NULL;
}

/* A run of --precision bf16 whose products were slower went on in f32 (gnn_plan.c). */
static weft_status adopt_precision(const app_context *context, const checkpoint *ck)
{
    const char *own = checkpoint_value(context, ck, OPT_PRECISION);
    const bool left = own != NULL && strcmp(own, "f32") == 0;
    return option_choice(context->options, OPT_PRECISION) == TRAIN_PRECISION_BF16
               ? app_decide_shared(context->comm, context->decided, OPT_PRECISION, left ? own : NULL)
               : WEFT_OK;
}

/* An option that this job left to be decided has the checkpoint's value. */
static weft_status adopt_value(const app_context *context, const checkpoint *ck, option_id id)
{
    return option_is_auto(context->options, id)
               ? app_decide_shared(context->comm, context->decided, id, checkpoint_value(context, ck, id))
               : WEFT_OK;
}

/* --feature-place, --order and --precondition-place auto become the checkpoint's, and so does f32 in the place of bf16.
 */
static weft_status gnn_adopt(const app_context *context, const checkpoint *ck)
{
    WEFT_TRY(second_setup_adopt(context, ck));
    WEFT_TRY(adopt_precision(context, ck));
    WEFT_TRY(adopt_value(context, ck, OPT_ORDER));
    return adopt_value(context, ck, OPT_FEATURE_PLACE);
}

static const option_id recorded[] = {
    OPT_AGGREGATOR, OPT_LAYERS,    OPT_HIDDEN,         OPT_NORM,         OPT_DROPOUT,        OPT_INPUT_DROPOUT,
    OPT_ORDER,      OPT_NORMALIZE, OPT_HEADS,          OPT_OUT_HEADS,    OPT_ATTN_DROPOUT,   OPT_NEGATIVE_SLOPE,
    OPT_RESIDUAL,   OPT_JUMPING,   OPT_GIN_EPS,        OPT_EDGE_WEIGHTS, OPT_VALUE_DROPOUT,  OPT_TASK,
    OPT_LINK_SPLIT, OPT_LINK_SEED, OPT_EVAL_NEGATIVES, OPT_DECODER,      OPT_DECODER_LAYERS, OPT_EMBEDDING,
    OPT_HITS_AT,    OPT_USERS,     OPTION_NONE};
static const option_id inputs[] = {OPT_NORMALIZE, OPTION_NONE};
static const option_id resumable[] = {OPTION_NONE};

/* The first asks for smoothing. */
static const option_id smooth_options[] = {OPT_SMOOTH, OPT_CORRECT_ALPHA, OPT_SMOOTH_ALPHA, OPT_SMOOTH_ITERATIONS,
                                           OPTION_NONE};

static const workload_activity activities[] = {
    {ACTIVITY_AGGREGATE, "aggregate", 70}, {ACTIVITY_HALO, "halo", 80}, {NULL, NULL, 0}};

static const workload_command commands[] = {{"partition", gnn_command_partition, true},
                                            {"predict-scaling", gnn_command_predict_scaling, false},
                                            {NULL, NULL, false}};

static weft_status check_forms(const char *code)
{
    bool good = strlen(code) == GNN_FORMS;
    for (const char *letter = code; good && *letter != '\0'; ++letter) {
        good = gnn_form_is_letter(*letter);
    }
    WEFT_CHECK(good, WEFT_ERR_USAGE,
               "'%s' is no code of %d letters: a code is made of the first letters of %s, and - (no matrix)", code,
               (int)GNN_FORMS, CHOICE_WORDS(HAL_SPMM_MADE));
    return WEFT_OK;
}

static const choice_kind choice_of_forms = {.key = "spmm", .option = OPT_SPMM, .check = check_forms};

static const option_id bench_uses[] = {OPT_DATA, OPT_FORMS, OPT_DIMS, OPT_THREAD_COUNTS, OPTION_NONE};
static const workload_bench benches[] = {{"spmm", "aggregation", &bench_spmm, bench_uses}, {NULL, NULL, NULL, NULL}};

static const char *gnn_library(int i, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", metis_version());
    return i == 0 ? "METIS" : NULL;
}

const workload_ops gnn_workload = {
    .options = &gnn_option_table,
    .claims = gnn_claims,
    .activities = activities,
    .recorded = recorded,
    .inputs = inputs,
    .resumable = resumable,
    .habits = gnn_habits,
    .data = "graph",
    .field = "graphs",
    .rows = "vertices",
    .accepts = "graph store (no manifest.json in it; weft convert makes one)",
    .split_cure = "weft convert --splits or --random-split gives a store another split",
    .test_cure = "weft convert --splits or --random-split gives a store another split",
    .share = {{"owned_vertices", "vertices computed", ""},
              {"held_vertices", "vertices held", ""},
              {"halo_vertices", "replicas", ""},
              {"edges", "edges", ""}},
    .shards = SYNC_SHARDS_REGIONS,
    .choice = &choice_of_forms,
    .self_bytes = sizeof(gnn_job),
    .open = gnn_open,
    .count_classes = gnn_count_classes,
    .relabel = gnn_relabel,
    .adopt = gnn_adopt,
    .decide = gnn_decide,
    .needs_links = gnn_needs_links,
    .plan = gnn_plan_job,
    .build = gnn_build,
    .smooth = gnn_smooth,
    .embeddings = gnn_embeddings,
    .smooth_options = smooth_options,
    .release = gnn_release,
    .unbuild = gnn_unbuild,
    .needs_other_data = gnn_needs_other_data,
    .abandon = gnn_abandon,
    .end = gnn_end,
    .data_facts = gnn_data_facts,
    .row_name = gnn_row_name,
    .row_title = {"vertex", "vertex"},
    .plan_facts = gnn_plan_facts,
    .print_plan = gnn_print_plan,
    .gather_figures = gnn_gather_figures,
    .result_facts = gnn_result_facts,
    .closing_facts = gnn_links_facts,
    .recognise = gnn_recognise,
    .show_moments = gnn_show_moments,
    .read_named = gnn_read_named,
    .write_named = gnn_write_named,
    .commands = commands,
    .benches = benches,
    .info = gnn_info,
    .convert = gnn_convert,
    .print_formats = gnn_print_formats,
    .library = gnn_library,
};
