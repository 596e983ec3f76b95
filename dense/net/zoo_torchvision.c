/* dense/net/zoo_torchvision.c: see dense/net/zoo_torchvision.h. */
#include "dense/net/zoo_torchvision.h"

#include <stdbool.h>

#include "dense/net/net.h"

/* ---- vgg ---- */

/* Convolutions of each stage, which ends with a pooling; numbers in names count ReLUs and poolings too. */
void zoo_write_vgg(FILE *out, int depth)
{
    static const int convolutions[2][5] = {{1, 1, 2, 2, 2}, {2, 2, 3, 3, 3}};
    static const int width[5] = {64, 128, 256, 512, 512};
    int number = 0;
    for (int stage = 0; stage < 5; ++stage) {
        for (int i = 0; i < convolutions[depth == 16][stage]; ++i) {
            fprintf(out, "features.%d: conv %d 3 pad=1\nrelu\n", number, width[stage]);
            number += 2;
        }
        fputs("maxpool 2\n", out);
        ++number;
    }
    fputs("classifier.0: linear 4096\n"
          "relu\n"
          "dropout 0.5\n"
          "classifier.3: linear 4096\n"
          "relu\n"
          "dropout 0.5\n"
          "classifier.6: linear classes\n",
          out);
}

/* ---- mobilenet ---- */

static void write_mobilenet_1(FILE *out)
{
    static const struct {
        int blocks, width, stride;
    } stages[] = {{1, 64, 1}, {2, 128, 2}, {2, 256, 2}, {6, 512, 2}, {2, 1024, 2}};
    fputs("conv_stem: conv 32 3 stride=2 pad=1 bias=off\nbn1: norm\nrelu6\n", out);
    for (int stage = 0; stage < (int)(sizeof stages / sizeof *stages); ++stage) {
        for (int i = 0; i < stages[stage].blocks; ++i) {
            char name[NET_NAME_BYTES];
            snprintf(name, sizeof name, "blocks.%d.%d", stage, i);
            fprintf(out, "%s.conv_dw: depthwise 3 stride=%d pad=1 bias=off\n%s.bn1: norm\nrelu6\n", name,
                    i == 0 ? stages[stage].stride : 1, name);
            fprintf(out, "%s.conv_pw: conv %d 1 bias=off\n%s.bn2: norm\nrelu6\n", name, stages[stage].width, name);
        }
    }
    fputs("globalpool\nclassifier: linear classes\n", out);
}

/* One inverted residual: its number, the layer that it reads, channels in and out. */
typedef struct inverted_block {
    int number, in, out, expand, stride;
    char input[NET_NAME_BYTES];
} inverted_block;

static void write_inverted(FILE *out, inverted_block *block)
{
    char name[NET_NAME_BYTES / 2];
    int at = 0; /* the next part's number */
    snprintf(name, sizeof name, "features.%d", block->number);
    if (block->expand != 1) {
        fprintf(out, "%s.conv.%d.0: conv %d 1 bias=off\n%s.conv.%d.1: norm\nrelu6\n", name, at,
                block->in * block->expand, name, at);
        ++at;
    }
    fprintf(out, "%s.conv.%d.0: depthwise 3 stride=%d pad=1 bias=off\n%s.conv.%d.1: norm\nrelu6\n", name, at,
            block->stride, name, at);
    fprintf(out, "%s.conv.%d: conv %d 1 bias=off\n%s.conv.%d: norm\n", name, at + 1, block->out, name, at + 2);
    snprintf(block->input, sizeof block->input, "%s.conv.%d", name, at + 2);
    block->in = block->out;
}

static void write_mobilenet_2(FILE *out)
{
    static const struct {
        int expand, width, blocks, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    inverted_block block = {.number = 1, .in = 32};
    fputs("features.0.0: conv 32 3 stride=2 pad=1 bias=off\nfeatures.0.1: norm\nrelu6\n", out);
    for (int stage = 0; stage < (int)(sizeof stages / sizeof *stages); ++stage) {
        for (int i = 0; i < stages[stage].blocks; ++i, ++block.number) {
            char before[NET_NAME_BYTES];
            const bool residual = i > 0;
            snprintf(before, sizeof before, "%s", block.input);
            block.out = stages[stage].width;
            block.expand = stages[stage].expand;
            block.stride = residual ? 1 : stages[stage].stride;
            write_inverted(out, &block);
            if (residual) {
                fprintf(out, "features.%d: add %s\n", block.number, before);
                snprintf(block.input, sizeof block.input, "features.%d", block.number);
            }
        }
    }
    fputs("features.18.0: conv 1280 1 bias=off\n"
          "features.18.1: norm\n"
          "relu6\n"
          "globalpool\n"
          "dropout 0.2\n"
          "classifier.1: linear classes\n",
          out);
}

void zoo_write_mobilenet(FILE *out, int version)
{
    if (version == 1) {
        write_mobilenet_1(out);
    } else {
        write_mobilenet_2(out);
    }
}

/* ---- densenet ---- */

/* Every layer reads the channels of all before it in its block, and adds 32. */
void zoo_write_densenet(FILE *out, int argument)
{
    static const int layers[4] = {6, 12, 24, 16};
    char before[NET_NAME_BYTES] = "features.pool0";
    int width = 64;
    (void)argument;
    fputs("features.conv0: conv 64 7 stride=2 pad=3 bias=off\n"
          "features.norm0: norm\n"
          "relu\n"
          "features.pool0: maxpool 3 stride=2 pad=1\n",
          out);
    for (int block = 1; block <= 4; ++block) {
        for (int i = 1; i <= layers[block - 1]; ++i, width += 32) {
            char name[NET_NAME_BYTES];
            snprintf(name, sizeof name, "features.denseblock%d.denselayer%d", block, i);
            fprintf(out, "%s.norm1: norm\nrelu\n%s.conv1: conv 128 1 bias=off\n", name, name);
            fprintf(out, "%s.norm2: norm\nrelu\n%s.conv2: conv 32 3 pad=1 bias=off\n", name, name);
            fprintf(out, "%s: concat %s\n", name, before);
            snprintf(before, sizeof before, "%s", name);
        }
        if (block < 4) {
            width /= 2;
            snprintf(before, sizeof before, "features.transition%d", block);
            fprintf(out, "%s.norm: norm\nrelu\n%s.conv: conv %d 1 bias=off\n%s: avgpool 2\n", before, before, width,
                    before);
        }
    }
    fputs("features.norm5: norm\nrelu\nglobalpool\nclassifier: linear classes\n", out);
}

/* ---- convnext ---- */

static void write_convnext_block(FILE *out, const char *name, const char *before, int width)
{
    fprintf(out, "%s.block.0: depthwise 7 pad=3\n%s.block.2: layernorm epsilon=1e-6\n", name, name);
    fprintf(out, "%s.block.3: pointwise %d\ngelu\n%s.block.5: pointwise %d\n", name, 4 * width, name, width);
    fprintf(out, "%s.layer_scale: gain 1e-6\n%s: add %s\n", name, name, before);
}

void zoo_write_convnext(FILE *out, int argument)
{
    static const int blocks[4] = {3, 3, 9, 3};
    char before[NET_NAME_BYTES] = "features.0.1";
    int width = 96;
    (void)argument;
    fputs("features.0.0: conv 96 4 stride=4\nfeatures.0.1: layernorm epsilon=1e-6\n", out);
    for (int stage = 0; stage < 4; ++stage, width *= 2) {
        for (int i = 0; i < blocks[stage]; ++i) {
            char name[NET_NAME_BYTES];
            snprintf(name, sizeof name, "features.%d.%d", 2 * stage + 1, i);
            write_convnext_block(out, name, before, width);
            snprintf(before, sizeof before, "%s", name);
        }
        if (stage < 3) {
            fprintf(out, "features.%d.0: layernorm epsilon=1e-6\nfeatures.%d.1: conv %d 2 stride=2\n", 2 * stage + 2,
                    2 * stage + 2, 2 * width);
            snprintf(before, sizeof before, "features.%d.1", 2 * stage + 2);
        }
    }
    fputs("globalpool\nclassifier.0: layernorm epsilon=1e-6\nclassifier.2: linear classes\n", out);
}
