/*
 * app/gnn/options/gnn_recipes.c: what the recipes of graph networks set.
 *
 * few-labels: against learning by heart, where batch norm fits a hundred labels in four epochs. wide-features: labels
 * enough for batch norm, but more features than training vertices.
 *
 * fast: second order in a third of the epochs, or Adam in half of them where that ends higher. What auto takes for the
 * graph, such as few-labels, goes with it (app/gnn/auto_options.c).
 *
 * kipf: T. Kipf, M. Welling: Semi-supervised classification with graph convolutional networks. ICLR 2017, arXiv
 * 1609.02907, section 5.2: two layers, 16 wide, for 140 labels and 1,433 sparse features. 200 epochs without early
 * stopping, as in later comparisons.
 *
 * gat-paper: P. Velickovic et al.: Graph attention networks. ICLR 2018, arXiv 1710.10903, section 3.3, for Cora and
 * Citeseer: 8 heads of 8, one head of classes. Rows that attention sums pass dropout as in the authors' program. Its
 * early stopping watches loss and accuracy; here the best validation score counts.
 *
 * Full batch on large graphs. reddit: C. Wan et al.: BNS-GCN. MLSys 2022, arXiv 2203.10983, section 4: GraphSAGE 4x256
 * with layer norm. ogbn-*: W. Hu et al.: Open Graph Benchmark. NeurIPS 2020, arXiv 2005.00687, and its examples: GCN of
 * ogbn-arxiv with batch norm, GraphSAGE of ogbn-products and ogbn-proteins without a norm. ogbn-papers100M: H. Mostafa:
 * Sequential aggregation and rematerialization. MLSys 2022, arXiv 2111.06483: GraphSAGE 3x256 with batch norm.
 */
#include "app/gnn/options/gnn_options.h"
#include "app/gnn/options/gnn_words.h"

const option_recipe_setting gnn_recipes[] = {
    {"few-labels", OPT_NORM, "none"},
    {"few-labels", OPT_INPUT_DROPOUT, "-1"},
    {"few-labels", OPT_WEIGHT_DECAY, "5e-4"},
    {"wide-features", OPT_INPUT_DROPOUT, "-1"},
    {"wide-features", OPT_WEIGHT_DECAY, "5e-4"},
    {"fast", OPT_PRECONDITION, "input"},
    {"fast", OPT_EPOCHS, "60"},
    {"kipf", OPT_MODEL, "gcn"},
    {"kipf", OPT_LAYERS, "2"},
    {"kipf", OPT_HIDDEN, "16"},
    {"kipf", OPT_NORM, "none"},
    {"kipf", OPT_DROPOUT, "0.5"},
    {"kipf", OPT_INPUT_DROPOUT, "0.5"},
    {"kipf", OPT_NORMALIZE, "row"},
    {"kipf", OPT_LR, "0.01"},
    {"kipf", OPT_WEIGHT_DECAY, "5e-4"},
    {"kipf", OPT_DECAY_LAYERS, "first"},
    {"kipf", OPT_EPOCHS, "200"},
    {"kipf", OPT_PATIENCE, "0"},
    {"gat-paper", OPT_MODEL, "gat"},
    {"gat-paper", OPT_LAYERS, "2"},
    {"gat-paper", OPT_HIDDEN, "8"},
    {"gat-paper", OPT_HEADS, "8"},
    {"gat-paper", OPT_OUT_HEADS, "1"},
    {"gat-paper", OPT_ATTN_DROPOUT, "0.6"},
    {"gat-paper", OPT_VALUE_DROPOUT, "0.6"},
    {"gat-paper", OPT_DROPOUT, "0.6"},
    {"gat-paper", OPT_INPUT_DROPOUT, "0.6"},
    {"gat-paper", OPT_NORM, "none"},
    {"gat-paper", OPT_NORMALIZE, "row"},
    {"gat-paper", OPT_LR, "0.005"},
    {"gat-paper", OPT_WEIGHT_DECAY, "5e-4"},
    {"gat-paper", OPT_EPOCHS, "300"},
    {"gat-paper", OPT_PATIENCE, "0"},
    {"reddit", OPT_MODEL, "sage"},
    {"reddit", OPT_LAYERS, "4"},
    {"reddit", OPT_HIDDEN, "256"},
    {"reddit", OPT_NORM, "layer"},
    {"reddit", OPT_DROPOUT, "0.5"},
    {"reddit", OPT_NORMALIZE, "standard"},
    {"reddit", OPT_LR, "0.01"},
    {"reddit", OPT_EPOCHS, "3000"},
    {"reddit", OPT_PATIENCE, "0"},
    {"reddit", OPT_WEIGHT_DECAY, "0"},
    {"reddit", OPT_INPUT_DROPOUT, "0"},
    {"ogbn-arxiv", OPT_MODEL, "gcn"},
    {"ogbn-arxiv", OPT_LAYERS, "3"},
    {"ogbn-arxiv", OPT_HIDDEN, "256"},
    {"ogbn-arxiv", OPT_NORM, "batch"},
    {"ogbn-arxiv", OPT_DROPOUT, "0.5"},
    {"ogbn-arxiv", OPT_NORMALIZE, "none"},
    {"ogbn-arxiv", OPT_LR, "0.01"},
    {"ogbn-arxiv", OPT_EPOCHS, "500"},
    {"ogbn-arxiv", OPT_PATIENCE, "0"},
    {"ogbn-arxiv", OPT_WEIGHT_DECAY, "0"},
    {"ogbn-arxiv", OPT_INPUT_DROPOUT, "0"},
    {"ogbn-products", OPT_MODEL, "sage"},
    {"ogbn-products", OPT_LAYERS, "3"},
    {"ogbn-products", OPT_HIDDEN, "256"},
    {"ogbn-products", OPT_NORM, "none"},
    {"ogbn-products", OPT_DROPOUT, "0.5"},
    {"ogbn-products", OPT_NORMALIZE, "none"},
    {"ogbn-products", OPT_LR, "0.01"},
    {"ogbn-products", OPT_EPOCHS, "300"},
    {"ogbn-products", OPT_PATIENCE, "0"},
    {"ogbn-products", OPT_WEIGHT_DECAY, "0"},
    {"ogbn-products", OPT_INPUT_DROPOUT, "0"},
    {"ogbn-proteins", OPT_MODEL, "sage"},
    {"ogbn-proteins", OPT_LAYERS, "3"},
    {"ogbn-proteins", OPT_HIDDEN, "256"},
    {"ogbn-proteins", OPT_NORM, "none"},
    {"ogbn-proteins", OPT_DROPOUT, "0"},
    {"ogbn-proteins", OPT_NORMALIZE, "none"},
    {"ogbn-proteins", OPT_LR, "0.01"},
    {"ogbn-proteins", OPT_EPOCHS, "1000"},
    {"ogbn-proteins", OPT_PATIENCE, "0"},
    {"ogbn-proteins", OPT_WEIGHT_DECAY, "0"},
    {"ogbn-proteins", OPT_INPUT_DROPOUT, "0"},
    {"ogbn-papers100m", OPT_MODEL, "sage"},
    {"ogbn-papers100m", OPT_LAYERS, "3"},
    {"ogbn-papers100m", OPT_HIDDEN, "256"},
    {"ogbn-papers100m", OPT_NORM, "batch"},
    {"ogbn-papers100m", OPT_DROPOUT, "0.5"},
    {"ogbn-papers100m", OPT_NORMALIZE, "none"},
    {"ogbn-papers100m", OPT_LR, "0.01"},
    {"ogbn-papers100m", OPT_EPOCHS, "100"},
    {"ogbn-papers100m", OPT_PATIENCE, "0"},
    {"ogbn-papers100m", OPT_WEIGHT_DECAY, "0"},
    {"ogbn-papers100m", OPT_INPUT_DROPOUT, "0"},
    {NULL, OPTION_NONE, NULL},
};
