/* app/dense/info/info_tensors.c: the network on images whose weights a file holds: its own in the metadata, or one of
 * the zoo. */
#include <inttypes.h>
#include <string.h>

#include "app/dense/info/info_images.h"
#include "app/info/info_text.h"
#include "base/escape.h"
#include "dense/net/zoo.h"

/* The tensor LAYER.PART, or NULL. */
static const safetensors_entry *part_of(const safetensors_file *file, const net_layer *layer, const char *part)
{
    char name[NET_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s%s%s", layer->name, net_parameter_point(layer->name), part);
    const int at = safetensors_find(file, name);
    return at >= 0 ? safetensors_entry_at(file, at) : NULL;
}

/* Dimensions of a layer's weight; 0: it has none. */
static int dims_of(net_kind kind)
{
    switch (kind) {
    case NET_CONV:
    case NET_DEPTHWISE:
        return 4;
    case NET_LINEAR:
    case NET_POINTWISE:
        return 2;
    case NET_NORM:
    case NET_GROUPNORM:
    case NET_LAYERNORM:
        return 1;
    default:
        return 0;
    }
}

/* Tensors of a layer without regard to images and classes, which the data decide; -1: they are not these. */
static int match_layer(const safetensors_file *file, const net_layer *layer)
{
    static const char *const moments[] = {"bias", "running_mean", "running_var"};
    const int dims = dims_of(layer->kind);
    const bool norm = dims == 1;
    if (layer->kind == NET_GAIN || layer->kind == NET_POSITION) {
        return safetensors_find(file, layer->name) >= 0 ? 1 : -1;
    }
    if (layer->kind == NET_EMBED) {
        return part_of(file, layer, "weight") != NULL ? 1 : -1;
    }
    if (dims == 0) {
        return 0;
    }
    const safetensors_entry *weight = part_of(file, layer, "weight");
    if (weight == NULL || weight->dims != dims || (!norm && layer->out > 0 && weight->shape[0] != layer->out) ||
        (dims == 4 && (weight->shape[2] != layer->kernel[0] || weight->shape[3] != layer->kernel[1]))) {
        return -1;
    }
    const int others = layer->kind == NET_NORM ? 3 : layer->bias;
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
weft_status dense_info_tensors(safetensors_file *file, bool *known)
{
    do {
        WEFT_TRY(describe_network(file, known));
    } while (!*known && safetensors_strip(file));
    const safetensors_entry *first = safetensors_count(file) > 0 ? safetensors_entry_at(file, 0) : NULL;
    if (*known && strlen(first->stored) > strlen(first->name)) {
        printf("names: without \"%.*s\", which all begin with\n", (int)(strlen(first->stored) - strlen(first->name)),
               escape_say(first->stored).text);
    }
    safetensors_restore(file);
    return WEFT_OK;
}
