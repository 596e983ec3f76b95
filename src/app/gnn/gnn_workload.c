/* app/gnn/gnn_workload.c: see app/gnn/gnn_workload.h. What is told is in gnn_describe.c, models on disk in
 * gnn_saved.c. */
#include "app/gnn/gnn_workload.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/gnn/auto_options.h"
#include "app/gnn/bench/bench_spmm.h"
#include "app/gnn/convert/convert_graph.h"
#include "app/gnn/divide/command_partition.h"
#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_memory.h"
#include "app/gnn/info/info_graph.h"
#include "app/setup/load_watch.h"
#include "app/workload/precision.h"
#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/generate/generator.h"
#include "gnn/layers/aggregate.h"
#include "gnn/layers/form_choice.h"
#include "gnn/smooth.h"
#include "io/text/foreign_file.h"
#include "partition/methods/metis_call.h"

/* ---- what the options ask for ---- */

gnn_config gnn_config_of(const weft_options *o, const weft_graph *graph, int64_t outputs)
{
    double dropout = option_real(o, OPT_DROPOUT);
    double input_dropout = option_real(o, OPT_INPUT_DROPOUT);
    const gnn_kind kind = gnn_kind_asked(o);
    const bool connects = gnn_ops_asked(o)->connects;
    const halo_codec codec = option_choice(o, OPT_HALO_CODEC);
    return (gnn_config){.kind = kind,
                        .aggregator = option_choice(o, OPT_AGGREGATOR),
                        .layers = (int)option_int(o, OPT_LAYERS),
                        .inputs = graph->features,
                        .hidden = option_int(o, OPT_HIDDEN),
                        .outputs = outputs,
                        .norm = option_choice(o, OPT_NORM),
                        .dropout = (float)dropout,
                        .input_dropout = (float)(input_dropout < 0 ? dropout : input_dropout),
                        .heads = (int)option_int(o, OPT_HEADS),
                        .out_heads = (int)option_int(o, OPT_OUT_HEADS),
                        .slope = (float)option_real(o, OPT_NEGATIVE_SLOPE),
                        .weight_dropout = (float)option_real(o, OPT_ATTN_DROPOUT),
                        .value_dropout = kind == GNN_GAT ? (float)option_real(o, OPT_VALUE_DROPOUT) : 0.0f,
                        .order = option_choice(o, OPT_ORDER),
                        .learns_eps = kind == GNN_GIN && option_choice(o, OPT_GIN_EPS) == GNN_EPS_LEARNED,
                        .residual = connects && option_choice(o, OPT_RESIDUAL) == GNN_RESIDUAL_ON,
                        .jumping = connects ? option_choice(o, OPT_JUMPING) : GNN_JUMPING_NONE,
                        .init = option_choice(o, OPT_WEIGHT_INIT),
                        .decay_first_only = option_choice(o, OPT_DECAY_LAYERS) == DECAY_FIRST,
                        .overlap = option_choice(o, OPT_HALO_OVERLAP),
                        .halo = {.delay = (int)option_int(o, OPT_DELAY),
                                 .hidden = option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH,
                                 .fresh_gradients = option_flag(o, OPT_FRESH_GRADIENTS),
                                 .sample = option_real(o, OPT_BOUNDARY_SAMPLE),
                                 .none = option_choice(o, OPT_HALO) == HALO_EXCHANGE_OFF,
                                 .codec = halo_row_codec(codec),
                                 .mean_bits = codec == HALO_CODEC_ADAPTIVE ? option_real(o, OPT_HALO_BITS) : 0.0}};
}

static train_loss chosen_loss(const weft_options *o, const weft_graph *graph)
{
    const loss_choice choice = option_choice(o, OPT_LOSS);
    if (choice == LOSS_AUTO) {
        return graph->target != NULL ? TRAIN_LOSS_BCE : TRAIN_LOSS_XENT;
    }
    return choice == LOSS_XENT ? TRAIN_LOSS_XENT : TRAIN_LOSS_BCE;
}

int64_t gnn_outputs_of(const weft_options *o, const weft_graph *graph)
{
    const int64_t tasks = graph->target != NULL ? graph->tasks : 1;
    return chosen_loss(o, graph) == TRAIN_LOSS_XENT ? graph->classes : tasks;
}

/* ---- the data ---- */

static weft_status gnn_begin(workload *work)
{
    gnn_job *job = NULL;
    weft_status status = WEFT_NEW_ZERO(&job, 1, WEFT_MEM_GENERAL);
    work->self = job;
    return status;
}

/* What has no kernels for rows of bfloat16. */
static weft_status check_precision(const weft_options *o)
{
    const train_precision precision = option_choice(o, OPT_PRECISION);
    WEFT_CHECK(precision != TRAIN_PRECISION_F16, WEFT_ERR_USAGE,
               FLAG_PRECISION " f16 is for networks on images: take bf16, or leave it out");
    if (precision == TRAIN_PRECISION_F32) {
        return WEFT_OK;
    }
    WEFT_CHECK(!gnn_ops_asked(o)->heads, WEFT_ERR_USAGE,
               FLAG_PRECISION " bf16: attention computes in f32 only: take sage, gcn, gin or sgc, or leave it out");
    WEFT_CHECK(gnn_kind_asked(o) != GNN_GIN || option_choice(o, OPT_GIN_EPS) == GNN_EPS_0, WEFT_ERR_USAGE,
               FLAG_PRECISION " bf16: " FLAG_GIN_EPS " learned computes in f32 only: take one or the other");
    WEFT_CHECK(option_int(o, OPT_DELAY) <= 1 && option_choice(o, OPT_HALO_OVERLAP) != HALO_OVERLAP_EPOCH &&
                   option_choice(o, OPT_HALO_CODEC) == HALO_CODEC_NONE,
               WEFT_ERR_USAGE,
               FLAG_PRECISION " bf16 sends rows of bf16 already; " FLAG_DELAY ", " FLAG_HALO_OVERLAP
                              " epoch and " FLAG_HALO_CODEC " are for rows of f32: take one or the other");
    return WEFT_OK;
}

static const option_id idle_without_hidden[] = {OPT_HIDDEN, OPT_HEADS, OPT_RESIDUAL, OPTION_NONE};
static const option_id idle_norm[] = {OPT_NORM, OPTION_NONE};
static const option_id idle_dropout[] = {OPT_DROPOUT, OPTION_NONE};
static const option_id idle_residual[] = {OPT_RESIDUAL, OPTION_NONE};

/* Options of hidden layers that this model has none of. The recipe is known: it may make --input-dropout follow
 * --dropout, and set the norm. A layer of gin is hidden within. */
static void warn_without_hidden_layers(const weft_options *o)
{
    const bool hops = gnn_ops_asked(o)->hops;
    const bool jumps = gnn_ops_asked(o)->connects && option_choice(o, OPT_JUMPING) != GNN_JUMPING_NONE;
    const int64_t hidden = option_int(o, OPT_LAYERS) - (jumps ? 0 : 1); /* behind jumps one more map follows */
    const char *where = hops ? "with " FLAG_MODEL " sgc, which is one linear map" : "with one layer, which is the last";
    if (hops || (hidden == 0 && gnn_kind_asked(o) != GNN_GIN)) {
        option_warn_idle(o, idle_without_hidden, where);
        if (option_choice(o, OPT_NORM) != NORM_NONE) {
            option_warn_idle(o, idle_norm, where);
        }
        if (option_real(o, OPT_INPUT_DROPOUT) >= 0) {
            option_warn_idle(o, idle_dropout, where);
        }
    } else if (hidden == 1 && option_choice(o, OPT_RESIDUAL) == GNN_RESIDUAL_ON) {
        option_warn_idle(o, idle_residual, "with one hidden layer: it is of all but the first");
    }
}

/* First weights of layers with attention are drawn in one way alone, which leaves the map behind --jumping; weights
 * that are given are not drawn. */
static void warn_first_weights(const weft_options *o)
{
    const bool attention = gnn_ops_asked(o)->heads && option_choice(o, OPT_JUMPING) == GNN_JUMPING_NONE;
    if (option_text(o, OPT_INIT_WEIGHTS)[0] != '\0') {
        option_warn_beside(o, OPT_WEIGHT_INIT, OPT_INIT_WEIGHTS, "no weights are drawn");
    } else if (attention) {
        option_warn_beside(o, OPT_WEIGHT_INIT, OPT_MODEL, "layers with attention begin with glorot");
    }
}

static const option_id idle_without_delay[] = {OPT_FRESH_GRADIENTS, OPTION_NONE};

static weft_status check_halo(const weft_options *o)
{
    const bool delays = option_int(o, OPT_DELAY) > 1 || option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH;
    if (!delays) {
        option_warn_idle(o, idle_without_delay,
                         "without " FLAG_DELAY " of 2 or more or " FLAG_HALO_OVERLAP " epoch, which make rows old");
    }
    WEFT_CHECK(!delays || option_real(o, OPT_BOUNDARY_SAMPLE) >= 1.0, WEFT_ERR_USAGE,
               FLAG_BOUNDARY_SAMPLE " leaves out rows that " FLAG_DELAY " and " FLAG_HALO_OVERLAP
                                    " epoch keep from earlier epochs: take one or the other");
    return WEFT_OK;
}

/* Some rank's backend has memory of its own: then all ranks stream alike, so that their layers multiply and sum in one
 * order. */
static bool job_has_device(const app_context *context)
{
    return context->mixed || !hal_host_visible(context->hal);
}

static bool asks_for_host(const app_context *context)
{
    return option_choice(context->options, OPT_FEATURE_PLACE) == GNN_PLACE_HOST && job_has_device(context);
}

static const option_id idle_road[] = {OPT_GPU_DIRECT, OPTION_NONE};

/* How rows of vertices pass between the memory of devices and other ranks. */
static void tell_road(const app_context *context)
{
    if (comm_size(context->comm) == 1 || !job_has_device(context)) {
        option_warn_idle(context->options, idle_road, "without rows in a GPU's memory that other ranks want");
    } else {
        log_info("rows of vertices in device memory go %s", context->road);
    }
}

static const option_id idle_place[] = {OPT_FEATURE_PLACE, OPTION_NONE};

/* Features on the host pass through the device's memory to be multiplied: what needs all of them there is refused. */
static weft_status check_place(const app_context *context)
{
    const weft_options *o = context->options;
    const gnn_config config = {.kind = gnn_kind_asked(o),
                               .aggregator = option_choice(o, OPT_AGGREGATOR),
                               .order = option_choice(o, OPT_ORDER)};
    if (!job_has_device(context)) {
        option_warn_idle(o, idle_place, "on a backend that computes in the host's memory, where features are anyway");
        return WEFT_OK;
    }
    if (!asks_for_host(context)) {
        return WEFT_OK;
    }
    WEFT_CHECK(option_choice(o, OPT_FEATURE_FORM) != GNN_FEATURES_SPARSE, WEFT_ERR_USAGE,
               FLAG_FEATURE_FORM " sparse holds features on the device: take " FLAG_FEATURE_FORM
                                 " whole, or leave out " FLAG_FEATURE_PLACE " host");
    WEFT_CHECK(gnn_may_stream(&config), WEFT_ERR_USAGE,
               "%s needs the features of all neighbours on the device: leave it out, or " FLAG_FEATURE_PLACE " host",
               gnn_takes_maxima(&config) ? FLAG_AGGREGATOR " max" : "--order aggregate-first");
    return WEFT_OK;
}

/* A store has a manifest. Generated data are a graph's if a generator has their name; else it may be misspelt. */
static workload_claim claim_data(const char *data)
{
    char manifest[FILE_PATH_MAX];
    if (generator_named(data)) {
        return generator_knows(data) ? CLAIM_CERTAIN : CLAIM_POSSIBLE;
    }
    return snprintf(manifest, sizeof manifest, "%s/manifest.json", data) < FILE_PATH_MAX && file_exists(manifest)
               ? CLAIM_CERTAIN
               : CLAIM_NO;
}

/* Data that no kind claims come here and need be no graph, which is told before options are held against one. Data that
 * are missing altogether are told by graph_data_open. */
static weft_status check_looks(const weft_options *o)
{
    const char *data = option_text(o, OPT_DATA);
    const bool stands = data[0] != '\0' && (generator_named(data) || file_exists(data));
    struct stat facts;
    if (stands && stat(data, &facts) == 0 && !S_ISDIR(facts.st_mode)) {
        WEFT_TRY(foreign_file_refuse(data));
    }
    if (stands && claim_data(data) == CLAIM_NO) {
        return workload_refuse_data(data);
    }
    WEFT_CHECK(
        !stands || !option_is_set(o, OPT_BATCH_SIZE), WEFT_ERR_USAGE,
        "%s is for batches; a graph is trained in full batch: every epoch visits every vertex and edge, so there is "
        "no batch to size; memory is divided by more ranks (mpirun -np)",
        FLAG_BATCH_SIZE);
    return WEFT_OK;
}

static weft_status gnn_open(workload *work, const char *folder)
{
    gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    WEFT_TRY(comm_agree(work->context->comm, check_looks(work->context->options)));
    WEFT_TRY(check_precision(work->context->options));
    WEFT_TRY(check_halo(work->context->options));
    WEFT_TRY(check_place(work->context));
    WEFT_TRY(graph_data_open(work->context, folder, &job->data));
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
    work->generated = graph_data_is_generated(work->context);
    work->labelled = graph->label != NULL || graph->target != NULL;
    work->classes = graph->label != NULL ? graph->classes : 0;
    if (graph->class_names.text != NULL) {
        WEFT_TRY(comm_agree(work->context->comm, name_list_copy((const char *const *)graph->class_names.text,
                                                                graph->class_names.count, &job->facts.class_names)));
    }
    work->class_name = (const char *const *)job->facts.class_names.text;
    const bool answers = work->trained && comm_rank(work->context->comm) == 0 && graph->vertices <= WORKLOAD_NAMED_ROWS;
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
    if (asks_for_host(work->context) && option_is_auto(options, OPT_FEATURE_FORM)) {
        WEFT_TRY(option_decide(options, OPT_FEATURE_FORM, "whole")); /* sparse ones are on the device */
    }
    WEFT_TRY(auto_options_decide(work->context->comm, &job->data.graph, training, options, &job->counts));
    if (training) {
        warn_without_hidden_layers(options);
        warn_first_weights(options);
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
    gnn_labels_destroy(&job->labels);
    input_moments_destroy(&job->moments);
    gnn_aggregator_destroy(&job->smoother);
    gnn_model_destroy(&job->model);
    job->labels = (gnn_labels){0};
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
static bool gnn_needs_other_data(const workload *work, option_id id)
{
    const char *section = option_row_in(work->context->options, id)->section;
    return strcmp(section, "partition") == 0 || strcmp(section, "partitioner") == 0 || id == OPT_REORDER;
}

static void gnn_abandon(workload *work)
{
    gnn_job *job = work->self;
    graph_data_close(&job->data);
}

/* ---- the plan ---- */

static weft_status check_data(const workload *work, bool labels_needed)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    WEFT_CHECK(
        graph->features > 0, WEFT_ERR_DATA,
        "%s has no features (feature.npy), and a model reads them: weft convert INPUT --features degree --out STORE "
        "makes some of the graph's input; so do onehot, random:D and spectral:D, or give a file (docs/formats.md)",
        graph->name);
    WEFT_CHECK(
        !labels_needed || work->labelled, WEFT_ERR_DATA,
        "%s has no labels (label.npy or target.npy) to train for: weft convert INPUT --labels FILE --random-split "
        "60/20/20 --out STORE takes a class for each vertex (docs/formats.md)",
        graph->name);
    return WEFT_OK;
}

/* What a rank of this configuration needs. */
static memory_plan plan_memory(const workload *work, const gnn_config *config, int64_t n_owned, int64_t n_local,
                               gnn_memory_facts facts)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const int ranks = graph_data_ranks(context);
    const sync_options sync = sync_options_of(context->options, gnn_workload.shards);
    assert(n_owned <= n_local && ranks > 0);
    gnn_plan plan;
    gnn_plan_make(config, n_owned, n_local, context->placement.threads, WEFT_DTYPE_F32, &plan);
    facts.graph = &job->data.graph;
    facts.plan = &plan;
    facts.hal = context->hal;
    facts.parts = ranks;
    facts.hides = ranks == comm_size(context->comm) ? gnn_overlaps(context->comm, config->overlap)
                                                    : config->overlap != HALO_OVERLAP_OFF;
    facts.process = work->process;
    facts.keeps = work->keeps;
    facts.smooths = work->smooths;
    facts.parameters = memory_plan_parameters(
        context, !work->trained,
        &(train_memory_desc){
            .trained = plan.parameters, .state = plan.state, .largest = plan.largest, .dtype = WEFT_DTYPE_F32});
    facts.sync_bytes = sync_setup_bytes(&sync, facts.parameters.gradient, ranks);
    facts.sync_device = sync_setup_device(&sync, context->hal, facts.parameters.gradient, ranks);
    return gnn_memory_plan(&facts);
}

/* Features leave a device that cannot hold them, where what is left fits: by itself, or as a cure. */
static weft_status choose_place(workload *work, int64_t n_owned, int64_t n_local, const gnn_memory_facts *facts)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    gnn_config config = job->config;
    bool fits = true;
    if (config.streams || !gnn_may_stream(&config)) {
        return WEFT_OK;
    }
    WEFT_TRY(memory_plan_fits_device(context, &work->memory, &fits));
    if (fits) {
        return WEFT_OK;
    }
    config.streams = true;
    const memory_plan memory = plan_memory(work, &config, n_owned, n_local, *facts);
    WEFT_TRY(memory_plan_fits_device(context, &memory, &fits));
    if (fits && option_is_auto(context->options, OPT_FEATURE_PLACE)) {
        job->config.streams = true;
        work->memory = memory;
    } else if (fits) {
        work->memory.cure =
            FLAG_FEATURE_PLACE " host keeps the features off it; or use more nodes, or a smaller --hidden";
    }
    return WEFT_OK;
}

static weft_status check_memory(workload *work, int64_t n_owned, int64_t n_local, gnn_memory_facts facts)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const bool here = graph_data_ranks(context) == comm_size(context->comm);
    work->memory = plan_memory(work, &job->config, n_owned, n_local, facts);
    WEFT_TRY(here ? choose_place(work, n_owned, n_local, &facts) : WEFT_OK);
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    return here || limit > 0 ? memory_plan_check(context, &work->memory, limit) : WEFT_OK;
}

/* Before anything is allocated: a rank's share without replicas, the least it will need. */
static weft_status check_memory_early(workload *work)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    const double share = graph_data_share(work->context, &job->data);
    const int64_t n = (int64_t)((double)graph->vertices * share);
    const int64_t edges = (int64_t)((double)graph->edges * share);
    return check_memory(work, n, n, (gnn_memory_facts){.edges = edges, .symmetric = graph->symmetric});
}

static int64_t halo_rows(const weft_part *part)
{
    int64_t own = part->sources.own_offset != NULL ? part->sources.own_offset[part->parts] : 0;
    int64_t leaf = part->sources.leaf_offset != NULL ? part->sources.leaf_offset[part->parts] : 0;
    return own + leaf;
}

/* With the part known: what will be allocated. */
static weft_status check_memory_of_part(workload *work)
{
    const gnn_job *job = work->self;
    const weft_part *part = &job->data.part;
    return check_memory(
        work, part->n_owned, part->n_local,
        (gnn_memory_facts){.edges = part->edges,
                           .halo_rows = part->gid != NULL ? halo_rows(part) : 2 * (part->n_local - part->n_owned),
                           .symmetric = part->symmetric || part->whole_rows});
}

/* Measured: docs/howto-halo.md. */
static void warn_of_old_rows(const app_context *context, const gnn_config *config)
{
    const bool old = config->halo.delay > 1 || config->halo.hidden;
    if (old && config->norm == NORM_NONE && config->layers > 2 && comm_size(context->comm) > 1) {
        log_warn("%d layers without a norm may diverge on rows of earlier epochs: try --norm batch, or a lower --lr "
                 "with " FLAG_FRESH_GRADIENTS,
                 config->layers);
    }
}

static void tell_last_layer(const gnn_config *config, const gnn_plan *plan)
{
    if (plan->read_width > 0) {
        log_info(
            "last layer: sums over neighbours in training along %.0f %% of the edges, those into rows that the loss "
            "reads (" FLAG_LAST_LAYER ")",
            100.0 * config->read_share);
    }
}

/* A run that goes on keeps its place, and with it the order of its sums. */
static weft_status settle_place(workload *work)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const bool decides = option_is_auto(context->options, OPT_FEATURE_PLACE);
    if (decides && job->config.streams) {
        log_info("features: too large for the GPU's memory beside the rest, they stay on the host (" FLAG_FEATURE_PLACE
                 " auto)");
    }
    return decides ? app_decide_shared(context->comm, context->decided, OPT_FEATURE_PLACE,
                                       job->config.streams ? "host" : "device")
                   : WEFT_OK;
}

static weft_status gnn_plan_job(workload *work, const char *folder, int64_t outputs)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_graph *graph = &job->data.graph;
    const weft_part *part = &job->data.part;
    const partition_report *report = &job->data.report;
    gnn_plan plan;
    work->divider = option_text(context->options, OPT_PARTITION);
    work->elsewhere = graph_data_ranks(context) != comm_size(context->comm);
    job->labels_needed = outputs == 0;
    WEFT_TRY(check_data(work, job->labels_needed));
    if (work->labelled) {
        outputs = gnn_outputs_of(context->options, graph);
    }
    weft_dtype values;
    WEFT_TRY(precision_of(context, &values));
    job->config = gnn_config_of(context->options, graph, outputs);
    job->config.bf16 = values == WEFT_DTYPE_BF16;
    job->config.density = job->density;
    job->config.read_share = job->read_share;
    job->config.streams = asks_for_host(context);
    job->config.keeps_edges = work->keeps;
    warn_of_old_rows(context, &job->config);
    gnn_plan_make(&job->config, 1, 1, 1, WEFT_DTYPE_F32, &plan);
    tell_last_layer(&job->config, &plan);
    tell_road(context);
    work->inputs = job->config.inputs;
    work->outputs = job->config.outputs;
    const bool cut = job->data.part.n_global > 0; /* for a model before this one */
    WEFT_TRY(cut ? WEFT_OK : graph_data_weigh(context, gnn_plan_epoch_width(&plan), &job->data));
    WEFT_TRY(check_memory_early(work));
    if (graph_data_ranks(context) == comm_size(context->comm)) {
        WEFT_TRY(cut && graph_data_fits(context, &job->data) ? WEFT_OK : graph_data_cut(context, folder, &job->data));
    } else {
        graph_data_assume(context, &job->data);
    }
    work->shares[0] = part->n_owned;
    work->shares[1] = part->n_local;
    work->shares[2] = part->n_local - part->n_owned;
    work->shares[3] = part->edges;
    work->balance = comm_size(context->comm) > 1 ? report->edge_balance : 1.0;
    work->replication = report->replication_factor;
    WEFT_TRY(check_memory_of_part(work));
    return settle_place(work);
}

/* ---- the model ---- */

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
    train_loss loss = chosen_loss(context->options, graph);
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
    return WEFT_OK;
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

static weft_status gnn_smooth(workload *work, const weft_options *asked, float *logits)
{
    gnn_job *job = work->self;
    assert(work->smooths && work->model != NULL); /* build made the smoother */
    const train_targets *targets = &job->labels.targets;
    const gnn_smoothing smoothing = {.correct_alpha = option_real(asked, OPT_CORRECT_ALPHA),
                                     .smooth_alpha = option_real(asked, OPT_SMOOTH_ALPHA),
                                     .iterations = (int)option_int(asked, OPT_SMOOTH_ITERATIONS)};
    WEFT_CHECK(targets->loss == TRAIN_LOSS_XENT, WEFT_ERR_USAGE,
               FLAG_SMOOTH " spreads classes; graph %s has binary tasks: leave it out", work->name);
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
    uint8_t *read = NULL;
    weft_status status = comm_agree(context->comm, cuts ? gnn_read_rows(&job->labels.targets, &read) : WEFT_OK);
    if (status == WEFT_OK) {
        status = gnn_model_create(context->comm, context->hal, WEFT_DTYPE_F32, &job->config, &job->data.part, read,
                                  option_choice(context->options, OPT_SPMM), &job->model);
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

static weft_status gnn_build(workload *work)
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
    if (gnn_layer_ops_of(&job->config)->normalisation != NULL) {
        WEFT_TRY(job_forms_find(context, &data->part, &job->config, &job->forms));
    }
    activity_begin(ACTIVITY_LOAD);
    weft_status status = load_labels(work);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_PREPARE);
    status = work->smooths ? create_smoother(work) : WEFT_OK; /* first: the model lets go of the part's edges */
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(comm_agree(context->comm, status));
    activity_begin(ACTIVITY_PREPARE);
    load_watch watch = {.look = NULL};
    if (job->forms.kept && !job->forms.remembered) {
        load_watch_begin(&watch);
    }
    status = create_model(work);
    const double others = load_watch_end(&watch, &context->placement);
    activity_end(ACTIVITY_PREPARE);
    WEFT_TRY(comm_agree(context->comm, status));
    job_forms_tell(context, &job->model.aggregator, others, &job->forms);
    activity_begin(ACTIVITY_LOAD);
    status = load_features(work);
    activity_end(ACTIVITY_LOAD);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_PREPARE);
    status = gnn_model_prepare(&job->model);
    activity_end(ACTIVITY_PREPARE);
    work->model = &job->model.interface;
    work->targets = &job->labels.targets;
    work->source = source_whole(work->targets);
    keep_forms(work);
    work->held = (held_rows){.total = data->part.n_global, .count = data->part.n_owned, .id = data->part.gid};
    return status;
}

static weft_status gnn_gather_figures(const workload *work)
{
    gnn_job *job = work->self;
    return job_forms_judge(work->context, &job->model.aggregator, &job->forms);
}

static void gnn_end(workload *work)
{
    gnn_job *job = work->self;
    gnn_unbuild(work);
    name_list_free(&job->facts.class_names);
    name_list_free(&job->vertex_names);
    weft_free(job->class_of);
    weft_free(job);
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
                             .data = claim_data(option_text(options, OPT_DATA))};
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

/* --feature-place auto becomes the checkpoint's. */
static weft_status gnn_adopt(const app_context *context, const checkpoint *ck)
{
    const char *name = option_row_in(context->options, OPT_FEATURE_PLACE)->name;
    const char *own = ck != NULL ? checkpoint_option(ck, name) : NULL;
    return option_is_auto(context->options, OPT_FEATURE_PLACE)
               ? app_decide_shared(context->comm, context->decided, OPT_FEATURE_PLACE, own)
               : WEFT_OK;
}

static const option_id recorded[] = {OPT_AGGREGATOR,    OPT_LAYERS,         OPT_HIDDEN,    OPT_NORM,    OPT_DROPOUT,
                                     OPT_INPUT_DROPOUT, OPT_ORDER,          OPT_NORMALIZE, OPT_HEADS,   OPT_OUT_HEADS,
                                     OPT_ATTN_DROPOUT,  OPT_NEGATIVE_SLOPE, OPT_RESIDUAL,  OPT_JUMPING, OPT_GIN_EPS,
                                     OPT_EDGE_WEIGHTS,  OPT_VALUE_DROPOUT,  OPTION_NONE};
static const option_id inputs[] = {OPT_NORMALIZE, OPTION_NONE};
static const option_id resumable[] = {OPTION_NONE};

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
static const workload_bench benches[] = {{"spmm", "aggregation", bench_spmm, bench_uses}, {NULL, NULL, NULL, NULL}};

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
    .begin = gnn_begin,
    .open = gnn_open,
    .count_classes = gnn_count_classes,
    .relabel = gnn_relabel,
    .adopt = gnn_adopt,
    .decide = gnn_decide,
    .plan = gnn_plan_job,
    .build = gnn_build,
    .smooth = gnn_smooth,
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
