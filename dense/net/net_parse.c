/* dense/net/net_parse.c: text to layers; see dense/net/net.h. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "base/text/layer_words.h"
#include "dense/net/net_kinds.h"

/* The layer of that name, NET_INPUT, or layers: there is none. */
static int find_layer(const network *net, const char *name)
{
    if (strcmp(name, "input") == 0) {
        return NET_INPUT;
    }
    int i = 0;
    while (i < net->layers && strcmp(net->layer[i].name, name) != 0) {
        ++i;
    }
    return i;
}

static weft_status read_reference(const network *net, const layer_words *words, const char *name, int *layer)
{
    *layer = find_layer(net, name);
    WORDS_CHECK(words, *layer < net->layers, "no layer '%s' above this one; name one with 'NAME: KIND ...'", name);
    return WEFT_OK;
}

static weft_status read_count(const layer_words *words, const char *what, const char *text, int64_t least,
                              int64_t *value)
{
    return layer_words_count(words, what, text, least, NET_EXTENT_MAX, value);
}

/* "3", or "3x5": rows and columns. */
static weft_status read_pair(const layer_words *words, net_field field, char *text, int64_t pair[2])
{
    const char *what = net_field_word(field);
    const int64_t least = field == NET_FIELD_PAD ? 0 : 1;
    char *cross = strchr(text, 'x');
    if (cross == NULL) {
        WEFT_TRY(read_count(words, what, text, least, &pair[0]));
        pair[1] = pair[0];
        return WEFT_OK;
    }
    WORDS_CHECK(words, cross != text && cross[1] != '\0' && strchr(cross + 1, 'x') == NULL,
                "%s '%s' is no whole number and no pair of them such as 3x5", what, text);
    *cross = '\0';
    WEFT_TRY(read_count(words, what, text, least, &pair[0]));
    return read_count(words, what, cross + 1, least, &pair[1]);
}

static weft_status read_start(const layer_words *words, const char *text, net_start *start)
{
    WORDS_CHECK(words, strcmp(text, "kaiming") == 0 || strcmp(text, "uniform") == 0,
                "start '%s' is not kaiming or uniform", text);
    *start = strcmp(text, "uniform") == 0 ? NET_START_UNIFORM : NET_START_KAIMING;
    return WEFT_OK;
}

static weft_status read_value(const layer_words *words, char *text, net_layer *layer)
{
    if (layer->kind == NET_DROPOUT) {
        return layer_words_chance(words, "dropout", text, &layer->value);
    }
    WORDS_CHECK(words, number_parse_real(text, &layer->value), "'%s' is not a number", text);
    WORDS_CHECK(words, fabs(layer->value) <= (double)FLT_MAX, "'%s' is too large for a float32", text);
    WORDS_CHECK(words, layer->kind != NET_LAYERNORM || (layer->value > 0 && layer->value < 1),
                "epsilon %s: a number above 0 and below 1", text);
    return WEFT_OK;
}

static weft_status read_field(const network *net, const layer_words *words, net_field field, char *text,
                              net_layer *layer)
{
    switch (field) {
    case NET_FIELD_OUT:
        if (layer->kind == NET_LINEAR && strcmp(text, "classes") == 0) {
            layer->out = NET_CLASSES;
            return WEFT_OK;
        }
        return read_count(words, net_field_word(field), text, 1, &layer->out);
    case NET_FIELD_WORDS:
        if (strcmp(text, "words") == 0) {
            layer->words = NET_WORDS;
            return WEFT_OK;
        }
        return read_count(words, net_field_word(field), text, 1, &layer->words);
    case NET_FIELD_GROUPS:
    case NET_FIELD_HEADS:
        return read_count(words, net_field_word(field), text, 1, &layer->groups);
    case NET_FIELD_BIAS:
        return layer_words_switch(words, "bias", text, &layer->bias);
    case NET_FIELD_START:
        return read_start(words, text, &layer->start);
    case NET_FIELD_VALUE:
    case NET_FIELD_EPSILON:
        return read_value(words, text, layer);
    case NET_FIELD_OTHER:
        return read_reference(net, words, text, &layer->other);
    default:
        return read_pair(words, field, text, net_field_pair(layer, field));
    }
}

/* KEY=VALUE */
static weft_status read_key(const network *net, const layer_words *words, char *word, net_layer *layer)
{
    const net_kind_row *row = &net_kind_rows[layer->kind];
    char *value = strchr(word, '=');
    WORDS_CHECK(words, value != NULL, "'%s' is one word too many: %s", word, row->usage);
    *value++ = '\0';
    if (strcmp(word, "from") == 0) {
        return read_reference(net, words, value, &layer->from);
    }
    for (int i = 0; i < NET_KEYS_MAX && row->key[i] != NET_FIELD_NONE; ++i) {
        if (strcmp(word, net_field_word(row->key[i])) == 0) {
            return read_field(net, words, row->key[i], value, layer);
        }
    }
    return weft_fail(WEFT_ERR_DATA, "%s: line %d: no key '%s' here: %s [from=NAME]", words->where, words->line, word,
                     row->usage);
}

static weft_status find_kind(const layer_words *words, const char *word, net_kind *kind)
{
    const char *names[NET_KINDS];
    int found = 0;
    for (int i = 0; i < NET_KINDS; ++i) {
        names[i] = net_kind_rows[i].word;
    }
    WEFT_TRY(layer_words_kind(words, word, names, NET_KINDS, "conv, linear, norm, relu, add, maxpool, ...", &found));
    *kind = (net_kind)found;
    return WEFT_OK;
}

/* given: "" for a name by kind and number. */
static weft_status name_layer(const network *net, const layer_words *words, const char *given, net_layer *layer)
{
    if (given[0] == '\0') {
        int number = 1;
        for (int i = 0; i < net->layers; ++i) {
            number += net->layer[i].kind == layer->kind;
        }
        snprintf(layer->name, sizeof layer->name, "%s%d", net_kind_rows[layer->kind].word, number);
    } else {
        snprintf(layer->name, sizeof layer->name, "%s", given);
    }
    const int same = find_layer(net, layer->name);
    WORDS_CHECK(words, same == net->layers, "the name '%s' is taken%s", layer->name,
                same == NET_INPUT ? " by the input of the network" : "");
    return WEFT_OK;
}

static weft_status read_layer(network *net, layer_words *words)
{
    char name[NET_NAME_BYTES];
    net_kind kind = NET_CONV;
    net_layer layer;
    WEFT_TRY(layer_words_name(words, name));
    WEFT_TRY(find_kind(words, words->word[0], &kind));
    const net_kind_row *row = &net_kind_rows[kind];
    net_layer_defaults(kind, &layer);
    layer.line = words->line;
    layer.from = net->layers - 1; /* NET_INPUT for the first */
    int next = 1;
    for (int i = 0; i < NET_NUMBERS_MAX && row->number[i] != NET_FIELD_NONE; ++i, ++next) {
        WORDS_CHECK(words, next < words->count && strchr(words->word[next], '=') == NULL, "%s lacks its %s: %s",
                    row->word, net_field_word(row->number[i]), row->usage);
        WEFT_TRY(read_field(net, words, row->number[i], words->word[next], &layer));
    }
    WEFT_TRY(layer_words_keys(words, next));
    for (; next < words->count; ++next) {
        WEFT_TRY(read_key(net, words, words->word[next], &layer));
    }
    net_layer_complete(&layer);
    WEFT_TRY(name_layer(net, words, name, &layer));
    WORDS_CHECK(words, net->layers < NET_LAYERS_MAX, "more than %d layers", NET_LAYERS_MAX);
    WEFT_TRY(grow_array((void **)&net->layer, sizeof *net->layer, net->layers, &net->capacity, WEFT_MEM_GENERAL));
    net->layer[net->layers++] = layer;
    return WEFT_OK;
}

static weft_status read_input(network *net, const layer_words *words)
{
    WORDS_CHECK(words, net->layers == 0 && net->input.height == 0, "%s", "'input' stands before all layers, once");
    WORDS_CHECK(words, words->count == 4, "%s", "input HEIGHT WIDTH CHANNELS");
    WEFT_TRY(read_count(words, "height", words->word[1], 1, &net->input.height));
    WEFT_TRY(read_count(words, "width", words->word[2], 1, &net->input.width));
    return read_count(words, "channels", words->word[3], 1, &net->input.channels);
}

static weft_status read_words(void *context, layer_words *words)
{
    network *net = context;
    return strcmp(words->word[0], "input") == 0 ? read_input(net, words) : read_layer(net, words);
}

weft_status net_parse(const char *text, const char *where, network *net)
{
    memset(net, 0, sizeof *net);
    snprintf(net->origin, sizeof net->origin, "%s", where);
    WEFT_TRY(layer_words_each(text, where, read_words, net));
    WEFT_CHECK(net->layers > 0, WEFT_ERR_DATA, "%s: no layer in it; one a line, such as 'linear classes'", where);
    return WEFT_OK;
}

weft_status net_read(const char *path, network *net)
{
    char *text = NULL;
    size_t bytes = 0;
    memset(net, 0, sizeof *net);
    WEFT_TRY(file_read_text(path, NET_TEXT_MAX, &text, &bytes));
    weft_status status = net_parse(text, path, net);
    weft_free(text);
    layer_words_title(path, net->name, sizeof net->name);
    return status;
}

weft_status net_parse_line(const char *line, const char *path, network *net)
{
    char *text = NULL;
    memset(net, 0, sizeof *net);
    WEFT_TRY(layer_words_unfold(line, &text));
    weft_status status = net_parse(text, path, net);
    weft_free(text);
    layer_words_title(path, net->name, sizeof net->name);
    return status;
}

void net_destroy(network *net)
{
    weft_free(net->layer);
    memset(net, 0, sizeof *net);
}
