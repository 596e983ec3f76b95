/*
 * app/info/info_model.c: weft info MODEL.safetensors: the model that the names tell, the metadata and the tensors. The
 * header is checked as for loading; the values are not looked at.
 */
#include <inttypes.h>
#include <stdio.h>

#include "app/info/info.h"
#include "base/alloc.h"
#include "gnn/pyg.h"

static void print_tensor(const safetensors_entry *entry)
{
    char text[512];
    int used = snprintf(text, sizeof text, "%s [", entry->dtype);
    for (int d = 0; d < entry->dims; d++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%" PRId64, d > 0 ? ", " : "", entry->shape[d]);
    }
    snprintf(text + used, sizeof text - (size_t)used, "]");
    info_text(entry->name, text);
}

static void print_model(const gnn_config *config)
{
    static const char *const kinds[] = {GNN_KINDS(CHOICE_NAME)};
    static const char *const norms[] = {NORM_KINDS(CHOICE_NAME)};
    bool pooled = config->kind == GNN_SAGE && config->aggregator == GNN_SAGE_GCN;
    printf("model: %s%s, %d layers, %" PRId64, kinds[config->kind], pooled ? " (aggregator gcn)" : "", config->layers,
           config->inputs);
    if (config->hidden > 0) {
        printf(" -> ");
        if (config->kind == GNN_GAT) {
            printf("%d x ", config->heads);
        }
        printf("%" PRId64, config->hidden);
    }
    printf(" -> %" PRId64 ", norm %s\n", config->outputs, norms[config->norm]);
}

static weft_status describe(const safetensors_file *file, const char *path)
{
    train_weights *weights = NULL;
    gnn_config config = {.kind = GNN_SAGE};
    WEFT_TRY(WEFT_NEW_ZERO(&weights, 1, WEFT_MEM_GENERAL));
    weft_status status = pyg_read(file, path, weights, &config);
    if (status == WEFT_OK) {
        print_model(&config);
    } else { /* tensors of another model are worth a look too */
        printf("model: none that Weft knows\n");
        status = status == WEFT_ERR_DATA ? WEFT_OK : status;
    }
    weights_destroy(weights);
    weft_free(weights);
    return status;
}

weft_status info_model(const char *path)
{
    safetensors_file *file = NULL;
    WEFT_TRY(safetensors_open(path, &file));
    printf("kind: safetensors, %d tensors\n", safetensors_count(file));
    weft_status status = describe(file, path);
    safetensors_text text;
    for (int i = 0; status == WEFT_OK && safetensors_metadata_at(file, i, &text); i++) {
        info_text(text.key, text.value);
    }
    for (int i = 0; status == WEFT_OK && i < safetensors_count(file); i++) {
        print_tensor(safetensors_entry_at(file, i));
    }
    safetensors_close(file);
    return status;
}
