/* tensor/tensor_stream.c: see tensor/tensor_stream.h. */
#include "tensor/tensor_stream.h"

#include <assert.h>

/* A block is large enough for its copy to take far longer than the start of one, and a few of a matrix: the copy of the
 * first waits for nothing that it could run beside. */
#define BLOCK_BYTES ((int64_t)16 << 20)
enum { BLOCKS = 8, TILE = 256 };

int64_t tensor_stream_block_rows(weft_dtype dtype, int64_t rows, int64_t cols)
{
    const int64_t row_bytes = cols * (int64_t)weft_dtype_bytes(dtype);
    const int64_t most = BLOCK_BYTES / row_bytes;
    const int64_t share = (rows + BLOCKS - 1) / BLOCKS;
    const int64_t tiles = (share < most ? share : most) / TILE; /* of a product, whole */
    return tiles > 0 ? tiles * TILE : TILE;
}

weft_status tensor_stream_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, int64_t block_rows,
                                 weft_mem_tag *tag, tensor_stream *stream)
{
    assert(rows >= 0 && cols >= 1 && block_rows >= 1);
    *stream = (tensor_stream){.hal = hal};
    WEFT_TRY(weft_hal_open("ref", 1, &stream->host));
    for (int i = 0; i < 2; ++i) {
        WEFT_TRY(tensor_create(hal, dtype, block_rows, cols, tag, &stream->block[i]));
    }
    stream->rows = (weft_tensor){.hal = stream->host, .dtype = dtype, .rows = rows, .cols = cols, .ld = cols};
    size_t bytes = 0;
    WEFT_CHECK(!__builtin_mul_overflow((size_t)rows, (size_t)cols * weft_dtype_bytes(dtype), &bytes), WEFT_ERR_RESOURCE,
               "%ld x %ld elements of %s are more bytes than can be addressed", (long)rows, (long)cols,
               weft_dtype_name(dtype));
    return hal->mem.alloc_host(hal, bytes, tag, &stream->rows.data);
}

void tensor_stream_destroy(tensor_stream *stream)
{
    tensor_destroy(&stream->block[0]); /* first: waits for copies into them */
    tensor_destroy(&stream->block[1]);
    if (stream->rows.data != NULL) {
        stream->hal->mem.free_host(stream->hal, stream->rows.data);
    }
    weft_hal_close(stream->host);
    *stream = (tensor_stream){.next = 0};
}

/* Piece by piece, as rows of a narrow view lie apart on the host: from -> piece -> to. */
static weft_status move_rows(const weft_tensor *from, weft_tensor *to)
{
    const int64_t most = tensor_stream_block_rows(from->dtype, from->rows, from->cols);
    void *piece = NULL;
    assert(from->rows == to->rows && from->cols == to->cols && from->dtype == to->dtype);
    WEFT_TRY(weft_malloc((size_t)(most * from->cols), weft_dtype_bytes(from->dtype), WEFT_MEM_WORKSPACE, &piece));
    weft_status status = WEFT_OK;
    for (int64_t row = 0; row < from->rows && status == WEFT_OK; row += most) {
        const int64_t rows = from->rows - row < most ? from->rows - row : most;
        const weft_tensor source = tensor_view(from, row, rows, 0, from->cols);
        weft_tensor target = tensor_view(to, row, rows, 0, to->cols);
        status = tensor_download(&source, piece);
        status = status == WEFT_OK ? tensor_upload(&target, piece) : status;
    }
    weft_free(piece);
    return status;
}

weft_status tensor_stream_upload(const weft_tensor *host, weft_tensor *device)
{
    assert(device->ld == device->cols || device->rows <= 1);
    return move_rows(host, device);
}

weft_status tensor_stream_download(const weft_tensor *device, weft_tensor *host)
{
    assert(device->ld == device->cols || device->rows <= 1);
    return move_rows(device, host);
}

weft_status tensor_stream_bring(tensor_stream *stream, const weft_tensor *rows, weft_tensor *here)
{
    weft_tensor *block = &stream->block[stream->next];
    assert(rows->hal == stream->host && rows->cols == block->cols && rows->ld == block->cols);
    assert(rows->rows <= block->rows);
    stream->next = 1 - stream->next;
    *here = tensor_view(block, 0, rows->rows, 0, block->cols);
    if (rows->rows == 0) {
        return WEFT_OK;
    }
    const size_t bytes = (size_t)(rows->rows * rows->cols) * weft_dtype_bytes(rows->dtype);
    return stream->hal->mem.upload_async(stream->hal, here->data, rows->data, bytes);
}
