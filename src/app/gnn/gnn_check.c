/* app/gnn/gnn_check.c: what options and data of graph jobs contradict, and which options have no effect. */

#include "app/gnn/gnn_job.h"
#include "base/log.h"
#include "gnn/data/generate/generator.h"
#include "io/text/foreign_file.h"

/* ---- the model ---- */

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

/* Sums in fixed point have a form of their own, and are of rows of float32 that travel as they are. */
static weft_status check_rows(const app_context *context)
{
    const weft_options *o = context->options;
    const bool i16 = option_choice(o, OPT_FEATURE_ROWS) == GNN_ROWS_I16;
    WEFT_CHECK(i16 || option_choice(o, OPT_SPMM) != HAL_SPMM_I16, WEFT_ERR_USAGE,
               FLAG_SPMM " i16 is the form of sums in fixed point: take " FLAG_FEATURE_ROWS " i16, which brings it");
    if (!i16) {
        return WEFT_OK;
    }
    WEFT_CHECK(gnn_ops_asked(o)->normalisation != NULL, WEFT_ERR_USAGE,
               FLAG_FEATURE_ROWS " i16 is for sums over neighbours, which " FLAG_MODEL
                                 " %s%s does not have: take sage, gcn, gin or sgc, or leave it out",
               option_text(o, OPT_MODEL), gnn_kind_asked(o) == GNN_SAGE ? " with " FLAG_AGGREGATOR " max" : "");
    WEFT_CHECK(option_choice(o, OPT_SPMM) == HAL_SPMM_AUTO || option_choice(o, OPT_SPMM) == HAL_SPMM_I16,
               WEFT_ERR_USAGE, FLAG_FEATURE_ROWS " i16 has a form of its own: leave out " FLAG_SPMM " %s",
               option_text(o, OPT_SPMM));
    WEFT_CHECK(option_choice(o, OPT_PRECISION) == TRAIN_PRECISION_F32, WEFT_ERR_USAGE,
               FLAG_FEATURE_ROWS " i16 rounds rows of f32: leave out " FLAG_PRECISION " %s",
               option_text(o, OPT_PRECISION));
    WEFT_CHECK(option_int(o, OPT_DELAY) <= 1 && option_choice(o, OPT_HALO_OVERLAP) != HALO_OVERLAP_EPOCH &&
                   option_choice(o, OPT_HALO_CODEC) == HALO_CODEC_NONE && option_real(o, OPT_BOUNDARY_SAMPLE) >= 1.0 &&
                   option_choice(o, OPT_HALO) == HALO_EXCHANGE_ON,
               WEFT_ERR_USAGE,
               FLAG_FEATURE_ROWS " i16 exchanges every row in every epoch, in 16 bits; " FLAG_DELAY
                                 ", " FLAG_HALO_OVERLAP " epoch, " FLAG_HALO_CODEC ", " FLAG_BOUNDARY_SAMPLE
                                 " and " FLAG_NO_HALO " are for rows of f32: take one or the other");
    WEFT_CHECK(weft_hal_supports(context->hal, HAL_OP_fixed_run), WEFT_ERR_UNSUPPORTED,
               FLAG_FEATURE_ROWS " i16: backend %s has no sums in fixed point: take --backend cpu, or leave it out",
               context->hal->name);
    return WEFT_OK;
}

/* Options of hidden layers that this model has none of. The recipe is known: it may make --input-dropout follow
 * --dropout, and set the norm. A layer of gin is hidden within. */
static void warn_without_hidden_layers(const weft_options *o)
{
    const bool hops = gnn_ops_asked(o)->hops;
    const bool jumps = gnn_ops_asked(o)->connects && option_choice(o, OPT_JUMPING) != GNN_JUMPING_NONE;
    const int64_t hidden = option_int(o, OPT_LAYERS) - (jumps ? 0 : 1); /* behind jumps one more map follows */
    char where[96] = "with one layer, which is the last";
    if (hops) {
        snprintf(where, sizeof where, "with " FLAG_MODEL " %s, which is one linear map", option_text(o, OPT_MODEL));
    }
    if (hops || (hidden == 0 && gnn_kind_asked(o) != GNN_GIN)) {
        option_warn_idle(o, OPTION_IDS(OPT_HIDDEN, OPT_HEADS, OPT_RESIDUAL), where);
        if (option_choice(o, OPT_NORM) != NORM_NONE) {
            option_warn_idle(o, OPTION_IDS(OPT_NORM), where);
        }
        if (option_real(o, OPT_INPUT_DROPOUT) >= 0) {
            option_warn_idle(o, OPTION_IDS(OPT_DROPOUT), where);
        }
    } else if (hidden == 1 && option_choice(o, OPT_RESIDUAL) == GNN_RESIDUAL_ON) {
        option_warn_idle(o, OPTION_IDS(OPT_RESIDUAL), "with one hidden layer: it is of all but the first");
    }
}

/* First weights of layers with attention are drawn in one way alone, which leaves the map behind --jumping; weights
 * that are given or fitted are not drawn. */
static void warn_first_weights(const weft_options *o)
{
    const bool attention = gnn_ops_asked(o)->heads && option_choice(o, OPT_JUMPING) == GNN_JUMPING_NONE &&
                           option_choice(o, OPT_WEIGHT_INIT) != GNN_INIT_LINEAR;
    if (option_text(o, OPT_INIT_WEIGHTS)[0] != '\0') {
        option_warn_beside(o, OPT_WEIGHT_INIT, OPT_INIT_WEIGHTS, "no weights are drawn");
    } else if (attention) {
        option_warn_beside(o, OPT_WEIGHT_INIT, OPT_MODEL, "layers with attention begin with glorot");
    }
}

void gnn_warn_model(const weft_options *o)
{
    warn_without_hidden_layers(o);
    warn_first_weights(o);
}

static weft_status check_halo(const weft_options *o)
{
    const bool delays = option_int(o, OPT_DELAY) > 1 || option_choice(o, OPT_HALO_OVERLAP) == HALO_OVERLAP_EPOCH;
    if (!delays) {
        option_warn_idle(o, OPTION_IDS(OPT_FRESH_GRADIENTS),
                         "without " FLAG_DELAY " of 2 or more or " FLAG_HALO_OVERLAP " epoch, which make rows old");
    }
    WEFT_CHECK(!delays || option_real(o, OPT_BOUNDARY_SAMPLE) >= 1.0, WEFT_ERR_USAGE,
               FLAG_BOUNDARY_SAMPLE " leaves out rows that " FLAG_DELAY " and " FLAG_HALO_OVERLAP
                                    " epoch keep from earlier epochs: take one or the other");
    return WEFT_OK;
}

/* ---- devices ---- */

/* Some rank's backend has memory of its own: then all ranks stream alike, so that their layers multiply and sum in one
 * order. */
static bool job_has_device(const app_context *context)
{
    return context->mixed || !hal_host_visible(context->hal);
}

bool gnn_asks_for_host(const app_context *context)
{
    return option_choice(context->options, OPT_FEATURE_PLACE) == GNN_PLACE_HOST && job_has_device(context);
}

/* How rows of vertices pass between the memory of devices and other ranks. */
void gnn_tell_road(const app_context *context)
{
    if (comm_size(context->comm) == 1 || !job_has_device(context)) {
        option_warn_idle(context->options, OPTION_IDS(OPT_GPU_DIRECT),
                         "without rows in a GPU's memory that other ranks want");
    } else {
        log_info("rows of vertices in device memory go %s", context->road);
    }
}

/* Features on the host pass through the device's memory to be multiplied: what needs all of them there is refused. */
static weft_status check_place(const app_context *context)
{
    const weft_options *o = context->options;
    const gnn_config config = {.kind = gnn_kind_asked(o),
                               .aggregator = option_choice(o, OPT_AGGREGATOR),
                               .order = option_choice(o, OPT_ORDER)};
    if (!job_has_device(context)) {
        option_warn_idle(o, OPTION_IDS(OPT_FEATURE_PLACE),
                         "on a backend that computes in the host's memory, where features are anyway");
        return WEFT_OK;
    }
    if (!gnn_asks_for_host(context)) {
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

/* ---- the data ---- */

/* A store has a manifest. Generated data are a graph's if a generator has their name; else it may be misspelt. */
workload_claim gnn_claim_data(const char *data)
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
    if (stands && gnn_claim_data(data) == CLAIM_NO) {
        return workload_refuse_data(data);
    }
    WEFT_CHECK(!option_is_set(o, OPT_BATCH_SIZE) || option_choice(o, OPT_TASK) != LINK_TASK_LINK, WEFT_ERR_USAGE,
               FLAG_BATCH_SIZE " %s: links come in batches by " FLAG_LINK_BATCH " %s", option_text(o, OPT_BATCH_SIZE),
               option_text(o, OPT_BATCH_SIZE));
    WEFT_CHECK(
        !stands || !option_is_set(o, OPT_BATCH_SIZE), WEFT_ERR_USAGE,
        "%s is for batches; a graph is trained in full batch: every epoch visits every vertex and edge, so there is "
        "no batch to size; memory is divided by more ranks (mpirun -np)",
        FLAG_BATCH_SIZE);
    return WEFT_OK;
}

weft_status gnn_check_options(const app_context *context)
{
    const weft_options *o = context->options;
    WEFT_TRY(comm_agree(context->comm, check_looks(o)));
    WEFT_TRY(check_precision(o));
    WEFT_TRY(check_halo(o));
    WEFT_TRY(check_rows(context));
    return check_place(context);
}
