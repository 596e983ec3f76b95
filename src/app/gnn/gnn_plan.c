/* app/gnn/gnn_plan.c: the model that the options ask for, a rank's share of the graph, and the memory of both. */
#include <assert.h>

#include "app/gnn/gnn_job.h"
#include "app/gnn/gnn_links.h"
#include "app/gnn/gnn_memory.h"
#include "app/workload/precision.h"
#include "base/log.h"
#include "gnn/layers/aggregate.h"
#include "gnn/layers/part_edges.h"
#include "gnn/product_gain.h"
#include "hal/spmm_least.h"

/* ---- what the options ask for ---- */

gnn_config gnn_config_of(const weft_options *o, const weft_graph *graph, int64_t outputs)
{
    double dropout = option_real(o, OPT_DROPOUT), input_dropout = option_real(o, OPT_INPUT_DROPOUT);
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
                        .fixed_rows = option_choice(o, OPT_FEATURE_ROWS) == GNN_ROWS_I16,
                        .decay_first_only = option_choice(o, OPT_DECAY_LAYERS) == GNN_DECAY_FIRST,
                        .overlap = option_choice(o, OPT_HALO_OVERLAP),
                        .halo = {.delay = (int)option_int(o, OPT_DELAY),
                                 .hidden = option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH,
                                 .fresh_gradients = option_flag(o, OPT_FRESH_GRADIENTS),
                                 .sample = option_real(o, OPT_BOUNDARY_SAMPLE),
                                 .none = option_choice(o, OPT_HALO) == HALO_EXCHANGE_OFF,
                                 .codec = halo_row_codec(codec),
                                 .mean_bits = codec == HALO_CODEC_ADAPTIVE ? option_real(o, OPT_HALO_BITS) : 0.0}};
}

train_loss gnn_loss_asked(const weft_options *o, const weft_graph *graph)
{
    const loss_choice choice = option_choice(o, OPT_LOSS);
    if (choice == LOSS_AUTO) {
        return gnn_labels_are_numbers(graph) ? TRAIN_LOSS_VALUE
               : graph->target != NULL       ? TRAIN_LOSS_BCE
                                             : TRAIN_LOSS_XENT;
    }
    return choice == LOSS_XENT ? TRAIN_LOSS_XENT : choice == LOSS_BCE ? TRAIN_LOSS_BCE : TRAIN_LOSS_VALUE;
}

int64_t gnn_outputs_of(const weft_options *o, const weft_graph *graph)
{
    const int64_t tasks = graph->target != NULL ? graph->tasks : 1;
    return gnn_loss_asked(o, graph) == TRAIN_LOSS_XENT ? graph->classes : tasks;
}

/* ---- memory ---- */

static weft_status check_data(const workload *work, bool labels_needed)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    const loss_choice loss = option_choice(work->context->options, OPT_LOSS);
    WEFT_CHECK(loss <= LOSS_ABSOLUTE || loss == LOSS_HUBER, WEFT_ERR_UNSUPPORTED,
               FLAG_LOSS " %s: vertices have classes (xent), binary tasks (bce) or numbers (squared, absolute, huber); "
                         "the others are of trees",
               option_text(work->context->options, OPT_LOSS));
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

static memory_plan plan_memory(const workload *work, const gnn_config *config, int64_t n_owned, int64_t n_local,
                               gnn_memory_facts facts)
{
    const app_context *context = work->context;
    const int ranks = graph_data_ranks(context);
    const bool here = ranks == comm_size(context->comm);
    assert(n_owned <= n_local && ranks > 0);
    gnn_plan plan;
    gnn_plan_make(config, n_owned, n_local, context->placement.threads, WEFT_DTYPE_F32, &plan);
    if (facts.partial > 0) {
        gnn_plan_share(&plan, facts.partial);
    }
    const train_memory_desc parameters = {
        .trained = plan.parameters, .state = plan.state, .largest = plan.largest, .dtype = WEFT_DTYPE_F32};
    facts.graph = &((const gnn_job *)work->self)->data.graph;
    facts.plan = &plan;
    facts.hal = context->hal;
    facts.parts = ranks;
    facts.form = facts.form != HAL_SPMM_AUTO ? facts.form : option_choice(context->options, OPT_SPMM);
    facts.hides = here ? gnn_overlaps(context->comm, config->overlap) : config->overlap != HALO_OVERLAP_OFF;
    facts.process = work->process;
    facts.keeps = work->keeps;
    facts.smooths = work->smooths;
    facts.training = memory_plan_training(context, !work->trained, gnn_workload.shards, ranks, &parameters);
    facts.training.second = work->second.bytes;
    facts.training.beside = work->second.beside;
    memory_plan memory = gnn_memory_plan(&facts);
    if (((const gnn_job *)work->self)->predicts_links) {
        gnn_links_add_memory(work, &memory);
    }
    return memory;
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

/* --order auto moves least, which may keep the sums of all features beside them; where that does not fit and products
 * before sums do, these come first. Not in a training that goes on, whose bits they would change, nor beside second
 * order, which turns the gradients of products of other inputs: there it would train another way. */
static weft_status choose_order(workload *work, int64_t n_owned, int64_t n_local, const gnn_memory_facts *facts)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    gnn_config config = job->config;
    bool fits = true;
    const bool settled = !work->trained && (option_was_decided(context->options, OPT_ORDER) ||
                                            option_choice(context->options, OPT_PRECONDITION) != SECOND_NONE);
    if (settled || config.order != GNN_ORDER_AUTO || gnn_takes_maxima(&config)) {
        return WEFT_OK;
    }
    WEFT_TRY(memory_plan_fits(context, &work->memory, limit, &fits));
    if (fits) {
        return WEFT_OK;
    }
    config.order = GNN_ORDER_LINEAR_FIRST;
    memory_plan memory = plan_memory(work, &config, n_owned, n_local, *facts);
    WEFT_TRY(memory_plan_fits(context, &memory, limit, &fits));
    if (!fits) { /* the refusal names the least need */
        work->memory = memory.peak < work->memory.peak ? memory : work->memory;
        return WEFT_OK;
    }
    log_info("order: products before sums, which take %.1f MB a rank; otherwise %.1f MB, which do not fit "
             "(--order auto)",
             1e-6 * (double)memory.peak, 1e-6 * (double)work->memory.peak);
    job->config.order = config.order;
    work->memory = memory;
    return app_decide_shared(context->comm, context->decided, OPT_ORDER, "linear-first");
}

/* Maxima may run along partial ones, which wants rows for them; what is known early is the least need. */
static bool may_share_maxima(const workload *work, const gnn_memory_facts *facts)
{
    const gnn_job *job = work->self;
    const hal_spmm_form form = option_choice(work->context->options, OPT_SPMM);
    return gnn_layer_ops_of(&job->config)->shares_maxima && !facts->least &&
           (form == HAL_SPMM_SHARED || (form == HAL_SPMM_AUTO && facts->edges >= HAL_SPMM_LEAST));
}

/* [out] share: of the graph's reads, what a first pass saves, by a sample; 0 where ids are wide, and on a rank that
 * does not look. Collective. */
static weft_status sample_shares(const workload *work, bool looks, bool signs, double *share)
{
    const app_context *context = work->context;
    const weft_graph *graph = &((const gnn_job *)work->self)->data.graph;
    const hal_csr csr = {
        .rows = graph->vertices, .cols = graph->vertices, .offset = graph->offset, .column = graph->source32};
    looks = looks && csr.offset != NULL && csr.column != NULL;
    *share = 0.0;
    return comm_agree(context->comm,
                      looks ? hal_share_sample(&csr, signs, context->placement.threads, share) : WEFT_OK);
}

/* Sums along edges without weights, of which shared sums are a form. */
static bool sums_rows(const workload *work)
{
    const gnn_job *job = work->self;
    const gnn_layer_ops *ops = gnn_layer_ops_of(&job->config);
    return ops->normalisation != NULL && !ops->walks_edges && job->data.graph.weight == NULL && !job->config.fixed_rows;
}

/* The rows of partial maxima where they are asked for, or where a sample of the graph says that auto will take them.
 * Collective. */
static weft_status count_partial(const workload *work, int64_t n_local, gnn_memory_facts *facts)
{
    const app_context *context = work->context;
    const bool may = may_share_maxima(work, facts),
               asked = option_choice(context->options, OPT_SPMM) == HAL_SPMM_SHARED;
    double share;
    WEFT_TRY(sample_shares(work, may && !asked, false, &share));
    facts->partial = may && (asked || share >= HAL_SHARE_LEAST) ? gnn_partial_most(n_local) : 0;
    return WEFT_OK;
}

/* Reads that are left where shared sums are asked for. Collective. */
static weft_status count_left(const workload *work, gnn_memory_facts *facts)
{
    const bool asked = option_choice(work->context->options, OPT_SPMM) == HAL_SPMM_SHARED;
    double share = 0.0;
    if (asked && sums_rows(work)) {
        WEFT_TRY(sample_shares(work, true, true, &share));
        facts->left = 1.0 - share;
    }
    return WEFT_OK;
}

/* A search for shared sums, which --spmm auto may make where a sample promises that they are worth it, does not fit.
 * Collective. */
static weft_status search_is_too_large(const workload *work, int64_t n_owned, int64_t n_local, gnn_memory_facts facts,
                                       bool *too_large)
{
    const app_context *context = work->context;
    const gnn_job *job = work->self;
    double share = 0.0;
    bool fits = true;
    *too_large = false;
    if (job->data.graph.edges < HAL_SPMM_LEAST || !sums_rows(work)) {
        return WEFT_OK;
    }
    facts.form = HAL_SPMM_SHARED;
    facts.left = 1.0 - HAL_SHARE_LEAST;
    memory_plan memory = plan_memory(work, &job->config, n_owned, n_local, facts);
    WEFT_TRY(memory_plan_fits(context, &memory, option_size(context->options, OPT_MEMORY_LIMIT), &fits));
    WEFT_TRY(fits ? WEFT_OK : sample_shares(work, true, true, &share));
    *too_large = !fits && share >= HAL_SHARE_LEAST;
    return WEFT_OK;
}

/* The plan counts on lists, of which --spmm auto may find another form quicker: its need is told as the most. Where
 * this does not fit, it may not. */
static weft_status choose_form(workload *work, int64_t n_owned, int64_t n_local, gnn_memory_facts facts)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    bool fits = true;
    job->lists_alone = false;
    facts.form = HAL_SPMM_ROWS;
    facts.partial = may_share_maxima(work, &facts) ? gnn_partial_most(n_local) : 0;
    memory_plan memory = plan_memory(work, &job->config, n_owned, n_local, facts);
    WEFT_TRY(memory_plan_fits(context, &memory, option_size(context->options, OPT_MEMORY_LIMIT), &fits));
    const bool is_auto = option_is_auto(context->options, OPT_SPMM), plans_maxima = facts.partial > 0;
    bool too_large = false;
    facts.partial = 0;
    if (!fits && is_auto && plans_maxima) {
        work->memory = plan_memory(work, &job->config, n_owned, n_local, facts);
    }
    WEFT_TRY(fits && is_auto ? search_is_too_large(work, n_owned, n_local, facts, &too_large) : WEFT_OK);
    job->lists_alone = is_auto && (!fits || too_large);
    const bool may_need_more = is_auto && !job->lists_alone && memory.peak > work->memory.peak;
    work->memory.most = may_need_more ? (uint64_t)memory.largest.host : 0;
    return WEFT_OK;
}

static weft_status check_memory(workload *work, int64_t n_owned, int64_t n_local, gnn_memory_facts facts)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const bool here = graph_data_ranks(context) == comm_size(context->comm);
    WEFT_TRY(count_partial(work, n_local, &facts));
    WEFT_TRY(count_left(work, &facts));
    work->memory = plan_memory(work, &job->config, n_owned, n_local, facts);
    WEFT_TRY(here ? choose_place(work, n_owned, n_local, &facts) : WEFT_OK);
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    if (!here && limit == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(choose_order(work, n_owned, n_local, &facts));
    WEFT_TRY(choose_form(work, n_owned, n_local, facts));
    return memory_plan_check(context, &work->memory, limit);
}

/* Before anything is allocated: a rank's share without replicas, the least it will need. */
static weft_status check_memory_early(workload *work)
{
    const gnn_job *job = work->self;
    const weft_graph *graph = &job->data.graph;
    const double share = graph_data_share(work->context, &job->data);
    const int64_t n = (int64_t)((double)graph->vertices * share);
    const int64_t edges = (int64_t)((double)graph->edges * share);
    return check_memory(work, n, n, (gnn_memory_facts){.edges = edges, .symmetric = graph->symmetric, .least = true});
}

/* The bytes and the place of second order, from the early plan, in which it is not counted. */
static weft_status plan_second(workload *work, const gnn_plan *plan)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const int ranks = graph_data_ranks(context), here = comm_size(context->comm);
    const second_ranks among = {.rank = ranks == here ? comm_rank(context->comm) : 0,
                                .ranks = ranks,
                                .nodes = ranks == here ? context->nodes : ranks,
                                .population = job->data.graph.vertices};
    gnn_model *outline = NULL;
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW_ZERO(&outline, 1, WEFT_MEM_GENERAL)));
    const uint64_t room = memory_plan_room(context, &work->memory);
    weft_status status = comm_agree(context->comm, gnn_model_outline(context->hal, WEFT_DTYPE_F32, plan, outline));
    if (status == WEFT_OK) {
        status = second_outlook_make(context, &outline->interface, &among, room, &work->second);
    }
    gnn_model_destroy(outline);
    weft_free(outline);
    return status;
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

static void tell_rows(const gnn_config *config)
{
    if (config->fixed_rows) {
        log_info("sums over neighbours: rows of 16-bit fixed point with a scale a column, sums in 32 bits, exact "
                 "(" FLAG_FEATURE_ROWS " i16)");
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

/* --precision bf16 becomes f32 where products and sums of bfloat16 save too little, by the times of the slowest rank.
 * The record of the run has it, so a run that goes on does not measure; neither do small parts, whose times are noise.
 */
static weft_status settle_precision(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const int64_t rows = (int64_t)((double)job->data.graph.vertices * graph_data_share(context, &job->data));
    const bool measures = job->config.bf16 && !work->trained && rows >= GNN_GAIN_ROWS;
    gnn_product_gain gain;
    if (!measures || option_flag(context->options, OPT_REPRODUCIBLE) || option_flag(context->options, OPT_RESUME)) {
        return WEFT_OK;
    }
    const weft_graph *graph = &job->data.graph;
    const double degree = (double)graph->edges / (double)graph->vertices;
    WEFT_TRY(comm_agree(context->comm, gnn_product_gain_measure(context->hal, &job->config, degree, &gain)));
    double seconds[2] = {gain.seconds_f32, gain.seconds_bf16};
    WEFT_TRY(comm_allreduce(context->comm, seconds, 2, WEFT_DTYPE_F64, COMM_MAX));
    log_debug("products and sums of this network over %d rows: %.3g ms in bf16, %.3g ms in f32", GNN_GAIN_ROWS,
              1e3 * seconds[1], 1e3 * seconds[0]);
    if (gnn_product_gain_pays(&(gnn_product_gain){.seconds_f32 = seconds[0], .seconds_bf16 = seconds[1]})) {
        return WEFT_OK;
    }
    log_warn(FLAG_PRECISION " bf16: products and sums of this network over %d rows take %.3g ms in bf16 and %.3g ms "
                            "in f32 here, which is no gain: f32 is used",
             GNN_GAIN_ROWS, 1e3 * seconds[1], 1e3 * seconds[0]);
    job->config.bf16 = false;
    return app_decide_shared(context->comm, context->decided, OPT_PRECISION, "f32");
}

/* Features of float32 that take at least this share of a rank's memory are worth holding in 16 bits, although products
 * with few columns take up to 1.5 times as long then, because rows are widened on their way into the kernels. */
#define MUCH_MEMORY 0.25

/* [out] much: on any rank. Collective. */
static weft_status features_take_much(const workload *work, bool *much)
{
    const gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_graph *graph = &job->data.graph;
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    const double node = (double)(limit > 0 ? limit : app_context_memory(context));
    const double memory = node / comm_node_size(context->comm);
    const double rows = (double)graph->vertices * graph_data_share(context, &job->data);
    int32_t own = rows * (double)graph->features * sizeof(float) >= MUCH_MEMORY * memory;
    WEFT_TRY(comm_allreduce(context->comm, &own, 1, WEFT_DTYPE_I32, COMM_MAX));
    *much = own != 0;
    return WEFT_OK;
}

/* Features that 16 bits hold exactly and that take much memory are held so where nothing but products reads them:
 * neither sums nor second order, which want rows of float32. GPUs multiply matrices of one type. */
static weft_status settle_feature_bits(workload *work)
{
    gnn_job *job = work->self;
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const bool taps = !work->trained && option_choice(o, OPT_PRECONDITION) != SECOND_NONE;
    gnn_config config = job->config;
    gnn_plan plan;
    if (context->device_ranks > 0 || taps || option_choice(o, OPT_NORMALIZE) != GNN_SCALE_NONE) {
        return WEFT_OK;
    }
    config.narrow_features = true;
    gnn_plan_make(&config, 1, 1, 1, WEFT_DTYPE_F32, &plan);
    bool much = false;
    WEFT_TRY(plan.layer[0].narrow ? features_take_much(work, &much) : WEFT_OK);
    if (!much) {
        return WEFT_OK;
    }
    WEFT_TRY(gnn_features_are_narrow(context->comm, &job->data.graph, &job->config.narrow_features));
    if (job->config.narrow_features) {
        log_info("features: held in 16 bits, which is exact, as all of them are numbers of bfloat16");
    }
    return WEFT_OK;
}

weft_status gnn_plan_job(workload *work, const char *folder, int64_t outputs)
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
    if (job->predicts_links) {
        outputs = gnn_links_width(context->options);
    } else if (work->labelled) {
        outputs = gnn_outputs_of(context->options, graph);
    }
    weft_dtype values;
    WEFT_TRY(precision_of(context, &values));
    job->config = gnn_config_of(context->options, graph, outputs);
    job->config.bf16 = values == WEFT_DTYPE_BF16;
    if (job->predicts_links) {
        gnn_links_configure(work);
    }
    job->config.density = job->density;
    job->config.read_share = job->read_share;
    job->config.streams = gnn_asks_for_host(context);
    job->config.keeps_edges = work->keeps;
    WEFT_TRY(settle_precision(work));
    WEFT_TRY(settle_feature_bits(work));
    warn_of_old_rows(context, &job->config);
    gnn_plan_make(&job->config, 1, 1, 1, WEFT_DTYPE_F32, &plan);
    tell_last_layer(&job->config, &plan);
    tell_rows(&job->config);
    gnn_tell_road(context);
    work->inputs = job->config.inputs;
    work->outputs = job->config.outputs;
    const bool cut = job->data.part.n_global > 0; /* for a model before this one */
    WEFT_TRY(cut ? WEFT_OK : graph_data_weigh(context, gnn_plan_epoch_width(&plan), &job->data));
    WEFT_TRY(check_memory_early(work));
    WEFT_TRY(!work->trained ? plan_second(work, &plan) : WEFT_OK);
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
