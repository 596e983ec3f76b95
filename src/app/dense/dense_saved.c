/* app/dense/dense_saved.c: networks on images on disk. Names in files are those of common PyTorch models already. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/dense/dense_job.h"
#include "base/file.h"
#include "base/log.h"

/* ---- what a description says ---- */

/* Nobody typed it: a value that is refused is the file's fault, and told with the file's name. */
static weft_status blame_file(const saved_model *model, weft_status status)
{
    return status == WEFT_OK ? WEFT_OK
                             : weft_fail_context(status == WEFT_ERR_USAGE ? WEFT_ERR_DATA : status,
                                                 "%s: its description: ", model->path);
}

/* A network by a name of the zoo, or by the layers that stand beside the name of a file. The file itself is never
 * opened: it is the maker's, and only the command line names files. */
static weft_status open_described(const saved_model *model, network *net)
{
    const char *name = option_text(model->known, OPT_MODEL);
    const char *layers = option_text(model->known, OPT_NETWORK);
    char where[FILE_PATH_MAX];
    *net = (network){.layers = 0};
    WEFT_CHECK(layers[0] != '\0' || !net_is_file(name), WEFT_ERR_DATA,
               "%s: its layers are missing: its description names a file, \"%.64s\", and no file but the model is "
               "opened; " FLAG_MODEL " FILE.net on the command line names one",
               model->path, name);
    WEFT_CHECK(layers[0] == '\0' || net_is_file(name), WEFT_ERR_DATA,
               "%s: its description has layers of a network of its own beside the name of a built-in one, \"%.64s\"",
               model->path, name);
    if (layers[0] == '\0') {
        return blame_file(model, net_zoo(name, net));
    }
    WEFT_TRY(file_path(where, "%s: its layers", model->path));
    return net_parse_line(layers, where, net);
}

static weft_status check_description(const saved_model *model)
{
    int64_t height, width;
    WEFT_TRY(blame_file(model, dense_size_of(model->known, &height, &width)));
    return blame_file(model, dense_check_moments(model->known));
}

/* Whether the user names a file that the description names, too: then it may be opened. */
static bool is_named_by_user(const saved_model *model, const weft_options *given)
{
    return option_text(model->known, OPT_NETWORK)[0] == '\0' && option_applies(option_command_of(given), OPT_MODEL) &&
           option_is_set(given, OPT_MODEL);
}

static weft_status open_network(const saved_model *model, const weft_options *given, network *net)
{
    return !option_is_set(model->known, OPT_MODEL) || is_named_by_user(model, given) ? dense_open_network(given, net)
                                                                                     : open_described(model, net);
}

/* ---- what weights show ---- */

/* The layers of a described network must fit the images that the description tells of. outputs: of its last layer. */
static weft_status fit_described(const saved_model *model, network *net, int64_t outputs)
{
    net_size size = {.channels = dense_means_of(model->known)};
    const bool told = !option_is_auto(model->known, OPT_IMAGE_SIZE) && !option_is_auto(model->known, OPT_IMAGE_MOMENTS);
    if (!told || !option_is_set(model->known, OPT_MODEL)) {
        return WEFT_OK;
    }
    WEFT_TRY(dense_size_of(model->known, &size.height, &size.width));
    net->words = dense_words_of(model->known);
    return blame_file(model, net_fit(net, size, outputs));
}

/* The weights of the last layer that has some, which answers, give the number of outputs. */
static weft_status count_outputs(saved_model *model, network *net)
{
    assert(net->layers > 0); /* a network that was parsed has a layer */
    int last = net->layers - 1;
    while (last > 0 && net->layer[last].kind != NET_LINEAR && !net_is_conv(net->layer[last].kind)) {
        --last;
    }
    char name[NET_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s.weight", net->layer[last].name);
    const train_weight *weight = weights_find(&model->weights, name);
    WEFT_CHECK(
        weight != NULL && weight->rank > 1, WEFT_ERR_DATA,
        "%s: no matrix %s, of the last layer, among its %d tensors (first \"%s\"): these are not the weights of %s",
        model->path, name, model->weights.count, model->weights.count > 0 ? model->weights.item[0].name : "",
        net->name);
    model->layers = net->layers;
    model->outputs = weight->shape[0];
    model->inputs = 0; /* the size of images shows in no weight */
    return fit_described(model, net, model->outputs);
}

weft_status dense_recognise(saved_model *model, const weft_options *given)
{
    const weft_options *told = option_is_set(model->known, OPT_MODEL) ? model->known : given;
    network net;
    WEFT_CHECK(strcmp(option_text(told, OPT_MODEL), "auto") != 0, WEFT_ERR_USAGE,
               "%s: it does not say which network on images it has the weights of: name it by " FLAG_MODEL
               " NAME (weft info %s knows built-in ones by their layers)",
               model->path, model->path);
    WEFT_TRY(check_description(model));
    weft_status status = open_network(model, given, &net);
    status = status == WEFT_OK ? count_outputs(model, &net) : status;
    net_destroy(&net);
    WEFT_TRY(status);
    return saved_model_show(model, OPT_MODEL, option_text(told, OPT_MODEL));
}

/* ---- names of PyTorch ---- */

/* PyTorch counts batches beside the running statistics: nothing reads that. */
static bool is_counter(const char *name)
{
    static const char counter[] = "num_batches_tracked";
    const size_t length = strlen(name);
    return length >= sizeof counter - 1 && strcmp(name + length - (sizeof counter - 1), counter) == 0;
}

/* A tensor of the network is there under its name. */
static bool has_layer(const safetensors_file *file, const network *net)
{
    char name[NET_NAME_BYTES + 16];
    for (int i = 0; i < net->layers; ++i) {
        snprintf(name, sizeof name, "%s.weight", net->layer[i].name);
        if (safetensors_find(file, name) >= 0) {
            return true;
        }
    }
    return false;
}

/* DataParallel, torch.compile and Lightning put a part in front of all names, one in the other. */
static bool begins_with_wrapper(const safetensors_file *file)
{
    static const char *const wrappers[] = {"module.", "model.", "_orig_mod."};
    const char *name = safetensors_count(file) > 0 ? safetensors_entry_at(file, 0)->name : "";
    bool wrapped = false;
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; ++i) {
        wrapped = wrapped || strncmp(name, wrappers[i], strlen(wrappers[i])) == 0;
    }
    return wrapped;
}

/* Parts that all names begin with are left out until names are the network's; of a network that nobody names yet (net
 * NULL) those of PyTorch. */
static void leave_out_parts(safetensors_file *file, const char *path, const network *net)
{
    while (net != NULL ? !has_layer(file, net) : begins_with_wrapper(file)) {
        if (!safetensors_strip(file)) {
            break;
        }
    }
    const safetensors_entry *first = safetensors_count(file) > 0 ? safetensors_entry_at(file, 0) : NULL;
    const int length = first != NULL ? (int)(strlen(first->stored) - strlen(first->name)) : 0;
    if (net != NULL && !has_layer(file, net)) {
        safetensors_restore(file);
    } else if (length > 0) {
        log_info("%s: \"%.*s\", which all names begin with, is left out", path, length, first->stored);
    }
}

/* Files of weft export have the names of the network, whatever they are. */
static weft_status find_names(safetensors_file *file, const saved_model *model, const weft_options *given)
{
    network net = {.layers = 0};
    if (safetensors_metadata(file, "weft.model") != NULL) {
        return WEFT_OK;
    }
    const bool named = option_applies(option_command_of(given), OPT_MODEL) && !option_is_auto(given, OPT_MODEL);
    weft_status status = named ? dense_open_network(given, &net) : WEFT_OK;
    if (status == WEFT_OK) {
        leave_out_parts(file, model->path, named ? &net : NULL);
    }
    net_destroy(&net);
    return status;
}

weft_status dense_read_named(safetensors_file *file, saved_model *model, const weft_options *given)
{
    WEFT_TRY(find_names(file, model, given));
    for (int i = 0; i < safetensors_count(file); ++i) {
        const safetensors_entry *entry = safetensors_entry_at(file, i);
        float *values = NULL;
        if (!is_counter(entry->name)) {
            WEFT_TRY(weights_add(&model->weights, model->path, entry->name, entry->dims, entry->shape, &values));
            WEFT_TRY(safetensors_read_f32(file, i, values));
        }
    }
    return WEFT_OK;
}

weft_status dense_write_named(const saved_model *model, const char *path, const safetensors_text *texts, int count)
{
    const train_weights *weights = &model->weights;
    safetensors_item *items = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&items, weights->count, WEFT_MEM_WORKSPACE));
    weights_items(weights, items);
    weft_status status = safetensors_write(path, items, weights->count, texts, count);
    weft_free(items);
    return status;
}
