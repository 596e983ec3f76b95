/* train/second/orthogonal.c: see train/second/orthogonal.h. */
#include "train/second/orthogonal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"

static const double TAKE_X = 3.4445, TAKE_S = -4.7750, TAKE_SS = 2.0315;

static const double SMALLEST_NORM = 1e-30; /* of a matrix that is not zero: 1 / norm is a float32 */

static int64_t smaller_side(const orthogonal_shape *shape)
{
    return shape->rows < shape->cols ? shape->rows : shape->cols;
}

double orthogonal_flops(const orthogonal_shape *shape)
{
    const double k = (double)smaller_side(shape), n = (double)shape->rows * (double)shape->cols / k;
    return (double)shape->count * ORTHOGONAL_STEPS * (4.0 * k * k * n + 2.0 * k * k * k);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Flat memory; without a backend only its size. */
static weft_status take(const orthogonal_work *w, weft_dtype dtype, int64_t elements, weft_tensor *t)
{
    *t = (weft_tensor){.dtype = dtype, .rows = 1, .cols = elements, .ld = elements};
    return w->hal == NULL ? WEFT_OK : tensor_create(w->hal, dtype, 1, elements, WEFT_MEM_WORKSPACE, t);
}

weft_status orthogonal_create(weft_hal *hal, weft_dtype dtype, bool half, const orthogonal_shape *shape, int shapes,
                              orthogonal_work *w)
{
    int64_t count = 0, square = 0, whole = 0;
    assert(!half || dtype == WEFT_DTYPE_F32);
    *w = (orthogonal_work){.hal = hal, .dtype = dtype, .half = half};
    for (int i = 0; i < shapes; ++i) {
        const int64_t k = smaller_side(&shape[i]);
        assert(shape[i].count >= 1 && k >= 1);
        count = larger(count, shape[i].count);
        square = larger(square, shape[i].count * k * k);
        whole = larger(whole, shape[i].count * shape[i].rows * shape[i].cols);
    }
    WEFT_TRY(take(w, dtype, square, &w->square));
    WEFT_TRY(take(w, dtype, square, &w->turned));
    WEFT_TRY(take(w, dtype, whole, &w->next));
    WEFT_TRY(take(w, WEFT_DTYPE_F64, count, &w->norms));
    WEFT_TRY(hal != NULL ? WEFT_NEW(&w->norms_host, count, WEFT_MEM_WORKSPACE) : WEFT_OK);
    if (!half) {
        return WEFT_OK;
    }
    WEFT_TRY(take(w, WEFT_DTYPE_BF16, square, &w->half_square));
    WEFT_TRY(take(w, WEFT_DTYPE_BF16, square, &w->half_turned));
    return take(w, WEFT_DTYPE_BF16, whole, &w->half_x);
}

void orthogonal_destroy(orthogonal_work *w)
{
    TENSOR_DESTROY_ALL(&w->square, &w->turned, &w->next, &w->half_square, &w->half_turned, &w->half_x, &w->norms);
    weft_free(w->norms_host);
    memset(w, 0, sizeof *w);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Matrix i of those that stand one behind the other. */
static weft_tensor matrix_of(const weft_tensor *all, int64_t i, int64_t rows, int64_t cols)
{
    const weft_tensor flat = tensor_view(all, 0, 1, i * rows * cols, rows * cols);
    return tensor_reshape(&flat, rows, cols);
}

static weft_status normalise(orthogonal_work *w, const orthogonal_shape *shape, weft_tensor *x)
{
    const int64_t elements = shape->rows * shape->cols;
    for (int64_t i = 0; i < shape->count; ++i) {
        const weft_tensor flat = tensor_view(x, 0, 1, i * elements, elements);
        const weft_tensor place = tensor_view(&w->norms, 0, 1, i, 1);
        weft_tensor norm = tensor_reshape(&place, 1, 1);
        WEFT_TRY(tensor_sum_squares(&flat, &norm));
    }
    const weft_tensor norms = tensor_view(&w->norms, 0, 1, 0, shape->count);
    WEFT_TRY(tensor_download(&norms, w->norms_host));
    for (int64_t i = 0; i < shape->count; ++i) {
        weft_tensor flat = tensor_view(x, 0, 1, i * elements, elements);
        const double norm = sqrt(w->norms_host[i]);
        const double factor = norm < SMALLEST_NORM ? 0.0 : 1.0 / norm; /* a NaN stays one */
        WEFT_TRY(tensor_axpby(factor, &flat, 0.0, &flat));
    }
    return WEFT_OK;
}

/* [out] operand: `count` elements of x as products read them. */
static weft_status operand_of(const orthogonal_work *w, const weft_tensor *x, const weft_tensor *half, int64_t count,
                              weft_tensor *operand)
{
    const weft_tensor from = tensor_view(x, 0, 1, 0, count);
    *operand = from;
    if (!w->half) {
        return WEFT_OK;
    }
    *operand = tensor_view(half, 0, 1, 0, count);
    return hal_cast(w->hal, &(hal_cast_args){.x = tensor_mat(&from), .y = tensor_mat(operand)});
}

/* turned = b S + c S S, with S = x x^T or x^T x. S is its own transpose, which hal multiplies faster in bfloat16. */
static weft_status form_polynomial(orthogonal_work *w, const orthogonal_shape *shape, const weft_tensor *x)
{
    const int64_t k = smaller_side(shape), squares = shape->count * k * k;
    const bool tall = shape->rows > shape->cols;
    weft_tensor s;
    for (int64_t i = 0; i < shape->count; ++i) {
        const weft_tensor one = matrix_of(x, i, shape->rows, shape->cols);
        weft_tensor to = matrix_of(&w->square, i, k, k);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &one, .b = &one, .trans_a = tall, .trans_b = !tall}, &to));
    }
    WEFT_TRY(operand_of(w, &w->square, &w->half_square, squares, &s));
    const weft_tensor exact = tensor_view(&w->square, 0, 1, 0, squares);
    weft_tensor turned = tensor_view(&w->turned, 0, 1, 0, squares);
    WEFT_TRY(tensor_axpby(TAKE_S / TAKE_SS, &exact, 0.0, &turned));
    for (int64_t i = 0; i < shape->count; ++i) {
        const weft_tensor one = matrix_of(&s, i, k, k);
        weft_tensor to = matrix_of(&w->turned, i, k, k);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &one, .b = &one, .trans_a = w->half, .beta = 1.0}, &to));
    }
    return tensor_axpby(TAKE_SS, &turned, 0.0, &turned);
}

/* to = a from + (b S + c S S) from */
static weft_status step(orthogonal_work *w, const orthogonal_shape *shape, const weft_tensor *from, weft_tensor *to)
{
    const int64_t k = smaller_side(shape), rows = shape->rows, cols = shape->cols;
    const bool tall = rows > cols;
    weft_tensor x, turned;
    WEFT_TRY(operand_of(w, from, &w->half_x, shape->count * rows * cols, &x));
    WEFT_TRY(form_polynomial(w, shape, &x));
    WEFT_TRY(operand_of(w, &w->turned, &w->half_turned, shape->count * k * k, &turned));
    WEFT_TRY(tensor_axpby(TAKE_X, from, 0.0, to));
    for (int64_t i = 0; i < shape->count; ++i) {
        const weft_tensor one = matrix_of(&x, i, rows, cols);
        const weft_tensor factor = matrix_of(&turned, i, k, k);
        weft_tensor out = matrix_of(to, i, rows, cols);
        const tensor_product product = {
            .a = tall ? &one : &factor, .b = tall ? &factor : &one, .trans_a = w->half && !tall, .beta = 1.0};
        WEFT_TRY(tensor_gemm(&product, &out));
    }
    return WEFT_OK;
}

weft_status orthogonalise(orthogonal_work *w, const orthogonal_shape *shape, weft_tensor *x)
{
    weft_tensor next = tensor_view(&w->next, 0, 1, 0, x->cols);
    weft_tensor *from = x, *to = &next;
    assert(x->rows == 1 && x->cols == shape->count * shape->rows * shape->cols && x->dtype == w->dtype);
    WEFT_TRY(normalise(w, shape, x));
    for (int i = 0; i < ORTHOGONAL_STEPS; ++i) {
        weft_tensor *const used = from;
        WEFT_TRY(step(w, shape, from, to));
        from = to;
        to = used;
    }
    return from == x ? WEFT_OK : tensor_axpby(1.0, from, 0.0, x);
}
