/*
 * dense/net/net.h: a network as a list of layers, and the text that describes one.
 *
 *      # LeNet with ReLU and max pooling: a comment
 *      input 28 28 1                            height width channels; left out: those of the data
 *      conv 6 5 pad=2                           channels, kernel (5, or 5x3)
 *      relu
 *      maxpool 2
 *      linear classes                           as many outputs as the data have classes
 *
 * One line a layer: [NAME:] KIND NUMBERS... [KEY=VALUE...]; net_kind_rows has the kinds with their numbers and keys. A
 * layer reads the one above it, or from=NAME; `input` names the network's input. `add NAME` is the sum of the layer
 * above and NAME, `multiply NAME` their product, `concat NAME` the channels of NAME and then those of the layer above.
 * A layer without a name gets its kind and number: conv1, norm1, conv2. Names of layers become names of parameters:
 * conv1.weight, and without the point behind a name that ends in '_': in_proj_weight, as PyTorch's attention has it.
 * The built-in networks are written in this text too (dense/net/zoo.h).
 *
 * Networks on texts read numbers of words, one a pixel, 0 behind the end of a text: `embed` takes them, and what reads
 * all tokens of a text, `attention` and `tokenmean`, leaves those behind its end out.
 *
 * Nothing here is collective.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/layer_words.h"

enum {
    NET_NAME_BYTES = LAYER_NAME_BYTES,
    NET_ORIGIN_BYTES = 256,
    NET_LAYERS_MAX = 4096,
    NET_TEXT_MAX = 1 << 20,
    NET_EXTENT_MAX = 1 << 20, /* of any number of the text: channels, kernels, heights */
    NET_INPUT = -1,           /* in place of a layer: the network's input */
    NET_CLASSES = -1,         /* in place of a number of outputs */
    NET_WORDS = -1            /* in place of a number of words */
};

typedef enum net_kind {
    NET_CONV,
    NET_DEPTHWISE, /* a convolution of each channel by itself */
    NET_POINTWISE, /* a linear layer over the channels of each pixel, whose weights are a matrix */
    NET_LINEAR,
    NET_NORM,      /* batch norm over pixels */
    NET_GROUPNORM, /* each image by itself, over pixels and the channels of a group */
    NET_LAYERNORM, /* each pixel by itself, over its channels */
    NET_RELU,
    NET_RELU6,
    NET_GELU,
    NET_SILU,
    NET_SIGMOID,
    NET_ADD,
    NET_MULTIPLY, /* element by element, or each image's channels by a gate of one pixel */
    NET_CONCAT,   /* channels behind channels */
    NET_MAXPOOL,
    NET_AVGPOOL,
    NET_GLOBALPOOL, /* the mean over all pixels */
    NET_SUBSAMPLE,  /* every stride-th pixel, channels between zeros: K. He et al., CVPR 2016, shortcut A */
    NET_UPSAMPLE,   /* every pixel becomes a block of equal ones */
    NET_DROPOUT,
    NET_SCALE,
    NET_EMBED,     /* a trained row for each word */
    NET_POSITION,  /* adds a trained row for each pixel */
    NET_ATTENTION, /* of all pixels; reads queries, keys and values, channels behind channels */
    NET_TOKENMEAN, /* the mean over the tokens of a text */
    NET_GAIN,      /* a trained factor for each channel: H. Touvron et al., ICCV 2021, arXiv 2103.17239 */
    NET_KINDS
} net_kind;

/* What a kernel's first weights are drawn from, by the n weights of an output. */
typedef enum net_start {
    NET_START_KAIMING, /* normal, variance 2 / n */
    NET_START_UNIFORM  /* +- 1 / sqrt(n), as PyTorch's layers begin by themselves */
} net_start;

typedef struct net_size {
    int64_t height, width, channels;
} net_size;

/* Returns true for layers that are convolutions: their kernels are drawn and computed alike. */
static inline bool net_is_conv(net_kind kind)
{
    return kind == NET_CONV || kind == NET_DEPTHWISE || kind == NET_POINTWISE;
}

/* Returns true for layers whose weights are a matrix in files, as those of PyTorch's Linear. */
static inline bool net_has_matrix(net_kind kind)
{
    return kind == NET_LINEAR || kind == NET_POINTWISE;
}

/* What stands between a layer's name and that of its parameter. */
static inline const char *net_parameter_point(const char *layer)
{
    const size_t length = strlen(layer);
    return length > 0 && layer[length - 1] == '_' ? "" : ".";
}

/* Returns true for layers that read two others, `from` and `other`. */
static inline bool net_reads_other(net_kind kind)
{
    return kind == NET_ADD || kind == NET_MULTIPLY || kind == NET_CONCAT;
}

static inline int64_t net_pixels(net_size size)
{
    return size.height * size.width;
}

typedef struct net_layer {
    char name[NET_NAME_BYTES];
    net_kind kind;
    int line;        /* of the text */
    int from, other; /* the layers that it reads, before it in the list; other: of add, multiply and concat */
    int64_t out;     /* channels, or NET_CLASSES until net_fit, which sets out and groups of depthwise */
    int64_t kernel[2], stride[2], pad[2], dilation[2], groups; /* groups: of attention its heads */
    int64_t words;                                             /* of embed, or NET_WORDS until net_fit */
    bool bias;
    net_start start; /* of conv */
    double value;    /* probability of dropout, factor of scale, first factor of gain, epsilon of layernorm */
    net_size size;   /* of what it gives; after net_fit */
} net_layer;

typedef struct network {
    char name[NET_NAME_BYTES];     /* resnet-20, or the file's without folder and ending */
    char origin[NET_ORIGIN_BYTES]; /* the text in messages: resnet-20, nets/my.net */
    net_size input;                /* zeros until net_fit where the text leaves it to the data */
    int64_t classes;               /* after net_fit */
    int64_t words;                 /* different words of texts, set before net_fit; 0: the input is images */
    int layers, capacity;
    net_layer *layer;
} network;

/* A kind's word, as messages show it. */
const char *net_kind_word(net_kind kind);

/*
 * Read a description. where: names it in messages. [out] net  free with net_destroy, also after a failure.
 * WEFT_ERR_DATA names line, word and what is allowed there.
 */
weft_status net_parse(const char *text, const char *where, network *net);
weft_status net_read(const char *path, network *net);
/* What net_write_line gave; path: of the file that it was read from, which gives the name. */
weft_status net_parse_line(const char *line, const char *path, network *net);
void net_destroy(network *net);

/*
 * Give every layer its size for images and classes of the data. WEFT_ERR_DATA: the text's input is not the data's, a
 * kernel does not fit into its image, sizes of a sum differ, the last layer does not give one figure a class, layers
 * for texts meet images or the other way round.
 */
weft_status net_fit(network *net, net_size input, int64_t classes);

/* The size of layer `index`, or of the input. */
net_size net_size_of(const network *net, int index);

/* needed[layers], all false: becomes true for the layers that the output depends on. */
void net_needed(const network *net, bool *needed);
/* Names on the log the first layer that the output does not depend on: a mistake, most likely. */
weft_status net_warn_idle(const network *net);

/* Returns true if some layer is a batch norm. */
bool net_has_norm(const network *net);
/* The first batch norm whose input is one pixel an image, so that one image leaves it one value a channel; NULL: none.
 * After net_fit. */
const net_layer *net_norm_of_pixel(const network *net);

/* The description again, with what was left out filled in; net_parse reads it back to the same network. */
void net_write(const network *net, FILE *out);
/* The same in one line, with "; " between layers, as options and records of runs keep it. [out] line  for weft_free. */
weft_status net_write_line(const network *net, char **line);

/* What a layer costs for one image; after net_fit. */
typedef struct net_cost {
    int64_t parameters;
    double flops; /* of the forward pass; training takes three times as many */
} net_cost;
net_cost net_cost_of(const network *net, int index);
