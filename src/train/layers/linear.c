/* train/layers/linear.c: see train/layers/linear.h. */
#include "train/layers/linear.h"

#include <assert.h>

#include "train/activities.h"
#include "train/tap.h"

train_linear linear_part(const train_linear *map, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    train_linear part = *map;
    assert(map->rows == 0 && map->features == NULL && map->stream == NULL);
    assert(row >= 0 && rows >= 1 && col >= 0 && cols >= 1);
    part.row = row;
    part.rows = rows;
    part.col = col;
    part.cols = cols;
    part.panel = NULL;
    return part;
}

/* The map's sub-matrix of values or gradients of its block. */
static weft_tensor sub_matrix(const train_linear *map, const weft_tensor *block)
{
    return map->rows > 0 ? tensor_view(block, map->row, map->rows, map->col, map->cols) : *block;
}

weft_tensor linear_weight(const train_linear *map)
{
    const weft_tensor block = param_value(map->params, map->weight);
    return sub_matrix(map, &block);
}

weft_tensor linear_gradient(const train_linear *map)
{
    const weft_tensor block = param_grad(map->params, map->weight);
    return sub_matrix(map, &block);
}

bool linear_masks(const train_linear *map, const hal_dropout *dropout)
{
    return (map->panel != NULL || map->stream != NULL) && dropout != NULL && dropout->probability > 0.0f;
}

weft_status linear_need(const train_linear *map, const train_pass *pass)
{
    WEFT_TRY(train_need(pass, map->weight));
    return map->bias == LINEAR_NO_BLOCK ? WEFT_OK : train_need(pass, map->bias);
}

weft_status linear_ready(const train_linear *map, const train_pass *pass)
{
    WEFT_TRY(map->bias == LINEAR_NO_BLOCK ? WEFT_OK : train_ready(pass, map->bias));
    return train_ready(pass, map->weight);
}

/* ---- pieces of rows ---------------------------------------------------------------------------------------------- */

/* The number of rows that a product takes at once. */
static int64_t piece_rows(const train_linear *map, const linear_rows *rows)
{
    if (map->stream != NULL) {
        return map->stream->block[0].rows;
    }
    return linear_masks(map, rows->dropout) ? map->panel->rows : rows->x->rows;
}

/* [out] piece: rows [row, row + count) on the backend, under the mask. */
static weft_status take_piece(const train_linear *map, const linear_rows *rows, int64_t row, int64_t count,
                              weft_tensor *piece)
{
    weft_tensor from = tensor_view(rows->x, row, count, 0, rows->x->cols);
    *piece = from;
    if (map->stream != NULL) {
        WEFT_TRY(tensor_stream_bring(map->stream, &from, piece));
        from = *piece;
    }
    if (!linear_masks(map, rows->dropout)) {
        return WEFT_OK;
    }
    hal_dropout here = *rows->dropout;
    here.row_id = hal_mat_rows(&rows->dropout->row_id, row, count);
    *piece = map->stream != NULL ? from : tensor_view(map->panel, 0, count, 0, rows->x->cols);
    if (from.dtype != piece->dtype) {
        const hal_cast_args widens = {.x = tensor_mat(&from), .y = tensor_mat(piece)};
        ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, hal_cast(piece->hal, &widens));
        from = *piece;
    }
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, tensor_act_forward(&from, false, &here, piece));
    return WEFT_OK;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* A product over no columns writes it. */
weft_status linear_set_rows(const weft_tensor *like, const weft_tensor *row, weft_tensor *y)
{
    assert(row->rows == 1 && row->cols == y->cols);
    weft_tensor none = tensor_view(y, 0, y->rows, 0, 0);
    weft_tensor empty = tensor_view(like, 0, 0, 0, y->cols);
    return tensor_gemm(&(tensor_product){.a = &none, .b = &empty, .bias = row}, y);
}

static weft_status sparse_forward(const train_linear *map, const linear_rows *rows, const weft_tensor *bias,
                                  weft_tensor *y)
{
    weft_tensor w = linear_weight(map);
    assert(y->rows == map->features->rows); /* sparse features are not taken apart by rows */
    if (bias != NULL) {
        WEFT_TRY(linear_set_rows(&w, bias, y));
    }
    return tensor_features_product(map->features, &w, bias != NULL ? 1.0 : 0.0, rows->dropout, y);
}

weft_status linear_forward(const train_linear *map, const linear_rows *rows, const weft_tensor *bias, double beta,
                           weft_tensor *y)
{
    weft_tensor w = linear_weight(map);
    if (map->features != NULL) {
        assert(beta == 0.0 && !map->transposed);
        return sparse_forward(map, rows, bias, y);
    }
    const int64_t all = rows->x->rows, most = piece_rows(map, rows);
    assert(y->rows == all && (most >= all || beta == 0.0));
    for (int64_t row = 0; row < all; row += most) {
        const int64_t count = all - row < most ? all - row : most;
        weft_tensor piece;
        WEFT_TRY(take_piece(map, rows, row, count, &piece));
        weft_tensor out = tensor_view(y, row, count, 0, y->cols);
        const tensor_product product = {
            .a = &piece, .b = &w, .bias = bias, .trans_b = map->transposed, .exact = map->exact, .beta = beta};
        WEFT_TRY(tensor_gemm(&product, &out));
    }
    return WEFT_OK;
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Tells the pass's listener of rows and their output gradient. x: NULL with sparse features. */
static weft_status tell(const train_linear *map, const train_pass *pass, const linear_rows *rows, int64_t row,
                        const weft_tensor *x, const weft_tensor *dy)
{
    if (pass->tap == NULL || dy->rows == 0) {
        return WEFT_OK;
    }
    const param_block *block = &map->params->block[map->weight];
    const bool part = map->rows > 0;
    const tap_rows told = {.block = map->weight,
                           .transposed = map->transposed,
                           .first = rows->first + row,
                           .row = map->row,
                           .rows = part ? map->rows : block->rows,
                           .col = map->col,
                           .cols = part ? map->cols : block->cols,
                           .x = x,
                           .sparse = x == NULL ? map->features : NULL,
                           .dropout = x == NULL ? rows->dropout : NULL,
                           .dy = dy,
                           .dsum = rows->dsum,
                           .images = rows->images};
    return pass->tap->take(pass->tap->self, pass, &told);
}

/* dW = x^T dy + beta dW of rows that stand on the backend. */
static weft_status add_rows(const train_linear *map, const weft_tensor *x, const weft_tensor *dy, double beta)
{
    weft_tensor dw = linear_gradient(map);
    const bool turned = map->transposed;
    return tensor_gemm(
        &(tensor_product){
            .a = turned ? dy : x, .b = turned ? x : dy, .trans_a = true, .exact = map->exact && !turned, .beta = beta},
        &dw);
}

weft_status linear_weight_gradient(const train_linear *map, const train_pass *pass, const linear_rows *rows,
                                   const weft_tensor *dy, bool add)
{
    if (map->features != NULL) {
        weft_tensor dw = linear_gradient(map);
        assert(!add && !map->transposed);
        WEFT_TRY(tell(map, pass, rows, 0, NULL, dy));
        return tensor_features_gradient(map->features, dy, rows->dropout, &dw);
    }
    const int64_t all = rows->x->rows, most = piece_rows(map, rows);
    int64_t row = 0;
    assert(dy->rows == all);
    do { /* also of no rows: a gradient is written */
        const int64_t count = all - row < most ? all - row : most;
        weft_tensor piece;
        WEFT_TRY(take_piece(map, rows, row, count, &piece));
        weft_tensor part = tensor_view(dy, row, count, 0, dy->cols);
        WEFT_TRY(tell(map, pass, rows, row, &piece, &part));
        WEFT_TRY(add_rows(map, &piece, &part, add || row > 0 ? 1.0 : 0.0));
        row += count;
    } while (row < all);
    return WEFT_OK;
}

weft_status linear_input_gradient(const train_linear *map, const weft_tensor *dy, double beta, weft_tensor *dx)
{
    weft_tensor w = linear_weight(map);
    return tensor_gemm(&(tensor_product){.a = dy, .b = &w, .trans_b = !map->transposed, .beta = beta}, dx);
}

weft_status linear_bias_gradient(const train_linear *map, const weft_tensor *dy, bool add)
{
    if (map->bias == LINEAR_NO_BLOCK) {
        return WEFT_OK;
    }
    weft_tensor db = param_grad(map->params, map->bias);
    return tensor_col_sum(dy, add ? 1.0 : 0.0, &db);
}
