/* libFuzzer: any bytes as the text of a network; what is read must survive being written, and be given sizes or
 * refused. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dense/engine/arena_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const network *net)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        abort();
    }
    net_write(net, out);
    fclose(out);
    return text;
}

static void check_round_trip(const network *net)
{
    network again;
    char *text = text_of(net);
    if (net_parse(text, "written", &again) != WEFT_OK || again.layers != net->layers) {
        abort();
    }
    char *second = text_of(&again);
    if (strcmp(text, second) != 0) {
        abort();
    }
    free(text);
    free(second);
    net_destroy(&again);
}

static void check_plan(const network *net)
{
    unit_list list;
    arena_plan plan = {.slots = 0};
    size_t bytes[65];
    for (int v = 0; v < 65; ++v) {
        bytes[v] = v % 3 == 0 ? 4 : 2;
    }
    const arena_need need = {.images = 2, .bytes = bytes, .wide = sizeof(float), .training = true};
    if (net->layers < 64 && units_create(net, &list) == WEFT_OK) {
        if (arena_plan_create(&list, &need, &plan) != WEFT_OK || plan.bytes < 0) {
            abort();
        }
        arena_plan_destroy(&plan);
        units_destroy(&list);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    network net;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (net_parse(text, "fuzz", &net) == WEFT_OK) {
        check_round_trip(&net);
        const net_size input = net.input.height > 0 ? net.input : (net_size){16, 16, 3};
        if (net_fit(&net, input, 10) == WEFT_OK) {
            for (int i = 0; i < net.layers; ++i) {
                (void)net_cost_of(&net, i);
            }
            check_plan(&net);
        }
    }
    net_destroy(&net);
    free(text);
    return 0;
}
