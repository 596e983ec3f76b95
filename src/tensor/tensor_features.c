/* tensor/tensor_features.c: see tensor/tensor_features.h. */
#include "tensor/tensor_features.h"

#include <string.h>

#include "tensor/tensor_check.h"

uint64_t tensor_features_bytes(double rows, double cols, double entries)
{
    return (uint64_t)(2.0 * entries * (double)(sizeof(int32_t) + sizeof(float)) +
                      (rows + cols + 2.0) * (double)sizeof(int64_t));
}

static weft_status to_device(weft_hal *hal, const void *host, size_t bytes, weft_mem_tag *tag, void **device)
{
    WEFT_TRY(hal->mem.alloc(hal, bytes, tag, device));
    return hal->mem.upload(hal, *device, host, bytes);
}

static weft_status upload(tensor_features *f, int side, const hal_csr *csr, const float *value, weft_mem_tag *tag)
{
    const size_t entries = (size_t)f->entries;
    WEFT_TRY(
        to_device(f->hal, csr->offset, (size_t)(csr->rows + 1) * sizeof *csr->offset, tag, (void **)&f->offset[side]));
    WEFT_TRY(to_device(f->hal, csr->column, entries * sizeof *csr->column, tag, (void **)&f->column[side]));
    return to_device(f->hal, value, entries * sizeof *value, tag, (void **)&f->value[side]);
}

/* The arrays of the columns, in the order of the rows. */
static void transpose(const hal_csr *csr, const float *value, int64_t *offset, int32_t *row, float *moved)
{
    memset(offset, 0, (size_t)(csr->cols + 1) * sizeof *offset);
    for (int64_t e = 0; e < csr->offset[csr->rows]; ++e) {
        offset[csr->column[e] + 1] += 1;
    }
    for (int64_t c = 0; c < csr->cols; ++c) {
        offset[c + 1] += offset[c];
    }
    for (int64_t r = 0; r < csr->rows; ++r) {
        for (int64_t e = csr->offset[r]; e < csr->offset[r + 1]; ++e) {
            const int64_t to = offset[csr->column[e]]++;
            row[to] = (int32_t)r;
            moved[to] = value[e];
        }
    }
    memmove(offset + 1, offset, (size_t)csr->cols * sizeof *offset); /* every start has become the next one's */
    offset[0] = 0;
}

static weft_status upload_transpose(tensor_features *f, const hal_csr *csr, const float *value, weft_mem_tag *tag)
{
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    int32_t *row = NULL;
    float *moved = NULL;
    WEFT_TRY_GOTO(WEFT_NEW(&offset, csr->cols + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&row, f->entries, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&moved, f->entries, WEFT_MEM_WORKSPACE), status, done);
    transpose(csr, value, offset, row, moved);
    const hal_csr columns = {.rows = csr->cols, .cols = csr->rows, .offset = offset, .column = row};
    status = upload(f, 1, &columns, moved, tag);
done:
    weft_free(offset);
    weft_free(row);
    weft_free(moved);
    return status;
}

weft_status tensor_features_create(weft_hal *hal, const hal_csr *csr, const float *value, weft_mem_tag *tag,
                                   tensor_features *features)
{
    *features = (tensor_features){.hal = hal, .rows = csr->rows, .cols = csr->cols, .entries = csr->offset[csr->rows]};
    WEFT_TRY(upload(features, 0, csr, value, tag));
    return upload_transpose(features, csr, value, tag);
}

static void free_device(weft_hal *hal, void *device)
{
    if (device != NULL) {
        hal->mem.free(hal, device);
    }
}

void tensor_features_destroy(tensor_features *features)
{
    for (int side = 0; side < 2; ++side) {
        free_device(features->hal, features->offset[side]);
        free_device(features->hal, features->column[side]);
        free_device(features->hal, features->value[side]);
    }
    memset(features, 0, sizeof *features);
}

static weft_status product(const tensor_features *f, int side, const weft_tensor *x, double beta,
                           const hal_dropout *dropout, weft_tensor *y)
{
    const int64_t rows = side == 0 ? f->rows : f->cols;
    WEFT_TRY(tensor_check_near("feature_product", "x", x, y));
    WEFT_TRY(tensor_check_shape("feature_product", "x", x, side == 0 ? f->cols : f->rows, y->cols));
    WEFT_TRY(tensor_check_shape("feature_product", "y", y, rows, x->cols));
    return hal_feature_product(y->hal, &(hal_feature_product_args){
                                           .x = tensor_mat(x),
                                           .offset = hal_column_from(f->offset[side], WEFT_DTYPE_I64, rows + 1),
                                           .column = hal_column_from(f->column[side], WEFT_DTYPE_I32, f->entries),
                                           .value = hal_column_from(f->value[side], WEFT_DTYPE_F32, f->entries),
                                           .y = tensor_mat(y),
                                           .beta = beta,
                                           .transposed = side == 1,
                                           .dropout = dropout != NULL ? *dropout : (hal_dropout){.probability = 0.0F}});
}

weft_status tensor_features_product(const tensor_features *features, const weft_tensor *w, double beta,
                                    const hal_dropout *dropout, weft_tensor *y)
{
    return product(features, 0, w, beta, dropout, y);
}

weft_status tensor_features_gradient(const tensor_features *features, const weft_tensor *x, const hal_dropout *dropout,
                                     weft_tensor *y)
{
    return product(features, 1, x, 0.0, dropout, y);
}
