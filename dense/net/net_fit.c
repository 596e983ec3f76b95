/* dense/net/net_fit.c: sizes and costs of layers; see dense/net/net.h. */
#include "dense/net/net.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dense/data/texts/text_options.def"

/* Elements of one image's layer, and of one layer's weights: more is a mistake of the text, and would overflow in
 * products. */
#define SIZE_MAX_ELEMENTS   ((int64_t)1 << 36)
#define WEIGHT_MAX_ELEMENTS ((int64_t)1 << 36)

#define LAYER_CHECK(net, layer, condition, format, ...)                                                                \
    WEFT_CHECK(condition, WEFT_ERR_DATA, "%s: line %d, %s: " format, (net)->origin, (layer)->line, (layer)->name,      \
               __VA_ARGS__)

net_size net_size_of(const network *net, int index)
{
    assert(index == NET_INPUT || (index >= 0 && index < net->layers));
    return index == NET_INPUT ? net->input : net->layer[index].size;
}

static double elements(net_size size)
{
    return (double)size.height * (double)size.width * (double)size.channels;
}

static bool same_size(net_size a, net_size b)
{
    return a.height == b.height && a.width == b.width && a.channels == b.channels;
}

/* Positions of a kernel along one side. */
static weft_status fit_side(const network *net, const net_layer *layer, int side, int64_t input, int64_t *output)
{
    const int64_t reach = layer->dilation[side] * (layer->kernel[side] - 1) + 1;
    const int64_t room = input + 2 * layer->pad[side];
    LAYER_CHECK(net, layer, reach <= room, "a kernel that spans %lld does not fit into %s %lld with %lld of padding",
                (long long)reach, side == 0 ? "height" : "width", (long long)input, (long long)(2 * layer->pad[side]));
    *output = (room - reach) / layer->stride[side] + 1;
    return WEFT_OK;
}

static weft_status fit_window(const network *net, net_layer *layer, net_size input)
{
    WEFT_TRY(fit_side(net, layer, 0, input.height, &layer->size.height));
    return fit_side(net, layer, 1, input.width, &layer->size.width);
}

/* each: weights of one output */
static weft_status fit_weights(const network *net, const net_layer *layer, double each)
{
    LAYER_CHECK(net, layer, each * (double)layer->out <= (double)WEIGHT_MAX_ELEMENTS,
                "%lld outputs of %.0f weights each are too many for one layer", (long long)layer->out, each);
    return WEFT_OK;
}

static weft_status fit_conv(const network *net, net_layer *layer, net_size input)
{
    const double window = (double)layer->kernel[0] * (double)layer->kernel[1];
    LAYER_CHECK(net, layer, input.channels % layer->groups == 0 && layer->out % layer->groups == 0,
                "%lld groups do not divide %lld channels of its input and %lld of its own", (long long)layer->groups,
                (long long)input.channels, (long long)layer->out);
    const int64_t share = input.channels / layer->groups;
    WEFT_TRY(fit_weights(net, layer, window * (double)share));
    layer->size.channels = layer->out;
    return fit_window(net, layer, input);
}

static weft_status fit_pointwise(const network *net, net_layer *layer, net_size input)
{
    layer->size = (net_size){input.height, input.width, layer->out};
    return fit_weights(net, layer, (double)input.channels);
}

static weft_status fit_upsample(const network *net, net_layer *layer, net_size input)
{
    const double height = (double)input.height * (double)layer->stride[0];
    const double width = (double)input.width * (double)layer->stride[1];
    LAYER_CHECK(net, layer, height <= NET_EXTENT_MAX && width <= NET_EXTENT_MAX,
                "%.0f x %.0f pixels; at most %d a side: take a smaller factor", height, width, NET_EXTENT_MAX);
    layer->size = (net_size){input.height * layer->stride[0], input.width * layer->stride[1], input.channels};
    return WEFT_OK;
}

static weft_status fit_pool(const network *net, net_layer *layer, net_size input)
{
    layer->size.channels = input.channels;
    for (int side = 0; side < 2; ++side) {
        LAYER_CHECK(net, layer, 2 * layer->pad[side] <= layer->kernel[side],
                    "padding of %lld is more than half of a kernel of %lld: windows would hold nothing else",
                    (long long)layer->pad[side], (long long)layer->kernel[side]);
    }
    return fit_window(net, layer, input);
}

static weft_status fit_linear(const network *net, net_layer *layer, net_size input)
{
    if (layer->out == NET_CLASSES) {
        layer->out = net->classes;
    }
    layer->size = (net_size){1, 1, layer->out};
    return fit_weights(net, layer, elements(input));
}

static weft_status fit_subsample(const network *net, net_layer *layer, net_size input)
{
    LAYER_CHECK(net, layer, layer->out >= input.channels, "%lld channels of its input do not fit into %lld",
                (long long)input.channels, (long long)layer->out);
    layer->size.channels = layer->out;
    return fit_window(net, layer, input);
}

static weft_status fit_add(const network *net, net_layer *layer, net_size input)
{
    const net_size other = net_size_of(net, layer->other);
    LAYER_CHECK(net, layer, same_size(input, other), "%lld x %lld x %lld cannot be added to %lld x %lld x %lld",
                (long long)other.height, (long long)other.width, (long long)other.channels, (long long)input.height,
                (long long)input.width, (long long)input.channels);
    layer->size = input;
    return WEFT_OK;
}

/* A gate of one pixel scales the channels of the other input, whichever of the two it is. */
static weft_status fit_multiply(const network *net, net_layer *layer, net_size input)
{
    const net_size other = net_size_of(net, layer->other);
    const bool gates = net_pixels(input) == 1 || net_pixels(other) == 1;
    LAYER_CHECK(net, layer, same_size(input, other) || (gates && input.channels == other.channels),
                "%lld x %lld x %lld cannot be multiplied by %lld x %lld x %lld: equal sizes, or one pixel of as many "
                "channels, such as 'globalpool' gives",
                (long long)other.height, (long long)other.width, (long long)other.channels, (long long)input.height,
                (long long)input.width, (long long)input.channels);
    layer->size = net_pixels(input) == 1 ? other : input;
    return WEFT_OK;
}

static weft_status fit_concat(const network *net, net_layer *layer, net_size input)
{
    const net_size other = net_size_of(net, layer->other);
    LAYER_CHECK(net, layer, input.height == other.height && input.width == other.width,
                "channels of %lld x %lld pixels cannot stand behind those of %lld x %lld: give both layers one size",
                (long long)input.height, (long long)input.width, (long long)other.height, (long long)other.width);
    layer->size = (net_size){input.height, input.width, other.channels + input.channels};
    return WEFT_OK;
}

static weft_status fit_groupnorm(const network *net, net_layer *layer, net_size input)
{
    LAYER_CHECK(net, layer, input.channels % layer->groups == 0,
                "%lld groups do not divide the %lld channels of its input", (long long)layer->groups,
                (long long)input.channels);
    layer->size = input;
    return WEFT_OK;
}

static weft_status fit_embed(const network *net, net_layer *layer, net_size input)
{
    LAYER_CHECK(net, layer, net->words > 0 && layer->from == NET_INPUT, "%s",
                "it reads the words of texts, and nothing else: " FLAG_TEXT_COLUMN " names the column that has them");
    LAYER_CHECK(net, layer, layer->words == NET_WORDS || layer->words >= net->words,
                "rows for %lld words, and the texts have %lld: write 'embed words %lld', or let " FLAG_VOCABULARY
                " bound them",
                (long long)layer->words, (long long)net->words, (long long)layer->out);
    layer->words = layer->words == NET_WORDS ? net->words : layer->words;
    layer->size = (net_size){input.height, input.width, layer->out};
    return fit_weights(net, layer, (double)layer->words);
}

/* Where the input is text, rows of what reads all tokens are those of the input, which tells where a text ends. */
static weft_status check_tokens(const network *net, const net_layer *layer, net_size input)
{
    LAYER_CHECK(net, layer, net->words == 0 || net_pixels(input) == net_pixels(net->input),
                "it reads %lld tokens a text, and the texts have %lld: a layer above changes their number",
                (long long)net_pixels(input), (long long)net_pixels(net->input));
    return WEFT_OK;
}

static weft_status fit_attention(const network *net, net_layer *layer, net_size input)
{
    LAYER_CHECK(net, layer, input.channels % (3 * layer->groups) == 0,
                "its input has %lld channels; queries, keys and values of %lld heads are a multiple of %lld, such as "
                "'pointwise %lld' gives",
                (long long)input.channels, (long long)layer->groups, (long long)(3 * layer->groups),
                (long long)(3 * layer->groups * 32));
    layer->size = (net_size){input.height, input.width, input.channels / 3};
    return check_tokens(net, layer, input);
}

static weft_status fit_layer(const network *net, net_layer *layer)
{
    const net_size input = net_size_of(net, layer->from);
    const bool reads_words = layer->from == NET_INPUT || (net_reads_other(layer->kind) && layer->other == NET_INPUT);
    LAYER_CHECK(net, layer, net->words == 0 || !reads_words || layer->kind == NET_EMBED, "%s",
                "the input is words of texts, which 'embed words CHANNELS' alone reads");
    switch (layer->kind) {
    case NET_CONV:
        return fit_conv(net, layer, input);
    case NET_DEPTHWISE:
        layer->out = layer->groups = input.channels;
        return fit_conv(net, layer, input);
    case NET_POINTWISE:
        return fit_pointwise(net, layer, input);
    case NET_LINEAR:
        return fit_linear(net, layer, input);
    case NET_MULTIPLY:
        return fit_multiply(net, layer, input);
    case NET_CONCAT:
        return fit_concat(net, layer, input);
    case NET_UPSAMPLE:
        return fit_upsample(net, layer, input);
    case NET_GROUPNORM:
        return fit_groupnorm(net, layer, input);
    case NET_ADD:
        return fit_add(net, layer, input);
    case NET_MAXPOOL:
    case NET_AVGPOOL:
        return fit_pool(net, layer, input);
    case NET_GLOBALPOOL:
        layer->size = (net_size){1, 1, input.channels};
        return WEFT_OK;
    case NET_SUBSAMPLE:
        return fit_subsample(net, layer, input);
    case NET_EMBED:
        return fit_embed(net, layer, input);
    case NET_ATTENTION:
        return fit_attention(net, layer, input);
    case NET_TOKENMEAN:
        layer->size = (net_size){1, 1, input.channels};
        return check_tokens(net, layer, input);
    default:
        layer->size = input;
        return WEFT_OK;
    }
}

weft_status net_fit(network *net, net_size input, int64_t classes)
{
    WEFT_CHECK(net->input.height == 0 || same_size(net->input, input), WEFT_ERR_DATA,
               "%s is a network for images of %lld x %lld x %lld, the data have %lld x %lld x %lld", net->origin,
               (long long)net->input.height, (long long)net->input.width, (long long)net->input.channels,
               (long long)input.height, (long long)input.width, (long long)input.channels);
    net->input = input;
    net->classes = classes;
    for (int i = 0; i < net->layers; ++i) {
        net_layer *layer = &net->layer[i];
        WEFT_TRY(fit_layer(net, layer));
        LAYER_CHECK(net, layer, elements(layer->size) <= (double)SIZE_MAX_ELEMENTS,
                    "%lld x %lld x %lld is too large for one image", (long long)layer->size.height,
                    (long long)layer->size.width, (long long)layer->size.channels);
    }
    const net_layer *last = &net->layer[net->layers - 1];
    LAYER_CHECK(
        net, last, same_size(last->size, (net_size){1, 1, classes}),
        "the last layer gives %lld x %lld x %lld, where %lld classes need 1 x 1 x %lld: end with 'linear classes'",
        (long long)last->size.height, (long long)last->size.width, (long long)last->size.channels, (long long)classes,
        (long long)classes);
    return WEFT_OK;
}

net_cost net_cost_of(const network *net, int index)
{
    const net_layer *layer = &net->layer[index];
    const net_size input = net_size_of(net, layer->from);
    const double out = elements(layer->size);
    switch (layer->kind) {
    case NET_CONV:
    case NET_DEPTHWISE:
    case NET_POINTWISE: {
        const int64_t each = input.channels / layer->groups * layer->kernel[0] * layer->kernel[1];
        return (net_cost){layer->out * (each + layer->bias), 2.0 * (double)each * out};
    }
    case NET_LINEAR: {
        const int64_t each = input.height * input.width * input.channels;
        return (net_cost){layer->out * (each + layer->bias), 2.0 * (double)each * out};
    }
    case NET_EMBED:
        return (net_cost){layer->words * layer->out, 0.0};
    case NET_POSITION:
        return (net_cost){net_pixels(layer->size) * layer->size.channels, out};
    case NET_ATTENTION:
        return (net_cost){0, 4.0 * (double)net_pixels(input) * out};
    case NET_GAIN:
        return (net_cost){layer->size.channels, out};
    case NET_NORM:
    case NET_GROUPNORM:
    case NET_LAYERNORM:
        return (net_cost){2 * layer->size.channels, 7.0 * out};
    case NET_MAXPOOL:
    case NET_AVGPOOL:
        return (net_cost){0, (double)(layer->kernel[0] * layer->kernel[1]) * out};
    case NET_GLOBALPOOL:
    case NET_TOKENMEAN:
        return (net_cost){0, elements(input)};
    case NET_SUBSAMPLE:
    case NET_CONCAT:
    case NET_UPSAMPLE:
        return (net_cost){0, 0.0};
    default:
        return (net_cost){0, out};
    }
}

void net_needed(const network *net, bool *needed)
{
    needed[net->layers - 1] = true;
    for (int i = net->layers - 1; i >= 0; --i) {
        const net_layer *layer = &net->layer[i];
        if (needed[i] && layer->from != NET_INPUT) {
            needed[layer->from] = true;
        }
        if (needed[i] && net_reads_other(layer->kind) && layer->other != NET_INPUT) {
            needed[layer->other] = true;
        }
    }
}

weft_status net_warn_idle(const network *net)
{
    bool *needed = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&needed, net->layers, WEFT_MEM_GENERAL));
    net_needed(net, needed);
    int i = 0;
    while (i < net->layers && needed[i]) {
        ++i;
    }
    if (i < net->layers) {
        log_warn("%s: line %d: what comes out does not depend on layer '%s', which is not trained: let a layer read it "
                 "(from=%s, add %s), or leave it out",
                 net->origin, net->layer[i].line, net->layer[i].name, net->layer[i].name, net->layer[i].name);
    }
    weft_free(needed);
    return WEFT_OK;
}

bool net_has_norm(const network *net)
{
    bool has = false;
    for (int i = 0; i < net->layers; ++i) {
        has = has || net->layer[i].kind == NET_NORM;
    }
    return has;
}

const net_layer *net_norm_of_pixel(const network *net)
{
    for (int i = 0; i < net->layers; ++i) {
        if (net->layer[i].kind == NET_NORM && net_pixels(net->layer[i].size) == 1) {
            return &net->layer[i];
        }
    }
    return NULL;
}
