/* gnn/pyg.c: see gnn/pyg.h. */
#include "gnn/pyg.h"
#include "gnn/gnn_options.def"
#include "gnn/layers/layer.h"
#include "gnn/pyg_names.h"
#include "train/train_options.def"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SAGE = 1,
    SAGE_GCN = 2,
    GCN = 4,
    MLP = 8,
    BATCH = 16,
    LAYER = 32,
    GAT = 64,
    GIN = 128,
    SGC = 256,
    JUMP = 512,
    GATV2 = 1024
};

/* How an array stands in their file; a matrix is [in, out] here, [out, in] there, and heads are [H, D] and [1, H,
 * D]. */
typedef enum name_shape { VECTOR = 1, MATRIX, HEADS } name_shape;

/* The one table of names: "layer" N ".self" is "convs." N ".lin_r.weight" of PyG. */
typedef struct name_row {
    const char *ours, *our_end;
    const char *theirs, *their_end; /* no end: without a number, which is 0 */
    name_shape shape;
    unsigned models;
} name_row;

static const name_row names[] = {
    {"layer", ".self", "convs.", ".lin_r.weight", MATRIX, SAGE},
    {"layer", ".neigh", "convs.", ".lin_l.weight", MATRIX, SAGE},
    {"layer", ".weight", "convs.", ".lin_l.weight", MATRIX, SAGE_GCN},
    {"layer", ".bias", "convs.", ".lin_l.bias", VECTOR, SAGE | SAGE_GCN},
    {"layer", ".weight", "convs.", ".lin.weight", MATRIX, GCN},
    {"layer", ".bias", "convs.", ".bias", VECTOR, GCN},
    {"layer", ".weight", "convs.", ".lin.weight", MATRIX, GAT},
    {"layer", ".att_src", "convs.", ".att_src", HEADS, GAT},
    {"layer", ".att_dst", "convs.", ".att_dst", HEADS, GAT},
    {"layer", ".bias", "convs.", ".bias", VECTOR, GAT | GATV2},
    {"layer", ".source", "convs.", ".lin_l.weight", MATRIX, GATV2},
    {"layer", ".target", "convs.", ".lin_r.weight", MATRIX, GATV2},
    {"layer", ".source_bias", "convs.", ".lin_l.bias", VECTOR, GATV2},
    {"layer", ".target_bias", "convs.", ".lin_r.bias", VECTOR, GATV2},
    {"layer", ".att", "convs.", ".att", HEADS, GATV2},
    {"layer", ".weight", "lins.", ".weight", MATRIX, MLP},
    {"layer", ".bias", "lins.", ".bias", VECTOR, MLP},
    {"layer", ".weight", "convs.", ".nn.lins.0.weight", MATRIX, GIN},
    {"layer", ".bias", "convs.", ".nn.lins.0.bias", VECTOR, GIN},
    {"layer", ".eps", "convs.", ".eps", VECTOR, GIN},
    {"mlp", ".weight", "convs.", ".nn.lins.1.weight", MATRIX, GIN},
    {"mlp", ".bias", "convs.", ".nn.lins.1.bias", VECTOR, GIN},
    {"layer", ".weight", "lin.weight", NULL, MATRIX, SGC},
    {"layer", ".bias", "lin.bias", NULL, VECTOR, SGC},
    {"jump", ".weight", "lin.weight", NULL, MATRIX, JUMP},
    {"jump", ".bias", "lin.bias", NULL, VECTOR, JUMP},
    {"norm", ".gamma", "norms.", ".module.weight", VECTOR, BATCH},
    {"norm", ".beta", "norms.", ".module.bias", VECTOR, BATCH},
    {"norm", ".mean", "norms.", ".module.running_mean", VECTOR, BATCH},
    {"norm", ".var", "norms.", ".module.running_var", VECTOR, BATCH},
    {"norm", ".gamma", "norms.", ".weight", VECTOR, LAYER},
    {"norm", ".beta", "norms.", ".bias", VECTOR, LAYER},
    {"mlp", ".gamma", "convs.", ".nn.norms.0.module.weight", VECTOR, BATCH},
    {"mlp", ".beta", "convs.", ".nn.norms.0.module.bias", VECTOR, BATCH},
    {"mlp", ".mean", "convs.", ".nn.norms.0.module.running_mean", VECTOR, BATCH},
    {"mlp", ".var", "convs.", ".nn.norms.0.module.running_var", VECTOR, BATCH},
    {"mlp", ".gamma", "convs.", ".nn.norms.0.weight", VECTOR, LAYER},
    {"mlp", ".beta", "convs.", ".nn.norms.0.bias", VECTOR, LAYER},
};
enum { NAMES = sizeof names / sizeof *names };

/* Weights of a vertex itself besides those of its neighbours. */
static bool has_self(const gnn_config *config)
{
    return config->kind == GNN_SAGE && config->aggregator != GNN_SAGE_GCN;
}

static unsigned models_of(const gnn_config *config)
{
    static const unsigned norms[] = {
        [NORM_NONE] = 0, [NORM_BATCH] = BATCH, [NORM_LAYER] = LAYER, [NORM_BATCH_LOCAL] = BATCH};
    unsigned kind = config->kind == GNN_GCN     ? GCN
                    : config->kind == GNN_GAT   ? GAT
                    : config->kind == GNN_MLP   ? MLP
                    : config->kind == GNN_GATV2 ? GATV2
                    : config->kind == GNN_GIN   ? GIN
                    : config->kind == GNN_SGC   ? SGC
                    : has_self(config)          ? SAGE
                                                : SAGE_GCN;
    return kind | norms[config->norm] | (config->jumping != GNN_JUMPING_NONE ? JUMP : 0);
}

/* The number N of a name BEGIN N END, or -1. */
static int number_in(const char *name, const char *begin, const char *end)
{
    size_t lead = strlen(begin);
    int number = 0;
    if (end == NULL) {
        return strcmp(name, begin) == 0 ? 0 : -1;
    }
    if (strncmp(name, begin, lead) != 0) {
        return -1;
    }
    const char *digits = name + lead, *at = digits;
    for (; *at >= '0' && *at <= '9' && at - digits < 3; ++at) {
        number = 10 * number + (*at - '0');
    }
    bool plain = at - digits == 1 || (at - digits > 1 && digits[0] != '0');
    return plain && number < GNN_MAX_CONVOLUTIONS && strcmp(at, end) == 0 ? number : -1;
}

/* ---- what a set of weights is ---- */

static const train_weight *find_numbered(const train_weights *weights, const char *begin, int number, const char *end)
{
    char name[PARAM_NAME_BYTES];
    snprintf(name, sizeof name, "%s%d%s", begin, number, end);
    return weights_find(weights, name);
}

static bool has_shape(const train_weight *weight, int64_t rows, int64_t cols)
{
    return weight != NULL && weight->rows == rows && weight->cols == cols;
}

/* The normalisation `begin` l, of this width. */
static weft_status describe_norm(const train_weights *weights, const char *origin, const char *begin, int l,
                                 int64_t width, const gnn_config *config, int *found)
{
    for (int i = 0; i < NAMES; ++i) {
        if ((names[i].models & models_of(config) & (BATCH | LAYER)) == 0 || strcmp(names[i].ours, begin) != 0) {
            continue;
        }
        WEFT_CHECK(has_shape(find_numbered(weights, begin, l, names[i].our_end), 1, width), WEFT_ERR_DATA,
                   "%s: %s%d%s is missing or not of length %" PRId64, origin, begin, l, names[i].our_end, width);
        *found += 1;
    }
    return WEFT_OK;
}

static bool has_heads(const gnn_config *config)
{
    return gnn_layer_ops_of(config)->heads;
}

/* The linear map behind all layers, which are as wide as the last of them. */
static weft_status describe_jump(const train_weights *weights, const char *origin, gnn_config *config, int *found)
{
    const train_weight *weight = weights_find(weights, "jump0.weight");
    const int64_t width = config->outputs, all = width * config->layers;
    if (weight == NULL) {
        config->jumping = GNN_JUMPING_NONE;
        return WEFT_OK;
    }
    WEFT_CHECK((weight->rows == all || weight->rows == width) &&
                   has_shape(weights_find(weights, "jump0.bias"), 1, weight->cols),
               WEFT_ERR_DATA,
               "%s: jump0.weight has %" PRId64 " rows, expected %" PRId64 " (cat) or %" PRId64 " (max), and jump0.bias",
               origin, weight->rows, all, width);
    config->jumping = weight->rows == all ? GNN_JUMPING_CAT : GNN_JUMPING_MAX;
    config->hidden = has_heads(config) ? config->hidden : width;
    config->outputs = weight->cols;
    *found += 2;
    return WEFT_OK;
}

/* Layer l: its matrices agree with each other and with the layer below. *found counts its arrays. */
static weft_status describe_layer(const train_weights *weights, const char *origin, int l, gnn_config *config,
                                  int *found)
{
    bool self = has_self(config);
    const train_weight *weight = find_numbered(weights, "layer", l, self ? ".self" : ".weight");
    const train_weight *neigh = self ? find_numbered(weights, "layer", l, ".neigh") : weight;
    WEFT_CHECK(weight != NULL && neigh != NULL, WEFT_ERR_DATA, "%s: layer %d lacks a matrix (%s)", origin, l,
               self ? "self or neigh" : "weight");
    int64_t in = l == 0 ? weight->rows : config->outputs;
    int64_t out = weight->cols;
    WEFT_CHECK(weight->rows == in && has_shape(neigh, in, out) &&
                   has_shape(find_numbered(weights, "layer", l, ".bias"), 1, out),
               WEFT_ERR_DATA,
               "%s: the shapes of layer %d do not fit: its matrix is [%" PRId64 ", %" PRId64 "], its input %" PRId64,
               origin, l, weight->rows, weight->cols, in);
    *found += self ? 3 : 2;
    if (config->kind == GNN_GIN) {
        WEFT_CHECK(has_shape(find_numbered(weights, "mlp", l, ".weight"), out, out) &&
                       has_shape(find_numbered(weights, "mlp", l, ".bias"), 1, out),
                   WEFT_ERR_DATA, "%s: layer %d lacks its second linear map, [%" PRId64 ", %" PRId64 "]", origin, l,
                   out, out);
        WEFT_CHECK(!config->learns_eps || has_shape(find_numbered(weights, "layer", l, ".eps"), 1, 1), WEFT_ERR_DATA,
                   "%s: layer%d.eps is missing or no single number, which layer 0 has", origin, l);
        WEFT_TRY(describe_norm(weights, origin, "mlp", l, out, config, found));
        *found += config->learns_eps ? 3 : 2;
    }
    config->inputs = l == 0 ? in : config->inputs;
    config->hidden = l == 1 ? in : config->hidden;
    WEFT_CHECK(l < 2 || in == config->hidden, WEFT_ERR_DATA,
               "%s: hidden layers of different widths, %" PRId64 " and %" PRId64 ": Weft's are equal", origin,
               config->hidden, in);
    config->outputs = out;
    return WEFT_OK;
}

/* Do the arrays of attention, besides the first matrix, fit heads of d columns? *found counts all of them. */
static bool fits_attention(const train_weights *weights, int l, const gnn_config *config, const train_weight *weight,
                           int64_t heads, int64_t d, int *found)
{
    const int64_t in = weight->rows, width = heads * d;
    *found += config->kind == GNN_GAT ? 4 : 6;
    if (config->kind == GNN_GAT) {
        return has_shape(find_numbered(weights, "layer", l, ".att_dst"), heads, d) && weight->cols == width;
    }
    return weight->cols == width && has_shape(find_numbered(weights, "layer", l, ".target"), in, width) &&
           has_shape(find_numbered(weights, "layer", l, ".source_bias"), 1, width) &&
           has_shape(find_numbered(weights, "layer", l, ".target_bias"), 1, width);
}

/* Layer l with attention: heads of one width, side by side in hidden layers, their mean in the last. */
static weft_status describe_attention(const train_weights *weights, const char *origin, int l, gnn_config *config,
                                      int *found)
{
    const char *matrix = config->kind == GNN_GAT ? "weight" : "source";
    const char *vector = config->kind == GNN_GAT ? "att_src" : "att";
    const train_weight *weight = find_numbered(weights, "layer", l, config->kind == GNN_GAT ? ".weight" : ".source");
    const train_weight *source = find_numbered(weights, "layer", l, config->kind == GNN_GAT ? ".att_src" : ".att");
    WEFT_CHECK(weight != NULL && source != NULL, WEFT_ERR_DATA, "%s: layer %d lacks a matrix (%s or %s)", origin, l,
               matrix, vector);
    const bool last = l == config->layers - 1 && config->jumping == GNN_JUMPING_NONE;
    const int64_t heads = source->rows, d = source->cols;
    const int64_t in = l == 0 ? weight->rows : config->outputs;
    const int64_t out = last ? d : heads * d;
    WEFT_CHECK(heads >= 1 && heads <= HAL_HEADS && weight->rows == in &&
                   fits_attention(weights, l, config, weight, heads, d, found) &&
                   has_shape(find_numbered(weights, "layer", l, ".bias"), 1, out),
               WEFT_ERR_DATA,
               "%s: the shapes of layer %d do not fit: its matrix is [%" PRId64 ", %" PRId64 "], its input %" PRId64
               ", with %" PRId64 " heads of %" PRId64,
               origin, l, weight->rows, weight->cols, in, heads, d);
    WEFT_CHECK(l == 0 || last || (heads == config->heads && d == config->hidden), WEFT_ERR_DATA,
               "%s: hidden layers of %d heads of %" PRId64 " and of %" PRId64 " of %" PRId64 ": Weft's are equal",
               origin, config->heads, config->hidden, heads, d);
    config->inputs = l == 0 ? in : config->inputs;
    if (last) {
        config->out_heads = (int)heads;
    } else {
        config->heads = (int)heads;
        config->hidden = d;
    }
    config->outputs = out;
    return WEFT_OK;
}

static void recognise(const train_weights *weights, gnn_config *config)
{
    if (weights_find(weights, "layer0.self") != NULL) {
        config->kind = GNN_SAGE; /* a mean and a maximum have the same arrays */
        config->aggregator = config->aggregator == GNN_SAGE_MAX ? GNN_SAGE_MAX : GNN_SAGE_MEAN;
    }
    if (weights_find(weights, "layer0.att_src") != NULL) {
        config->kind = GNN_GAT;
    }
    if (weights_find(weights, "layer0.att") != NULL) {
        config->kind = GNN_GATV2;
    }
    if (weights_find(weights, "mlp0.weight") != NULL) {
        config->kind = GNN_GIN;
    }
    config->learns_eps = config->kind == GNN_GIN && weights_find(weights, "layer0.eps") != NULL;
    const bool batch = weights_find(weights, "norm0.mean") != NULL || weights_find(weights, "mlp0.mean") != NULL;
    const bool layer = weights_find(weights, "norm0.gamma") != NULL || weights_find(weights, "mlp0.gamma") != NULL;
    config->norm = batch ? NORM_BATCH : layer ? NORM_LAYER : NORM_NONE;
    config->jumping = weights_find(weights, "jump0.weight") != NULL ? GNN_JUMPING_CAT : GNN_JUMPING_NONE;
}

/* Arrays behind the layers, of a decoder of links (gnn/links/link_decoder.h). */
static int count_decoder(const train_weights *weights)
{
    int count = 0;
    for (int l = 0; find_numbered(weights, "decoder", l, ".weight") != NULL; ++l) {
        count += find_numbered(weights, "decoder", l, ".bias") != NULL ? 2 : 1;
    }
    return count;
}

weft_status gnn_weights_describe(const train_weights *weights, const char *origin, gnn_config *config)
{
    const int hops = config->layers;
    int layers = 0, found = 0;
    while (layers < GNN_MAX_CONVOLUTIONS && find_numbered(weights, "layer", layers, ".bias") != NULL) {
        layers += 1;
    }
    WEFT_CHECK(layers > 0, WEFT_ERR_DATA, "%s: no array layer0.bias: these are no weights of a model of Weft", origin);
    recognise(weights, config);
    bool self = weights_find(weights, "layer0.self") != NULL;
    WEFT_CHECK(self || config->kind != GNN_SAGE || config->aggregator == GNN_SAGE_GCN, WEFT_ERR_DATA,
               "%s: one matrix a layer, where sage with aggregator mean or max has two: say " FLAG_MODEL
               " and " FLAG_AGGREGATOR,
               origin);
    config->layers = layers;
    config->hidden = 0;
    for (int l = 0; l < layers; ++l) {
        WEFT_TRY(has_heads(config) ? describe_attention(weights, origin, l, config, &found)
                                   : describe_layer(weights, origin, l, config, &found));
    }
    WEFT_TRY(describe_jump(weights, origin, config, &found));
    const int normed = config->norm == NORM_NONE ? 0 : config->jumping == GNN_JUMPING_NONE ? layers - 1 : layers;
    const int64_t width = config->hidden * (has_heads(config) ? config->heads : 1);
    for (int l = 0; l < normed; ++l) {
        WEFT_TRY(describe_norm(weights, origin, "norm", l, width, config, &found));
    }
    found += count_decoder(weights);
    WEFT_CHECK(found == weights->count, WEFT_ERR_DATA, "%s: %d arrays, %d of them belong to a model of %d layers",
               origin, weights->count, found, layers);
    if (gnn_layer_ops_of(config)->hops) {
        WEFT_CHECK(layers == 1, WEFT_ERR_DATA, "%s: %d layers, where sgc and lightgcn are one linear map", origin,
                   layers);
        config->layers = hops;
    }
    return WEFT_OK;
}

/* ---- writing ---- */

static void transpose(const float *from, int64_t rows, int64_t cols, float *to)
{
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t col = 0; col < cols; ++col) {
            to[col * rows + row] = from[row * cols + col];
        }
    }
}

typedef struct outgoing {
    char (*name)[PARAM_NAME_BYTES];
    float *values; /* of all tensors */
    safetensors_item *item;
    int count;
} outgoing;

static weft_status reserve(const train_weights *weights, outgoing *out)
{
    int64_t elements = 0;
    for (int i = 0; i < weights->count; ++i) {
        elements += weights->item[i].rows * weights->item[i].cols;
    }
    WEFT_TRY(WEFT_NEW(&out->name, weights->count + GNN_MAX_CONVOLUTIONS, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&out->item, weights->count + GNN_MAX_CONVOLUTIONS, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&out->values, elements, WEFT_MEM_WORKSPACE);
}

/* Every weight under its other name; the description has made sure that each has one. */
static void translate(const gnn_config *config, const train_weights *weights, outgoing *out)
{
    float *values = out->values;
    for (int i = 0; i < weights->count; ++i) {
        const train_weight *weight = &weights->item[i];
        for (int r = 0; r < NAMES; ++r) {
            const name_row *row = &names[r];
            int number = number_in(weight->name, row->ours, row->our_end);
            if ((row->models & models_of(config)) == 0 || number < 0) {
                continue;
            }
            char *name = out->name[out->count];
            if (row->their_end == NULL) {
                snprintf(name, PARAM_NAME_BYTES, "%s", row->theirs);
            } else {
                snprintf(name, PARAM_NAME_BYTES, "%s%d%s", row->theirs, number, row->their_end);
            }
            safetensors_item *item = &out->item[out->count++];
            *item = (safetensors_item){.name = name, .dims = (int)row->shape, .values = values};
            if (row->shape == HEADS) {
                memcpy(item->shape, (const int64_t[]){1, weight->rows, weight->cols}, 3 * sizeof *item->shape);
                memcpy(values, weight->values, (size_t)(weight->rows * weight->cols) * sizeof *values);
            } else {
                item->shape[0] = weight->cols;
                item->shape[1] = row->shape == MATRIX ? weight->rows : 0;
                transpose(weight->values, weight->rows, weight->cols, values);
            }
            values += weight->rows * weight->cols;
        }
    }
}

/* GINConv's eps: where it is 0 and not learned it is no weight here, but their file has one a layer. */
static const char eps_begin[] = "convs.", eps_end[] = ".eps";

static void add_eps(const gnn_config *config, outgoing *out)
{
    static const float zero[1] = {0};
    for (int l = 0; config->kind == GNN_GIN && !config->learns_eps && l < config->layers; ++l) {
        char *name = out->name[out->count];
        snprintf(name, PARAM_NAME_BYTES, "%s%d%s", eps_begin, l, eps_end);
        out->item[out->count++] = (safetensors_item){.name = name, .dims = 1, .shape = {1}, .values = zero};
    }
}

weft_status pyg_write(const char *path, const gnn_config *config, const train_weights *weights,
                      const safetensors_text *texts, int text_count)
{
    weft_status status = WEFT_OK;
    outgoing out = {.count = 0};
    WEFT_TRY_GOTO(reserve(weights, &out), status, done);
    translate(config, weights, &out);
    add_eps(config, &out);
    status = safetensors_write(path, out.item, out.count, texts, text_count);
done:
    WEFT_FREE_ALL(out.name, out.item, out.values);
    return status;
}

/* ---- reading ---- */

static weft_status tell_model(safetensors_file *file, const char *path, gnn_config *config)
{
    char names_there[PYG_NAMES_BYTES];
    WEFT_TRY(pyg_find_names(file, path));
    const unsigned kinds = pyg_kinds(file);
    const bool gatv2 = kinds == PYG_GATV2, sage = kinds == PYG_SAGE, gin = kinds == PYG_GIN, sgc = kinds == PYG_SGC;
    const bool root = sage && safetensors_find(file, "convs.0.lin_r.weight") >= 0;
    const bool map = safetensors_find(file, "lin.weight") >= 0;
    WEFT_CHECK(kinds != 0 && (kinds & (kinds - 1)) == 0, WEFT_ERR_DATA,
               "%s: expected the tensors of one of PyG's models: convs.0.lin_l.weight (GraphSAGE), convs.0.lin.weight "
               "(GCN), convs.0.att_src (GAT), convs.0.att (GAT with v2), convs.0.nn.lins.0.weight (GIN), lins.0.weight "
               "(MLP) or lin.weight alone (SGConv), or layers of one kind with numbers (conv1, conv2; layers.0, "
               "layers.1); found %s",
               path, pyg_first_names(file, names_there));
    config->kind = sage               ? GNN_SAGE
                   : kinds == PYG_GCN ? GNN_GCN
                   : kinds == PYG_GAT ? GNN_GAT
                   : gatv2            ? GNN_GATV2
                   : gin              ? GNN_GIN
                   : sgc              ? GNN_SGC
                                      : GNN_MLP;
    config->jumping = map && !sgc ? GNN_JUMPING_CAT : GNN_JUMPING_NONE;  /* or max: the description tells */
    const bool max = sage && root && config->aggregator == GNN_SAGE_MAX; /* names are the same: what the caller knows */
    config->aggregator = sage && !root ? GNN_SAGE_GCN : max ? GNN_SAGE_MAX : GNN_SAGE_MEAN;
    const char *const batch = gin ? "convs.0.nn.norms.0.module.weight" : "norms.0.module.weight";
    const char *const layer = gin ? "convs.0.nn.norms.0.weight" : "norms.0.weight";
    config->norm = safetensors_find(file, batch) >= 0   ? NORM_BATCH
                   : safetensors_find(file, layer) >= 0 ? NORM_LAYER
                                                        : NORM_NONE;
    return WEFT_OK;
}

/* Tensor i as the weight that `row` says, number `number`. */
static weft_status read_tensor(const safetensors_file *file, const char *path, int i, const name_row *row, int number,
                               train_weights *weights)
{
    const safetensors_entry *entry = safetensors_entry_at(file, i);
    char name[PARAM_NAME_BYTES];
    float *values = NULL, *theirs = NULL;
    const bool heads = row->shape == HEADS;
    WEFT_CHECK(entry->dims == (int)row->shape, WEFT_ERR_DATA, "%s: tensor \"%s\" has %d dimensions, expected %d", path,
               entry->stored, entry->dims, (int)row->shape);
    WEFT_CHECK(!heads || entry->shape[0] == 1, WEFT_ERR_DATA,
               "%s: tensor \"%s\" is [%" PRId64 ", ...], expected [1, ...]", path, entry->stored, entry->shape[0]);
    snprintf(name, sizeof name, "%s%d%s", row->ours, number, row->our_end);
    int64_t out = entry->shape[heads ? 2 : 0];
    int64_t in = row->shape == VECTOR ? 1 : entry->shape[1];
    WEFT_TRY(weights_add(weights, path, name, 2, (const int64_t[]){in, out}, &values));
    WEFT_TRY(WEFT_NEW(&theirs, entry->count, WEFT_MEM_WORKSPACE));
    weft_status status = safetensors_read_f32(file, i, theirs);
    if (status == WEFT_OK && heads) {
        memcpy(values, theirs, (size_t)entry->count * sizeof *values);
    } else if (status == WEFT_OK) {
        transpose(theirs, out, in, values);
    }
    weft_free(theirs);
    return status;
}

static bool is_counter(const char *name)
{
    static const char end[] = ".num_batches_tracked";
    size_t length = strlen(name);
    return length >= sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static bool is_eps(const char *name)
{
    return number_in(name, eps_begin, eps_end) >= 0;
}

/* One that is not 0 was learned, and so were the others. */
static weft_status look_at_eps(const safetensors_file *file, const char *path, gnn_config *config)
{
    config->learns_eps = false;
    for (int i = 0; config->kind == GNN_GIN && i < safetensors_count(file); ++i) {
        const safetensors_entry *entry = safetensors_entry_at(file, i);
        float eps = 0;
        if (is_eps(entry->name)) {
            WEFT_CHECK(entry->count == 1, WEFT_ERR_DATA, "%s: tensor \"%s\" has %" PRId64 " elements, expected 1", path,
                       entry->stored, entry->count);
            WEFT_TRY(safetensors_read_f32(file, i, &eps));
            config->learns_eps = config->learns_eps || eps != 0.0f;
        }
    }
    return WEFT_OK;
}

static weft_status read_named(const safetensors_file *file, const char *path, int i, const gnn_config *config,
                              train_weights *weights)
{
    const unsigned models = models_of(config);
    const char *name = safetensors_entry_at(file, i)->name;
    if (config->kind == GNN_GIN && !config->learns_eps && is_eps(name)) {
        return WEFT_OK;
    }
    for (int r = 0; r < NAMES; ++r) {
        int number = number_in(name, names[r].theirs, names[r].their_end);
        if ((names[r].models & models) != 0 && number >= 0) {
            return read_tensor(file, path, i, &names[r], number, weights);
        }
    }
    return weft_fail(WEFT_ERR_DATA,
                     "%s: tensor \"%s\" belongs to no model that Weft knows (docs/formats.md lists them)", path,
                     safetensors_entry_at(file, i)->stored);
}

weft_status pyg_read(safetensors_file *file, const char *path, train_weights *weights, gnn_config *config)
{
    WEFT_TRY(tell_model(file, path, config));
    WEFT_TRY(look_at_eps(file, path, config));
    weft_status status = WEFT_OK;
    for (int i = 0; i < safetensors_count(file) && status == WEFT_OK; ++i) {
        if (!is_counter(safetensors_entry_at(file, i)->name)) {
            status = read_named(file, path, i, config, weights);
        }
    }
    status = status == WEFT_OK ? gnn_weights_describe(weights, path, config) : status;
    if (status != WEFT_OK) {
        weights_destroy(weights);
    }
    return status;
}
