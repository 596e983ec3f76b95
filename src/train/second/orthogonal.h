/*
 * train/second/orthogonal.h: the orthogonal matrix that is nearest to a matrix, roughly, by products alone.
 *
 * A Newton-Schulz iteration drives all singular values of X = U S V^T towards 1 and keeps U and V:
 *
 *      X <- X / ||X||_F
 *      5 times:  S = X X^T            or X^T X, whichever is the smaller square
 *                X <- a X + (b S + c S S) X          a, b, c = 3.4445, -4.7750, 2.0315
 *
 * These coefficients rise small singular values as fast as five steps can. The values do not converge to 1: they end
 * within [0.68, 1.21] for matrices whose condition is at most 100. A matrix of zeros stays zero.
 *
 * Costs 5 (4 k^2 n + 2 k^3) operations for a matrix with sides k <= n. Sums are kept in float32 or wider; operands of
 * products may be rounded to bfloat16 on the way, where the processor multiplies that faster (hal's native_bf16).
 * Matrices of one shape come below each other, so that a call does its other work for all of them at once.
 *
 *   K. Jordan et al.: Muon: an optimizer for hidden layers in neural networks. 2024.
 *   N. J. Higham: Functions of matrices. SIAM 2008, chapter 8, for the iteration with the coefficients 1.5 and -0.5.
 */
#pragma once

#include "tensor/tensor.h"

enum { ORTHOGONAL_STEPS = 5 };

/* `count` matrices of rows x cols. */
typedef struct orthogonal_shape {
    int64_t count, rows, cols;
} orthogonal_shape;

/* Memory that the iteration needs beside the matrices; the largest of all shapes that were asked for. */
typedef struct orthogonal_work {
    weft_hal *hal;
    weft_dtype dtype;
    bool half; /* operands of products are bfloat16 */
    /* square, turned: [1, count * k * k]; next: [1, count * rows * cols]; the halves are bfloat16 copies of square,
     * turned and of the matrices. */
    weft_tensor square, turned, next, half_square, half_turned, half_x;
    weft_tensor norms;  /* [1, count] float64 */
    double *norms_host; /* [count] */
} orthogonal_work;

/* hal NULL: only the sizes of the memory are set. dtype: of the matrices. half: only with float32. shape[shapes]: each
 * call has one of them, or fewer matrices of it. Free with orthogonal_destroy, also after a failure. */
weft_status orthogonal_create(weft_hal *hal, weft_dtype dtype, bool half, const orthogonal_shape *shape, int shapes,
                              orthogonal_work *work);
void orthogonal_destroy(orthogonal_work *work);

/* Operations of a call. */
double orthogonal_flops(const orthogonal_shape *shape);

/* x [1, count * rows * cols]: the matrices, one behind the other, replaced by their orthogonal ones. */
weft_status orthogonalise(orthogonal_work *work, const orthogonal_shape *shape, weft_tensor *x);
