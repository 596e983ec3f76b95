/*
 * tensor/tensor.c: storage, views and transfers. Rows of a view with ld > cols travel one by one, so that nothing
 * outside the view is read or written.
 */
#include "tensor/tensor.h"

#include <assert.h>
#include <string.h>

weft_mem_tag WEFT_MEM_ACTIVATION[1] = {{.text = "activations"}};

weft_status tensor_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, weft_mem_tag *tag,
                          weft_tensor *t)
{
    memset(t, 0, sizeof *t);
    WEFT_CHECK(rows >= 0 && cols >= 0, WEFT_ERR_INTERNAL, "tensor: %ld x %ld is not a shape", (long)rows, (long)cols);
    size_t count = 0;
    size_t bytes = 0;
    WEFT_CHECK(!__builtin_mul_overflow((size_t)rows, (size_t)cols, &count) &&
                   !__builtin_mul_overflow(count, weft_dtype_bytes(dtype), &bytes) && bytes <= (size_t)INT64_MAX,
               WEFT_ERR_RESOURCE, "tensor: %ld x %ld elements of %s are more bytes than can be addressed", (long)rows,
               (long)cols, weft_dtype_name(dtype));
    void *data = NULL;
    WEFT_TRY(hal->mem.alloc(hal, bytes, tag, &data));
    *t = (weft_tensor){.hal = hal, .dtype = dtype, .rows = rows, .cols = cols, .ld = cols, .data = data, .owns = true};
    return WEFT_OK;
}

void tensor_destroy(weft_tensor *t)
{
    if (t == NULL) {
        return;
    }
    if (t->owns && t->data != NULL) {
        t->hal->mem.free(t->hal, t->data);
    }
    memset(t, 0, sizeof *t);
}

void tensor_destroy_each(weft_tensor *const *t, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        tensor_destroy(t[i]);
    }
}

static char *element(const weft_tensor *t, int64_t row, int64_t col)
{
    return t->data == NULL ? NULL : (char *)t->data + (size_t)(row * t->ld + col) * weft_dtype_bytes(t->dtype);
}

hal_mat tensor_mat(const weft_tensor *t)
{
    return t == NULL ? (hal_mat){.data = NULL} : hal_mat_of(t->data, t->dtype, t->rows, t->cols, t->ld);
}

weft_tensor tensor_view(const weft_tensor *t, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    assert(row >= 0 && rows >= 0 && row + rows <= t->rows);
    assert(col >= 0 && cols >= 0 && col + cols <= t->cols);
    weft_tensor view = *t;
    view.rows = rows;
    view.cols = cols;
    view.data = rows > 0 && cols > 0 ? element(t, row, col) : NULL;
    view.owns = false;
    return view;
}

weft_tensor tensor_reshape(const weft_tensor *t, int64_t rows, int64_t cols)
{
    assert(t->ld == t->cols || t->rows <= 1);
    assert(rows >= 0 && cols >= 0 && (rows == 0 || cols <= t->rows * t->cols / rows));
    weft_tensor view = *t;
    view.rows = rows;
    view.cols = cols;
    view.ld = cols;
    view.owns = false;
    return view;
}

/* Nothing is there to move, maybe not even a backend. */
static bool is_empty(const weft_tensor *t)
{
    return t->rows == 0 || t->cols == 0;
}

static hal_rows memory_of(const weft_tensor *t)
{
    const size_t item = weft_dtype_bytes(t->dtype);
    return (hal_rows){.rows = t->rows, .bytes = (size_t)t->cols * item, .stride = (size_t)t->ld * item};
}

weft_status tensor_upload(weft_tensor *t, const void *host)
{
    return is_empty(t) ? WEFT_OK : t->hal->mem.upload_rows(t->hal, t->data, host, memory_of(t));
}

weft_status tensor_download(const weft_tensor *t, void *host)
{
    return is_empty(t) ? WEFT_OK : t->hal->mem.download_rows(t->hal, host, t->data, memory_of(t));
}

weft_status tensor_zero(weft_tensor *t)
{
    return is_empty(t) ? WEFT_OK : t->hal->mem.zero_rows(t->hal, t->data, memory_of(t));
}
