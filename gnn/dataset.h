/*
 * gnn/dataset.h: the rows of a graph store that a rank owns, on the backend: features, labels, splits.
 *
 * Features are copied straight into the model's input matrix in pieces, so that no second copy of them exists; the
 * pages of the mapped store are given back as it goes.
 */
#pragma once

#include "base/option_words.h"
#include "comm/comm.h"
#include "partition/part.h"
#include "tensor/tensor_features.h"
#include "train/input_moments.h"
#include "train/labels.h"

#define GNN_FEATURE_SCALINGS(X)                                                                                        \
    X(GNN_SCALE_NONE, "none")                                                                                          \
    X(GNN_SCALE_ROW, "row")                                                                                            \
    X(GNN_SCALE_STANDARD, "standard")                                                                                  \
    X(GNN_SCALE_LENGTH, "length")                                                                                      \
    X(GNN_SCALE_AUTO, "auto") /* not decided yet (gnn/facts.h) */
typedef enum gnn_feature_scaling { GNN_FEATURE_SCALINGS(CHOICE_VALUE) } gnn_feature_scaling;

/*
 * Copy the owned rows into x [n_owned, f] and scale them: by row sum or length, or by the mean and deviation of each
 * column (constant columns become 0); then they are rounded to the type of x. Collective.
 *
 *   moments  [in, out]  of GNN_SCALE_STANDARD: those of the model, [f]; where there are none they are measured over all
 *                       vertices of all ranks, and are the caller's. The same on every rank; NULL with other scalings
 */
weft_status gnn_load_features(weft_comm *comm, const weft_graph *graph, const weft_part *part,
                              gnn_feature_scaling scaling, input_moments *moments, weft_tensor *x);

/* Like gnn_load_features, but loads only the features that are not 0, into a sparse matrix. Scaling must leave zeros as
 * they are (not GNN_SCALE_STANDARD). Collective. */
weft_status gnn_load_sparse_features(weft_comm *comm, weft_hal *hal, const weft_graph *graph, const weft_part *part,
                                     gnn_feature_scaling scaling, tensor_features *features);

/* Returns true if the labels are numbers: one column of tasks in which other values than 0 and 1 stand. */
bool gnn_labels_are_numbers(const weft_graph *graph);
/* Labels and splits of the owned rows; counts over all ranks. Integer labels with two classes become one binary task
 * under TRAIN_LOSS_BCE. class_of: class of each integer label in the store, or -1 for a label that counts as none;
 * NULL: the label itself. WEFT_ERR_DATA when the store has no labels or splits; WEFT_ERR_USAGE when the loss does not
 * fit them. Free with labels_destroy, also after a failure. Collective. */
weft_status gnn_load_labels(weft_comm *comm, weft_hal *hal, const weft_graph *graph, const weft_part *part,
                            train_loss loss, const int32_t *class_of, train_labels *labels);
/* [out] read: [rows] 1 where a training loss reads the row, the caller's; NULL without rows. WEFT_ERR_INTERNAL: of
 * targets without splits. Local. */
weft_status gnn_read_rows(const train_targets *targets, uint8_t **read);
