/* tensor/tensor_check.c: see tensor_check.h. */
#include "tensor/tensor_check.h"

/* Empty tensors stand on no backend. */
static const char *backend_name(const weft_tensor *t)
{
    return t->hal != NULL ? t->hal->name : "none";
}

weft_status tensor_check_alike(const char *op, const char *name, const weft_tensor *t, const weft_tensor *like)
{
    WEFT_CHECK(t->dtype == like->dtype, WEFT_ERR_INTERNAL, "%s: %s is %s, the result is %s", op, name,
               weft_dtype_name(t->dtype), weft_dtype_name(like->dtype));
    return tensor_check_near(op, name, t, like);
}

weft_status tensor_check_near(const char *op, const char *name, const weft_tensor *t, const weft_tensor *like)
{
    WEFT_CHECK(t->hal == like->hal, WEFT_ERR_INTERNAL, "%s: %s lives on backend %s, the result on %s (another opening)",
               op, name, backend_name(t), backend_name(like));
    WEFT_CHECK(t->ld >= t->cols, WEFT_ERR_INTERNAL, "%s: %s has leading dimension %ld < %ld columns", op, name,
               (long)t->ld, (long)t->cols);
    return WEFT_OK;
}

weft_status tensor_check_shape(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols)
{
    WEFT_CHECK(t->rows == rows && t->cols == cols, WEFT_ERR_INTERNAL, "%s: %s is %ld x %ld, must be %ld x %ld", op,
               name, (long)t->rows, (long)t->cols, (long)rows, (long)cols);
    return WEFT_OK;
}

weft_dtype tensor_param_type(weft_dtype rows)
{
    return hal_is_half(rows) ? WEFT_DTYPE_F32 : rows;
}

weft_status tensor_check_vector(const char *op, const char *name, const weft_tensor *t, int64_t rows, int64_t cols,
                                const weft_tensor *like)
{
    if (t == NULL) {
        return WEFT_OK;
    }
    weft_tensor wide = *like;
    wide.dtype = tensor_param_type(like->dtype);
    WEFT_TRY(tensor_check_alike(op, name, t, &wide));
    WEFT_TRY(tensor_check_shape(op, name, t, rows, cols));
    WEFT_CHECK(cols > 1 || rows <= 1 || t->ld == 1, WEFT_ERR_INTERNAL, "%s: vector %s has leading dimension %ld, not 1",
               op, name, (long)t->ld);
    return WEFT_OK;
}

/* x has the shape of y. */
weft_status tensor_check_same(const char *op, const char *name, const weft_tensor *x, const weft_tensor *y)
{
    WEFT_TRY(tensor_check_alike(op, name, x, y));
    return tensor_check_shape(op, name, x, y->rows, y->cols);
}

weft_status tensor_check_exact(const char *op, const char *name, const weft_tensor *t, const hal_mat *shape,
                               const weft_tensor *like)
{
    WEFT_CHECK(t->hal == like->hal && t->dtype == shape->dtype, WEFT_ERR_INTERNAL,
               "%s: %s is %s on backend %s, must be %s on %s", op, name, weft_dtype_name(t->dtype), backend_name(t),
               weft_dtype_name(shape->dtype), backend_name(like));
    WEFT_TRY(tensor_check_shape(op, name, t, shape->rows, shape->cols));
    WEFT_CHECK(t->ld == t->cols, WEFT_ERR_INTERNAL, "%s: %s has leading dimension %ld, not its %ld columns", op, name,
               (long)t->ld, (long)t->cols);
    return WEFT_OK;
}
