/* clicks/model/click_net_fit.c: sizes of layers, and whether they fit the data; see clicks/model/click_net.h. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "clicks/click_options.def"
#include "clicks/model/click_net.h"

#define NET_CHECK(net, layer, condition, format, ...)                                                                  \
    WEFT_CHECK(condition, WEFT_ERR_DATA, "%s: line %d, %s: " format, (net)->origin, (layer)->line, (layer)->name,      \
               __VA_ARGS__)

/* Numbers of a sample that a layer or data give, and whether they are vectors. */
typedef struct net_shape {
    int64_t cols;
    bool vectors;
} net_shape;

static net_shape shape_of(const click_net *net, const click_net_data *data, int index)
{
    const int64_t fields = data->field->count * data->width, numbers = data->number->count;
    switch (index) {
    case CLICK_NET_INPUT:
        return (net_shape){fields + numbers, numbers == 0};
    case CLICK_NET_ALL_FIELDS:
        return (net_shape){fields, true};
    case CLICK_NET_ALL_NUMBERS:
        return (net_shape){numbers, false};
    default:
        assert(index >= 0 && index < net->layers);
        return (net_shape){net->layer[index].cols, net->layer[index].vectors};
    }
}

/* ---- columns of the data ----------------------------------------------------------------------------------------- */

static weft_status find_column(const click_net *net, const click_layer *layer, const char *name, const name_list *names,
                               const name_list *others, int *at)
{
    const bool ids = layer->kind == CLICK_NET_FIELDS;
    for (*at = 0; *at < names->count; ++*at) {
        if (strcmp(names->text[*at], name) == 0) {
            return WEFT_OK;
        }
    }
    for (int64_t i = 0; i < others->count; ++i) {
        NET_CHECK(net, layer, strcmp(others->text[i], name) != 0, "the model reads column '%s' as %s: say '%s %s'",
                  name, ids ? "numbers" : "ids", ids ? "numbers" : "fields", name);
    }
    const char *near = nearest_word(name, (const char *const *)names->text, (int)names->count);
    return weft_fail(WEFT_ERR_DATA, "%s: line %d, %s: the data have no column of %s '%s'%s%s%s", net->origin,
                     layer->line, layer->name, ids ? "ids" : "numbers", name, near != NULL ? "; did you mean " : "",
                     near != NULL ? near : "", near != NULL ? "?" : "");
}

static weft_status fit_columns(const click_net *net, const click_net_data *data, click_layer *layer)
{
    const bool ids = layer->kind == CLICK_NET_FIELDS;
    if (layer->at == NULL) {
        WEFT_TRY(WEFT_NEW(&layer->at, layer->column.count, WEFT_MEM_GENERAL));
    }
    for (int64_t i = 0; i < layer->column.count; ++i) {
        WEFT_TRY(find_column(net, layer, layer->column.text[i], ids ? data->field : data->number,
                             ids ? data->number : data->field, &layer->at[i]));
        for (int64_t j = 0; j < i; ++j) {
            NET_CHECK(net, layer, layer->at[j] != layer->at[i], "column '%s' is named twice", layer->column.text[i]);
        }
    }
    layer->cols = layer->column.count * (ids ? data->width : 1);
    layer->vectors = ids;
    return WEFT_OK;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Layers of numbers become vectors where their size is a multiple of the width. */
static void give(const click_net_data *data, int64_t cols, click_layer *layer)
{
    layer->cols = cols;
    layer->vectors = cols % data->width == 0;
}

/* fm, dot and cin. */
static weft_status fit_vectors(const click_net *net, const click_net_data *data, net_shape in, click_layer *layer)
{
    const int64_t vectors = in.cols / data->width;
    NET_CHECK(net, layer, in.vectors,
              "reads vectors of %d numbers (" FLAG_CLICK_WIDTH
              "), and what it reads is none: name fields, or a layer whose size is "
              "a multiple of %d, by from=NAME",
              data->width, data->width);
    NET_CHECK(net, layer, vectors >= 2 || layer->kind == CLICK_NET_CIN, "%s", "one vector has no pairs");
    layer->vectors = false;
    layer->cols = layer->kind == CLICK_NET_FM ? 1 : vectors * (vectors - 1) / 2;
    if (layer->kind == CLICK_NET_CIN) {
        layer->cols = 0;
        for (int k = 0; k < layer->sizes.layers; ++k) {
            layer->cols += layer->sizes.size[k];
        }
    }
    return WEFT_OK;
}

static weft_status fit_many(const click_net *net, const click_net_data *data, net_shape first, click_layer *layer)
{
    layer->cols = first.cols;
    layer->vectors = first.vectors;
    for (int i = 1; i < layer->reads; ++i) {
        const net_shape other = shape_of(net, data, layer->read[i]);
        NET_CHECK(net, layer, layer->kind == CLICK_NET_CONCAT || other.cols == first.cols,
                  "%lld numbers a sample cannot be added to %lld", (long long)other.cols, (long long)first.cols);
        layer->cols += layer->kind == CLICK_NET_CONCAT ? other.cols : 0;
        layer->vectors = layer->vectors && other.vectors;
    }
    return WEFT_OK;
}

static weft_status fit_layer(const click_net *net, const click_net_data *data, click_layer *layer)
{
    if (layer->reads == 0) {
        return fit_columns(net, data, layer);
    }
    const net_shape in = shape_of(net, data, layer->read[0]);
    for (int i = 0; i < layer->reads; ++i) {
        NET_CHECK(net, layer, shape_of(net, data, layer->read[i]).cols > 0, "%s",
                  "the data have no columns of numbers");
    }
    switch (layer->kind) {
    case CLICK_NET_LINEAR:
    case CLICK_NET_MLP:
        give(data, layer->sizes.size[layer->sizes.layers - 1], layer);
        return WEFT_OK;
    case CLICK_NET_FM:
    case CLICK_NET_DOT:
    case CLICK_NET_CIN:
        return fit_vectors(net, data, in, layer);
    case CLICK_NET_CONCAT:
    case CLICK_NET_ADD:
        return fit_many(net, data, in, layer);
    default:
        layer->cols = in.cols;
        layer->vectors = in.vectors;
        return WEFT_OK;
    }
}

static weft_status check_read(const click_net *net)
{
    for (int i = 0; i + 1 < net->layers; ++i) {
        bool is_read = false;
        for (int j = i + 1; j < net->layers; ++j) {
            for (int r = 0; r < net->layer[j].reads; ++r) {
                is_read = is_read || net->layer[j].read[r] == i;
            }
        }
        NET_CHECK(net, &net->layer[i], is_read, "%s",
                  "no layer reads this one: name it in concat, add or from=, or leave it out");
    }
    return WEFT_OK;
}

weft_status click_net_fit(click_net *net, const click_net_data *data)
{
    for (int i = 0; i < net->layers; ++i) {
        click_layer *layer = &net->layer[i];
        WEFT_TRY(fit_layer(net, data, layer));
        NET_CHECK(net, layer, layer->cols <= CLICK_LAYER_SIZE, "%lld numbers a sample: more than %d",
                  (long long)layer->cols, CLICK_LAYER_SIZE);
    }
    WEFT_TRY(check_read(net));
    const click_layer *last = &net->layer[net->layers - 1];
    NET_CHECK(net, last, last->cols == 1, "the last layer gives %lld numbers, and a click has one: end with 'linear 1'",
              (long long)last->cols);
    return WEFT_OK;
}
