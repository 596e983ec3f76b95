/*
 * dense/net/zoo.h: the networks that have a name.
 *
 * Each is text of dense/net/net.h, written here as a user would write it; `weft info NAME` shows what it is made of.
 * Layers of residual networks are named as common PyTorch implementations name them, so that weights go to and fro.
 *
 *      lenet               Y. LeCun et al., Proc. IEEE 1998, with ReLU and max pooling as Caffe has it
 *      resnet-20 ... -56   K. He et al., CVPR 2016, for CIFAR: 6 n + 2 layers, shortcut A
 *      resnet-18, -50      the same for ImageNet; of 50 the stride stands in the 3x3 convolution
 *      resnet-9            D. Page: How to train your ResNet, 2018 (DAWNBench)
 *      wide-resnet-28-K    S. Zagoruyko, N. Komodakis, BMVC 2016, K times as wide: 1, 2, 4, 8 or 10
 *      alexnet             A. Krizhevsky et al., NeurIPS 2012, one column, batch norm behind pool5: X. Jia et al., 2018
 *      vgg-11, -16         K. Simonyan, A. Zisserman, ICLR 2015
 *      mobilenet-v1        A. Howard et al., 2017, arXiv 1704.04861, with ReLU6
 *      mobilenet-v2        M. Sandler et al., CVPR 2018
 *      densenet-121        G. Huang et al., CVPR 2017
 *      convnext-tiny       Z. Liu et al., CVPR 2022, without stochastic depth
 *      mlp                 two hidden layers
 *      encoder-tiny, -small  on texts: A. Vaswani et al., NeurIPS 2017, of 2 or 4 layers
 */
#pragma once

#include "dense/net/net.h"

/* The i-th name, or NULL past the end. */
const char *net_zoo_name(int i);
/* Whether `name` is one of them. */
bool net_zoo_has(const char *name);
/* Whether `model` is one of them, or the name of a file of one (.net). */
bool net_is_named(const char *model);
/* Whether `model` is the path of a description. */
bool net_is_file(const char *model);
/* Whether `name` is one of those on texts. */
bool net_zoo_reads_text(const char *name);
/* The images or texts, and classes, that it was made for; of other names: left as they are. words: 0 of images. */
void net_zoo_usual(const char *name, net_size *input, int64_t *words, int64_t *classes);
/* [out] net  free with net_destroy. WEFT_ERR_USAGE: no such name, with the nearest. */
weft_status net_zoo(const char *name, network *net);
/* A name of the zoo, or the path of a description. */
weft_status net_open(const char *model, network *net);
