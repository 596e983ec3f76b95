/*
 * io/npy_order.c: arrays of either byte order, in C or Fortran order, become native ones in C order. A matrix in
 * Fortran order is copied once.
 */
#include "io/npy_order.h"

#include <string.h>

#include "base/alloc.h"

void npy_swap_bytes(uint8_t *data, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++, data += width) {
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            uint8_t byte = data[low];
            data[low] = data[high];
            data[high] = byte;
        }
    }
}

/* Rewrite a Fortran-ordered array in C order: a walk over the output with a running source offset. */
static weft_status transpose(npy_header *header, void **data)
{
    uint8_t *out = NULL;
    WEFT_TRY(weft_malloc(header->data_bytes, 1, WEFT_MEM_GENERAL, (void **)&out));
    size_t item = (size_t)header->item_bytes;
    size_t stride[NPY_MAX_DIMS];
    int64_t index[NPY_MAX_DIMS] = {0};
    for (int d = 0; d < header->dims; d++) {
        stride[d] = d == 0 ? item : stride[d - 1] * (size_t)header->shape[d - 1];
    }
    const uint8_t *from = *data;
    uint8_t *to = out;
    for (int64_t i = 0; i < header->count; i++, to += item) {
        memcpy(to, from, item);
        for (int d = header->dims - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < header->shape[d]) {
                break;
            }
            from -= stride[d] * (size_t)header->shape[d];
            index[d] = 0;
        }
    }
    weft_free(*data);
    *data = out;
    return WEFT_OK;
}

weft_status npy_array_order(npy_array *array)
{
    npy_header *header = &array->header;
    if (header->big_endian && header->data_bytes > 0) {
        size_t width = header->kind == 'U' ? 4 : (size_t)header->item_bytes;
        npy_swap_bytes(array->data, header->data_bytes / width, width);
    }
    header->big_endian = false;
    if (header->fortran_order && header->dims > 1 && header->data_bytes > 0) {
        WEFT_TRY(transpose(header, &array->data));
    }
    header->fortran_order = false;
    return WEFT_OK;
}

weft_status npy_read(const char *path, npy_array *array)
{
    npy_map npy;
    *array = (npy_array){.data = NULL};
    WEFT_TRY(npy_map_open(path, &npy));
    array->header = npy.header;
    weft_status status;
    WEFT_TRY_GOTO(weft_malloc(npy.header.data_bytes, 1, WEFT_MEM_GENERAL, &array->data), status, done);
    if (npy.header.data_bytes > 0) {
        memcpy(array->data, npy.data, npy.header.data_bytes);
    }
    status = npy_array_order(array);
done:
    npy_map_close(&npy);
    if (status != WEFT_OK) {
        npy_array_free(array);
    }
    return status;
}
