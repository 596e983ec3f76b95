/* dense/engine/units.c: see dense/engine/units.h. */
#include "dense/engine/units.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

typedef struct grouping {
    const network *net;
    unit_list *list;
    int *reads;    /* [layers] layers that read this one */
    bool *needed;  /* [layers] the output depends on it */
    int *value_of; /* [layers] the value of a unit's last layer */
    bool *taken;   /* [layers] a unit has it */
} grouping;

static void count_reads(grouping *g)
{
    net_needed(g->net, g->needed);
    for (int i = 0; i < g->net->layers; ++i) {
        const net_layer *layer = &g->net->layer[i];
        if (g->needed[i] && layer->from != NET_INPUT) {
            ++g->reads[layer->from];
        }
        if (g->needed[i] && net_reads_other(layer->kind) && layer->other != NET_INPUT) {
            ++g->reads[layer->other];
        }
    }
}

/* The next needed layer when it is of this kind and the only one that reads layer `last`, which it reads as `from`. */
static const net_layer *joined(const grouping *g, int last, net_kind kind)
{
    int next = last + 1;
    while (next < g->net->layers && (!g->needed[next] || g->taken[next])) {
        ++next;
    }
    if (next == g->net->layers || g->reads[last] != 1) {
        return NULL;
    }
    const net_layer *layer = &g->net->layer[next];
    return layer->kind == kind && layer->from == last ? layer : NULL;
}

static int value_of(const grouping *g, int layer)
{
    return layer == NET_INPUT ? UNIT_INPUT_VALUE : g->value_of[layer];
}

static bool spans_pixels(net_size size)
{
    return size.height != 1 || size.width != 1;
}

static const struct {
    unit_kind unit;
    hal_curve curve;
} kinds[NET_KINDS] = {
    [NET_CONV] = {.unit = UNIT_CONV},
    [NET_DEPTHWISE] = {.unit = UNIT_CONV},
    [NET_POINTWISE] = {.unit = UNIT_CONV},
    [NET_LINEAR] = {.unit = UNIT_LINEAR},
    [NET_NORM] = {.unit = UNIT_NORM},
    [NET_GROUPNORM] = {.unit = UNIT_GROUPNORM},
    [NET_LAYERNORM] = {.unit = UNIT_LAYERNORM},
    [NET_RELU] = {.unit = UNIT_ACT},
    [NET_RELU6] = {UNIT_CURVE, HAL_CURVE_RELU6},
    [NET_GELU] = {UNIT_CURVE, HAL_CURVE_GELU},
    [NET_SILU] = {UNIT_CURVE, HAL_CURVE_SILU},
    [NET_SIGMOID] = {UNIT_CURVE, HAL_CURVE_SIGMOID},
    [NET_ADD] = {.unit = UNIT_ADD},
    [NET_MULTIPLY] = {.unit = UNIT_GATE},
    [NET_CONCAT] = {.unit = UNIT_CONCAT},
    [NET_MAXPOOL] = {.unit = UNIT_POOL},
    [NET_AVGPOOL] = {.unit = UNIT_POOL},
    [NET_GLOBALPOOL] = {.unit = UNIT_POOL},
    [NET_SUBSAMPLE] = {.unit = UNIT_SUBSAMPLE},
    [NET_UPSAMPLE] = {.unit = UNIT_UPSAMPLE},
    [NET_DROPOUT] = {.unit = UNIT_ACT},
    [NET_SCALE] = {.unit = UNIT_SCALE},
    [NET_GAIN] = {.unit = UNIT_GAIN},
    [NET_EMBED] = {.unit = UNIT_EMBED},
    [NET_POSITION] = {.unit = UNIT_POSITION},
    [NET_ATTENTION] = {.unit = UNIT_ATTENTION},
    [NET_TOKENMEAN] = {.unit = UNIT_TOKENMEAN},
};

/* The gate of a product is its `other`. */
static void order_product(const grouping *g, const net_layer *layer, unit *u)
{
    const net_size from = net_size_of(g->net, layer->from), other = net_size_of(g->net, layer->other);
    if (net_pixels(from) < net_pixels(other)) {
        const int gate = u->x;
        u->x = u->other;
        u->other = gate;
    }
}

static void start_unit(const grouping *g, const net_layer *layer, unit *u)
{
    const net_size input = net_size_of(g->net, layer->from);
    *u = (unit){.kind = kinds[layer->kind].unit,
                .layer = layer,
                .x = value_of(g, layer->from),
                .other = net_reads_other(layer->kind) ? value_of(g, layer->other) : UNIT_NO_VALUE,
                .relu = layer->kind == NET_RELU,
                .curve = kinds[layer->kind].curve};
    memcpy(u->kernel, layer->kernel, sizeof u->kernel);
    switch (layer->kind) {
    case NET_LINEAR:
        u->kind = spans_pixels(input) ? UNIT_CONV : UNIT_LINEAR;
        u->kernel[0] = input.height;
        u->kernel[1] = input.width;
        break;
    case NET_MULTIPLY:
        order_product(g, layer, u);
        break;
    case NET_DROPOUT:
        u->dropout = layer->value;
        break;
    case NET_GLOBALPOOL:
        u->kernel[0] = input.height;
        u->kernel[1] = input.width;
        break;
    default:
        break;
    }
}

/* The layer takes part in the unit: it is the last one now. */
static int join(grouping *g, const net_layer *layer)
{
    const int index = (int)(layer - g->net->layer);
    g->taken[index] = true;
    return index;
}

/* What a norm adds must stand in memory already. */
static bool is_there(const grouping *g, int layer)
{
    return layer == NET_INPUT || g->value_of[layer] != UNIT_NO_VALUE;
}

/* Takes what joins the unit that begins with layer `first`; gives its last layer. */
static int extend_unit(grouping *g, int first, unit *u)
{
    int last = join(g, &g->net->layer[first]);
    const net_layer *add = u->kind == UNIT_NORM ? joined(g, last, NET_ADD) : NULL;
    if (add != NULL && add->other != last && is_there(g, add->other)) {
        u->other = value_of(g, add->other);
        last = join(g, add);
    }
    const bool takes_relu =
        u->kind == UNIT_CONV || u->kind == UNIT_LINEAR || u->kind == UNIT_NORM || u->kind == UNIT_ADD;
    const net_layer *relu = takes_relu ? joined(g, last, NET_RELU) : NULL;
    if (relu != NULL) {
        u->relu = true;
        last = join(g, relu);
    }
    const net_layer *dropout = u->kind == UNIT_ACT && u->relu ? joined(g, last, NET_DROPOUT) : NULL;
    if (dropout != NULL) {
        u->dropout = dropout->value;
        last = join(g, dropout);
    }
    return last;
}

static void add_unit(grouping *g, int first)
{
    unit_list *list = g->list;
    unit *u = &list->unit[list->units];
    start_unit(g, &g->net->layer[first], u);
    const int last = extend_unit(g, first, u);
    assert(u->x != UNIT_NO_VALUE && g->value_of[last] == UNIT_NO_VALUE && list->units < g->net->layers);
    u->y = list->values++;
    g->value_of[last] = u->y;
    list->maker[u->y] = list->units;
    list->size[u->y] = g->net->layer[last].size;
    ++list->readers[u->x];
    if (u->other != UNIT_NO_VALUE) {
        ++list->readers[u->other];
    }
    ++list->units;
}

static weft_status group(grouping *g)
{
    const int layers = g->net->layers;
    unit_list *list = g->list;
    WEFT_TRY(WEFT_NEW_ZERO(&list->unit, layers, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&list->size, layers + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&list->maker, layers + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&list->readers, layers + 1, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&g->reads, layers, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&g->needed, layers, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&g->taken, layers, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&g->value_of, layers, WEFT_MEM_GENERAL));
    for (int i = 0; i < layers; ++i) {
        g->value_of[i] = UNIT_NO_VALUE;
    }
    list->maker[list->values] = UNIT_NO_UNIT;
    list->size[list->values++] = g->net->input;
    count_reads(g);
    for (int i = 0; i < layers; ++i) {
        if (g->needed[i] && !g->taken[i]) {
            add_unit(g, i);
        }
    }
    list->output = g->value_of[layers - 1];
    assert(list->output > UNIT_INPUT_VALUE && list->values == list->units + 1);
    return WEFT_OK;
}

weft_status units_create(const network *net, unit_list *list)
{
    grouping g = {.net = net, .list = list};
    memset(list, 0, sizeof *list);
    weft_status status = group(&g);
    WEFT_FREE_ALL(g.reads, g.needed, g.taken, g.value_of);
    return status;
}

void units_destroy(unit_list *list)
{
    WEFT_FREE_ALL(list->unit, list->size, list->maker, list->readers);
    memset(list, 0, sizeof *list);
}
