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

static bool reads_other(const net_layer *layer)
{
    return layer->kind == NET_ADD;
}

static void mark_needed(grouping *g)
{
    g->needed[g->net->layers - 1] = true;
    for (int i = g->net->layers - 1; i >= 0; --i) {
        const net_layer *layer = &g->net->layer[i];
        if (!g->needed[i]) {
            continue;
        }
        if (layer->from != NET_INPUT) {
            g->needed[layer->from] = true;
            ++g->reads[layer->from];
        }
        if (reads_other(layer) && layer->other != NET_INPUT) {
            g->needed[layer->other] = true;
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

static void start_unit(const grouping *g, const net_layer *layer, unit *u)
{
    const net_size input = net_size_of(g->net, layer->from);
    *u = (unit){.layer = layer, .x = value_of(g, layer->from), .other = UNIT_NO_VALUE};
    memcpy(u->kernel, layer->kernel, sizeof u->kernel);
    switch (layer->kind) {
    case NET_CONV:
        u->kind = UNIT_CONV;
        break;
    case NET_LINEAR:
        u->kind = spans_pixels(input) ? UNIT_CONV : UNIT_LINEAR;
        u->kernel[0] = input.height;
        u->kernel[1] = input.width;
        break;
    case NET_NORM:
        u->kind = UNIT_NORM;
        break;
    case NET_GROUPNORM:
        u->kind = UNIT_GROUPNORM;
        break;
    case NET_ADD:
        u->kind = UNIT_ADD;
        u->other = value_of(g, layer->other);
        break;
    case NET_RELU:
        u->kind = UNIT_ACT;
        u->relu = true;
        break;
    case NET_DROPOUT:
        u->kind = UNIT_ACT;
        u->dropout = layer->value;
        break;
    case NET_SUBSAMPLE:
        u->kind = UNIT_SUBSAMPLE;
        break;
    case NET_SCALE:
        u->kind = UNIT_SCALE;
        break;
    default:
        u->kind = UNIT_POOL;
        if (layer->kind == NET_GLOBALPOOL) {
            u->kernel[0] = input.height;
            u->kernel[1] = input.width;
        }
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
    mark_needed(g);
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
