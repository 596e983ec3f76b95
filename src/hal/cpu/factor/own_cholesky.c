/*
 * hal/cpu/factor/own_cholesky.c: Cholesky factor and inverse of a large matrix of float32 in blocks, so that nearly all
 * work is products, which the backend has fast ones for.
 *
 *      +-----+          1. L11 of the diagonal block, by the reference
 *      | L11 |          2. X = inverse of L11;  L21 = A21 X^T
 *      +-----+-----+    3. A22 = A22 - L21 L21^T, below the diagonal; go on with A22
 *      | L21 | A22 |
 *      +-----+-----+
 */
#include <assert.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/factor/own_forms.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/ref/ref_backend.h"

enum { STRIP = 512 /* columns of A22 that are updated at once */ };

static hal_mat floats(float *data, int64_t rows, int64_t cols)
{
    return hal_mat_of(data, WEFT_DTYPE_F32, rows, cols, cols);
}

static hal_mat block_of(const hal_mat *a, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    const hal_mat part = hal_mat_rows(a, row, rows);
    return hal_mat_cols(&part, col, cols);
}

/* c = alpha a op(b) + beta c */
static weft_status multiply(weft_hal *hal, double alpha, const hal_mat *a, const hal_mat *b, bool trans_b, double beta,
                            const hal_mat *c)
{
    const hal_gemm_args args = {.a = *a, .b = *b, .c = *c, .trans_b = trans_b, .alpha = alpha, .beta = beta};
    return cpu_state_of(hal)->own.gemm(hal, &args);
}

/* to[n,n] = the inverse of the lower triangle of a, zeros above it. */
static void invert_triangle(const hal_mat *a, const hal_mat *to)
{
    const float *l = a->source;
    float *x = to->data;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t j = 0; j < a->rows; ++j) {
            double sum = i == j ? 1.0 : 0.0;
            for (int64_t k = j; k < i; ++k) {
                sum -= (double)l[i * a->ld + k] * (double)x[k * to->ld + j];
            }
            x[i * to->ld + j] = j <= i ? (float)(sum / (double)l[i * a->ld + i]) : 0.0F;
        }
    }
}

static void copy_block(const hal_mat *from, const hal_mat *to)
{
    for (int64_t i = 0; i < from->rows; ++i) {
        memcpy((float *)to->data + i * to->ld, (const float *)from->source + i * from->ld,
               (size_t)from->cols * sizeof(float));
    }
}

/* Steps 2 and 3 behind the diagonal block at `k`. */
static weft_status eliminate(weft_hal *hal, const hal_mat *a, int64_t k, int64_t width, float *work)
{
    const int64_t next = k + width;
    const int64_t below = a->rows - next;
    const hal_mat diagonal = block_of(a, k, width, k, width);
    const hal_mat panel = block_of(a, next, below, k, width);
    const hal_mat inverse = floats(work, width, width);
    const hal_mat before = floats(work + (size_t)width * (size_t)width, below, width);
    invert_triangle(&diagonal, &inverse);
    copy_block(&panel, &before);
    WEFT_TRY(multiply(hal, 1.0, &before, &inverse, true, 0.0, &panel));
    for (int64_t j = 0; j < below; j += STRIP) {
        const int64_t cols = smaller(STRIP, below - j);
        const hal_mat left = hal_mat_rows(&panel, j, below - j);
        const hal_mat right = hal_mat_rows(&panel, j, cols);
        const hal_mat rest = block_of(a, next + j, below - j, next + j, cols);
        WEFT_TRY(multiply(hal, -1.0, &left, &right, true, 1.0, &rest));
    }
    return WEFT_OK;
}

size_t own_potrf_bytes(int64_t n)
{
    return (size_t)(n + OWN_BLOCK) * OWN_BLOCK * sizeof(float);
}

weft_status own_potrf(weft_hal *hal, const hal_mat *a, void *work, int32_t *info)
{
    assert(a->dtype == WEFT_DTYPE_F32 && a->rows == a->cols);
    *info = 0;
    for (int64_t k = 0; k < a->rows; k += OWN_BLOCK) {
        const int64_t width = smaller(OWN_BLOCK, a->rows - k);
        const hal_mat diagonal = block_of(a, k, width, k, width);
        WEFT_TRY(ref_potrf_f32(&(hal_potrf_args){.a = diagonal, .info = hal_mat_of(info, WEFT_DTYPE_I32, 1, 1, 1)}));
        if (*info != 0) {
            *info += (int32_t)k;
            return WEFT_OK;
        }
        if (k + width < a->rows) {
            WEFT_TRY(eliminate(hal, a, k, width, work));
        }
    }
    return WEFT_OK;
}

/* ---- the inverse: X = L^-1 block row by block row, then X^T X, both in the place of L ---------------------------- */

size_t own_potri_bytes(int64_t n)
{
    return (size_t)(n + OWN_BLOCK) * OWN_BLOCK * sizeof(float);
}

/* Rows [k, k + width) of a hold those of L and become those of X, from the rows of X above: X2 = L22^-1 (-L21 X1), with
 * zeros right of the diagonal block. */
static weft_status invert_rows(weft_hal *hal, const hal_mat *a, int64_t k, int64_t width, float *work)
{
    const hal_mat left = block_of(a, k, width, 0, k);
    const hal_mat above = block_of(a, 0, k, 0, k);
    const hal_mat diagonal = block_of(a, k, width, k, width);
    const hal_mat inverse = floats(work, width, width);
    const hal_mat product = floats(work + (size_t)width * (size_t)width, width, k);
    invert_triangle(&diagonal, &inverse);
    for (int64_t i = k; i < k + width; ++i) {
        memset((float *)a->data + i * a->ld + k, 0, (size_t)(a->cols - k) * sizeof(float));
    }
    copy_block(&inverse, &diagonal);
    if (k == 0) {
        return WEFT_OK;
    }
    /* The sign goes with the larger product: oneDNN, which would compile a kernel for each k, takes only alpha = 1. */
    WEFT_TRY(multiply(hal, -1.0, &left, &above, false, 0.0, &product));
    return multiply(hal, 1.0, &inverse, &product, false, 0.0, &left);
}

/* Rows [k, k + width) of a become those of X^T X, left of the diagonal block and in it. X has zeros above its diagonal,
 * so they need the rows of X from k on alone: a third of the work of a whole product. */
static weft_status square_rows(weft_hal *hal, const hal_mat *a, int64_t k, int64_t width, float *work)
{
    const hal_mat product = floats(work, width, k + width);
    const hal_mat to = block_of(a, k, width, 0, k + width);
    const hal_gemm_args args = {.a = block_of(a, k, a->rows - k, k, width),
                                .b = block_of(a, k, a->rows - k, 0, k + width),
                                .c = product,
                                .trans_a = true,
                                .alpha = 1.0};
    WEFT_TRY(cpu_state_of(hal)->own.gemm(hal, &args));
    copy_block(&product, &to);
    return WEFT_OK;
}

weft_status own_potri(weft_hal *hal, const hal_mat *a, void *work)
{
    const int64_t n = a->rows;
    float *data = a->data;
    assert(a->dtype == WEFT_DTYPE_F32 && n == a->cols);
    for (int64_t k = 0; k < n; k += OWN_BLOCK) {
        WEFT_TRY(invert_rows(hal, a, k, smaller(OWN_BLOCK, n - k), work));
    }
    for (int64_t k = 0; k < n; k += OWN_BLOCK) {
        WEFT_TRY(square_rows(hal, a, k, smaller(OWN_BLOCK, n - k), work));
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            data[j * a->ld + i] = data[i * a->ld + j];
        }
    }
    return WEFT_OK;
}
