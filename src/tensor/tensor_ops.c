/* tensor/tensor_ops.c: operations with their shapes checked; hal_run counts what they cost. */
#include "tensor/tensor_check.h"

weft_status tensor_gemm(const tensor_product *product, weft_tensor *c)
{
    const weft_tensor *a = product->a;
    const weft_tensor *b = product->b;
    const bool trans_a = product->trans_a;
    const bool trans_b = product->trans_b;
    int64_t k = trans_a ? a->rows : a->cols;
    WEFT_TRY(tensor_check_near("gemm", "a", a, c));
    WEFT_TRY(tensor_check_near("gemm", "b", b, c));
    WEFT_TRY(tensor_check_near("gemm", "c", c, c));
    WEFT_TRY(
        tensor_check_shape("gemm", trans_a ? "a (transposed)" : "a", a, trans_a ? k : c->rows, trans_a ? c->rows : k));
    WEFT_TRY(
        tensor_check_shape("gemm", trans_b ? "b (transposed)" : "b", b, trans_b ? c->cols : k, trans_b ? k : c->cols));
    WEFT_TRY(tensor_check_vector("gemm", "bias", product->bias, 1, c->cols, c));
    return hal_gemm(c->hal, &(hal_gemm_args){.a = tensor_mat(a),
                                             .b = tensor_mat(b),
                                             .bias = tensor_mat(product->bias),
                                             .c = tensor_mat(c),
                                             .trans_a = trans_a,
                                             .trans_b = trans_b,
                                             .exact = product->exact,
                                             .alpha = 1.0,
                                             .beta = product->beta});
}

weft_status tensor_col_sum(const weft_tensor *a, double beta, weft_tensor *out)
{
    WEFT_TRY(tensor_check_near("col_sum", "a", a, out));
    WEFT_TRY(tensor_check_vector("col_sum", "out", out, 1, a->cols, a));
    return hal_col_sum(out->hal, &(hal_col_sum_args){.x = tensor_mat(a), .out = tensor_mat(out), .beta = beta});
}

weft_status tensor_axpby(double alpha, const weft_tensor *x, double beta, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("axpby", "x", x, y));
    WEFT_TRY(tensor_check_alike("axpby", "y", y, y));
    return hal_axpby(y->hal, &(hal_axpby_args){.x = tensor_mat(x), .y = tensor_mat(y), .alpha = alpha, .beta = beta});
}

weft_status tensor_scale_rows(const weft_tensor *scale, const weft_tensor *x, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("scale_rows", "x", x, y));
    WEFT_TRY(tensor_check_alike("scale_rows", "y", y, y));
    WEFT_TRY(tensor_check_vector("scale_rows", "scale", scale, y->rows, 1, y));
    return hal_scale_rows(y->hal,
                          &(hal_scale_rows_args){.x = tensor_mat(x), .scale = tensor_mat(scale), .y = tensor_mat(y)});
}

/* NULL: no dropout. */
static weft_status take_dropout(const hal_dropout *dropout, const weft_tensor *y, hal_dropout *mask)
{
    if (dropout != NULL) {
        *mask = *dropout;
        WEFT_CHECK(mask->row_id.data == NULL || mask->row_id.rows >= y->rows, WEFT_ERR_INTERNAL,
                   "dropout: ids of %ld rows for a matrix of %ld", (long)mask->row_id.rows, (long)y->rows);
        mask->row_id = hal_mat_rows(&mask->row_id, 0, y->rows);
    }
    return WEFT_OK;
}

weft_status tensor_act_forward(const weft_tensor *x, bool relu, const hal_dropout *dropout, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("act_forward", "x", x, y));
    WEFT_TRY(tensor_check_alike("act_forward", "y", y, y));
    hal_act_forward_args args = {.x = tensor_mat(x), .y = tensor_mat(y), .relu = relu};
    WEFT_TRY(take_dropout(dropout, y, &args.dropout));
    return hal_act_forward(y->hal, &args);
}

weft_status tensor_act_backward(const weft_tensor *dy, const weft_tensor *y, bool relu, const hal_dropout *dropout,
                                weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("act_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("act_backward", "y", y, dx));
    WEFT_TRY(tensor_check_alike("act_backward", "dx", dx, dx));
    hal_act_backward_args args = {.dy = tensor_mat(dy), .y = tensor_mat(y), .dx = tensor_mat(dx), .relu = relu};
    WEFT_TRY(take_dropout(dropout, dx, &args.dropout));
    return hal_act_backward(dx->hal, &args);
}

weft_status tensor_curve_forward(const weft_tensor *x, hal_curve curve, weft_tensor *y)
{
    WEFT_TRY(tensor_check_same("curve_forward", "x", x, y));
    return hal_curve_forward(y->hal, &(hal_curve_forward_args){.x = tensor_mat(x), .y = tensor_mat(y), .curve = curve});
}

weft_status tensor_curve_backward(const weft_tensor *dy, const weft_tensor *known, hal_curve curve, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_same("curve_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("curve_backward", "known", known, dx));
    return hal_curve_backward(
        dx->hal, &(hal_curve_backward_args){
                     .dy = tensor_mat(dy), .known = tensor_mat(known), .dx = tensor_mat(dx), .curve = curve});
}

/* [out] pixels: rows of x for each row of the gate; 1 if there are none. */
static weft_status check_gate(const char *op, const weft_tensor *gate, const weft_tensor *x, int64_t *pixels)
{
    *pixels = gate->rows > 0 ? x->rows / gate->rows : 1;
    WEFT_CHECK(gate->rows * *pixels == x->rows && gate->dtype == x->dtype, WEFT_ERR_INTERNAL,
               "%s: %lld rows of the gate do not divide %lld", op, (long long)gate->rows, (long long)x->rows);
    return tensor_check_shape(op, "gate", gate, gate->rows, x->cols);
}

weft_status tensor_gate_forward(const weft_tensor *x, const weft_tensor *gate, weft_tensor *y)
{
    int64_t pixels = 1;
    WEFT_TRY(tensor_check_same("gate_forward", "x", x, y));
    WEFT_TRY(check_gate("gate_forward", gate, x, &pixels));
    return hal_gate_forward(
        y->hal,
        &(hal_gate_forward_args){.x = tensor_mat(x), .gate = tensor_mat(gate), .y = tensor_mat(y), .pixels = pixels});
}

weft_status tensor_gate_backward(const weft_tensor *dy, const weft_tensor *x, const weft_tensor *gate,
                                 weft_tensor *dgate, weft_tensor *dx)
{
    int64_t pixels = 1;
    WEFT_TRY(tensor_check_same("gate_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("gate_backward", "x", x, dx));
    WEFT_TRY(dgate == NULL ? WEFT_OK : tensor_check_same("gate_backward", "dgate", dgate, gate));
    WEFT_TRY(check_gate("gate_backward", gate, dx, &pixels));
    return hal_gate_backward(dx->hal, &(hal_gate_backward_args){.dy = tensor_mat(dy),
                                                                .x = tensor_mat(x),
                                                                .gate = tensor_mat(gate),
                                                                .dgate = tensor_mat(dgate),
                                                                .dx = tensor_mat(dx),
                                                                .pixels = pixels});
}

weft_status tensor_elu_forward(const weft_tensor *x, weft_tensor *y)
{
    WEFT_TRY(tensor_check_alike("elu_forward", "x", x, y));
    WEFT_TRY(tensor_check_same("elu_forward", "x", x, y));
    return hal_elu_forward(y->hal, &(hal_elu_forward_args){.x = tensor_mat(x), .y = tensor_mat(y)});
}

weft_status tensor_elu_backward(const weft_tensor *dy, const weft_tensor *y, double keep, weft_tensor *dx)
{
    WEFT_TRY(tensor_check_alike("elu_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_alike("elu_backward", "y", y, dx));
    WEFT_TRY(tensor_check_same("elu_backward", "dy", dy, dx));
    WEFT_TRY(tensor_check_same("elu_backward", "y", y, dx));
    return hal_elu_backward(dx->hal, &(hal_elu_backward_args){
                                         .dy = tensor_mat(dy), .y = tensor_mat(y), .dx = tensor_mat(dx), .keep = keep});
}

weft_status tensor_spmm(const tensor_sparse *a, const weft_tensor *x, const tensor_spmm_terms *terms, weft_tensor *out)
{
    WEFT_TRY(tensor_check_near("spmm", "x", x, out));
    WEFT_TRY(tensor_check_near("spmm", "out", out, out));
    WEFT_TRY(tensor_check_shape("spmm", "x", x, a->cols, out->cols));
    WEFT_TRY(tensor_check_shape("spmm", "out", out, a->rows, x->cols));
    WEFT_TRY(tensor_check_vector("spmm", "pre", terms->pre, a->cols, 1, out));
    WEFT_TRY(tensor_check_vector("spmm", "post", terms->post, a->rows, 1, out));
    WEFT_TRY(tensor_check_vector("spmm", "diag", terms->diag, a->rows, 1, out));
    WEFT_CHECK(terms->diag == NULL || a->rows <= a->cols, WEFT_ERR_INTERNAL,
               "spmm: a diagonal term needs rows <= columns, not %ld > %ld", (long)a->rows, (long)a->cols);
    WEFT_CHECK(x->data != out->data || out->data == NULL, WEFT_ERR_INTERNAL, "spmm: out must not be x");
    return hal_spmm_run(out->hal, &(hal_spmm_run_args){.x = tensor_mat(x),
                                                       .pre = tensor_mat(terms->pre),
                                                       .post = tensor_mat(terms->post),
                                                       .diag = tensor_mat(terms->diag),
                                                       .out = tensor_mat(out),
                                                       .matrix = a->spmm,
                                                       .entries = a->entries,
                                                       .beta = terms->beta,
                                                       .slice = terms->slice,
                                                       .slices = terms->slices,
                                                       .part = terms->part});
}
