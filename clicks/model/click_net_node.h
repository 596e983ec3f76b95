/* clicks/model/click_net_node.h: a layer of a network of the user's own in a model; see click_net_part.c. */
#pragma once

#include "clicks/model/click_part.h"
#include "train/layers/linear.h"

typedef struct net_node {
    const click_layer *layer;
    const click_part_ops *part; /* that computes this layer; NULL: net_node_forward does */
    click_model_desc desc;      /* of the part, whose x are the numbers that the layer reads */
    void *self;                 /* the part */
    weft_hal *hal;
    int64_t width;       /* of a vector */
    int64_t cols;        /* that the first of its inputs has */
    train_linear map;    /* of linear */
    weft_tensor y, dy;   /* [samples, layer->cols]; of parts they are the part's */
    weft_tensor dz;      /* of dot: [samples, cols] */
    weft_tensor scratch; /* of dot: [threads, click_dots_scratch] */
    bool touched;        /* dy has something of this backward pass */
} net_node;

/* Layers without a part. Parameters, and memory of so many samples. */
weft_status net_node_declare(net_node *node, param_store *params);
weft_status net_node_create(net_node *node, int64_t samples, bool training);
int64_t net_node_bytes(const weft_hal *hal, const net_node *node, int64_t samples, bool training);
void net_node_destroy(net_node *node);

/* in: [layer->reads] what it reads; y: the rows of node->y of this pass. Not of fields and numbers. */
weft_status net_node_forward(net_node *node, const click_pass *pass, const weft_tensor *in, weft_tensor *y);
/* din[i] = beta[i] din[i] + gradient. dy may be changed. */
weft_status net_node_backward(net_node *node, const click_pass *pass, const weft_tensor *in, weft_tensor *dy,
                              const double *beta, weft_tensor *din);
