/* dense/onnx/onnx_network.c: see dense/onnx/onnx_network.h. Every value between layers has four dimensions. */
#include "dense/onnx/onnx_network.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "dense/onnx/onnx_file.h"

/* PyTorch's default of batch norm and group norm, as the layers have it. */
#define EPSILON 1e-5F

typedef struct translation {
    const onnx_model *model;
    onnx_file file;
    char (*value)[ONNX_NAME_BYTES]; /* [layers] the tensor that a layer gives */
    char input[ONNX_NAME_BYTES];    /* the tensor that the first layers read */
    weft_status status;             /* the first failure */
} translation;

/* A name of the layer's own: "/conv1" for part "", "/conv1/shape" for "/shape". */
typedef struct own_name {
    char text[ONNX_NAME_BYTES];
} own_name;

static own_name name_of(const net_layer *layer, const char *part)
{
    own_name name;
    snprintf(name.text, sizeof name.text, "/%s%s", layer->name, part);
    return name;
}

static const char *value_of(const translation *t, int layer)
{
    return layer == NET_INPUT ? t->input : t->value[layer];
}

/* ---- operations of a few operands ---- */

static void run_1(translation *t, const char *kind, const char *x, const char *y)
{
    onnx_node node;
    onnx_node_begin(&node, kind, &x, 1, y);
    onnx_node_end(&t->file, &node);
}

static void run_2(translation *t, const char *kind, const char *a, const char *b, const char *y)
{
    onnx_node node;
    onnx_node_begin(&node, kind, (const char *const[]){a, b}, 2, y);
    onnx_node_end(&t->file, &node);
}

static own_name constant(translation *t, const net_layer *layer, const char *part, float value)
{
    const own_name name = name_of(layer, part);
    onnx_constant_floats(&t->file, name.text, &value, 0, NULL);
    return name;
}

static own_name integers(translation *t, const net_layer *layer, const char *part, const int64_t *values, int count)
{
    const own_name name = name_of(layer, part);
    onnx_constant_ints(&t->file, name.text, values, count);
    return name;
}

/* To [batch, channels, height, width], or to another shape of four or three extents. */
static void reshape(translation *t, const net_layer *layer, const char *x, const int64_t *shape, int dims,
                    const char *part, const char *y)
{
    run_2(t, "Reshape", x, integers(t, layer, part, shape, dims).text, y);
}

static void permute(translation *t, const char *x, const int64_t *order, int dims, const char *y)
{
    onnx_node node;
    onnx_node_begin(&node, "Transpose", &x, 1, y);
    onnx_node_ints(&node, "perm", order, dims);
    onnx_node_end(&t->file, &node);
}

static void transpose(translation *t, const char *x, bool channels_last, const char *y)
{
    static const int64_t order[2][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
    permute(t, x, order[channels_last], 4, y);
}

/* ---- weights ---- */

/* The tensor LAYER.PART of the file of weights, or LAYER for part "", in this shape. */
static own_name weights(translation *t, const net_layer *layer, const char *part, int dims, const int64_t *shape)
{
    onnx_tensor tensor = {.dims = dims};
    own_name name;
    int64_t elements = 1, held = 1;
    char stored[ONNX_NAME_BYTES];
    snprintf(stored, sizeof stored, "%s%s%s", layer->name, part[0] != '\0' ? net_parameter_point(layer->name) : "",
             part);
    snprintf(name.text, sizeof name.text, "%s.%s", layer->name, part[0] != '\0' ? part : "factor");
    const train_weight *weight = weights_find(t->model->weights, stored);
    for (int i = 0; i < dims; ++i) {
        elements *= tensor.shape[i] = shape[i];
    }
    for (int i = 0; weight != NULL && i < weight->rank; ++i) {
        held *= weight->shape[i];
    }
    if (t->status == WEFT_OK && (weight == NULL || held != elements)) {
        t->status =
            weft_fail(WEFT_ERR_DATA, "%s: tensor %s of %lld elements is %s: these are weights of another network",
                      t->model->net->name, stored, (long long)elements, weight == NULL ? "missing" : "of another size");
    }
    if (t->status == WEFT_OK && weight != NULL) {
        snprintf(tensor.name, sizeof tensor.name, "%s", name.text);
        tensor.values = weight->values;
        onnx_weights(&t->file, &tensor);
    }
    return name;
}

static own_name vector(translation *t, const net_layer *layer, const char *part, int64_t length)
{
    return weights(t, layer, part, 1, &length);
}

/* ---- layers ---- */

static void put_window(onnx_node *node, const net_layer *layer)
{
    const int64_t pads[4] = {layer->pad[0], layer->pad[1], layer->pad[0], layer->pad[1]};
    onnx_node_ints(node, "kernel_shape", layer->kernel, 2);
    onnx_node_ints(node, "strides", layer->stride, 2);
    onnx_node_ints(node, "pads", pads, 4);
}

static void put_conv(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const net_size in = net_size_of(t->model->net, layer->from);
    const int64_t shape[4] = {layer->out, in.channels / layer->groups, layer->kernel[0], layer->kernel[1]};
    const own_name weight = weights(t, layer, "weight", 4, shape);
    const own_name bias = layer->bias ? vector(t, layer, "bias", layer->out) : (own_name){""};
    onnx_node node;
    onnx_node_begin(&node, "Conv", (const char *const[]){x, weight.text, bias.text}, layer->bias ? 3 : 2, y);
    put_window(&node, layer);
    onnx_node_ints(&node, "dilations", layer->dilation, 2);
    onnx_node_int(&node, "group", layer->groups);
    onnx_node_end(&t->file, &node);
}

/* Pixels are flattened in the order channels, rows, columns, which that of the weights is. */
static void put_linear(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const net_size in = net_size_of(t->model->net, layer->from);
    const int64_t shape[2] = {layer->out, in.channels * net_pixels(in)}, four[4] = {0, layer->out, 1, 1};
    const own_name weight = weights(t, layer, "weight", 2, shape), flat = name_of(layer, "/flat");
    const own_name bias = layer->bias ? vector(t, layer, "bias", layer->out) : (own_name){""};
    const own_name product = name_of(layer, "/product");
    onnx_node node;
    run_1(t, "Flatten", x, flat.text);
    onnx_node_begin(&node, "Gemm", (const char *const[]){flat.text, weight.text, bias.text}, layer->bias ? 3 : 2,
                    product.text);
    onnx_node_int(&node, "transB", 1);
    onnx_node_end(&t->file, &node);
    reshape(t, layer, product.text, four, 4, "/shape", y);
}

static void put_norm(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const int64_t channels = layer->size.channels;
    const own_name weight = vector(t, layer, "weight", channels), bias = vector(t, layer, "bias", channels);
    const own_name mean = vector(t, layer, "running_mean", channels), var = vector(t, layer, "running_var", channels);
    onnx_node node;
    onnx_node_begin(&node, "BatchNormalization", (const char *const[]){x, weight.text, bias.text, mean.text, var.text},
                    5, y);
    onnx_node_float(&node, "epsilon", EPSILON);
    onnx_node_end(&t->file, &node);
}

static void put_layernorm(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const own_name weight = vector(t, layer, "weight", layer->size.channels);
    const own_name bias = vector(t, layer, "bias", layer->size.channels);
    const own_name rows = name_of(layer, "/rows"), normed = name_of(layer, "/normed");
    onnx_node node;
    transpose(t, x, true, rows.text);
    onnx_node_begin(&node, "LayerNormalization", (const char *const[]){rows.text, weight.text, bias.text}, 3,
                    normed.text);
    onnx_node_int(&node, "axis", -1);
    onnx_node_float(&node, "epsilon", (float)layer->value);
    onnx_node_end(&t->file, &node);
    transpose(t, normed.text, false, y);
}

/* A group is normalised as one channel of an image; factors of channels follow. Operator set 17 has no group norm. */
static void put_groupnorm(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const net_size size = layer->size;
    const int64_t groups[3] = {0, layer->groups, -1}, four[4] = {0, size.channels, size.height, size.width};
    const int64_t each[3] = {size.channels, 1, 1};
    const own_name weight = weights(t, layer, "weight", 3, each), bias = weights(t, layer, "bias", 3, each);
    const own_name grouped = name_of(layer, "/grouped"), normed = name_of(layer, "/normed");
    const own_name ones = name_of(layer, "/ones"), zeros = name_of(layer, "/zeros");
    const own_name whole = name_of(layer, "/whole"), scaled = name_of(layer, "/scaled");
    float *values = NULL;
    if (t->status == WEFT_OK) {
        t->status = WEFT_NEW_ZERO(&values, layer->groups, WEFT_MEM_WORKSPACE);
    }
    if (t->status != WEFT_OK) {
        return;
    }
    onnx_constant_floats(&t->file, zeros.text, values, 1, &layer->groups);
    for (int64_t i = 0; i < layer->groups; ++i) {
        values[i] = 1.0F;
    }
    onnx_constant_floats(&t->file, ones.text, values, 1, &layer->groups);
    weft_free(values);
    reshape(t, layer, x, groups, 3, "/groups", grouped.text);
    onnx_node node;
    onnx_node_begin(&node, "InstanceNormalization", (const char *const[]){grouped.text, ones.text, zeros.text}, 3,
                    normed.text);
    onnx_node_float(&node, "epsilon", EPSILON);
    onnx_node_end(&t->file, &node);
    reshape(t, layer, normed.text, four, 4, "/shape", whole.text);
    run_2(t, "Mul", whole.text, weight.text, scaled.text);
    run_2(t, "Add", scaled.text, bias.text, y);
}

/* x * (erf(x / sqrt(2)) + 1) / 2 */
static void put_gelu(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const own_name narrow = name_of(layer, "/narrow"), erf = name_of(layer, "/erf"), moved = name_of(layer, "/moved");
    const own_name half = name_of(layer, "/half");
    run_2(t, "Mul", x, constant(t, layer, "/root", 0.70710678118654752440F).text, narrow.text);
    run_1(t, "Erf", narrow.text, erf.text);
    run_2(t, "Add", erf.text, constant(t, layer, "/one", 1.0F).text, moved.text);
    run_2(t, "Mul", x, constant(t, layer, "/share", 0.5F).text, half.text);
    run_2(t, "Mul", half.text, moved.text, y);
}

static void put_silu(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const own_name gate = name_of(layer, "/gate");
    run_1(t, "Sigmoid", x, gate.text);
    run_2(t, "Mul", x, gate.text, y);
}

static void put_relu6(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const own_name low = constant(t, layer, "/low", 0.0F), high = constant(t, layer, "/high", 6.0F);
    onnx_node node;
    onnx_node_begin(&node, "Clip", (const char *const[]){x, low.text, high.text}, 3, y);
    onnx_node_end(&t->file, &node);
}

static void put_pool(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const bool average = layer->kind == NET_AVGPOOL;
    onnx_node node;
    onnx_node_begin(&node, average ? "AveragePool" : "MaxPool", &x, 1, y);
    put_window(&node, layer);
    if (average) {
        onnx_node_int(&node, "count_include_pad", 1);
    }
    onnx_node_end(&t->file, &node);
}

static void put_subsample(translation *t, const net_layer *layer, const char *x, const char *y)
{
    static const int64_t starts[2] = {0, 0}, ends[2] = {INT32_MAX, INT32_MAX}, axes[2] = {2, 3};
    const int64_t added = layer->out - net_size_of(t->model->net, layer->from).channels;
    const int64_t pads[8] = {[1] = added / 2, [5] = added - added / 2};
    const own_name slice = name_of(layer, "/slice");
    const own_name start = integers(t, layer, "/starts", starts, 2), end = integers(t, layer, "/ends", ends, 2);
    const own_name axis = integers(t, layer, "/axes", axes, 2), step = integers(t, layer, "/steps", layer->stride, 2);
    onnx_node node;
    onnx_node_begin(&node, "Slice", (const char *const[]){x, start.text, end.text, axis.text, step.text}, 5,
                    slice.text);
    onnx_node_end(&t->file, &node);
    run_2(t, "Pad", slice.text, integers(t, layer, "/pads", pads, 8).text, y);
}

static void put_upsample(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const float scale[4] = {1.0F, 1.0F, (float)layer->stride[0], (float)layer->stride[1]};
    const int64_t four = 4;
    const own_name scales = name_of(layer, "/scales");
    onnx_node node;
    onnx_constant_floats(&t->file, scales.text, scale, 1, &four);
    onnx_node_begin(&node, "Resize", (const char *const[]){x, "", scales.text}, 3, y);
    onnx_node_text(&node, "mode", "nearest");
    onnx_node_text(&node, "coordinate_transformation_mode", "asymmetric");
    onnx_node_text(&node, "nearest_mode", "floor");
    onnx_node_end(&t->file, &node);
}

static void put_concat(translation *t, const net_layer *layer, const char *x, const char *y)
{
    onnx_node node;
    onnx_node_begin(&node, "Concat", (const char *const[]){value_of(t, layer->other), x}, 2, y);
    onnx_node_int(&node, "axis", 1);
    onnx_node_end(&t->file, &node);
}

static void put_gain(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const int64_t each[3] = {layer->size.channels, 1, 1};
    run_2(t, "Mul", x, weights(t, layer, "", 3, each).text, y);
}

/* ---- texts ---- */

/* Names of what is made of the words once. */
#define TEXT_KEEPS  "/words/keeps"  /* 1 for a token, 0 behind the end of a text, [batch, 1, tokens, 1] */
#define TEXT_LEAVES "/words/leaves" /* 0, and less than any score behind the end, [batch, 1, 1, tokens] */
#define NO_SCORE    (-1e9F)

static void cast(translation *t, const char *x, const char *y)
{
    enum { ONNX_FLOAT = 1 };
    onnx_node node;
    onnx_node_begin(&node, "Cast", &x, 1, y);
    onnx_node_int(&node, "to", ONNX_FLOAT);
    onnx_node_end(&t->file, &node);
}

/* The words, [batch, tokens], and where texts end. */
static void put_words(translation *t)
{
    const int64_t tokens = net_pixels(t->model->net->input), zero = 0;
    const int64_t columns[4] = {0, 1, tokens, 1}, rows[4] = {0, 1, 1, tokens};
    const float none = NO_SCORE;
    snprintf(t->input, sizeof t->input, "input");
    onnx_constant_ints(&t->file, "/words/zero", &zero, 1);
    onnx_constant_ints(&t->file, "/words/columns", columns, 4);
    onnx_constant_ints(&t->file, "/words/rows", rows, 4);
    onnx_constant_floats(&t->file, "/words/none", &none, 0, NULL);
    run_2(t, "Greater", "input", "/words/zero", "/words/inside");
    cast(t, "/words/inside", "/words/kept");
    run_2(t, "Reshape", "/words/kept", "/words/columns", TEXT_KEEPS);
    run_2(t, "Equal", "input", "/words/zero", "/words/outside");
    cast(t, "/words/outside", "/words/left");
    run_2(t, "Mul", "/words/left", "/words/none", "/words/scores");
    run_2(t, "Reshape", "/words/scores", "/words/rows", TEXT_LEAVES);
}

static void put_embed(translation *t, const net_layer *layer, const char *x, const char *y)
{
    static const int64_t order[3] = {0, 2, 1};
    const int64_t shape[2] = {layer->words, layer->out};
    const int64_t four[4] = {0, layer->out, layer->size.height, layer->size.width};
    const own_name rows = name_of(layer, "/rows"), turned = name_of(layer, "/turned");
    run_2(t, "Gather", weights(t, layer, "weight", 2, shape).text, x, rows.text);
    permute(t, rows.text, order, 3, turned.text);
    reshape(t, layer, turned.text, four, 4, "/shape", y);
}

static void put_position(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const int64_t shape[3] = {layer->size.height, layer->size.width, layer->size.channels};
    const own_name rows = name_of(layer, "/rows"), moved = name_of(layer, "/moved");
    transpose(t, x, true, rows.text);
    run_2(t, "Add", rows.text, weights(t, layer, "", 3, shape).text, moved.text);
    transpose(t, moved.text, false, y);
}

/* Queries, keys or values, the part-th of three, as [batch, heads, channels of a head, tokens]. */
static own_name put_head(translation *t, const net_layer *layer, int part, const char *x)
{
    static const char *const parts[3][5] = {{"/q", "/q/from", "/q/to", "/q/axis", "/query"},
                                            {"/k", "/k/from", "/k/to", "/k/axis", "/key"},
                                            {"/v", "/v/from", "/v/to", "/v/axis", "/value"}};
    const int64_t channels = layer->size.channels, from = part * channels, to = from + channels, axis = 1;
    const int64_t heads[4] = {0, layer->groups, channels / layer->groups, net_pixels(layer->size)};
    const own_name slice = name_of(layer, parts[part][0]), head = name_of(layer, parts[part][4]);
    char shape[16];
    onnx_node node;
    onnx_node_begin(&node, "Slice",
                    (const char *const[]){x, integers(t, layer, parts[part][1], &from, 1).text,
                                          integers(t, layer, parts[part][2], &to, 1).text,
                                          integers(t, layer, parts[part][3], &axis, 1).text},
                    4, slice.text);
    onnx_node_end(&t->file, &node);
    snprintf(shape, sizeof shape, "%s/heads", parts[part][0]);
    reshape(t, layer, slice.text, heads, 4, shape, head.text);
    return head;
}

static void put_attention(translation *t, const net_layer *layer, const char *x, const char *y)
{
    static const int64_t order[4] = {0, 1, 3, 2};
    const net_size size = layer->size;
    const int64_t four[4] = {0, size.channels, size.height, size.width};
    const own_name query = put_head(t, layer, 0, x), key = put_head(t, layer, 1, x), value = put_head(t, layer, 2, x);
    const own_name turned = name_of(layer, "/turned"), product = name_of(layer, "/product");
    const own_name scores = name_of(layer, "/scores"), left = name_of(layer, "/left");
    const own_name shares = name_of(layer, "/shares"), of = name_of(layer, "/of"), heads = name_of(layer, "/all");
    const bool text = t->model->net->words > 0;
    const int64_t width = size.channels / layer->groups;
    const char *masked = text ? left.text : scores.text;
    onnx_node node;
    permute(t, query.text, order, 4, turned.text);
    run_2(t, "MatMul", turned.text, key.text, product.text);
    run_2(t, "Mul", product.text, constant(t, layer, "/scale", (float)(1.0 / sqrt((double)width))).text, scores.text);
    if (text) {
        run_2(t, "Add", scores.text, TEXT_LEAVES, left.text);
    }
    onnx_node_begin(&node, "Softmax", &masked, 1, shares.text);
    onnx_node_int(&node, "axis", -1);
    onnx_node_end(&t->file, &node);
    permute(t, shares.text, order, 4, of.text);
    run_2(t, "MatMul", value.text, of.text, heads.text);
    reshape(t, layer, heads.text, four, 4, "/shape", y);
}

/* The mean of tokens is the mean of all places by the share of those that are tokens. */
static void put_tokenmean(translation *t, const net_layer *layer, const char *x, const char *y)
{
    const own_name kept = name_of(layer, "/kept"), mean = name_of(layer, "/mean"), share = name_of(layer, "/share");
    const own_name some = name_of(layer, "/some");
    if (t->model->net->words == 0) {
        run_1(t, "GlobalAveragePool", x, y);
        return;
    }
    run_2(t, "Mul", x, TEXT_KEEPS, kept.text);
    run_1(t, "GlobalAveragePool", kept.text, mean.text);
    run_1(t, "GlobalAveragePool", TEXT_KEEPS, share.text);
    run_2(t, "Max", share.text, constant(t, layer, "/least", 1e-9F).text, some.text);
    run_2(t, "Div", mean.text, some.text, y);
}

static void put_layer(translation *t, const net_layer *layer, const char *x, const char *y)
{
    switch (layer->kind) {
    case NET_CONV:
    case NET_DEPTHWISE:
    case NET_POINTWISE:
        put_conv(t, layer, x, y);
        break;
    case NET_LINEAR:
        put_linear(t, layer, x, y);
        break;
    case NET_NORM:
        put_norm(t, layer, x, y);
        break;
    case NET_GROUPNORM:
        put_groupnorm(t, layer, x, y);
        break;
    case NET_LAYERNORM:
        put_layernorm(t, layer, x, y);
        break;
    case NET_RELU:
        run_1(t, "Relu", x, y);
        break;
    case NET_RELU6:
        put_relu6(t, layer, x, y);
        break;
    case NET_GELU:
        put_gelu(t, layer, x, y);
        break;
    case NET_SILU:
        put_silu(t, layer, x, y);
        break;
    case NET_SIGMOID:
        run_1(t, "Sigmoid", x, y);
        break;
    case NET_ADD:
        run_2(t, "Add", x, value_of(t, layer->other), y);
        break;
    case NET_MULTIPLY:
        run_2(t, "Mul", x, value_of(t, layer->other), y);
        break;
    case NET_CONCAT:
        put_concat(t, layer, x, y);
        break;
    case NET_MAXPOOL:
    case NET_AVGPOOL:
        put_pool(t, layer, x, y);
        break;
    case NET_GLOBALPOOL:
        run_1(t, "GlobalAveragePool", x, y);
        break;
    case NET_SUBSAMPLE:
        put_subsample(t, layer, x, y);
        break;
    case NET_UPSAMPLE:
        put_upsample(t, layer, x, y);
        break;
    case NET_DROPOUT:
        run_1(t, "Identity", x, y);
        break;
    case NET_SCALE:
        run_2(t, "Mul", x, constant(t, layer, "/factor", (float)layer->value).text, y);
        break;
    case NET_GAIN:
        put_gain(t, layer, x, y);
        break;
    case NET_EMBED:
        put_embed(t, layer, x, y);
        break;
    case NET_POSITION:
        put_position(t, layer, x, y);
        break;
    case NET_ATTENTION:
        put_attention(t, layer, x, y);
        break;
    case NET_TOKENMEAN:
        put_tokenmean(t, layer, x, y);
        break;
    case NET_KINDS:
        assert(false);
        break;
    }
}

/* (pixel - mean) / deviation, by channel. */
static void put_moments(translation *t)
{
    const int64_t each[3] = {t->model->net->input.channels, 1, 1};
    snprintf(t->input, sizeof t->input, "input");
    if (t->model->mean == NULL) {
        return;
    }
    onnx_constant_floats(&t->file, "/input/mean", t->model->mean, 3, each);
    onnx_constant_floats(&t->file, "/input/deviation", t->model->deviation, 3, each);
    run_2(t, "Sub", "input", "/input/mean", "/input/centred");
    run_2(t, "Div", "/input/centred", "/input/deviation", "/input/normalised");
    snprintf(t->input, sizeof t->input, "/input/normalised");
}

/* Layers whose result nobody reads have no weights, and are left out. */
static void put_layers(translation *t, const bool *needed)
{
    const network *net = t->model->net;
    if (net->words > 0) {
        put_words(t);
    } else {
        put_moments(t);
    }
    for (int i = 0; i < net->layers; ++i) {
        const net_layer *layer = &net->layer[i];
        if (needed[i]) {
            snprintf(t->value[i], sizeof t->value[i], "/%s", layer->name);
            put_layer(t, layer, value_of(t, layer->from), t->value[i]);
        }
    }
    run_1(t, "Flatten", value_of(t, net->layers - 1), "logits");
}

weft_status onnx_network_write(const onnx_model *model, const char *path)
{
    const network *net = model->net;
    translation t = {.model = model, .file = {.tensors = 0}};
    bool *needed = NULL;
    weft_status status = WEFT_NEW(&t.value, net->layers, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&needed, net->layers, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        net_needed(net, needed);
        put_layers(&t, needed);
        status = t.status;
    }
    const onnx_ends ends = {
        .name = net->name,
        .input = "input",
        .output = "logits",
        .in = {net->input.channels, net->input.height, net->input.width},
        .out = net->classes,
        .words = net->words > 0,
        .note = net->words > 0        ? "input: numbers of words, 0 behind the end of a text; output: logits"
                : model->mean != NULL ? "input: pixels from 0 to 1, which are normalised here; output: logits"
                                      : "input: pixels as the network was trained on; output: logits"};
    status = status == WEFT_OK ? onnx_file_write(&t.file, &ends, path) : status;
    onnx_file_free(&t.file);
    weft_free(t.value);
    weft_free(needed);
    return status;
}
