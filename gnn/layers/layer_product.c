/*
 * gnn/layers/layer_product.c: x W and its weight gradient (layer_internal.h), where dropout masks the features: panel by panel, or
 * number by number of sparse ones.
 */
#include "gnn/layers/layer_internal.h"

#include <assert.h>

/* Rows [row, row + rows) of x under the dropout mask, in the panel. */
static weft_status mask_panel(gnn_layer *layer, const weft_tensor *x, const hal_dropout *dropout, int64_t row,
                              int64_t rows, weft_tensor *panel)
{
    weft_tensor from = tensor_view(x, row, rows, 0, x->cols);
    hal_dropout here = *dropout;
    here.row_id = hal_mat_rows(&dropout->row_id, row, rows);
    *panel = tensor_view(layer->panel, 0, rows, 0, x->cols);
    activity_begin(ACTIVITY_ELEMENTWISE);
    weft_status status = tensor_act_forward(&from, false, &here, panel);
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
    if (!layer_masked(layer, dropout)) {
        return tensor_gemm(&(tensor_product){.a = x, .b = &w, .bias = bias}, y);
    }
    for (int64_t row = 0; row < x->rows; row += layer->panel->rows) {
        int64_t rows = x->rows - row < layer->panel->rows ? x->rows - row : layer->panel->rows;
        weft_tensor panel;
        WEFT_TRY(mask_panel(layer, x, dropout, row, rows, &panel));
        weft_tensor out = tensor_view(y, row, rows, 0, y->cols);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &panel, .b = &w, .bias = bias}, &out));
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
    if (!layer_masked(layer, dropout)) {
        return tensor_gemm(&(tensor_product){.a = x, .b = dy, .trans_a = true, .beta = add ? 1.0 : 0.0}, &dw);
    }
    WEFT_TRY(add ? WEFT_OK : tensor_zero(&dw));
    for (int64_t row = 0; row < x->rows; row += layer->panel->rows) {
        int64_t rows = x->rows - row < layer->panel->rows ? x->rows - row : layer->panel->rows;
        weft_tensor panel;
        WEFT_TRY(mask_panel(layer, x, dropout, row, rows, &panel));
        weft_tensor part = tensor_view(dy, row, rows, 0, dy->cols);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &panel, .b = &part, .trans_a = true, .beta = 1.0}, &dw));
    }
    return WEFT_OK;
}
