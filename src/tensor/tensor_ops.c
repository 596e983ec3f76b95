/*
 * tensor/tensor_ops.c: operations with their shapes checked and their cost counted. Bytes count every operand read once
 * and every result written once; what caches save or waste beyond that shows in the rate.
 */
#include "tensor/tensor.h"

static _Thread_local tensor_cost cost;

tensor_cost *tensor_cost_of_thread(void)
{
    return &cost;
}

static double bytes_of(const weft_tensor *t)
{
    return t == NULL ? 0.0 : (double)t->rows * (double)t->cols * (double)weft_dtype_bytes(t->dtype);
}

static void add_cost(double flops, double bytes)
{
    cost.flops += flops;
    cost.bytes += bytes;
}

static const void *data_of(const weft_tensor *t)
{
    return t == NULL ? NULL : t->data;
}

/* Both live on the same backend with the same type. */
static weft_status check_alike(const char *op, const char *name, const weft_tensor *t, const weft_tensor *like)
{
    WEFT_CHECK(t->hal == like->hal, WEFT_ERR_INTERNAL, "%s: %s lives on backend %s, the result on %s (another opening)",
               op, name, t->hal == NULL ? "none" : t->hal->name, like->hal == NULL ? "none" : like->hal->name);
    WEFT_CHECK(t->dtype == like->dtype, WEFT_ERR_INTERNAL, "%s: %s is %s, the result is %s", op, name,
               weft_dtype_name(t->dtype), weft_dtype_name(like->dtype));
    WEFT_CHECK(t->ld >= t->cols, WEFT_ERR_INTERNAL, "%s: %s has leading dimension %ld < %ld columns", op, name,
               (long)t->ld, (long)t->cols);
    return WEFT_OK;
}

static weft_status check_shape(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols)
{
    WEFT_CHECK(t->rows == rows && t->cols == cols, WEFT_ERR_INTERNAL, "%s: %s is %ld x %ld, must be %ld x %ld", op,
               name, (long)t->rows, (long)t->cols, (long)rows, (long)cols);
    return WEFT_OK;
}

/* As a vector on the same backend; NULL is fine. */
static weft_status check_vector(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols,
                                const weft_tensor *like)
{
    if (t == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(check_alike(op, name, t, like));
    WEFT_TRY(check_shape(op, name, t, rows, cols));
    WEFT_CHECK(cols > 1 || rows <= 1 || t->ld == 1, WEFT_ERR_INTERNAL, "%s: vector %s has leading dimension %ld, not 1",
               op, name, (long)t->ld);
    return WEFT_OK;
}

/* x has the shape of y. */
static weft_status check_same(const char *op, const char *name, const weft_tensor *x, const weft_tensor *y)
{
    WEFT_TRY(check_alike(op, name, x, y));
    return check_shape(op, name, x, y->rows, y->cols);
}

weft_status tensor_gemm(bool trans_a, bool trans_b, double alpha, const weft_tensor *a, const weft_tensor *b,
                        double beta, const weft_tensor *bias, weft_tensor *c)
{
    int64_t k = trans_a ? a->rows : a->cols;
    WEFT_TRY(check_alike("gemm", "a", a, c));
    WEFT_TRY(check_alike("gemm", "b", b, c));
    WEFT_TRY(check_alike("gemm", "c", c, c));
    WEFT_TRY(check_shape("gemm", trans_a ? "a (transposed)" : "a", a, trans_a ? k : c->rows, trans_a ? c->rows : k));
    WEFT_TRY(check_shape("gemm", trans_b ? "b (transposed)" : "b", b, trans_b ? c->cols : k, trans_b ? k : c->cols));
    WEFT_TRY(check_vector("gemm", "bias", bias, 1, c->cols, c));
    add_cost(2.0 * (double)c->rows * (double)c->cols * (double)k,
             bytes_of(a) + bytes_of(b) + bytes_of(bias) + bytes_of(c) * (beta == 0.0 ? 1.0 : 2.0));
    return c->hal->dense.gemm(c->hal, &(hal_gemm){.dtype = c->dtype,
                                                  .trans_a = trans_a,
                                                  .trans_b = trans_b,
                                                  .m = c->rows,
                                                  .n = c->cols,
                                                  .k = k,
                                                  .alpha = alpha,
                                                  .beta = beta,
                                                  .a = a->data,
                                                  .lda = a->ld,
                                                  .b = b->data,
                                                  .ldb = b->ld,
                                                  .c = c->data,
                                                  .ldc = c->ld,
                                                  .bias = data_of(bias)});
}

weft_status tensor_col_sum(const weft_tensor *a, double beta, weft_tensor *out)
{
    WEFT_TRY(check_alike("col_sum", "a", a, out));
    WEFT_TRY(check_vector("col_sum", "out", out, 1, a->cols, out));
    add_cost((double)a->rows * (double)a->cols, bytes_of(a) + bytes_of(out));
    return out->hal->dense.col_sum(out->hal, out->dtype, a->rows, a->cols, a->data, a->ld, beta, out->data);
}

weft_status tensor_axpby(double alpha, const weft_tensor *x, double beta, weft_tensor *y)
{
    WEFT_TRY(check_same("axpby", "x", x, y));
    WEFT_TRY(check_alike("axpby", "y", y, y));
    double elements = (double)y->rows * (double)y->cols;
    add_cost(beta == 0.0 ? elements : 3.0 * elements, bytes_of(x) + bytes_of(y) * (beta == 0.0 ? 1.0 : 2.0));
    return y->hal->dense.axpby(y->hal, y->dtype, y->rows, y->cols, alpha, x->data, x->ld, beta, y->data, y->ld);
}

weft_status tensor_scale_rows(const weft_tensor *scale, const weft_tensor *x, weft_tensor *y)
{
    WEFT_TRY(check_same("scale_rows", "x", x, y));
    WEFT_TRY(check_alike("scale_rows", "y", y, y));
    WEFT_TRY(check_vector("scale_rows", "scale", scale, y->rows, 1, y));
    add_cost((double)y->rows * (double)y->cols, bytes_of(scale) + bytes_of(x) + bytes_of(y));
    return y->hal->dense.scale_rows(y->hal, y->dtype, y->rows, y->cols, scale->data, x->data, x->ld, y->data, y->ld);
}

weft_status tensor_act_forward(const weft_tensor *x, bool relu, const hal_dropout *dropout, weft_tensor *y)
{
    WEFT_TRY(check_same("act_forward", "x", x, y));
    WEFT_TRY(check_alike("act_forward", "y", y, y));
    add_cost((double)y->rows * (double)y->cols, bytes_of(x) + bytes_of(y));
    return y->hal->nn.act_forward(y->hal, y->dtype, y->rows, y->cols, x->data, x->ld, relu, dropout, y->data, y->ld);
}

weft_status tensor_act_backward(const weft_tensor *dy, const weft_tensor *y, bool relu, const hal_dropout *dropout,
                                weft_tensor *dx)
{
    WEFT_TRY(check_same("act_backward", "dy", dy, dx));
    WEFT_TRY(check_same("act_backward", "y", y, dx));
    WEFT_TRY(check_alike("act_backward", "dx", dx, dx));
    add_cost((double)dx->rows * (double)dx->cols, bytes_of(dy) + (relu ? bytes_of(y) : 0.0) + bytes_of(dx));
    return dx->hal->nn.act_backward(dx->hal, dx->dtype, dx->rows, dx->cols, dy->data, dy->ld, y->data, y->ld, relu,
                                    dropout, dx->data, dx->ld);
}

weft_status tensor_spmm(hal_spmm *a, int64_t a_rows, int64_t a_cols, int64_t a_entries, const weft_tensor *x,
                        const weft_tensor *pre, const weft_tensor *post, const weft_tensor *diag, double beta,
                        weft_tensor *out)
{
    WEFT_TRY(check_alike("spmm", "x", x, out));
    WEFT_TRY(check_alike("spmm", "out", out, out));
    WEFT_TRY(check_shape("spmm", "x", x, a_cols, out->cols));
    WEFT_TRY(check_shape("spmm", "out", out, a_rows, x->cols));
    WEFT_TRY(check_vector("spmm", "pre", pre, a_cols, 1, out));
    WEFT_TRY(check_vector("spmm", "post", post, a_rows, 1, out));
    WEFT_TRY(check_vector("spmm", "diag", diag, a_rows, 1, out));
    WEFT_CHECK(diag == NULL || a_rows <= a_cols, WEFT_ERR_INTERNAL,
               "spmm: a diagonal term needs rows <= columns, not %ld > %ld", (long)a_rows, (long)a_cols);
    WEFT_CHECK(x->data != out->data || out->data == NULL, WEFT_ERR_INTERNAL, "spmm: out must not be x");
    double width = (double)x->cols;
    double flops = width * ((double)a_entries + (diag != NULL ? 2.0 * (double)a_rows : 0.0) +
                            (post != NULL ? (double)a_rows : 0.0) + (pre != NULL ? (double)a_cols : 0.0));
    add_cost(flops, (double)a_entries * (double)sizeof(int32_t) + ((double)a_rows + 1.0) * (double)sizeof(int64_t) +
                        bytes_of(x) + bytes_of(pre) + bytes_of(post) + bytes_of(diag) +
                        bytes_of(out) * (beta == 0.0 ? 1.0 : 2.0));
    return out->hal->sparse.spmm_run(out->hal, a,
                                     &(hal_spmm_args){.dtype = out->dtype,
                                                      .d = out->cols,
                                                      .x = x->data,
                                                      .ldx = x->ld,
                                                      .pre = data_of(pre),
                                                      .post = data_of(post),
                                                      .diag = data_of(diag),
                                                      .beta = beta,
                                                      .out = out->data,
                                                      .ldo = out->ld});
}
