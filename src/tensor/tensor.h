/*
 * tensor/tensor.h: a matrix on a backend, and the ops on it with their shapes checked and their cost counted.
 *
 * A weft_tensor is row-major [rows, cols] with leading dimension ld. Images are [N*H*W, C] views of the same thing. A
 * view shares its owner's storage and must not outlive it. All ops return WEFT_ERR_INTERNAL with both shapes in the
 * message when shapes, types or backends disagree: that is a bug of the caller, not of the data.
 *
 * Each op adds its flops and bytes (operands read + written once) to the tensor_cost of the calling thread, which the
 * trainer turns into rates. None of these functions is collective.
 */
#ifndef WEFT_TENSOR_TENSOR_H
#define WEFT_TENSOR_TENSOR_H

#include "hal/hal.h"

typedef struct weft_tensor {
    weft_hal *hal;
    weft_dtype dtype;
    int64_t rows, cols, ld;
    void *data; /* device pointer; NULL when empty */
    bool owns;
} weft_tensor;

/* [out] t  rows x cols, ld = cols, uninitialised; free with tensor_destroy. */
weft_status tensor_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, weft_mem_tag tag,
                          weft_tensor *t);
void tensor_destroy(weft_tensor *t); /* frees owned storage, zeroes *t; NULL and zeroed tensors are fine */
/* Rows [row, row + rows) and columns [col, col + cols) of t. */
weft_tensor tensor_view(const weft_tensor *t, int64_t row, int64_t rows, int64_t col, int64_t cols);
/* The same memory as a narrower matrix with ld = cols: rows * cols elements must fit in t. Contiguous t only. */
weft_tensor tensor_reshape(const weft_tensor *t, int64_t rows, int64_t cols);
weft_status tensor_upload(weft_tensor *t, const void *host); /* host: rows x cols, contiguous */
weft_status tensor_download(const weft_tensor *t, void *host);
weft_status tensor_zero(weft_tensor *t);

typedef struct tensor_cost {
    double flops;
    double bytes;
} tensor_cost;
tensor_cost *tensor_cost_of_thread(void);

/* c = alpha * op(a) op(b) + beta * c + bias; bias: [1, c.cols] or NULL. */
weft_status tensor_gemm(bool trans_a, bool trans_b, double alpha, const weft_tensor *a, const weft_tensor *b,
                        double beta, const weft_tensor *bias, weft_tensor *c);
weft_status tensor_col_sum(const weft_tensor *a, double beta, weft_tensor *out); /* out [1, a.cols] */
weft_status tensor_axpby(double alpha, const weft_tensor *x, double beta, weft_tensor *y);
weft_status tensor_scale_rows(const weft_tensor *scale, const weft_tensor *x, weft_tensor *y); /* scale [rows,1] */
weft_status tensor_act_forward(const weft_tensor *x, bool relu, const hal_dropout *dropout, weft_tensor *y);
weft_status tensor_act_backward(const weft_tensor *dy, const weft_tensor *y, bool relu, const hal_dropout *dropout,
                                weft_tensor *dx);
/* out = beta * out + post * (A (pre * x)) + diag * x; vectors [n,1] or NULL. x: cols of A rows; out: rows of A rows. */
weft_status tensor_spmm(hal_spmm *a, int64_t a_rows, int64_t a_cols, int64_t a_entries, const weft_tensor *x,
                        const weft_tensor *pre, const weft_tensor *post, const weft_tensor *diag, double beta,
                        weft_tensor *out);

#endif
