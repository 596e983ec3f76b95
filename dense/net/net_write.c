/* dense/net/net_write.c: layers to text; see dense/net/net.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "dense/net/net_kinds.h"

static void write_pair(FILE *out, const int64_t pair[2])
{
    fprintf(out, "%lld", (long long)pair[0]);
    if (pair[1] != pair[0]) {
        fprintf(out, "x%lld", (long long)pair[1]);
    }
}

static const char *name_of(const network *net, int index)
{
    return index == NET_INPUT ? "input" : net->layer[index].name;
}

static void write_field(const network *net, const net_layer *layer, net_field field, FILE *out)
{
    char text[NUMBER_TEXT_MAX];
    net_layer copy = *layer;
    switch (field) {
    case NET_FIELD_OUT:
        if (layer->out == NET_CLASSES) {
            fputs("classes", out);
        } else {
            fprintf(out, "%lld", (long long)layer->out);
        }
        break;
    case NET_FIELD_WORDS:
        if (layer->words == NET_WORDS) {
            fputs("words", out);
        } else {
            fprintf(out, "%lld", (long long)layer->words);
        }
        break;
    case NET_FIELD_GROUPS:
    case NET_FIELD_HEADS:
        fprintf(out, "%lld", (long long)layer->groups);
        break;
    case NET_FIELD_BIAS:
        fputs(layer->bias ? "on" : "off", out);
        break;
    case NET_FIELD_START:
        fputs(layer->start == NET_START_UNIFORM ? "uniform" : "kaiming", out);
        break;
    case NET_FIELD_VALUE:
    case NET_FIELD_EPSILON:
        fputs(number_format_real(layer->value, text), out);
        break;
    case NET_FIELD_OTHER:
        fputs(name_of(net, layer->other), out);
        break;
    default:
        write_pair(out, net_field_pair(&copy, field));
        break;
    }
}

/* end: of each line. */
static void write_lines(const network *net, const char *end, FILE *out)
{
    if (net->input.height > 0) {
        fprintf(out, "input %lld %lld %lld%s", (long long)net->input.height, (long long)net->input.width,
                (long long)net->input.channels, end);
    }
    for (int i = 0; i < net->layers; ++i) {
        const net_layer *layer = &net->layer[i];
        const net_kind_row *row = &net_kind_rows[layer->kind];
        fprintf(out, "%s: %s", layer->name, row->word);
        for (int n = 0; n < NET_NUMBERS_MAX && row->number[n] != NET_FIELD_NONE; ++n) {
            fputc(' ', out);
            write_field(net, layer, row->number[n], out);
        }
        for (int k = 0; k < NET_KEYS_MAX && row->key[k] != NET_FIELD_NONE; ++k) {
            fprintf(out, " %s=", net_field_word(row->key[k]));
            write_field(net, layer, row->key[k], out);
        }
        if (layer->from != i - 1) {
            fprintf(out, " from=%s", name_of(net, layer->from));
        }
        fputs(end, out);
    }
}

void net_write(const network *net, FILE *out)
{
    write_lines(net, "\n", out);
}

weft_status net_write_line(const network *net, char **line)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out != NULL) {
        write_lines(net, "; ", out);
    }
    weft_status status = WEFT_OK;
    if (out == NULL || fclose(out) != 0) {
        status = weft_fail(WEFT_ERR_RESOURCE, "no memory for the text of network %s", net->name);
    }
    status = status == WEFT_OK ? WEFT_NEW(line, bytes + 1, WEFT_MEM_GENERAL) : status;
    if (status == WEFT_OK) {
        memcpy(*line, text, bytes);
        (*line)[bytes] = '\0';
    }
    free(text);
    return status;
}
