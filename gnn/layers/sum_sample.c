/*
 * gnn/layers/sum_sample.c: aggregated rows of sparse features, for methods that look at the curvature of a layer that
 * multiplies first (train_map.sums).
 *
 * The result of such a layer is S (X W), whose curvature is that of the rows of S X. These are never made as a whole,
 * because they are not sparse. A few of them come from the layer's own backward pass: with a gradient E that is 1 in
 * one row for each column and 0 elsewhere, X^T (S^T E) holds these rows of S X as columns. One transposed sum brings as
 * many rows as the layer has outputs. The layer's output matrix is scratch between two passes.
 *
 * With weights of its own for the vertex itself the result is X W + S (X V), and the rows are those of [X | S X]: X^T E
 * stands above.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

bool sum_layer_samples(const gnn_layer *layer)
{
    const gnn_layer_plan *plan = layer->plan;
    const bool sums_once = !plan->ops->hops && layer->own == NULL; /* else of sgc, or of gin with a learned eps */
    return plan->flow == GNN_FLOW_LINEAR_FIRST && plan->sparse && sums_once;
}

/* A 1 in the type of the parameters. */
static weft_status create_one(const gnn_layer *layer, weft_tensor *one)
{
    const weft_dtype dtype = layer->params->dtype;
    const double wide = 1.0;
    const float narrow = 1.0f;
    WEFT_TRY(tensor_create(layer->params->hal, dtype, 1, 1, WEFT_MEM_WORKSPACE, one));
    return tensor_upload(one, dtype == WEFT_DTYPE_F64 ? (const void *)&wide : (const void *)&narrow);
}

/* matrix [n_local, d_out] = 1 in row row[j] of column j, and 0 elsewhere. */
static weft_status select_rows(const gnn_layer *layer, const int64_t *row, int64_t count, weft_tensor *matrix)
{
    weft_tensor one = {.data = NULL};
    weft_status status = create_one(layer, &one);
    status = status == WEFT_OK ? tensor_zero(matrix) : status;
    for (int64_t j = 0; status == WEFT_OK && j < count; ++j) {
        if (row[j] >= 0) { /* by a product, which may change the type */
            weft_tensor element = tensor_view(matrix, row[j], 1, j, 1);
            status = tensor_gemm(&(tensor_product){.a = &one, .b = &one}, &element);
        }
    }
    tensor_destroy(&one);
    return status;
}

/* columns = X^T * (rows that this rank owns of `matrix`) */
static weft_status multiply_features(const gnn_layer *layer, const weft_tensor *matrix, weft_tensor *columns)
{
    const weft_tensor owned = tensor_view(matrix, 0, layer->n_owned, 0, matrix->cols);
    return tensor_features_gradient(layer->linear.features, &owned, NULL, columns);
}

weft_status sum_layer_sample(void *self, const int64_t *row, int64_t count, weft_tensor *columns)
{
    gnn_layer *layer = self;
    weft_tensor out = layer_local_out(layer), z = layer_local_z(layer);
    assert(sum_layer_samples(layer) && count <= layer->plan->d_out);
    const int64_t in = layer->plan->d_in, above = layer->plan->self ? in : 0;
    weft_tensor own = tensor_view(columns, 0, above, 0, columns->cols);
    weft_tensor sums = tensor_view(columns, above, in, 0, columns->cols);
    assert(columns->rows == above + in && columns->cols == layer->plan->d_out);
    WEFT_TRY(gnn_aggregator_start_pass(layer->aggregator, &(gnn_halo_pass){.training = false}));
    gnn_aggregator_set_scope(layer->aggregator, GNN_SCOPE_ALL);
    WEFT_TRY(comm_agree(layer->aggregator->comm, select_rows(layer, row, count, &out)));
    WEFT_TRY(above > 0 ? multiply_features(layer, &out, &own) : WEFT_OK);
    WEFT_TRY(gnn_aggregate(layer->aggregator, true, &out, 0.0, &z));
    return multiply_features(layer, &z, &sums);
}
