/* dense/net/net_parse.c: text to layers; see dense/net/net.h. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/nearest.h"
#include "base/number.h"
#include "dense/net/net_kinds.h"

enum { WORDS_MAX = 16, WORD_BYTES = 96 };

/* Some editors of Windows begin UTF-8 with it. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

typedef struct line_words {
    const char *where;
    int line, count;
    char word[WORDS_MAX][WORD_BYTES];
} line_words;

#define LINE_CHECK(words, condition, format, ...)                                                                      \
    WEFT_CHECK(condition, WEFT_ERR_DATA, "%s: line %d: " format, (words)->where, (words)->line, __VA_ARGS__)

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static weft_status split_line(const char *begin, const char *end, line_words *words)
{
    words->count = 0;
    while (begin < end && *begin != '#') {
        if (is_blank(*begin)) {
            ++begin;
            continue;
        }
        const char *stop = begin;
        while (stop < end && !is_blank(*stop) && *stop != '#') {
            ++stop;
        }
        const size_t length = (size_t)(stop - begin);
        LINE_CHECK(words, length < WORD_BYTES, "a word of %zu letters; at most %d", length, WORD_BYTES - 1);
        LINE_CHECK(words, words->count < WORDS_MAX, "more than %d words", WORDS_MAX);
        memcpy(words->word[words->count], begin, length);
        words->word[words->count++][length] = '\0';
        begin = stop;
    }
    return WEFT_OK;
}

static bool is_name(const char *text)
{
    if (text[0] == '\0' || strlen(text) >= NET_NAME_BYTES) {
        return false;
    }
    for (; *text != '\0'; ++text) {
        const char c = *text;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
              c == '-')) {
            return false;
        }
    }
    return true;
}

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

static weft_status read_reference(const network *net, const line_words *words, const char *name, int *layer)
{
    *layer = find_layer(net, name);
    LINE_CHECK(words, *layer < net->layers, "no layer '%s' above this one; name one with 'NAME: KIND ...'", name);
    return WEFT_OK;
}

static weft_status read_count(const line_words *words, const char *what, const char *text, int64_t least,
                              int64_t *value)
{
    LINE_CHECK(words, number_parse_int(text, value) && *value >= least && *value <= NET_EXTENT_MAX,
               "%s '%s' is not a whole number from %lld to %d", what, text, (long long)least, NET_EXTENT_MAX);
    return WEFT_OK;
}

/* "3", or "3x5": rows and columns. */
static weft_status read_pair(const line_words *words, net_field field, char *text, int64_t pair[2])
{
    const char *what = net_field_word(field);
    const int64_t least = field == NET_FIELD_PAD ? 0 : 1;
    char *cross = strchr(text, 'x');
    if (cross == NULL) {
        WEFT_TRY(read_count(words, what, text, least, &pair[0]));
        pair[1] = pair[0];
        return WEFT_OK;
    }
    *cross = '\0';
    WEFT_TRY(read_count(words, what, text, least, &pair[0]));
    return read_count(words, what, cross + 1, least, &pair[1]);
}

static weft_status read_switch(const line_words *words, const char *text, bool *value)
{
    LINE_CHECK(words, strcmp(text, "on") == 0 || strcmp(text, "off") == 0, "bias '%s' is not on or off", text);
    *value = strcmp(text, "on") == 0;
    return WEFT_OK;
}

static weft_status read_start(const line_words *words, const char *text, net_start *start)
{
    LINE_CHECK(words, strcmp(text, "kaiming") == 0 || strcmp(text, "uniform") == 0,
               "start '%s' is not kaiming or uniform", text);
    *start = strcmp(text, "uniform") == 0 ? NET_START_UNIFORM : NET_START_KAIMING;
    return WEFT_OK;
}

static weft_status read_value(const line_words *words, char *text, net_layer *layer)
{
    LINE_CHECK(words, number_parse_real(text, &layer->value), "'%s' is not a number", text);
    LINE_CHECK(words, layer->kind != NET_LAYERNORM || (layer->value > 0 && layer->value < 1),
               "epsilon %s: a number above 0 and below 1", text);
    LINE_CHECK(words, layer->kind != NET_DROPOUT || (layer->value >= 0 && layer->value < 1),
               "dropout %s: a probability is at least 0 and less than 1", text);
    return WEFT_OK;
}

static weft_status read_field(const network *net, const line_words *words, net_field field, char *text,
                              net_layer *layer)
{
    switch (field) {
    case NET_FIELD_OUT:
        if (layer->kind == NET_LINEAR && strcmp(text, "classes") == 0) {
            layer->out = NET_CLASSES;
            return WEFT_OK;
        }
        return read_count(words, net_field_word(field), text, 1, &layer->out);
    case NET_FIELD_GROUPS:
        return read_count(words, net_field_word(field), text, 1, &layer->groups);
    case NET_FIELD_BIAS:
        return read_switch(words, text, &layer->bias);
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
static weft_status read_key(const network *net, const line_words *words, char *word, net_layer *layer)
{
    const net_kind_row *row = &net_kind_rows[layer->kind];
    char *value = strchr(word, '=');
    LINE_CHECK(words, value != NULL, "'%s' is one word too many: %s", word, row->usage);
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

static weft_status find_kind(const line_words *words, const char *word, net_kind *kind)
{
    const char *names[NET_KINDS];
    for (int i = 0; i < NET_KINDS; ++i) {
        names[i] = net_kind_rows[i].word;
        if (strcmp(names[i], word) == 0) {
            *kind = (net_kind)i;
            return WEFT_OK;
        }
    }
    const char *near = nearest_word(word, names, NET_KINDS);
    return weft_fail(WEFT_ERR_DATA, "%s: line %d: no kind of layer '%s'%s%s%s", words->where, words->line, word,
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                     near != NULL ? "?" : ": conv, linear, norm, relu, add, maxpool, ...");
}

static weft_status name_layer(const network *net, const line_words *words, const char *given, net_layer *layer)
{
    if (given == NULL) {
        int number = 1;
        for (int i = 0; i < net->layers; ++i) {
            number += net->layer[i].kind == layer->kind;
        }
        snprintf(layer->name, sizeof layer->name, "%s%d", net_kind_rows[layer->kind].word, number);
    } else {
        LINE_CHECK(words, is_name(given), "name '%s': at most %d letters, digits, '.', '_' and '-'", given,
                   NET_NAME_BYTES - 1);
        snprintf(layer->name, sizeof layer->name, "%.*s", NET_NAME_BYTES - 1, given);
    }
    const int same = find_layer(net, layer->name);
    LINE_CHECK(words, same == net->layers, "the name '%s' is taken%s", layer->name,
               same == NET_INPUT ? " by the input of the network" : "");
    return WEFT_OK;
}

static weft_status read_layer(network *net, line_words *words)
{
    const int kind_at = words->count > 1 && words->word[0][strlen(words->word[0]) - 1] == ':';
    net_kind kind = NET_CONV;
    net_layer layer;
    WEFT_TRY(find_kind(words, words->word[kind_at], &kind));
    const net_kind_row *row = &net_kind_rows[kind];
    net_layer_defaults(kind, &layer);
    layer.line = words->line;
    layer.from = net->layers - 1; /* NET_INPUT for the first */
    int next = kind_at + 1;
    for (int i = 0; i < NET_NUMBERS_MAX && row->number[i] != NET_FIELD_NONE; ++i, ++next) {
        LINE_CHECK(words, next < words->count && strchr(words->word[next], '=') == NULL, "%s lacks its %s: %s",
                   row->word, net_field_word(row->number[i]), row->usage);
        WEFT_TRY(read_field(net, words, row->number[i], words->word[next], &layer));
    }
    for (; next < words->count; ++next) {
        WEFT_TRY(read_key(net, words, words->word[next], &layer));
    }
    net_layer_complete(&layer);
    if (kind_at == 1) {
        words->word[0][strlen(words->word[0]) - 1] = '\0';
    }
    WEFT_TRY(name_layer(net, words, kind_at == 1 ? words->word[0] : NULL, &layer));
    LINE_CHECK(words, net->layers < NET_LAYERS_MAX, "more than %d layers", NET_LAYERS_MAX);
    WEFT_TRY(grow_array((void **)&net->layer, sizeof *net->layer, net->layers, &net->capacity, WEFT_MEM_GENERAL));
    net->layer[net->layers++] = layer;
    return WEFT_OK;
}

static weft_status read_input(network *net, const line_words *words)
{
    LINE_CHECK(words, net->layers == 0 && net->input.height == 0, "%s", "'input' stands before all layers, once");
    LINE_CHECK(words, words->count == 4, "%s", "input HEIGHT WIDTH CHANNELS");
    WEFT_TRY(read_count(words, "height", words->word[1], 1, &net->input.height));
    WEFT_TRY(read_count(words, "width", words->word[2], 1, &net->input.width));
    return read_count(words, "channels", words->word[3], 1, &net->input.channels);
}

weft_status net_parse(const char *text, const char *where, network *net)
{
    line_words words = {.where = where};
    memset(net, 0, sizeof *net);
    snprintf(net->origin, sizeof net->origin, "%s", where);
    text += strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0 ? strlen(BYTE_ORDER_MARK) : 0;
    for (const char *begin = text; *begin != '\0';) {
        const char *end = begin + strcspn(begin, "\n");
        ++words.line;
        WEFT_TRY(split_line(begin, end, &words));
        if (words.count > 0) {
            WEFT_TRY(strcmp(words.word[0], "input") == 0 ? read_input(net, &words) : read_layer(net, &words));
        }
        begin = *end == '\n' ? end + 1 : end;
    }
    WEFT_CHECK(net->layers > 0, WEFT_ERR_DATA, "%s: no layer in it; one a line, such as 'linear classes'", where);
    return WEFT_OK;
}

/* "nets/my.net" is called my. */
static void name_by_path(const char *path, network *net)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t length = dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
    snprintf(net->name, sizeof net->name, "%.*s", (int)(length < NET_NAME_BYTES ? length : NET_NAME_BYTES - 1), name);
}

weft_status net_read(const char *path, network *net)
{
    char *text = NULL;
    size_t bytes = 0;
    memset(net, 0, sizeof *net);
    WEFT_TRY(file_read_text(path, NET_TEXT_MAX, &text, &bytes));
    weft_status status = net_parse(text, path, net);
    weft_free(text);
    name_by_path(path, net);
    return status;
}

weft_status net_parse_line(const char *line, const char *path, network *net)
{
    const size_t bytes = strlen(line) + 1;
    char *text = NULL;
    memset(net, 0, sizeof *net);
    WEFT_TRY(WEFT_NEW(&text, bytes, WEFT_MEM_WORKSPACE));
    for (size_t i = 0; i < bytes; ++i) {
        text[i] = (char)(line[i] == ';' ? '\n' : line[i]);
    }
    weft_status status = net_parse(text, path, net);
    weft_free(text);
    name_by_path(path, net);
    return status;
}

void net_destroy(network *net)
{
    weft_free(net->layer);
    memset(net, 0, sizeof *net);
}
