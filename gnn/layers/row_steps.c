/* gnn/layers/row_steps.c: see gnn/layers/row_steps.h. */
#include "gnn/layers/row_steps.h"

#include <assert.h>

/* Without rows a step still begins its sums, once. */
static gnn_row_span span_of(const gnn_row_steps *steps, gnn_row_half half, bool begins)
{
    const int64_t others = steps->n_owned - steps->n_shared;
    assert(steps->n_shared >= 0 && others >= 0);
    switch (half) {
    case GNN_ROWS_SHARED:
        return (gnn_row_span){.rows = steps->n_shared, .first = begins || others == 0};
    case GNN_ROWS_OTHER:
        return (gnn_row_span){.row = steps->n_shared, .rows = others, .first = begins || steps->n_shared == 0};
    case GNN_ROWS_ALL:
        break;
    }
    return (gnn_row_span){.rows = steps->n_owned, .first = true};
}

weft_status gnn_row_step_run(const gnn_row_steps *steps, const gnn_row_step *step, gnn_row_half half, bool begins)
{
    const gnn_row_span span = span_of(steps, half, begins);
    assert(step->run != NULL);
    const bool empty = span.rows == 0 && (steps->n_owned > 0 || half == GNN_ROWS_SHARED);
    return empty ? WEFT_OK : step->run(step, &span);
}

weft_status gnn_row_steps_run(const gnn_row_steps *steps, gnn_row_half half, bool begins)
{
    for (int i = 0; i < steps->count; ++i) {
        WEFT_TRY(gnn_row_step_run(steps, &steps->step[i], half, begins));
    }
    return WEFT_OK;
}

weft_status gnn_row_steps_done(gnn_row_steps *steps)
{
    const int count = steps->count;
    steps->count = 0;
    for (int i = 0; i < count; ++i) {
        WEFT_TRY(steps->step[i].done != NULL ? steps->step[i].done(&steps->step[i]) : WEFT_OK);
    }
    return WEFT_OK;
}
