/* app/gnn/info/info_pyg.c: the graph network whose weights a file holds, under the names of PyTorch Geometric
 * (gnn/pyg.h). */
#include <inttypes.h>

#include "app/gnn/info/info_graph.h"
#include "gnn/layers/layer.h"
#include "gnn/pyg.h"

static void print_model(const gnn_config *config)
{
    static const char *const kinds[] = {GNN_KINDS(CHOICE_NAME)};
    static const char *const jumpings[] = {GNN_JUMPINGS(CHOICE_NAME)};
    static const char *const norms[] = {NORM_KINDS(CHOICE_NAME)};
    const char *sage = config->aggregator == GNN_SAGE_GCN   ? " (aggregator gcn)"
                       : config->aggregator == GNN_SAGE_MAX ? " (aggregator max)"
                                                            : "";
    printf("model: %s%s, ", kinds[config->kind], config->kind == GNN_SAGE ? sage : "");
    if (!gnn_layer_ops_of(config)->hops) { /* one linear map, and hops that no weight tells */
        printf("%d layers, ", config->layers);
    }
    printf("%" PRId64, config->inputs);
    if (config->hidden > 0) {
        printf(" -> ");
        if (gnn_layer_ops_of(config)->heads) {
            printf("%d x ", config->heads);
        }
        printf("%" PRId64, config->hidden);
    }
    printf(" -> %" PRId64 ", norm %s%s%s\n", config->outputs, norms[config->norm],
           config->jumping != GNN_JUMPING_NONE ? ", jumping " : "",
           config->jumping != GNN_JUMPING_NONE ? jumpings[config->jumping] : "");
}

weft_status gnn_info_tensors(safetensors_file *file, const char *path, bool *known)
{
    train_weights *weights = NULL;
    gnn_config config = {.kind = GNN_SAGE};
    WEFT_TRY(WEFT_NEW_ZERO(&weights, 1, WEFT_MEM_GENERAL));
    weft_status status = pyg_read(file, path, weights, &config);
    *known = status == WEFT_OK;
    if (*known) {
        print_model(&config);
    } else if (status == WEFT_ERR_DATA) { /* another model's, perhaps */
        weft_error_clear();
        status = WEFT_OK;
    }
    weights_destroy(weights);
    weft_free(weights);
    return status;
}
