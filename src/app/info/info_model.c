/*
 * app/info/info_model.c: weft info MODEL.safetensors: the model that names and shapes tell, the metadata and the tensors. The
 * header is checked as for loading; the values are not looked at. weft info weights.npz: the arrays, and where the run that
 * describes them is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/info/info.h"
#include "base/alloc.h"
#include "base/escape.h"
#include "base/file.h"
#include "dense/net/zoo.h"
#include "gnn/layers/layer.h"
#include "gnn/pyg.h"

static void print_tensor(const safetensors_entry *entry)
{
    char text[512], shape[SHAPE_TEXT_BYTES];
    snprintf(text, sizeof text, "%s %s", entry->dtype, weights_shape_text(entry->dims, entry->shape, shape));
    info_text(entry->stored, text);
}

static void print_model(const gnn_config *config)
{
    static const char *const kinds[] = {GNN_KINDS(CHOICE_NAME)};
    static const char *const jumpings[] = {GNN_JUMPINGS(CHOICE_NAME)};
    static const char *const norms[] = {NORM_KINDS(CHOICE_NAME)};
    const char *sage = config->aggregator == GNN_SAGE_GCN   ? " (aggregator gcn)"
                       : config->aggregator == GNN_SAGE_MAX ? " (aggregator max)"
                                                            : "";
    printf("model: %s%s, ", kinds[config->kind], config->kind == GNN_SAGE ? sage : "");
    if (config->kind != GNN_SGC) { /* one linear map, and hops that no weight tells */
        printf("%d layers, ", config->layers);
    }
    printf("%" PRId64, config->inputs);
    if (config->hidden > 0) {
        printf(" -> ");
        if (gnn_layer_ops_of(config)->heads) {
            printf("%d x ", config->heads);
        }
        printf("%" PRId64, config->hidden);
    }
    printf(" -> %" PRId64 ", norm %s%s%s\n", config->outputs, norms[config->norm],
           config->jumping != GNN_JUMPING_NONE ? ", jumping " : "",
           config->jumping != GNN_JUMPING_NONE ? jumpings[config->jumping] : "");
}

/* ---- networks on images ---- */

/* The tensor LAYER.PART, or NULL. */
static const safetensors_entry *part_of(const safetensors_file *file, const net_layer *layer, const char *part)
{
    char name[NET_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s.%s", layer->name, part);
    const int at = safetensors_find(file, name);
    return at >= 0 ? safetensors_entry_at(file, at) : NULL;
}

/* Tensors of a layer without regard to images and classes, which the data decide; -1: they are not these. */
static int match_layer(const safetensors_file *file, const net_layer *layer)
{
    static const char *const moments[] = {"bias", "running_mean", "running_var"};
    const bool norm = layer->kind == NET_NORM;
    const int dims = layer->kind == NET_CONV ? 4 : layer->kind == NET_LINEAR ? 2 : norm ? 1 : 0;
    if (dims == 0) {
        return 0;
    }
    const safetensors_entry *weight = part_of(file, layer, "weight");
    if (weight == NULL || weight->dims != dims || (!norm && layer->out > 0 && weight->shape[0] != layer->out) ||
        (dims == 4 && (weight->shape[2] != layer->kernel[0] || weight->shape[3] != layer->kernel[1]))) {
        return -1;
    }
    const int others = norm ? 3 : layer->bias;
    for (int i = 0; i < others; ++i) {
        const safetensors_entry *other = part_of(file, layer, moments[i]);
        if (other == NULL || other->dims != 1 || other->shape[0] != weight->shape[0]) {
            return -1;
        }
    }
    return 1 + others;
}

/* All tensors are the network's, but for counters of batches, and none of its own is missing. */
static bool match_network(const safetensors_file *file, const network *net)
{
    int tensors = 0;
    for (int i = 0; i < safetensors_count(file); ++i) {
        tensors += strstr(safetensors_entry_at(file, i)->name, ".num_batches_tracked") == NULL;
    }
    for (int i = 0; i < net->layers; ++i) {
        const int matched = match_layer(file, &net->layer[i]);
        if (matched < 0) {
            return false;
        }
        tensors -= matched;
    }
    return tensors == 0;
}

/* What the last layer that has weights gives. */
static int64_t classes_of(const safetensors_file *file, const network *net)
{
    int last = net->layers - 1;
    while (last > 0 && part_of(file, &net->layer[last], "weight") == NULL) {
        last -= 1;
    }
    const safetensors_entry *weight = part_of(file, &net->layer[last], "weight");
    return weight != NULL ? weight->shape[0] : 0;
}

/* A network of the user's own has its layers in the metadata. */
static weft_status open_candidate(const safetensors_file *file, const char *name, network *net)
{
    const char *layers = safetensors_metadata(file, "weft.network");
    *net = (network){.layers = 0};
    return name != NULL ? net_zoo(name, net) : net_parse_line(layers, safetensors_metadata(file, "weft.model"), net);
}

static weft_status print_if_matched(const safetensors_file *file, const char *name, bool *matched)
{
    network net;
    weft_status status = open_candidate(file, name, &net);
    *matched = status == WEFT_OK && match_network(file, &net);
    if (*matched) {
        char text[2 * NET_NAME_BYTES];
        snprintf(text, sizeof text, "%s, %d layers, %" PRId64 " classes", net.name, net.layers, classes_of(file, &net));
        info_text("model", text);
    }
    net_destroy(&net);
    return status == WEFT_ERR_DATA ? WEFT_OK : status;
}

static weft_status describe_network(const safetensors_file *file, bool *matched)
{
    const char *layers = safetensors_metadata(file, "weft.network");
    const char *model = safetensors_metadata(file, "weft.model");
    *matched = false;
    if (layers != NULL && layers[0] != '\0' && model != NULL && net_is_file(model)) {
        WEFT_TRY(print_if_matched(file, NULL, matched));
    }
    for (int i = 0; net_zoo_name(i) != NULL && !*matched; ++i) {
        WEFT_TRY(print_if_matched(file, net_zoo_name(i), matched));
    }
    return WEFT_OK;
}

/* Also behind a part that all names begin with, as wrappers of PyTorch put there. */
static weft_status find_network(safetensors_file *file, bool *matched)
{
    do {
        WEFT_TRY(describe_network(file, matched));
    } while (!*matched && safetensors_strip(file));
    const safetensors_entry *first = safetensors_count(file) > 0 ? safetensors_entry_at(file, 0) : NULL;
    if (*matched && strlen(first->stored) > strlen(first->name)) {
        printf("names: without \"%.*s\", which all begin with\n", (int)(strlen(first->stored) - strlen(first->name)),
               escape_say(first->stored).text);
    }
    safetensors_restore(file);
    return WEFT_OK;
}

static weft_status describe(safetensors_file *file, const char *path)
{
    train_weights *weights = NULL;
    gnn_config config = {.kind = GNN_SAGE};
    bool matched = false;
    WEFT_TRY(find_network(file, &matched));
    if (matched) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&weights, 1, WEFT_MEM_GENERAL));
    weft_status status = pyg_read(file, path, weights, &config);
    if (status == WEFT_OK) {
        print_model(&config);
    } else if (status == WEFT_ERR_DATA) { /* tensors of another model are worth a look too */
        weft_error_clear();
        status = WEFT_OK;
        printf("model: none that Weft knows\n");
    }
    weights_destroy(weights);
    weft_free(weights);
    return status;
}

/* Moments have a line of their own. */
static void print_metadata(const safetensors_text *text)
{
    if (strcmp(text->key, INPUT_MOMENTS_KEY_MEAN) != 0 && strcmp(text->key, INPUT_MOMENTS_KEY_DEV) != 0) {
        info_text(text->key, text->value);
    }
}

static weft_status print_moments(const safetensors_file *file, const char *path)
{
    input_moments moments;
    WEFT_TRY(input_moments_read_metadata(path, file, &moments));
    info_moments(&moments);
    input_moments_destroy(&moments);
    return WEFT_OK;
}

weft_status info_model(const char *path)
{
    safetensors_file *file = NULL;
    WEFT_TRY(safetensors_open(path, &file));
    printf("kind: safetensors, %d tensors\n", safetensors_count(file));
    weft_status status = describe(file, path);
    status = status == WEFT_OK ? print_moments(file, path) : status;
    safetensors_text text;
    for (int i = 0; status == WEFT_OK && safetensors_metadata_at(file, i, &text); i++) {
        print_metadata(&text);
    }
    for (int i = 0; status == WEFT_OK && i < safetensors_count(file); i++) {
        print_tensor(safetensors_entry_at(file, i));
    }
    safetensors_close(file);
    return status;
}

/* ---- weights.npz ---- */

/* The folder of the file, where run.json in it says what made the weights. */
static weft_status print_run_of(const char *path)
{
    char folder[FILE_PATH_MAX];
    char record[FILE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    const int length = slash != NULL && slash > path ? (int)(slash - path) : 1;
    WEFT_TRY(file_path(folder, "%.*s", length, slash != NULL ? path : "."));
    WEFT_TRY(file_path(record, "%s/run.json", folder));
    if (file_exists(record)) {
        printf("run: %s, which weft info %s describes\n", escape_say(folder).text, escape_say(folder).text);
    }
    return WEFT_OK;
}

weft_status info_weights(const char *path)
{
    train_weights weights = {.count = 0};
    weft_status status = weights_read_npz(path, &weights);
    if (status == WEFT_OK) {
        printf("kind: weights of a model, %d arrays\n", weights.count);
        info_moments(&weights.moments);
        status = print_run_of(path);
    } else if (status == WEFT_ERR_DATA) {
        status =
            weft_fail_context(status, "no weights of a model (weft convert makes a graph store of a graph's .npz): ");
    }
    for (int i = 0; status == WEFT_OK && i < weights.count; i++) {
        const train_weight *weight = &weights.item[i];
        char shape[SHAPE_TEXT_BYTES];
        info_text(weight->name, weights_shape_text(weight->rank, weight->shape, shape));
    }
    weights_destroy(&weights);
    return status;
}
