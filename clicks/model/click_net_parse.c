/* clicks/model/click_net_parse.c: text to layers; see clicks/model/click_net.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "clicks/model/click_net.h"

#define WORD(value, word, usage) word,
static const char *const KIND_WORD[] = {CLICK_NET_KINDS_OF(WORD)};
#undef WORD
#define USAGE(value, word, usage) usage,
static const char *const KIND_USAGE[] = {CLICK_NET_KINDS_OF(USAGE)};
#undef USAGE

static const char *const DATA_WORD[] = {"input", "fields", "numbers"};
enum { DATA_WORDS = sizeof DATA_WORD / sizeof *DATA_WORD };

/* The layer of that name, or data; net->layers: neither. */
static int find_layer(const click_net *net, const char *name)
{
    for (int i = 0; i < DATA_WORDS; ++i) {
        if (strcmp(name, DATA_WORD[i]) == 0) {
            return CLICK_NET_INPUT - i;
        }
    }
    int i = 0;
    while (i < net->layers && strcmp(net->layer[i].name, name) != 0) {
        ++i;
    }
    return i;
}

static weft_status read_reference(const click_net *net, const layer_words *words, const char *name, int *layer)
{
    *layer = find_layer(net, name);
    WORDS_CHECK(words, *layer < net->layers,
                "no layer '%s' above this one; name one with 'NAME: KIND ...', or read input, fields or numbers", name);
    return WEFT_OK;
}

static bool is_data(click_net_kind kind)
{
    return kind == CLICK_NET_FIELDS || kind == CLICK_NET_NUMBERS;
}

static bool is_many(click_net_kind kind)
{
    return kind == CLICK_NET_CONCAT || kind == CLICK_NET_ADD;
}

/* The word behind the kind, of kinds that have one. */
static weft_status read_number(const layer_words *words, const char *text, click_layer *layer)
{
    if (layer->kind == CLICK_NET_CROSS) {
        int64_t crosses = 0;
        WEFT_TRY(layer_words_count(words, "layers", text, 1, CLICK_LAYERS_MOST, &crosses));
        layer->crosses = (int)crosses;
        return WEFT_OK;
    }
    if (layer->kind == CLICK_NET_LINEAR) {
        layer->sizes.layers = 1;
        return layer_words_count(words, "outputs", text, 1, CLICK_LAYER_SIZE, &layer->sizes.size[0]);
    }
    if (click_read_sizes(KIND_WORD[layer->kind], text, &layer->sizes) != WEFT_OK) {
        return weft_fail_context(WEFT_ERR_DATA, "%s: line %d: ", words->where, words->line);
    }
    return WEFT_OK;
}

/* KEY=VALUE */
static weft_status read_key(const click_net *net, const layer_words *words, char *word, click_layer *layer)
{
    const char *usage = KIND_USAGE[layer->kind];
    char *value = strchr(word, '=');
    WORDS_CHECK(words, value != NULL, "'%s' is one word too many: %s", word, usage);
    *value++ = '\0';
    if (strcmp(word, "from") == 0) {
        return read_reference(net, words, value, &layer->read[0]);
    }
    if (strcmp(word, "bias") == 0 && layer->kind == CLICK_NET_LINEAR) {
        return layer_words_switch(words, word, value, &layer->bias);
    }
    if (strcmp(word, "dropout") == 0 && layer->kind == CLICK_NET_MLP) {
        return layer_words_chance(words, word, value, &layer->dropout);
    }
    if (strcmp(word, "by") == 0 && layer->kind == CLICK_NET_CROSS) {
        WORDS_CHECK(words, strcmp(value, "matrix") == 0 || strcmp(value, "vector") == 0,
                    "by '%s' is not matrix or vector", value);
        layer->by_vector = strcmp(value, "vector") == 0;
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_DATA, "%s: line %d: no key '%s' here: %s [from=NAME]", words->where, words->line, word,
                     usage);
}

/* A word without '=' behind the kind: a number, or the name of a layer. */
static weft_status read_word(const click_net *net, const layer_words *words, char *word, click_layer *layer)
{
    const bool number = layer->kind == CLICK_NET_LINEAR || layer->kind == CLICK_NET_MLP ||
                        layer->kind == CLICK_NET_CROSS || layer->kind == CLICK_NET_CIN;
    if (is_many(layer->kind)) {
        return read_reference(net, words, word, &layer->read[layer->reads++]);
    }
    WORDS_CHECK(words, number && layer->crosses == 0 && layer->sizes.layers == 0, "'%s' is one word too many: %s", word,
                KIND_USAGE[layer->kind]);
    return read_number(words, word, layer);
}

static weft_status name_layer(const click_net *net, const layer_words *words, const char *given, click_layer *layer)
{
    int number = 1;
    for (int i = 0; i < net->layers; ++i) {
        number += net->layer[i].kind == layer->kind;
    }
    /* Names of parameters have numbers behind a dot. */
    WORDS_CHECK(words, strchr(given, '.') == NULL, "name '%s': letters, digits, '_' and '-'", given);
    (void)snprintf(layer->name, sizeof layer->name, "%s", given);
    if (given[0] == '\0') {
        (void)snprintf(layer->name, sizeof layer->name, "%s%d", KIND_WORD[layer->kind], number);
    }
    const int same = find_layer(net, layer->name);
    WORDS_CHECK(words, same == net->layers, "the name '%s' is taken%s", layer->name,
                same < 0 ? " by data of a sample" : "");
    return WEFT_OK;
}

/* All words are names of columns. */
static weft_status read_columns(const layer_words *words, click_layer *layer)
{
    const char *name[LAYER_WORDS_MOST];
    for (int i = 1; i < words->count; ++i) {
        name[i - 1] = words->word[i];
    }
    return name_list_copy(name, words->count - 1, &layer->column);
}

/* Words behind the kind. */
static weft_status read_words(const click_net *net, layer_words *words, click_layer *layer)
{
    const bool data = is_data(layer->kind);
    WORDS_CHECK(words, !data || words->count > 1, "%s lacks a column; all of them are 'from=%s' of other layers",
                KIND_WORD[layer->kind], KIND_WORD[layer->kind]);
    if (data) {
        return read_columns(words, layer);
    }
    WEFT_TRY(layer_words_keys(words, 1));
    for (int i = 1; i < words->count; ++i) {
        const bool key = strchr(words->word[i], '=') != NULL;
        WEFT_TRY(key ? read_key(net, words, words->word[i], layer) : read_word(net, words, words->word[i], layer));
    }
    const bool lacks = is_many(layer->kind) && layer->reads == 1;
    const bool sized = layer->kind == CLICK_NET_LINEAR || layer->kind == CLICK_NET_MLP || layer->kind == CLICK_NET_CIN;
    WORDS_CHECK(words,
                !lacks && (!sized || layer->sizes.layers > 0) && (layer->kind != CLICK_NET_CROSS || layer->crosses > 0),
                "%s lacks a word: %s", KIND_WORD[layer->kind], KIND_USAGE[layer->kind]);
    return WEFT_OK;
}

/* "wide" is no layer. */
static weft_status read_wide(click_net *net, const layer_words *words)
{
    WORDS_CHECK(words, words->count == 1 && !net->wide, "%s", "'wide' stands alone, once");
    net->wide = true;
    return WEFT_OK;
}

static weft_status read_line(void *context, layer_words *words)
{
    click_net *net = context;
    char name[LAYER_NAME_BYTES];
    int kind = 0;
    if (strcmp(words->word[0], "wide") == 0) {
        return read_wide(net, words);
    }
    WEFT_TRY(layer_words_name(words, name));
    WORDS_CHECK(words, strcmp(words->word[0], "embed") != 0,
                "'%s' reads words of texts: the option text-column names their column", words->word[0]);
    WEFT_TRY(layer_words_kind(words, words->word[0], KIND_WORD, CLICK_NET_KINDS,
                              "fields, mlp, linear, fm, dot, cross, cin, concat, add, ...", &kind));
    WORDS_CHECK(words, net->layers < CLICK_NET_LAYERS, "more than %d layers", CLICK_NET_LAYERS);
    click_layer *layer = &net->layer[net->layers];
    *layer = (click_layer){.kind = (click_net_kind)kind, .line = words->line, .bias = true};
    layer->reads = is_data(layer->kind) ? 0 : 1;
    layer->read[0] = net->layers > 0 ? net->layers - 1 : CLICK_NET_INPUT;
    weft_status status = read_words(net, words, layer);
    status = status == WEFT_OK ? name_layer(net, words, name, layer) : status;
    ++net->layers; /* its columns are freed with the net */
    return status;
}

weft_status click_net_parse(const char *text, const char *where, click_net *net)
{
    *net = (click_net){.layers = 0};
    (void)snprintf(net->origin, sizeof net->origin, "%s", where);
    layer_words_title(where, net->name, sizeof net->name);
    WEFT_TRY(WEFT_NEW_ZERO(&net->layer, CLICK_NET_LAYERS, WEFT_MEM_GENERAL));
    WEFT_TRY(layer_words_each(text, where, read_line, net));
    WEFT_CHECK(net->layers > 0, WEFT_ERR_DATA, "%s: no layer in it; one a line, such as 'linear 1'", where);
    return WEFT_OK;
}

weft_status click_net_parse_line(const char *line, const char *path, click_net *net)
{
    char *text = NULL;
    *net = (click_net){.layers = 0};
    WEFT_TRY(layer_words_unfold(line, &text));
    const weft_status status = click_net_parse(text, path, net);
    weft_free(text);
    return status;
}

weft_status click_net_read_line(const char *path, char **line)
{
    char *text = NULL;
    size_t bytes = 0;
    WEFT_TRY(file_read_text(path, CLICK_NET_TEXT, &text, &bytes));
    const weft_status status = layer_words_fold(text, path, line);
    weft_free(text);
    return status;
}

void click_net_free(click_net *net)
{
    for (int i = 0; i < net->layers; ++i) {
        name_list_free(&net->layer[i].column);
        weft_free(net->layer[i].at);
    }
    weft_free(net->layer);
    *net = (click_net){.layers = 0};
}
