/*
 * gnn/data/read/reader_features.c: dense features that go from their file straight into the store.
 *
 * The store's writer asks for runs of rows in order (graph_arrays.fill_features); they come out of a stream of an .npz
 * member or a mapped .npy. So 57 GB of features convert in a few MB.
 */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/number.h"
#include "gnn/data/read/reader_parts.h"

weft_status reader_check_finite(const char *name, int64_t row, int64_t rows, int64_t columns, const float *values)
{
    for (int64_t i = 0; i < rows * columns; i++) {
        WEFT_CHECK(isfinite(values[i]), WEFT_ERR_DATA, "%s: row %" PRId64 ", column %" PRId64 ": %g is not finite",
                   name, row + i / columns, i % columns, number_plain((double)values[i]));
    }
    return WEFT_OK;
}

/* [vertices, features], or [vertices] for one feature. */
static weft_status check_shape(const char *label, const npy_header *header, raw_graph *raw)
{
    WEFT_CHECK(header->dims == 1 || header->dims == 2, WEFT_ERR_DATA, "%s: %d dimensions, expected 2", label,
               header->dims);
    WEFT_CHECK(header->shape[0] == raw->vertices, WEFT_ERR_DATA,
               "%s: %" PRId64 " rows of features for %" PRId64 " vertices", label, header->shape[0], raw->vertices);
    raw->features = header->dims == 2 ? header->shape[1] : 1;
    return WEFT_OK;
}

/* ---- a member of an .npz ---- */

typedef struct streamed_features {
    char label[FILE_PATH_MAX];
    npz_file *npz;
    npz_stream *stream;
    int64_t vertices, features;
} streamed_features;

static void free_streamed(void *self)
{
    streamed_features *source = self;
    npz_stream_close(source->stream);
    npz_close(source->npz);
    weft_free(source);
}

static weft_status fill_streamed(void *self, int64_t row, int64_t rows, float *out)
{
    streamed_features *source = self;
    WEFT_TRY(npz_stream_f32(source->stream, rows * source->features, out));
    WEFT_TRY(reader_check_finite(source->label, row, rows, source->features, out));
    return row + rows == source->vertices ? npz_stream_finish(source->stream) : WEFT_OK;
}

weft_status reader_stream_features(const char *path, const char *name, raw_graph *raw)
{
    streamed_features *source = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&source, 1, WEFT_MEM_GENERAL));
    weft_status status;
    WEFT_TRY_GOTO(file_path(source->label, "%s[%s]", path, name), status, failed);
    WEFT_TRY_GOTO(npz_open(path, &source->npz), status, failed);
    int i = npz_find(source->npz, name);
    WEFT_CHECK_GOTO(i >= 0, status, failed, WEFT_ERR_DATA, "%s: lacks the array '%s'", path, name);
    WEFT_TRY_GOTO(npz_stream_open(source->npz, i, &source->stream), status, failed);
    WEFT_TRY_GOTO(check_shape(source->label, npz_stream_header(source->stream), raw), status, failed);
    source->vertices = raw->vertices;
    source->features = raw->features;
    raw->fill_features = fill_streamed;
    raw->free_features = free_streamed;
    raw->fill_self = source;
    return WEFT_OK;
failed:
    free_streamed(source);
    return status;
}

/* ---- a .npy file ---- */

typedef struct mapped_features {
    char path[FILE_PATH_MAX];
    npy_map npy;
    int64_t vertices, features;
    uint8_t *gathered; /* one row in C order and native byte order, where the file's is another */
} mapped_features;

static void free_mapped(void *self)
{
    mapped_features *source = self;
    npy_map_close(&source->npy);
    WEFT_FREE_ALL(source->gathered, source);
}

/* Row by row out of a file in Fortran order or foreign byte order. */
static void gather_row(const mapped_features *source, int64_t row)
{
    const npy_header *header = &source->npy.header;
    int64_t item = header->item_bytes;
    int64_t row_step = header->fortran_order ? item : item * source->features;
    int64_t column_step = header->fortran_order ? item * source->vertices : item;
    for (int64_t j = 0; j < source->features; j++) {
        const uint8_t *from = (const uint8_t *)source->npy.data + row * row_step + j * column_step;
        uint8_t *to = source->gathered + j * item;
        for (int64_t b = 0; b < item; b++) {
            to[b] = from[header->big_endian ? item - 1 - b : b];
        }
    }
}

static weft_status fill_mapped(void *self, int64_t row, int64_t rows, float *out)
{
    mapped_features *source = self;
    const npy_header *header = &source->npy.header;
    int64_t f = source->features;
    if (source->gathered == NULL) {
        const uint8_t *data = (const uint8_t *)source->npy.data + row * f * header->item_bytes;
        WEFT_TRY(npy_convert_f32(source->path, header, data, row * f, rows * f, out));
    } else {
        for (int64_t i = 0; i < rows; i++) {
            gather_row(source, row + i);
            WEFT_TRY(npy_convert_f32(source->path, header, source->gathered, (row + i) * f, f, out + i * f));
        }
    }
    WEFT_TRY(file_map_check(source->path, &source->npy.map));
    return reader_check_finite(source->path, row, rows, f, out);
}

weft_status reader_map_features(const char *path, raw_graph *raw)
{
    mapped_features *source = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&source, 1, WEFT_MEM_GENERAL));
    weft_status status;
    WEFT_TRY_GOTO(file_path(source->path, "%s", path), status, failed);
    WEFT_TRY_GOTO(npy_map_open(path, &source->npy), status, failed);
    const npy_header *header = &source->npy.header;
    WEFT_TRY_GOTO(check_shape(path, header, raw), status, failed);
    WEFT_CHECK_GOTO(header->kind != 'S' && header->kind != 'U', status, failed, WEFT_ERR_DATA,
                    "%s: holds text, expected numbers", path);
    source->vertices = raw->vertices;
    source->features = raw->features;
    if ((header->fortran_order && header->dims == 2) || header->big_endian) {
        WEFT_TRY_GOTO(weft_malloc((size_t)raw->features, (size_t)header->item_bytes, WEFT_MEM_WORKSPACE,
                                  (void **)&source->gathered),
                      status, failed);
    }
    raw->fill_features = fill_mapped;
    raw->free_features = free_mapped;
    raw->fill_self = source;
    return WEFT_OK;
failed:
    free_mapped(source);
    return status;
}
