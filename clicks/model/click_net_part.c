/*
 * clicks/model/click_net_part.c: a network of the user's own (clicks/model/click_net.h) as the one part of a model.
 *
 *     x = [vectors of fields | numbers] --layer--> y --layer--> ... --last layer, one number--> adds to the logit
 *
 * Layers are computed in the order of the text and go back from the last to the first. mlp, cross and cin are the parts
 * of the named models, open: their last values are what others read. A layer that several others read gets the sum of
 * their gradients. Memory of a sample: each layer's numbers, twice where it trains, and what parts take.
 */
#include <assert.h>

#include "clicks/model/click_net_node.h"

typedef struct net_part {
    const click_model_desc *desc;
    int nodes;
    net_node *node; /* [nodes] */
    bool touched;   /* dx has something of this backward pass */
} net_part;

static const click_part_ops *part_of(const click_layer *layer)
{
    switch (layer->kind) {
    case CLICK_NET_MLP:
        return &CLICK_DEEP_PART;
    case CLICK_NET_CROSS:
        return layer->by_vector ? &CLICK_CROSSED_PART : &CLICK_MATRIX_PART;
    case CLICK_NET_CIN:
        return &CLICK_CIN_PART;
    default:
        return NULL;
    }
}

static int64_t columns_of(const click_model_desc *desc, int index)
{
    const int64_t fields = desc->fields * (int64_t)desc->width;
    return index == CLICK_NET_INPUT         ? fields + desc->numbers
           : index == CLICK_NET_ALL_FIELDS  ? fields
           : index == CLICK_NET_ALL_NUMBERS ? desc->numbers
                                            : desc->net->layer[index].cols;
}

/* What the part of a layer is told of its input: vectors for cin, else numbers. */
static click_model_desc part_desc(const click_model_desc *desc, int index)
{
    const click_layer *layer = &desc->net->layer[index];
    const int64_t cols = columns_of(desc, layer->read[0]);
    const bool vectors = layer->kind == CLICK_NET_CIN;
    click_model_desc part = *desc;
    part.fields = vectors ? (int)(cols / desc->width) : 0;
    part.numbers = vectors ? 0 : cols;
    part.mlp = part.cin = layer->sizes;
    part.crosses = layer->crosses;
    part.dropout = layer->dropout;
    part.place = (click_place){.name = layer->name, .open = true, .first_mask = (uint32_t)index * CLICK_LAYERS_MOST};
    return part;
}

/* desc must outlive the node. */
static net_node node_of(const click_model_desc *desc, int index)
{
    const click_layer *layer = &desc->net->layer[index];
    return (net_node){.layer = layer,
                      .part = part_of(layer),
                      .desc = part_desc(desc, index),
                      .width = desc->width,
                      .cols = layer->reads > 0 ? columns_of(desc, layer->read[0]) : 0};
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static weft_status net_declare(param_store *params, const click_model_desc *desc, void **self)
{
    net_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    WEFT_TRY(WEFT_NEW_ZERO(&part->node, desc->net->layers, WEFT_MEM_GENERAL));
    for (; part->nodes < desc->net->layers; ++part->nodes) {
        net_node *node = &part->node[part->nodes];
        *node = node_of(desc, part->nodes);
        node->hal = params->hal;
        const weft_status status =
            node->part != NULL ? node->part->declare(params, &node->desc, &node->self) : net_node_declare(node, params);
        if (status != WEFT_OK) {
            ++part->nodes; /* so that it is destroyed */
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status net_create(void *self)
{
    net_part *part = self;
    for (int i = 0; i < part->nodes; ++i) {
        net_node *node = &part->node[i];
        WEFT_TRY(node->part != NULL ? node->part->create(node->self)
                                    : net_node_create(node, part->desc->samples, part->desc->training));
    }
    return WEFT_OK;
}

static int64_t net_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    int64_t bytes = 0;
    for (int i = 0; i < desc->net->layers; ++i) {
        const net_node node = node_of(desc, i);
        bytes += node.part != NULL ? node.part->bytes(hal, &node.desc)
                                   : net_node_bytes(hal, &node, desc->samples, desc->training);
    }
    return bytes;
}

static void net_destroy_part(void *self)
{
    net_part *part = self;
    if (part == NULL) {
        return;
    }
    for (int i = 0; i < part->nodes; ++i) {
        net_node *node = &part->node[i];
        net_node_destroy(node);
        if (node->part != NULL) {
            node->part->destroy(node->self);
        }
    }
    weft_free(part->node);
    weft_free(part);
}

/* ---- what layers read -------------------------------------------------------------------------------------------- */

/* Values of a layer or of data, and the gradient; without a backward pass the latter is empty. */
static void ends_of(const net_part *part, const click_pass *pass, int index, weft_tensor *y, weft_tensor *dy)
{
    const click_model_desc *desc = part->desc;
    const int64_t rows = pass->samples, trained = pass->dx.rows > 0 ? rows : 0;
    if (index < 0) {
        const int64_t first = index == CLICK_NET_ALL_NUMBERS ? desc->fields * (int64_t)desc->width : 0;
        *y = tensor_view(&pass->x, 0, rows, first, columns_of(desc, index));
        *dy = tensor_view(&pass->dx, 0, trained, first, columns_of(desc, index));
        return;
    }
    const net_node *node = &part->node[index];
    if (node->part != NULL) {
        node->part->last(node->self, rows, y, dy);
        return;
    }
    *y = tensor_view(&node->y, 0, rows, 0, node->y.cols);
    *dy = tensor_view(&node->dy, 0, node->dy.rows > 0 ? rows : 0, 0, node->dy.cols);
}

/* Returns what the gradient of a layer or of data is multiplied with before more is added: 0 for the first time. */
static double beta_of(net_part *part, int index)
{
    bool *touched = index < 0 ? &part->touched : &part->node[index].touched;
    const double beta = *touched ? 1.0 : 0.0;
    *touched = true;
    return beta;
}

/* Vectors or numbers of columns, which come from x, or whose gradients go to dx. */
static weft_status each_column(const net_part *part, const click_pass *pass, const click_layer *layer,
                               const weft_tensor *y, bool back)
{
    const bool ids = layer->kind == CLICK_NET_FIELDS;
    const int64_t cols = ids ? part->desc->width : 1;
    const int64_t first = ids ? 0 : part->desc->fields * (int64_t)part->desc->width;
    for (int64_t i = 0; i < layer->column.count; ++i) {
        weft_tensor own = tensor_view(y, 0, pass->samples, i * cols, cols);
        weft_tensor of_x =
            tensor_view(back ? &pass->dx : &pass->x, 0, pass->samples, first + layer->at[i] * cols, cols);
        WEFT_TRY(back ? tensor_axpby(1.0, &own, 1.0, &of_x) : tensor_axpby(1.0, &of_x, 0.0, &own));
    }
    return WEFT_OK;
}

/* The pass as a part of a layer sees it. */
static click_pass pass_of_part(const click_pass *pass, const weft_tensor *in, const weft_tensor *din)
{
    click_pass own = *pass;
    own.x = *in;
    own.dx = *din;
    return own;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

static weft_status node_forward(net_part *part, const click_pass *pass, int index)
{
    net_node *node = &part->node[index];
    const click_layer *layer = node->layer;
    weft_tensor in[CLICK_NET_READS], din, y, dy;
    ends_of(part, pass, index, &y, &dy);
    if (layer->reads == 0) {
        return each_column(part, pass, layer, &y, false);
    }
    for (int i = 0; i < layer->reads; ++i) {
        ends_of(part, pass, layer->read[i], &in[i], &din);
    }
    if (node->part == NULL) {
        return net_node_forward(node, pass, in, &y);
    }
    const click_pass own = pass_of_part(pass, &in[0], &din);
    return node->part->forward(node->self, &own);
}

static weft_status net_forward(void *self, const click_pass *pass)
{
    net_part *part = self;
    weft_tensor y, dy, logits = pass->logits;
    for (int i = 0; i < part->nodes; ++i) {
        WEFT_TRY(node_forward(part, pass, i));
    }
    ends_of(part, pass, part->nodes - 1, &y, &dy);
    return tensor_axpby(1.0, &y, 1.0, &logits);
}

static weft_status node_backward(net_part *part, const click_pass *pass, int index)
{
    net_node *node = &part->node[index];
    const click_layer *layer = node->layer;
    weft_tensor in[CLICK_NET_READS], din[CLICK_NET_READS], y, dy;
    double beta[CLICK_NET_READS];
    ends_of(part, pass, index, &y, &dy);
    if (layer->reads == 0) {
        return layer->kind == CLICK_NET_FIELDS ? each_column(part, pass, layer, &dy, true) : WEFT_OK;
    }
    for (int i = 0; i < layer->reads; ++i) {
        ends_of(part, pass, layer->read[i], &in[i], &din[i]);
        beta[i] = beta_of(part, layer->read[i]);
    }
    if (node->part == NULL) {
        return net_node_backward(node, pass, in, &dy, beta, din);
    }
    const click_pass own = pass_of_part(pass, &in[0], &din[0]);
    return node->part->backward(node->self, &own, beta[0]);
}

static weft_status net_backward(void *self, const click_pass *pass, double beta)
{
    net_part *part = self;
    weft_tensor y, dy, dx = pass->dx;
    WEFT_TRY(beta == 0.0 ? tensor_zero(&dx) : WEFT_OK);
    part->touched = true;
    for (int i = 0; i < part->nodes; ++i) {
        part->node[i].touched = i + 1 == part->nodes;
    }
    ends_of(part, pass, part->nodes - 1, &y, &dy);
    WEFT_TRY(tensor_axpby(1.0, &pass->logits, 0.0, &dy));
    for (int i = part->nodes - 1; i >= 0; --i) {
        assert(part->node[i].touched); /* click_net_fit refuses a layer that none reads */
        WEFT_TRY(node_backward(part, pass, i));
    }
    return WEFT_OK;
}

const click_part_ops CLICK_NET_PART = {.declare = net_declare,
                                       .create = net_create,
                                       .forward = net_forward,
                                       .backward = net_backward,
                                       .destroy = net_destroy_part,
                                       .bytes = net_bytes};
