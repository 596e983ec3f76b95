/*
 * gnn/linear_sums.h: the sums over neighbours of a model's two convolutions with nothing between them, and their
 * transposed sums, at the width of the classes:
 *
 *     first(X W)   gcn, gin, gat: A X W            sage: X W_self + A X W_neigh
 *     second(Y)    gcn, gin, gat: A Y              sage: Y + A Y
 *
 * A is the model's own; of gat, as if its attention were uniform, the mean over in-neighbours and the vertex itself.
 */
#pragma once

#include "gnn/gnn_model.h"

typedef struct gnn_linear_sums {
    gnn_model *model;
    int64_t rows, features, classes;
    int halves;                     /* 2: weights for a vertex and for its neighbours */
    weft_tensor w[2], g[2];         /* [features, classes]: weights and their gradient */
    weft_tensor a, b;               /* [n_local, classes] */
    weft_tensor zero, total, spare; /* [n_local, 1] of gat: scores, and the number of rows in a mean */
} gnn_linear_sums;

/* Returns 2 if a vertex has weights of its own, else 1. */
int gnn_linear_halves(const gnn_plan *plan);
/* Numbers of float32 that sums of this plan take, on the backend. */
int64_t gnn_linear_sums_numbers(const gnn_plan *plan);
/* Free with gnn_linear_sums_destroy, also after a failure. Local. */
weft_status gnn_linear_sums_create(gnn_model *model, gnn_linear_sums *s);
void gnn_linear_sums_destroy(gnn_linear_sums *s);
/* Begins a pass, once, before the others. Collective, as those below are. */
weft_status gnn_linear_sums_start(gnn_linear_sums *s);
/* a = first(X w) */
weft_status gnn_linear_first(gnn_linear_sums *s);
/* b = second(a). all: else rows that the training loss does not read may be wrong. */
weft_status gnn_linear_second(gnn_linear_sums *s, bool all);
/* g = this rank's share of the gradient of w, from that of b, which is 0 in rows that the training loss does not read.
 */
weft_status gnn_linear_backward(gnn_linear_sums *s);

/* Owned rows of a or b. */
static inline weft_tensor gnn_linear_owned(const gnn_linear_sums *s, const weft_tensor *t)
{
    return tensor_view(t, 0, s->rows, 0, s->classes);
}
