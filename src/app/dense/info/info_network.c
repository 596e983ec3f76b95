/* app/dense/info/info_network.c: weft info NETWORK: what a network of the zoo, or of a user's own, is and costs. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "app/dense/info/info_images.h"
#include "dense/engine/dense_model.h"
#include "dense/net/zoo.h"

static void print_size(net_size size, char *text, size_t bytes)
{
    snprintf(text, bytes, "%" PRId64 " x %" PRId64 " x %" PRId64, size.height, size.width, size.channels);
}

static void print_layers(const network *net)
{
    printf("\n| layer | kind | gives | parameters | MFLOP |\n|---|---|---|---:|---:|\n");
    for (int i = 0; i < net->layers; ++i) {
        const net_layer *layer = &net->layer[i];
        const net_cost cost = net_cost_of(net, i);
        char size[96];
        print_size(layer->size, size, sizeof size);
        printf("| %s | %s | %s | %" PRId64 " | %.3f |\n", layer->name, net_kind_word(layer->kind), size,
               cost.parameters, cost.flops / 1e6);
    }
}

/* Of one image in training, with float32 between the layers. */
static int64_t arena_bytes(const network *net)
{
    const int64_t one = 1;
    const dense_config config = {
        .net = net, .norm = NORM_BATCH, .images = &one, .sizes = 1, .training = true, .values = WEFT_DTYPE_F32};
    return dense_model_arena_bytes(NULL, &config, WEFT_DTYPE_F32);
}

static weft_status describe(const char *what, network *net)
{
    int64_t classes = 10;
    net_size input = {32, 32, 3};
    char size[96];
    double flops = 0.0;
    int64_t parameters = 0;
    fact_list list = {.rows = 0};
    WEFT_TRY(net_open(what, net));
    WEFT_TRY(net_warn_idle(net));
    assert(net->layers > 0); /* net_open refuses a network without layers */
    net_zoo_usual(what, &input, &net->words, &classes);
    const net_layer *last = &net->layer[net->layers - 1];
    if (last->kind == NET_LINEAR && last->out != NET_CLASSES) { /* no data say how many there are */
        classes = last->out;
    }
    WEFT_TRY(net_fit(net, net->input.height > 0 ? net->input : input, classes));
    for (int i = 0; i < net->layers; ++i) {
        const net_cost cost = net_cost_of(net, i);
        parameters += cost.parameters;
        flops += cost.flops;
    }
    print_size(net->input, size, sizeof size);
    facts_text(&list, "network", "network", "", net->name);
    facts_text(&list, "input", "input", "", size);
    facts_int(&list, FACT_CLASSES, "classes", "", "", classes);
    facts_int(&list, "layers", "layers", "", "", net->layers);
    facts_int(&list, "parameters", "parameters", "", "", parameters);
    facts_int(&list, "parameter_bytes", "memory of the parameters", "bytes", "", 4 * parameters);
    facts_real(&list, "forward_gflop", "forward pass of an image", "GFLOP, three times that to train", "", flops / 1e9);
    facts_int(&list, "activation_bytes", "activations and their gradients of an image", "bytes", "", arena_bytes(net));
    facts_print(&list, stdout, "");
    print_layers(net);
    return WEFT_OK;
}

static weft_status info_network(const char *what)
{
    network net;
    weft_status status = describe(what, &net);
    net_destroy(&net);
    return status;
}

weft_status dense_info(const workload_subject *subject, bool *known)
{
    if (subject->kind == SUBJECT_TENSORS) {
        return dense_info_tensors(subject->tensors, known);
    }
    *known = subject->kind == SUBJECT_NAME && net_is_named(subject->what);
    return *known ? info_network(subject->what) : WEFT_OK;
}
