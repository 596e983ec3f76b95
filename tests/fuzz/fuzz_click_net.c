/* libFuzzer: any bytes as the text of a network for tables of clicks; what is read has the same layers in its form in
 * one line, and is given sizes or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clicks/model/click_net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_line(const char *text, const click_net *net)
{
    char *line = NULL, *again = NULL;
    click_net same;
    if (layer_words_fold(text, "fuzz", &line) != WEFT_OK) {
        return; /* a semicolon */
    }
    need(click_net_parse_line(line, "fuzz", &same) == WEFT_OK && same.layers == net->layers && same.wide == net->wide);
    for (int i = 0; i < net->layers; ++i) {
        need(strcmp(same.layer[i].name, net->layer[i].name) == 0 && same.layer[i].kind == net->layer[i].kind &&
             same.layer[i].reads == net->layer[i].reads);
    }
    need(layer_words_unfold(line, &again) == WEFT_OK);
    weft_free(line);
    need(layer_words_fold(again, "fuzz", &line) == WEFT_OK);
    WEFT_FREE_ALL(line, again);
    click_net_free(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char user[] = "user", item[] = "item", price[] = "price";
    char *ids[] = {user, item}, *numbers[] = {price};
    const name_list field = {.text = ids, .count = 2}, number = {.text = numbers, .count = 1};
    const click_net_data columns = {.width = 4, .field = &field, .number = &number};
    click_net net;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (click_net_parse(text, "fuzz", &net) == WEFT_OK) {
        check_line(text, &net);
        if (click_net_fit(&net, &columns) == WEFT_OK) {
            need(net.layer[net.layers - 1].cols == 1 && click_net_fit(&net, &columns) == WEFT_OK);
            for (int i = 0; i < net.layers; ++i) {
                need(net.layer[i].cols >= 1 && net.layer[i].cols <= CLICK_LAYER_SIZE);
            }
        }
    }
    click_net_free(&net);
    free(text);
    return 0;
}
