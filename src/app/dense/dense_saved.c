/* app/dense/dense_saved.c: networks on images on disk. Names in files are those of common PyTorch models already. */
#include <stdio.h>
#include <string.h>

#include "app/dense/dense_job.h"

/* The last matrix answers; weights come in the order of the layers. */
static const train_weight *last_matrix(const train_weights *weights)
{
    for (int i = weights->count - 1; i >= 0; --i) {
        if (weights->item[i].rank > 1) {
            return &weights->item[i];
        }
    }
    return NULL;
}

weft_status dense_recognise(saved_model *model, const weft_options *given)
{
    const weft_options *told = option_is_set(model->known, OPT_MODEL) ? model->known : given;
    const train_weight *last = last_matrix(&model->weights);
    network net;
    WEFT_CHECK(strcmp(option_text(told, OPT_MODEL), "auto") != 0, WEFT_ERR_USAGE,
               "%s: it does not say which network on images it has the weights of: name it by " FLAG_MODEL
               " NAME (weft info %s knows built-in ones by their layers)",
               model->path, model->path);
    weft_status status = dense_open_network(told, &net);
    model->layers = net.layers;
    net_destroy(&net);
    WEFT_TRY(status);
    WEFT_CHECK(last != NULL, WEFT_ERR_DATA, "%s: no matrix in it: not the weights of a network", model->path);
    model->outputs = last->shape[0];
    model->inputs = 0; /* the size of images shows in no weight */
    return saved_model_show(model, OPT_MODEL, option_text(told, OPT_MODEL));
}

/* PyTorch counts batches beside the running statistics: nothing reads that. */
static bool is_counter(const char *name)
{
    static const char counter[] = "num_batches_tracked";
    const size_t length = strlen(name);
    return length >= sizeof counter - 1 && strcmp(name + length - (sizeof counter - 1), counter) == 0;
}

weft_status dense_read_named(const safetensors_file *file, saved_model *model)
{
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
    for (int i = 0; i < weights->count; ++i) {
        const train_weight *weight = &weights->item[i];
        items[i] = (safetensors_item){.name = weight->name, .dims = weight->rank, .values = weight->values};
        memcpy(items[i].shape, weight->shape, (size_t)weight->rank * sizeof *weight->shape);
    }
    weft_status status = safetensors_write(path, items, weights->count, texts, count);
    weft_free(items);
    return status;
}
