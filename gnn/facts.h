/*
 * gnn/facts.h: facts of a graph store that decide how it is trained on, and the rules that use them.
 *
 * The facts are counts over the store as it lies on disk, so they do not depend on the number of ranks or on the
 * partition. The rules are functions of the facts alone; docs/recipes.md holds the measurements behind them.
 */
#pragma once

#include "gnn/dataset.h"

/* Fewer labelled training vertices a class than this are few: a model learns them by heart. */
enum { GNN_FEW_LABELS = 100 };
/* A last sum along more than this share of the edges is not worth matrices of its own: they take time and memory to
 * make. */
#define GNN_READ_SHARE 0.8
/* Features are looked at in this many rows, evenly spaced from the first to the last. */
enum { GNN_FACT_ROWS = 1024 };
/* A row whose features of both signs sum to less than this share of their magnitudes is blown up by a division by the
 * sum. */
#define GNN_CANCELLED_SUM 0.05

typedef struct gnn_facts {
    int64_t training; /* labelled vertices of the training split */
    int64_t edges;
    int64_t training_edges; /* edges into labelled vertices of the training split */
    int64_t answers;        /* classes; 2 for each binary task */
    int64_t features;       /* of a vertex */
    int64_t values;         /* features looked at */
    int64_t zeros;          /* features looked at that are 0 */
    int64_t negative;       /* features looked at that are below 0 */
    int64_t rows;           /* rows looked at */
    int64_t cancelled;      /* rows looked at whose sum is almost 0, and whose features are not */
    double degree;          /* mean number of edges of a vertex */
} gnn_facts;

gnn_facts gnn_facts_of(const weft_graph *graph);
double gnn_labels_per_answer(const gnn_facts *facts);
/* Returns true if the training split is so small that regularising serves better than normalising. */
bool gnn_has_few_labels(const gnn_facts *facts);
/* Returns true if dropout of features should be used: there are more features than training vertices, so that a linear
 * model fits these vertices by heart. */
bool gnn_has_wide_features(const gnn_facts *facts);
/*
 * Counts and words (mostly 0, never negative): rows of length 1, or as they are where a norm follows, to which their
 * scale is nothing. Anything else: columns of mean 0 and variance 1.
 */
gnn_feature_scaling gnn_scaling_for(const gnn_facts *facts, bool norm);
/* Returns true if a division of rows by their sums would blow up more than one row in a hundred. */
bool gnn_sums_cancel(const gnn_facts *facts);
/* Share of the edges that lead into rows that a training loss reads. */
double gnn_read_share(const gnn_facts *facts);
/* Returns true if the last layer of a training epoch should compute only the rows that the loss reads. */
bool gnn_reads_few(const gnn_facts *facts);
/* [out] narrow: every feature of the graph, as it is stored, is a normal number of bfloat16, 0, or no number: 0 and 1,
 * counts up to 256. Each rank reads its part of the rows, up to the first feature that is none. Collective; the same on
 * every rank. WEFT_ERR_RESOURCE: no memory for a row. */
weft_status gnn_features_are_narrow(weft_comm *comm, const weft_graph *graph, bool *narrow);
/* Share of the features looked at that are not 0. */
double gnn_density(const gnn_facts *facts);
/* Returns true if only the features that are not 0 should be held: products with them, and sums over edges behind these
 * products, cost less than products with all features. */
bool gnn_has_sparse_features(const gnn_facts *facts);
