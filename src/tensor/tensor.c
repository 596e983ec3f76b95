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

/* Bytes of a run of rows that lie together: all rows when ld = cols. [out] runs */
static size_t run_bytes(const weft_tensor *t, int64_t *runs)
{
    bool contiguous = t->ld == t->cols || t->rows <= 1;
    int64_t rows = contiguous ? t->rows : 1;
    *runs = t->rows == 0 || t->cols == 0 ? 0 : (contiguous ? 1 : t->rows);
    return (size_t)rows * (size_t)t->cols * weft_dtype_bytes(t->dtype);
}

weft_status tensor_upload(weft_tensor *t, const void *host)
{
    int64_t runs = 0;
    size_t bytes = run_bytes(t, &runs);
    for (int64_t i = 0; i < runs; ++i) {
        WEFT_TRY(t->hal->mem.upload(t->hal, element(t, i, 0), (const char *)host + (size_t)i * bytes, bytes));
    }
    return WEFT_OK;
}

weft_status tensor_download(const weft_tensor *t, void *host)
{
    int64_t runs = 0;
    size_t bytes = run_bytes(t, &runs);
    for (int64_t i = 0; i < runs; ++i) {
        WEFT_TRY(t->hal->mem.download(t->hal, (char *)host + (size_t)i * bytes, element(t, i, 0), bytes));
    }
    return WEFT_OK;
}

weft_status tensor_zero(weft_tensor *t)
{
    int64_t runs = 0;
    size_t bytes = run_bytes(t, &runs);
    for (int64_t i = 0; i < runs; ++i) {
        WEFT_TRY(t->hal->mem.zero(t->hal, element(t, i, 0), bytes));
    }
    return WEFT_OK;
}
