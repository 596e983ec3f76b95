/*
 * io/npy.c: .npy files mapped and written, and arrays converted to the types Weft computes with.
 *
 * What is written is byte for byte what numpy.save writes for a C-ordered little-endian array.
 */
#include "io/npy.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/number.h"
#include "base/text/append.h"
#include "io/npy_text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie in memory");

weft_status npy_map_open(const char *path, npy_map *npy)
{
    *npy = (npy_map){.data = NULL};
    WEFT_TRY(file_map_open(path, &npy->map));
    weft_status status = npy_parse_header(path, npy->map.data, npy->map.size, &npy->header);
    if (status != WEFT_OK) {
        npy_map_close(npy);
        return status;
    }
    npy->data = npy->map.data + npy->header.data_offset;
    return WEFT_OK;
}

void npy_map_close(npy_map *npy)
{
    file_map_close(&npy->map);
    *npy = (npy_map){.data = NULL};
}

/* "float32 (3, 4)" */
static void describe(char kind, int item_bytes, int dims, const int64_t *shape, char text[256])
{
    const char *word = kind == 'f'   ? "float"
                       : kind == 'i' ? "int"
                       : kind == 'u' ? "uint"
                       : kind == 'b' ? "bool"
                       : kind == 'U' ? "unicode"
                                     : "bytes";
    int used = kind == 'b' ? snprintf(text, 256, "%s (", word) : snprintf(text, 256, "%s%d (", word, 8 * item_bytes);
    for (int d = 0; d < dims && used < 230; d++) {
        const char *separator = d == 0 ? "" : ", ";
        used += shape[d] < 0 ? snprintf(text + used, 256 - (size_t)used, "%sany", separator)
                             : snprintf(text + used, 256 - (size_t)used, "%s%" PRId64, separator, shape[d]);
    }
    snprintf(text + used, 256 - (size_t)used, "%s)", dims == 1 ? "," : "");
}

weft_status npy_expect(const char *name, const npy_header *header, char kind, int item_bytes, int dims,
                       const int64_t *shape)
{
    bool same = header->kind == kind && header->item_bytes == item_bytes && header->dims == dims;
    for (int d = 0; d < dims && same; d++) {
        same = shape[d] < 0 || header->shape[d] == shape[d];
    }
    if (!same) {
        char found[256], expected[256];
        describe(header->kind, header->item_bytes, header->dims, header->shape, found);
        describe(kind, item_bytes, dims, shape, expected);
        return weft_fail(WEFT_ERR_DATA, "%s: holds %s, expected %s", name, found, expected);
    }
    bool order_matters = header->dims > 1 && header->count > 1;
    WEFT_CHECK(!header->fortran_order || !order_matters, WEFT_ERR_DATA,
               "%s: is stored in Fortran order; save numpy.ascontiguousarray of it", name);
    WEFT_CHECK(!header->big_endian, WEFT_ERR_DATA, "%s: is stored in big-endian order; save it with astype('<%c%d')",
               name, kind, item_bytes);
    return WEFT_OK;
}

/* ---- writing ---- */

weft_status npy_header_text(const char *name, char kind, int item_bytes, int dims, const int64_t *shape,
                            char text[NPY_TEXT_MAX], size_t *text_bytes, size_t *data_bytes)
{
    WEFT_CHECK(dims >= 0 && dims <= NPY_MAX_DIMS, WEFT_ERR_INTERNAL, "%s: an array of %d dimensions", name, dims);
    size_t bytes = (size_t)item_bytes;
    char list[NPY_MAX_DIMS * 22 + 4] = "";
    for (int d = 0; d < dims; d++) {
        WEFT_CHECK(shape[d] >= 0 && !__builtin_mul_overflow(bytes, (size_t)shape[d], &bytes), WEFT_ERR_INTERNAL,
                   "%s: the array's bytes do not fit 64 bits", name);
        text_append_item(list, sizeof list, "%" PRId64, shape[d]);
    }
    text_append(list, sizeof list, "%s", dims == 1 ? "," : "");
    char order = item_bytes == 1 || kind == 'S' ? '|' : '<';
    int length = snprintf(text + 10, NPY_TEXT_MAX - 10, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (%s), }",
                          order, kind, kind == 'U' ? item_bytes / 4 : item_bytes, list);
    /* NumPy leaves room for the first length to grow to 21 digits, then pads so that the data start at 64 bytes. */
    int growth = dims > 0 ? 21 - snprintf(NULL, 0, "%" PRId64, shape[0]) : 0;
    size_t total = ((size_t)(10 + length + growth + 1) + 63) & ~(size_t)63;
    memset(text + 10 + length, ' ', total - 10 - (size_t)length);
    text[total - 1] = '\n';
    static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    memcpy(text, magic, sizeof magic);
    text[8] = (char)((total - 10) & 0xff);
    text[9] = (char)((total - 10) >> 8);
    *text_bytes = total;
    *data_bytes = bytes;
    return WEFT_OK;
}

weft_status npy_writer_begin(const char *path, char kind, int item_bytes, int dims, const int64_t *shape,
                             file_writer *writer)
{
    char text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    WEFT_TRY(npy_header_text(path, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    WEFT_TRY(file_writer_open(path, writer));
    weft_status status = file_write(writer, text, text_bytes);
    if (status != WEFT_OK) {
        file_writer_discard(writer);
    }
    return status;
}

weft_status npy_write(const char *path, char kind, int item_bytes, int dims, const int64_t *shape, const void *data)
{
    char text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    WEFT_TRY(npy_header_text(path, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    weft_status status = file_write(&writer, text, text_bytes);
    status = status == WEFT_OK ? file_write(&writer, data, data_bytes) : status;
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    return file_writer_commit(&writer);
}

/* ---- elements ---- */

void npy_array_free(npy_array *array)
{
    weft_free(array->data);
    array->data = NULL;
}

/* Element i of an integer array; false when it does not fit int64. */
static bool integer_at(const npy_header *header, const void *data, size_t i, int64_t *value)
{
    const uint8_t *at = (const uint8_t *)data + i * (size_t)header->item_bytes;
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)header->item_bytes);
    if (header->kind == 'b') {
        *value = bits != 0;
        return true;
    }
    if (header->kind == 'i') {
        int shift = 64 - 8 * header->item_bytes;
        *value = (int64_t)(bits << shift) >> shift;
        return true;
    }
    *value = (int64_t)bits;
    return bits <= INT64_MAX;
}

static double real_at(const npy_header *header, const void *data, size_t i)
{
    const uint8_t *at = (const uint8_t *)data + i * (size_t)header->item_bytes;
    if (header->item_bytes == 8) {
        double value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (header->item_bytes == 4) {
        float value;
        memcpy(&value, at, sizeof value);
        return (double)value;
    }
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return (double)fp16_to_float(value);
}

static bool is_numeric(const npy_header *header)
{
    return strchr("fiub", header->kind) != NULL && header->item_bytes <= 8;
}

weft_status npy_convert_i64(const char *name, const npy_header *header, const void *data, int64_t first, int64_t count,
                            int64_t *out)
{
    WEFT_CHECK(is_numeric(header), WEFT_ERR_DATA, "%s: holds text, expected integers", name);
    if (header->kind == 'i' && header->item_bytes == 8) {
        if (count > 0) {
            memcpy(out, data, (size_t)count * sizeof *out);
        }
        return WEFT_OK;
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        bool fits;
        if (header->kind == 'f') {
            double real = real_at(header, data, i);
            fits = real >= -0x1p63 && real < 0x1p63 && real == nearbyint(real);
            out[i] = fits ? (int64_t)real : 0;
        } else {
            fits = integer_at(header, data, i, &out[i]);
        }
        if (!fits) {
            int64_t element = first + (int64_t)i;
            return header->kind == 'f'
                       ? weft_fail(WEFT_ERR_DATA, "%s: element %" PRId64 " is %g, expected an integer", name, element,
                                   number_plain(real_at(header, data, i)))
                       : weft_fail(WEFT_ERR_DATA, "%s: element %" PRId64 " does not fit a signed 64-bit integer", name,
                                   element);
        }
    }
    return WEFT_OK;
}

weft_status npy_convert_f32(const char *name, const npy_header *header, const void *data, int64_t first, int64_t count,
                            float *out)
{
    WEFT_CHECK(is_numeric(header), WEFT_ERR_DATA, "%s: holds text, expected numbers", name);
    if (header->kind == 'f' && header->item_bytes == 4) {
        if (count > 0) {
            memcpy(out, data, (size_t)count * sizeof *out);
        }
        return WEFT_OK;
    }
    for (size_t i = 0; i < (size_t)count; i++) {
        double real = 0;
        if (header->kind == 'f') {
            real = real_at(header, data, i);
        } else {
            int64_t integer;
            bool fits = integer_at(header, data, i, &integer);
            real = fits ? (double)integer : (double)(uint64_t)integer;
        }
        WEFT_CHECK(!isfinite(real) || fabs(real) <= (double)FLT_MAX, WEFT_ERR_DATA,
                   "%s: element %" PRId64 " is %g, too large for a 32-bit float", name, first + (int64_t)i, real);
        out[i] = (float)real;
    }
    return WEFT_OK;
}

/* The function that makes an array of `type` of the elements. */
#define ARRAY_TO(kind, type)                                                                                           \
    weft_status npy_array_to_##kind(const char *name, const npy_array *array, type **values)                           \
    {                                                                                                                  \
        *values = NULL;                                                                                                \
        type *out = NULL;                                                                                              \
        WEFT_TRY(WEFT_NEW(&out, array->header.count, WEFT_MEM_GENERAL));                                               \
        weft_status status = npy_convert_##kind(name, &array->header, array->data, 0, array->header.count, out);       \
        if (status != WEFT_OK) {                                                                                       \
            weft_free(out);                                                                                            \
            return status;                                                                                             \
        }                                                                                                              \
        *values = out;                                                                                                 \
        return WEFT_OK;                                                                                                \
    }
ARRAY_TO(i64, int64_t)
ARRAY_TO(f32, float)
