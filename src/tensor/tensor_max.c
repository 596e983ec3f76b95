/* tensor/tensor_max.c: the largest row over edges, and its gradient; see tensor/tensor.h. */
#include "tensor/tensor_check.h"

static hal_mat offsets_of(const tensor_edges *edges)
{
    return hal_column_from(edges->offset, WEFT_DTYPE_I64, edges->rows + 1);
}

static hal_mat columns_of(const tensor_edges *edges)
{
    return hal_column_from(edges->column, WEFT_DTYPE_I32, edges->entries);
}

/* Counts stand beside rows of `like`. */
static weft_status check_ties(const char *op, const weft_tensor *ties, const weft_tensor *like)
{
    weft_tensor wide = *like;
    wide.dtype = tensor_param_type(like->dtype);
    return tensor_check_same(op, "ties", ties, &wide);
}

weft_status tensor_max_forward(const tensor_edges *edges, const weft_tensor *x, weft_tensor *out)
{
    hal_max_forward_args args = {
        .x = tensor_mat(x), .offset = offsets_of(edges), .column = columns_of(edges), .out = tensor_mat(out)};
    WEFT_TRY(tensor_check_alike("max_forward", "x", x, out));
    WEFT_TRY(tensor_check_shape("max_forward", "out", out, edges->rows, x->cols));
    if (edges->elsewhere != NULL) {
        args.elsewhere = hal_column_from(edges->elsewhere, WEFT_DTYPE_U8, edges->rows);
    }
    return hal_max_forward(out->hal, &args);
}

weft_status tensor_max_ties(const tensor_edges *edges, const weft_tensor *x, const weft_tensor *y,
                            const weft_tensor *count, weft_tensor *ties)
{
    WEFT_TRY(tensor_check_alike("max_ties", "x", x, y));
    WEFT_TRY(tensor_check_shape("max_ties", "y", y, edges->rows, x->cols));
    WEFT_TRY(check_ties("max_ties", ties, y));
    WEFT_TRY(count != NULL ? tensor_check_shape("max_ties", "count", count, count->rows, x->cols) : WEFT_OK);
    return hal_max_ties(ties->hal, &(hal_max_ties_args){.x = tensor_mat(x),
                                                        .y = tensor_mat(y),
                                                        .count = tensor_mat(count),
                                                        .offset = offsets_of(edges),
                                                        .column = columns_of(edges),
                                                        .ties = tensor_mat(ties)});
}

weft_status tensor_max_share(const weft_tensor *ties, weft_tensor *dy)
{
    WEFT_TRY(check_ties("max_share", ties, dy));
    return hal_max_share(dy->hal, &(hal_max_share_args){.ties = tensor_mat(ties), .dy = tensor_mat(dy)});
}

weft_status tensor_max_backward(const tensor_edges *edges, const weft_tensor *x, const weft_tensor *y,
                                const weft_tensor *dy, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("max_backward", "x", x, dx));
    WEFT_TRY(tensor_check_same("max_backward", "dy", dy, y));
    WEFT_TRY(tensor_check_alike("max_backward", "y", y, dx));
    WEFT_TRY(tensor_check_shape("max_backward", "dx", dx, edges->rows, y->cols));
    return hal_max_backward(dx->hal, &(hal_max_backward_args){.x = tensor_mat(x),
                                                              .y = tensor_mat(y),
                                                              .dy = tensor_mat(dy),
                                                              .offset = offsets_of(edges),
                                                              .column = columns_of(edges),
                                                              .dx = tensor_mat(dx)});
}
