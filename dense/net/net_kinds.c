/* dense/net/net_kinds.c: see dense/net/net_kinds.h. */
#include "dense/net/net_kinds.h"

#include <string.h>

const net_kind_row net_kind_rows[NET_KINDS] = {
    [NET_CONV] = {"conv",
                  "conv CHANNELS KERNEL [stride=1] [pad=0] [dilation=1] [groups=1] [bias=on] [start=kaiming|uniform]",
                  {NET_FIELD_OUT, NET_FIELD_KERNEL},
                  {NET_FIELD_STRIDE, NET_FIELD_PAD, NET_FIELD_DILATION, NET_FIELD_GROUPS, NET_FIELD_BIAS,
                   NET_FIELD_START}},
    [NET_DEPTHWISE] = {"depthwise",
                       "depthwise KERNEL [stride=1] [pad=0] [dilation=1] [bias=on] [start=kaiming|uniform]",
                       {NET_FIELD_KERNEL},
                       {NET_FIELD_STRIDE, NET_FIELD_PAD, NET_FIELD_DILATION, NET_FIELD_BIAS, NET_FIELD_START}},
    [NET_POINTWISE] = {"pointwise", "pointwise CHANNELS [bias=on]", {NET_FIELD_OUT}, {NET_FIELD_BIAS}},
    [NET_LINEAR] = {"linear", "linear OUTPUTS|classes [bias=on]", {NET_FIELD_OUT}, {NET_FIELD_BIAS}},
    [NET_NORM] = {"norm", "norm", {0}, {0}},
    [NET_GROUPNORM] = {"groupnorm", "groupnorm GROUPS", {NET_FIELD_GROUPS}, {0}},
    [NET_LAYERNORM] = {"layernorm", "layernorm [epsilon=1e-05]", {0}, {NET_FIELD_EPSILON}},
    [NET_RELU] = {"relu", "relu", {0}, {0}},
    [NET_RELU6] = {"relu6", "relu6", {0}, {0}},
    [NET_GELU] = {"gelu", "gelu", {0}, {0}},
    [NET_SILU] = {"silu", "silu", {0}, {0}},
    [NET_SIGMOID] = {"sigmoid", "sigmoid", {0}, {0}},
    [NET_ADD] = {"add", "add NAME", {NET_FIELD_OTHER}, {0}},
    [NET_MULTIPLY] = {"multiply", "multiply NAME", {NET_FIELD_OTHER}, {0}},
    [NET_CONCAT] = {"concat", "concat NAME", {NET_FIELD_OTHER}, {0}},
    [NET_MAXPOOL] = {"maxpool",
                     "maxpool KERNEL [stride=KERNEL] [pad=0]",
                     {NET_FIELD_KERNEL},
                     {NET_FIELD_STRIDE, NET_FIELD_PAD}},
    [NET_AVGPOOL] = {"avgpool",
                     "avgpool KERNEL [stride=KERNEL] [pad=0]",
                     {NET_FIELD_KERNEL},
                     {NET_FIELD_STRIDE, NET_FIELD_PAD}},
    [NET_GLOBALPOOL] = {"globalpool", "globalpool", {0}, {0}},
    [NET_SUBSAMPLE] = {"subsample", "subsample CHANNELS STRIDE", {NET_FIELD_OUT, NET_FIELD_STRIDE}, {0}},
    [NET_UPSAMPLE] = {"upsample", "upsample FACTOR", {NET_FIELD_FACTOR}, {0}},
    [NET_DROPOUT] = {"dropout", "dropout PROBABILITY", {NET_FIELD_VALUE}, {0}},
    [NET_SCALE] = {"scale", "scale FACTOR", {NET_FIELD_VALUE}, {0}},
    [NET_EMBED] = {"embed", "embed WORDS|words CHANNELS", {NET_FIELD_WORDS, NET_FIELD_OUT}, {0}},
    [NET_POSITION] = {"position", "position", {0}, {0}},
    [NET_ATTENTION] = {"attention", "attention HEADS", {NET_FIELD_HEADS}, {0}},
    [NET_TOKENMEAN] = {"tokenmean", "tokenmean", {0}, {0}},
    [NET_GAIN] = {"gain", "gain START", {NET_FIELD_VALUE}, {0}},
};

const char *net_kind_word(net_kind kind)
{
    return net_kind_rows[kind].word;
}

const char *net_field_word(net_field field)
{
    static const char *const words[] = {
        [NET_FIELD_NONE] = "",         [NET_FIELD_OUT] = "channels", [NET_FIELD_KERNEL] = "kernel",
        [NET_FIELD_STRIDE] = "stride", [NET_FIELD_PAD] = "pad",      [NET_FIELD_DILATION] = "dilation",
        [NET_FIELD_GROUPS] = "groups", [NET_FIELD_BIAS] = "bias",    [NET_FIELD_VALUE] = "value",
        [NET_FIELD_OTHER] = "name",    [NET_FIELD_START] = "start",  [NET_FIELD_EPSILON] = "epsilon",
        [NET_FIELD_FACTOR] = "factor", [NET_FIELD_HEADS] = "heads",  [NET_FIELD_WORDS] = "words"};
    return words[field];
}

int64_t *net_field_pair(net_layer *layer, net_field field)
{
    switch (field) {
    case NET_FIELD_KERNEL:
        return layer->kernel;
    case NET_FIELD_STRIDE:
    case NET_FIELD_FACTOR:
        return layer->stride;
    case NET_FIELD_PAD:
        return layer->pad;
    case NET_FIELD_DILATION:
        return layer->dilation;
    default:
        return NULL;
    }
}

void net_layer_defaults(net_kind kind, net_layer *layer)
{
    memset(layer, 0, sizeof *layer);
    layer->kind = kind;
    layer->groups = 1;
    layer->kernel[0] = layer->kernel[1] = 1;
    layer->dilation[0] = layer->dilation[1] = 1;
    layer->bias = true;
    layer->value = kind == NET_LAYERNORM ? 1e-5 : 0.0;
}

void net_layer_complete(net_layer *layer)
{
    const bool pools = layer->kind == NET_MAXPOOL || layer->kind == NET_AVGPOOL;
    for (int i = 0; i < 2; ++i) {
        if (layer->stride[i] == 0) {
            layer->stride[i] = pools ? layer->kernel[i] : 1;
        }
    }
}
