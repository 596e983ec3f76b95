/*
 * gnn/gnn_model.h: GraphSAGE, GCN, GAT, GIN and MLP of any depth, and SGC, as a train_model.
 *
 *   W. Hamilton, R. Ying, J. Leskovec: Inductive representation learning on large graphs. NIPS 2017, arXiv 1706.02216.
 *   T. Kipf, M. Welling: Semi-supervised classification with graph convolutional networks. ICLR 2017, arXiv 1609.02907.
 *
 * A convolution is linear part, normalisation (optional), ReLU or ELU, dropout; the last is the linear part alone. Of
 * GIN it is two layers, with normalisation and ReLU between them. What may lead past them: gnn/connections.h. P ranks
 * compute what one computes: only the root of a vertex does dense work, masks are keyed by the global vertex id,
 * gradients of weights are shares of a sum. The last sum over neighbours of a training pass need not give rows that the
 * loss does not read (gnn_config.read_share), unless a batch norm behind it reads them all.
 *
 * With bfloat16 (gnn_config.bf16) features, what stands between layers, and its gradients are rounded to 8 bits where
 * they are stored: once an operation, whose sums and products are float32, as are parameters, statistics, logits and
 * their gradient. Rows travel as they are stored, half the bytes in both directions; what that does to sums:
 * gnn/layers/aggregate.h.
 */
#pragma once

#include "gnn/connections.h"

typedef struct gnn_model {
    gnn_plan plan;
    weft_comm *comm;
    weft_hal *hal;
    param_store params;
    gnn_aggregator aggregator; /* zeroed if the kind sums over no neighbours */
    gnn_part_edges edges;      /* zeroed if the kind walks no edges */
    gnn_layer layer[GNN_MAX_LAYERS];
    train_norm norm[GNN_MAX_LAYERS];
    char norm_name[GNN_MAX_LAYERS][16];
    weft_tensor features;   /* kept apart only where the input matrix holds their masked copy */
    tensor_features sparse; /* the features, where the plan of the first layer says so */
    tensor_stream stream;   /* the features, if they stay on the host */
    weft_tensor panel, gradient;
    gnn_connections connections;
    int64_t *row_id;               /* device, [n_owned] global ids */
    train_map map[GNN_MAX_LAYERS]; /* of the layers */
    train_model interface;
    const train_targets *start_targets; /* of gnn/linear_start.h; NULL: the model begins as it was drawn */
} gnn_model;

/*
 * part: this rank's part; its edges are released once the aggregation matrix (of this form) stands. read: [n_owned] not
 * 0: the training loss reads the row; all others' logits of a training pass are of no use where config.read_share is
 * above 0. After this, write the features into gnn_model_features, or create `sparse` where the first layer's plan says
 * so, and call gnn_model_prepare. Collective.
 */
weft_status gnn_model_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const gnn_config *config,
                             weft_part *part, const uint8_t *read, hal_spmm_form form, gnn_model *model);
/* Declares the parameters and maps of a model without memory for any of them: what model->interface then says of both
 * is for plans (train/second/second_cost.h). Free with gnn_model_destroy, also after a failure. Local. */
weft_status gnn_model_outline(weft_hal *hal, weft_dtype dtype, const gnn_plan *plan, gnn_model *model);
/* Returns the matrix [n_owned, inputs] that the caller fills with features (tensor_upload). It lies on the host if the
 * plan of the first layer says streams. */
weft_tensor gnn_model_features(gnn_model *model);
/* Work done once: the aggregate of constant inputs. Collective. */
weft_status gnn_model_prepare(gnn_model *model);
void gnn_model_destroy(gnn_model *model);
