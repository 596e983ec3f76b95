/*
 * gnn/pyg.h: weights under the names of PyTorch Geometric's models, as safetensors.
 *
 * The models are torch_geometric.nn's GraphSAGE, GCN, GAT, GIN and MLP and its layer SGConv (names of GraphSAGE, GCN
 * and MLP checked against 2.8): load_state_dict takes the file as it is. PyTorch keeps a linear map as [out, in], Weft
 * as [in, out]; the table of names in pyg.c says what is transposed. GraphSAGE with the aggregator gcn is
 * GraphSAGE(root_weight=False) on a graph with a self-loop at every vertex, under the same names less lin_r. GAT is
 * GAT(act="elu"), gatv2 with v2=True, whose hidden_channels count all heads; it has as many in its last layer, so
 * --out-heads must equal --heads for it (layers of one's own, GATConv, take any). GIN's eps is 0. Jumping connections
 * are their jk, whose linear map is "lin"; residual connections they have none. Batch norm's num_batches_tracked is
 * neither written nor needed.
 *
 *     python/load_in_pyg.py MODEL.safetensors STORE
 */
#pragma once

#include "gnn/layers/layer_plan.h"
#include "io/safetensors.h"
#include "train/weights.h"

/*
 * Layers, widths, normalisation and (for self-weights) kind and aggregator, from names and shapes alone.
 *   config  [in, out]  layers, inputs, heads and out_heads (attention), hidden (0 with one layer), outputs and norm are
 *                      set; kind, aggregator and jumping too when the names tell them, else they stay and must fit;
 *                      layers stays with sgc, whose hops no weight tells
 * WEFT_ERR_DATA: an array is missing, left over, or does not fit its neighbours.
 */
weft_status gnn_weights_describe(const train_weights *weights, const char *origin, gnn_config *config);

/* Write weights of this model (config as gnn_weights_describe leaves it). `texts`: further metadata. */
weft_status pyg_write(const char *path, const gnn_config *config, const train_weights *weights,
                      const safetensors_text *texts, int text_count);

/* Weights under Weft's names, also from networks that people write themselves (gnn/pyg_names.h); [out] config kind,
 * aggregator, and what gnn_weights_describe sets. WEFT_ERR_DATA: a tensor that none of the models has, or a wrong
 * shape. */
weft_status pyg_read(safetensors_file *file, const char *path, train_weights *weights, gnn_config *config);
