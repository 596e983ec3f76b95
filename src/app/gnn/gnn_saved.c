/* app/gnn/gnn_saved.c: graph networks on disk: what weights show, and names in PyTorch Geometric (gnn/pyg.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/gnn/gnn_job.h"
#include "base/log.h"
#include "base/number.h"
#include "gnn/pyg.h"

static const char *const kinds[] = {GNN_KINDS(CHOICE_NAME)};

gnn_kind gnn_kind_asked(const weft_options *options)
{
    const char *model = option_text(options, OPT_MODEL);
    int kind = 0; /* auto: sage, the first */
    for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); ++i) {
        kind = strcmp(kinds[i], model) == 0 ? i : kind;
    }
    return (gnn_kind)kind;
}

static gnn_config kind_of(const weft_options *options)
{
    return (gnn_config){.kind = gnn_kind_asked(options),
                        .aggregator = option_choice(options, OPT_AGGREGATOR),
                        .layers = (int)option_int(options, OPT_LAYERS)};
}

const gnn_layer_ops *gnn_ops_asked(const weft_options *options)
{
    const gnn_config config = kind_of(options);
    return gnn_layer_ops_of(&config);
}

/* The kinds whose arrays are no other's: two matrices a layer, vectors of attention, or two linear maps. */
static bool shows_kind(const gnn_config *config)
{
    return gnn_layer_ops_of(config)->heads || config->kind == GNN_GIN ||
           (config->kind == GNN_SAGE && config->aggregator != GNN_SAGE_GCN);
}

static weft_status show_kind(saved_model *model, const gnn_config *config)
{
    static const char *const aggregators[] = {GNN_SAGE_AGGREGATORS(CHOICE_NAME)};
    WEFT_TRY(saved_model_show(model, OPT_MODEL, kinds[config->kind]));
    return config->kind == GNN_SAGE ? saved_model_show(model, OPT_AGGREGATOR, aggregators[config->aggregator])
                                    : WEFT_OK;
}

/* Where there is one layer, cat and max are the same. */
static weft_status show_jumping(saved_model *model, const gnn_config *config)
{
    static const char *const jumpings[] = {GNN_JUMPINGS(CHOICE_NAME)};
    const bool open = config->layers == 1 && config->jumping != GNN_JUMPING_NONE;
    if (!gnn_layer_ops_of(config)->connects || (open && option_is_set(model->known, OPT_JUMPING))) {
        return WEFT_OK;
    }
    return saved_model_show(model, OPT_JUMPING, jumpings[config->jumping]);
}

/* One layer has no norm to show, and a linear map none of its hops. */
static weft_status show_shape(saved_model *model, const gnn_config *config)
{
    static const char *const norms[] = {NORM_KINDS(CHOICE_NAME)};
    char text[NUMBER_TEXT_MAX];
    if (gnn_layer_ops_of(config)->hops) {
        return WEFT_OK;
    }
    if (config->kind == GNN_GIN) {
        WEFT_TRY(saved_model_show(model, OPT_GIN_EPS, config->learns_eps ? "learned" : "0"));
    }
    WEFT_TRY(show_jumping(model, config));
    snprintf(text, sizeof text, "%d", config->layers);
    WEFT_TRY(saved_model_show(model, OPT_LAYERS, text));
    if (config->layers > 1 || !option_is_set(model->known, OPT_NORM)) {
        WEFT_TRY(saved_model_show(model, OPT_NORM, norms[config->norm]));
    }
    if (gnn_layer_ops_of(config)->heads) {
        const bool jumps = config->jumping != GNN_JUMPING_NONE; /* then no layer is the last of its kind */
        snprintf(text, sizeof text, "%d", config->out_heads);
        WEFT_TRY(jumps ? WEFT_OK : saved_model_show(model, OPT_OUT_HEADS, text));
        snprintf(text, sizeof text, "%d", config->heads);
        WEFT_TRY(jumps || config->layers > 1 ? saved_model_show(model, OPT_HEADS, text) : WEFT_OK);
    }
    snprintf(text, sizeof text, "%" PRId64, config->hidden);
    return config->hidden > 0 ? saved_model_show(model, OPT_HIDDEN, text) : WEFT_OK;
}

static bool is_asked(const weft_options *given, option_id id)
{
    return option_applies(option_command_of(given), id) && option_is_set(given, id);
}

/* What shows in no weight and nobody said. */
static void tell_supposed(const saved_model *model, const weft_options *given, const gnn_config *config)
{
    const bool has_max = config->kind == GNN_SAGE && config->aggregator == GNN_SAGE_MEAN;
    if (has_max && !option_is_set(model->known, OPT_AGGREGATOR) && !is_asked(given, OPT_AGGREGATOR)) {
        log_warn("%s: it does not say whether sage takes means or maxima over neighbours: means are "
                 "supposed; " FLAG_AGGREGATOR " max takes maxima",
                 model->path);
    }
    if (gnn_layer_ops_of(config)->hops && !option_is_set(model->known, OPT_LAYERS) && !is_asked(given, OPT_LAYERS)) {
        log_warn("%s: it does not say over how many hops %s looks: %d are supposed; " FLAG_LAYERS
                 " N says another number",
                 model->path, kinds[config->kind], config->layers);
    }
}

/* Features of the model were standardised by them. */
weft_status gnn_show_moments(saved_model *model)
{
    return saved_model_show(model, OPT_NORMALIZE, "standard");
}

weft_status gnn_recognise(saved_model *model, const weft_options *given)
{
    const bool told = option_is_set(model->known, OPT_MODEL);
    const gnn_config said = kind_of(told ? model->known : given);
    gnn_config config = said;
    if (!option_is_set(model->known, OPT_LAYERS) && is_asked(given, OPT_LAYERS)) {
        config.layers = (int)option_int(given, OPT_LAYERS); /* hops, which show in no weight */
    }
    WEFT_TRY(gnn_weights_describe(&model->weights, model->path, &config));
    tell_supposed(model, given, &config);
    const bool own = shows_kind(&config);
    WEFT_CHECK(!told || !own || (shows_kind(&said) && said.kind == config.kind), WEFT_ERR_DATA,
               "%s: the weights are those of %s, run.json says otherwise", model->path,
               config.kind == GNN_SAGE ? "sage with aggregator mean or max" : kinds[config.kind]);
    WEFT_CHECK(!option_is_set(model->known, OPT_EDGE_WEIGHTS) ||
                   option_choice(model->known, OPT_EDGE_WEIGHTS) != GNN_WEIGHTS_ON ||
                   gnn_layer_ops_of(&config)->normalisation != NULL,
               WEFT_ERR_DATA, "%s: its description says " FLAG_EDGE_WEIGHTS " on, and %s%s has no use for weights",
               model->path, kinds[config.kind], gnn_takes_maxima(&config) ? " with " FLAG_AGGREGATOR " max" : "");
    model->layers = config.layers;
    model->inputs = config.inputs;
    model->outputs = config.outputs;
    WEFT_TRY(show_shape(model, &config));
    return told || own || option_is_set(given, OPT_MODEL) ? show_kind(model, &config) : WEFT_OK;
}

weft_status gnn_read_named(safetensors_file *file, saved_model *model, const weft_options *given)
{
    gnn_config config = {.kind = GNN_SAGE};
    const bool told = option_is_set(model->known, OPT_AGGREGATOR);
    const bool said = told || is_asked(given, OPT_AGGREGATOR);
    if (said) {
        config.aggregator = option_choice(told ? model->known : given, OPT_AGGREGATOR);
    }
    WEFT_TRY(pyg_read(file, model->path, &model->weights, &config));
    const bool open = config.kind == GNN_SAGE && config.aggregator == GNN_SAGE_MEAN && !said;
    return open ? saved_model_show(model, OPT_MODEL, kinds[config.kind]) : show_kind(model, &config);
}

weft_status gnn_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count)
{
    gnn_config config = kind_of(model->known);
    WEFT_CHECK(config.kind != GNN_LIGHTGCN, WEFT_ERR_UNSUPPORTED,
               "%s: safetensors have no names for lightgcn: weights.npz of the run has its rows", model->path);
    WEFT_CHECK(weights_find(&model->weights, "decoder0.weight") == NULL, WEFT_ERR_UNSUPPORTED,
               "%s: a decoder of links (" FLAG_DECODER
               " mlp) has no names in PyTorch Geometric: weights.npz of the run "
               "has its arrays",
               model->path);
    WEFT_TRY(gnn_weights_describe(&model->weights, model->path, &config));
    return pyg_write(path, &config, &model->weights, texts, count);
}
