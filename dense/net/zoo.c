/* dense/net/zoo.c: see dense/net/zoo.h. */
#include "dense/net/zoo.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "dense/net/zoo_text.h"
#include "dense/net/zoo_torchvision.h"

static void write_lenet(FILE *out, int argument)
{
    (void)argument;
    fputs("conv1: conv 20 5\n"
          "relu\n"
          "maxpool 2\n"
          "conv2: conv 50 5\n"
          "relu\n"
          "maxpool 2\n"
          "fc1: linear 500\n"
          "relu\n"
          "fc2: linear classes\n",
          out);
}

static void write_mlp(FILE *out, int argument)
{
    (void)argument;
    fputs("fc1: linear 512\n"
          "relu\n"
          "fc2: linear 512\n"
          "relu\n"
          "fc3: linear classes\n",
          out);
}

static void write_alexnet(FILE *out, int argument)
{
    (void)argument;
    fputs("conv1: conv 64 11 stride=4 pad=2\n"
          "relu\n"
          "maxpool 3 stride=2\n"
          "conv2: conv 192 5 pad=2\n"
          "relu\n"
          "maxpool 3 stride=2\n"
          "conv3: conv 384 3 pad=1\n"
          "relu\n"
          "conv4: conv 256 3 pad=1\n"
          "relu\n"
          "conv5: conv 256 3 pad=1\n"
          "relu\n"
          "pool5: maxpool 3 stride=2\n"
          "norm\n"
          "dropout 0.5\n"
          "fc6: linear 4096\n"
          "relu\n"
          "dropout 0.5\n"
          "fc7: linear 4096\n"
          "relu\n"
          "fc8: linear classes\n",
          out);
}

/* Made for PyTorch's own first weights: behind a norm smaller ones turn quicker, which tells in few epochs. */
static void write_resnet9_unit(FILE *out, const char *name, int width)
{
    fprintf(out, "%s.conv: conv %d 3 pad=1 bias=off start=uniform\n%s.bn: norm\nrelu\n", name, width, name);
}

static void write_resnet9(FILE *out, int argument)
{
    (void)argument;
    write_resnet9_unit(out, "prep", 64);
    write_resnet9_unit(out, "layer1", 128);
    fputs("layer1.pool: maxpool 2\n", out);
    write_resnet9_unit(out, "layer1.residual.res1", 128);
    write_resnet9_unit(out, "layer1.residual.res2", 128);
    fputs("add layer1.pool\n", out);
    write_resnet9_unit(out, "layer2", 256);
    fputs("maxpool 2\n", out);
    write_resnet9_unit(out, "layer3", 512);
    fputs("layer3.pool: maxpool 2\n", out);
    write_resnet9_unit(out, "layer3.residual.res1", 512);
    write_resnet9_unit(out, "layer3.residual.res2", 512);
    fputs("add layer3.pool\n"
          "maxpool 4\n"
          "linear: linear classes bias=off\n"
          "scale 0.125\n",
          out);
}

/* A residual block: its name, the layer that it reads, channels in and out. */
typedef struct residual_block {
    char name[NET_NAME_BYTES], input[NET_NAME_BYTES];
    int in, out, stride;
    bool shortcut_a; /* subsampled, with zeros for the channels that are not there; else a 1x1 convolution */
} residual_block;

static bool block_changes(const residual_block *block)
{
    return block->stride != 1 || block->in != block->out;
}

/* What is added at the end of the block, where that is not its input. */
static void write_shortcut(FILE *out, const residual_block *block)
{
    if (!block_changes(block)) {
        return;
    }
    if (block->shortcut_a) {
        fprintf(out, "%s.shortcut: subsample %d %d from=%s\n", block->name, block->out, block->stride, block->input);
    } else {
        fprintf(out, "%s.downsample.0: conv %d 1 stride=%d bias=off from=%s\n%s.downsample.1: norm\n", block->name,
                block->out, block->stride, block->input, block->name);
    }
}

static void write_sum(FILE *out, residual_block *block)
{
    if (!block_changes(block)) {
        fprintf(out, "add %s\n", block->input);
    } else {
        fprintf(out, "add %s.%s\n", block->name, block->shortcut_a ? "shortcut" : "downsample.1");
    }
    fprintf(out, "%s: relu\n", block->name);
    snprintf(block->input, sizeof block->input, "%s", block->name);
    block->in = block->out;
}

static void write_basic_block(FILE *out, residual_block *block)
{
    const char *name = block->name;
    write_shortcut(out, block);
    fprintf(out, "%s.conv1: conv %d 3 stride=%d pad=1 bias=off from=%s\n%s.bn1: norm\nrelu\n", name, block->out,
            block->stride, block->input, name);
    fprintf(out, "%s.conv2: conv %d 3 pad=1 bias=off\n%s.bn2: norm\n", name, block->out, name);
    write_sum(out, block);
}

static void write_bottleneck(FILE *out, residual_block *block)
{
    const char *name = block->name;
    const int narrow = block->out / 4;
    write_shortcut(out, block);
    fprintf(out, "%s.conv1: conv %d 1 bias=off from=%s\n%s.bn1: norm\nrelu\n", name, narrow, block->input, name);
    fprintf(out, "%s.conv2: conv %d 3 stride=%d pad=1 bias=off\n%s.bn2: norm\nrelu\n", name, narrow, block->stride,
            name);
    fprintf(out, "%s.conv3: conv %d 1 bias=off\n%s.bn3: norm\n", name, block->out, name);
    write_sum(out, block);
}

static void write_resnet_cifar(FILE *out, int depth)
{
    residual_block block = {.input = "stem", .in = 16, .shortcut_a = true};
    fputs("conv1: conv 16 3 pad=1 bias=off\nbn1: norm\nstem: relu\n", out);
    for (int stage = 1; stage <= 3; ++stage) {
        for (int i = 0; i < (depth - 2) / 6; ++i) {
            snprintf(block.name, sizeof block.name, "layer%d.%d", stage, i);
            block.out = 16 << (stage - 1);
            block.stride = stage > 1 && i == 0 ? 2 : 1;
            write_basic_block(out, &block);
        }
    }
    fputs("globalpool\nlinear: linear classes\n", out);
}

static void write_resnet_stem(FILE *out)
{
    fputs("conv1: conv 64 7 stride=2 pad=3 bias=off\nbn1: norm\nrelu\nstem: maxpool 3 stride=2 pad=1\n", out);
}

static void write_resnet_imagenet(FILE *out, int depth)
{
    static const int blocks[][4] = {{2, 2, 2, 2}, {3, 4, 6, 3}};
    const bool deep = depth == 50;
    residual_block block = {.input = "stem", .in = 64};
    write_resnet_stem(out);
    for (int stage = 1; stage <= 4; ++stage) {
        for (int i = 0; i < blocks[deep][stage - 1]; ++i) {
            snprintf(block.name, sizeof block.name, "layer%d.%d", stage, i);
            block.out = (deep ? 256 : 64) << (stage - 1);
            block.stride = stage > 1 && i == 0 ? 2 : 1;
            if (deep) {
                write_bottleneck(out, &block);
            } else {
                write_basic_block(out, &block);
            }
        }
    }
    fputs("globalpool\nfc: linear classes\n", out);
}

/* Norm and ReLU stand in front of the convolutions; where a block widens, its shortcut reads behind them. */
static void write_wide_block(FILE *out, const residual_block *block)
{
    const char *name = block->name;
    const bool widens = block->in != block->out;
    fprintf(out, "%s.bn1: norm from=%s\n%s.relu1: relu\n", name, block->input, name);
    if (widens) {
        fprintf(out, "%s.convShortcut: conv %d 1 stride=%d bias=off\n", name, block->out, block->stride);
    }
    fprintf(out, "%s.conv1: conv %d 3 stride=%d pad=1 bias=off from=%s.relu1\n%s.bn2: norm\nrelu\n", name, block->out,
            block->stride, name, name);
    fprintf(out, "%s.conv2: conv %d 3 pad=1 bias=off\n%s: add %s%s\n", name, block->out, name,
            widens ? name : block->input, widens ? ".convShortcut" : "");
}

static void write_wide_resnet(FILE *out, int width)
{
    residual_block block = {.input = "conv1", .in = 16};
    fputs("conv1: conv 16 3 pad=1 bias=off\n", out);
    for (int stage = 1; stage <= 3; ++stage) {
        for (int i = 0; i < 4; ++i) {
            snprintf(block.name, sizeof block.name, "block%d.layer.%d", stage, i);
            block.out = 16 * width << (stage - 1);
            block.stride = stage > 1 && i == 0 ? 2 : 1;
            write_wide_block(out, &block);
            snprintf(block.input, sizeof block.input, "%s", block.name);
            block.in = block.out;
        }
    }
    fputs("bn1: norm\nrelu\nglobalpool\nfc: linear classes\n", out);
}

static const struct {
    const char *name;
    void (*write)(FILE *out, int argument);
    int argument;
    net_size input; /* of the data that it was made for */
    int64_t classes;
} networks[] = {
    {"lenet", write_lenet, 0, {28, 28, 1}, 10},
    {"mlp", write_mlp, 0, {28, 28, 1}, 10},
    {"resnet-9", write_resnet9, 0, {32, 32, 3}, 10},
    {"resnet-20", write_resnet_cifar, 20, {32, 32, 3}, 10},
    {"resnet-32", write_resnet_cifar, 32, {32, 32, 3}, 10},
    {"resnet-44", write_resnet_cifar, 44, {32, 32, 3}, 10},
    {"resnet-56", write_resnet_cifar, 56, {32, 32, 3}, 10},
    {"resnet-18", write_resnet_imagenet, 18, {224, 224, 3}, 1000},
    {"resnet-50", write_resnet_imagenet, 50, {224, 224, 3}, 1000},
    {"wide-resnet-28-1", write_wide_resnet, 1, {32, 32, 3}, 10},
    {"wide-resnet-28-2", write_wide_resnet, 2, {32, 32, 3}, 10},
    {"wide-resnet-28-4", write_wide_resnet, 4, {32, 32, 3}, 10},
    {"wide-resnet-28-8", write_wide_resnet, 8, {32, 32, 3}, 10},
    {"wide-resnet-28-10", write_wide_resnet, 10, {32, 32, 3}, 10},
    {"alexnet", write_alexnet, 0, {224, 224, 3}, 1000},
    {"vgg-11", zoo_write_vgg, 11, {224, 224, 3}, 1000},
    {"vgg-16", zoo_write_vgg, 16, {224, 224, 3}, 1000},
    {"mobilenet-v1", zoo_write_mobilenet, 1, {224, 224, 3}, 1000},
    {"mobilenet-v2", zoo_write_mobilenet, 2, {224, 224, 3}, 1000},
    {"densenet-121", zoo_write_densenet, 0, {224, 224, 3}, 1000},
    {"convnext-tiny", zoo_write_convnext, 0, {224, 224, 3}, 1000},
    {"encoder-tiny", zoo_write_encoder, 2, {128, 1, 1}, 2},
    {"encoder-small", zoo_write_encoder, 4, {128, 1, 1}, 2},
};

enum { NETWORKS = sizeof networks / sizeof networks[0], USUAL_WORDS = 20000 };

const char *net_zoo_name(int i)
{
    return i >= 0 && i < NETWORKS ? networks[i].name : NULL;
}

static int find(const char *name)
{
    int i = 0;
    while (i < NETWORKS && strcmp(networks[i].name, name) != 0) {
        ++i;
    }
    return i;
}

bool net_zoo_has(const char *name)
{
    return find(name) < NETWORKS;
}

weft_status net_zoo(const char *name, network *net)
{
    const int i = find(name);
    *net = (network){.layers = 0};
    if (i == NETWORKS) {
        const char *names[NETWORKS];
        for (int n = 0; n < NETWORKS; ++n) {
            names[n] = networks[n].name;
        }
        const char *near = nearest_word(name, names, NETWORKS);
        return weft_fail(WEFT_ERR_USAGE, "no network '%s'%s%s%s", name, near != NULL ? "; did you mean " : "",
                         near != NULL ? near : "", near != NULL ? "?" : "; a file of a user's own ends in .net");
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out != NULL) {
        networks[i].write(out, networks[i].argument);
    }
    weft_status status = WEFT_OK;
    if (out == NULL || fclose(out) != 0) {
        status = weft_fail(WEFT_ERR_RESOURCE, "no memory for the text of network %s", name);
    }
    status = status == WEFT_OK ? net_parse(text, name, net) : status;
    free(text);
    snprintf(net->name, sizeof net->name, "%s", name);
    return status;
}

static bool ends_in_net(const char *model)
{
    const size_t length = strlen(model);
    return length > 4 && strcmp(model + length - 4, ".net") == 0;
}

bool net_is_file(const char *model)
{
    return ends_in_net(model) || strchr(model, '/') != NULL;
}

bool net_is_named(const char *model)
{
    return net_zoo_has(model) || ends_in_net(model);
}

bool net_zoo_reads_text(const char *name)
{
    const int i = find(name);
    return i < NETWORKS && networks[i].write == zoo_write_encoder;
}

void net_zoo_usual(const char *name, net_size *input, int64_t *words, int64_t *classes)
{
    const int i = find(name);
    if (i < NETWORKS) {
        *words = net_zoo_reads_text(name) ? USUAL_WORDS : 0;
        *input = networks[i].input;
        *classes = networks[i].classes;
    }
}

weft_status net_open(const char *model, network *net)
{
    return net_is_file(model) ? net_read(model, net) : net_zoo(model, net);
}
