/*
 * gnn/layers/row_steps.h: work of single rows between two exchanges - weights, activations, gradients - in two halves.
 *
 * Other ranks' partial sums concern a rank's shared rows alone, and so does the next message (partition/part.h). Of
 * n_owned rows the first n_shared are done where messages want them, the others while messages are under way:
 *
 *     sums are under way     others, as each step is added | wait | shared rows | post
 *     nothing is             shared rows | post | others, while the rows travel
 *
 * A step reads and writes its own rows; what it sums over rows (a gradient of weights) it adds up over its halves.
 * Which half comes first follows from the model, never from time: the same bits in every run.
 */
#pragma once

#include "tensor/tensor.h"

#include "train/model.h"
#include <assert.h>

/* Rows that a step is run for. first: sums over rows begin anew. */
typedef struct gnn_row_span {
    int64_t row, rows;
    bool first;
} gnn_row_span;

typedef struct gnn_row_step gnn_row_step;

/* A step. Everything that it points to must stay valid until the steps have run, which is before the pass returns. */
struct gnn_row_step {
    weft_status (*run)(const gnn_row_step *step, const gnn_row_span *span);
    weft_status (*done)(const gnn_row_step *step); /* after the last rows; NULL: nothing */
    void *self;
    const train_pass *pass;
    const hal_dropout *dropout;
    weft_tensor matrix; /* for the step's own use */
    int number;         /* for the step's own use */
};

enum { GNN_ROW_STEPS = 16 };

/* Steps that wait. All zero: none, and no rows. */
typedef struct gnn_row_steps {
    int64_t n_shared, n_owned;
    gnn_row_step step[GNN_ROW_STEPS];
    int count;
} gnn_row_steps;

typedef enum gnn_row_half { GNN_ROWS_SHARED, GNN_ROWS_OTHER, GNN_ROWS_ALL } gnn_row_half;

/* Run one step, or all that wait, for these rows; begins: it is the first half of them, or all. */
weft_status gnn_row_step_run(const gnn_row_steps *steps, const gnn_row_step *step, gnn_row_half half, bool begins);
weft_status gnn_row_steps_run(const gnn_row_steps *steps, gnn_row_half half, bool begins);
/* All rows have been done: tell the steps, and forget them. */
weft_status gnn_row_steps_done(gnn_row_steps *steps);

static inline weft_tensor gnn_span_of(const weft_tensor *x, const gnn_row_span *span)
{
    assert(span->row >= 0 && span->row + span->rows <= x->rows);
    return tensor_view(x, span->row, span->rows, 0, x->cols);
}

/* The mask of these rows; NULL stays. */
static inline const hal_dropout *gnn_span_mask(const hal_dropout *dropout, const gnn_row_span *span, hal_dropout *here)
{
    if (dropout == NULL) {
        return NULL;
    }
    *here = *dropout;
    here->row_id = hal_mat_rows(&dropout->row_id, span->row, span->rows);
    return here;
}
