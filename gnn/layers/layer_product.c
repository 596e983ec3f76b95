/*
 * gnn/layers/layer_product.c: x W and its weight gradient (layer_internal.h). Where dropout masks the features they are masked
 * panel by panel, or number by number of sparse ones; where they stay on the host they come block by block and are masked there.
 * Sums over pieces are added in their order, so bits are the same in every run.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

/* Most rows of x that a product takes at once. */
static int64_t piece_rows(const gnn_layer *layer, const weft_tensor *x, const hal_dropout *dropout)
{
    if (layer->stream != NULL) {
        return layer->stream->block[0].rows;
    }
    return layer_masked(layer, dropout) ? layer->panel->rows : x->rows;
}

/* Rows [row, row + rows) of x as they are multiplied: on the backend, under the mask. */
static weft_status take_piece(gnn_layer *layer, const weft_tensor *x, const hal_dropout *dropout, int64_t row,
                              int64_t rows, weft_tensor *piece)
{
    weft_tensor from = tensor_view(x, row, rows, 0, x->cols);
    *piece = from;
    if (layer->stream != NULL) {
        WEFT_TRY(tensor_stream_bring(layer->stream, &from, piece));
        from = *piece;
    }
    if (!layer_masked(layer, dropout)) {
        return WEFT_OK;
    }
    hal_dropout here = *dropout;
    here.row_id = hal_mat_rows(&dropout->row_id, row, rows);
    *piece = layer->stream != NULL ? from : tensor_view(layer->panel, 0, rows, 0, x->cols);
    activity_begin(ACTIVITY_ELEMENTWISE);
    weft_status status = tensor_act_forward(&from, false, &here, piece);
    activity_end(ACTIVITY_ELEMENTWISE);
    return status;
}

/* A product over no columns writes it. */
weft_status layer_set_rows(const weft_tensor *like, const weft_tensor *row, weft_tensor *y)
{
    assert(row->rows == 1 && row->cols == y->cols);
    weft_tensor none = tensor_view(y, 0, y->rows, 0, 0);
    weft_tensor empty = tensor_view(like, 0, 0, 0, y->cols);
    return tensor_gemm(&(tensor_product){.a = &none, .b = &empty, .bias = row}, y);
}

weft_status layer_set_bias(gnn_layer *layer)
{
    weft_tensor bias = param_value(layer->params, layer->bias);
    weft_tensor w = param_value(layer->params, layer->weight);
    weft_tensor out = gnn_layer_out(layer);
    return layer_set_rows(&w, &bias, &out);
}

weft_status layer_multiply(gnn_layer *layer, const hal_dropout *dropout, const weft_tensor *x, const weft_tensor *bias,
                           weft_tensor *y)
{
    weft_tensor w = param_value(layer->params, layer->weight);
    if (layer->features != NULL) {
        assert(y->rows == layer->n_owned); /* they cannot be taken apart by rows */
        if (bias != NULL) {
            WEFT_TRY(layer_set_rows(&w, bias, y));
        }
        return tensor_features_product(layer->features, &w, bias != NULL ? 1.0 : 0.0, dropout, y);
    }
    const int64_t most = piece_rows(layer, x, dropout);
    for (int64_t row = 0; row < x->rows; row += most) {
        const int64_t rows = x->rows - row < most ? x->rows - row : most;
        weft_tensor piece;
        WEFT_TRY(take_piece(layer, x, dropout, row, rows, &piece));
        weft_tensor out = tensor_view(y, row, rows, 0, y->cols);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &piece, .b = &w, .bias = bias}, &out));
    }
    return WEFT_OK;
}

weft_status layer_weight_gradient(gnn_layer *layer, const hal_dropout *dropout, const weft_tensor *x,
                                  const weft_tensor *dy, bool add)
{
    weft_tensor dw = param_grad(layer->params, layer->weight);
    if (layer->features != NULL) {
        assert(!add);
        return tensor_features_gradient(layer->features, dy, dropout, &dw);
    }
    const int64_t most = piece_rows(layer, x, dropout);
    int64_t row = 0;
    do { /* also of no rows: a gradient is written */
        const int64_t rows = x->rows - row < most ? x->rows - row : most;
        weft_tensor piece;
        WEFT_TRY(take_piece(layer, x, dropout, row, rows, &piece));
        weft_tensor part = tensor_view(dy, row, rows, 0, dy->cols);
        const tensor_product product = {.a = &piece, .b = &part, .trans_a = true, .beta = add || row > 0 ? 1.0 : 0.0};
        WEFT_TRY(tensor_gemm(&product, &dw));
        row += rows;
    } while (row < x->rows);
    return WEFT_OK;
}
