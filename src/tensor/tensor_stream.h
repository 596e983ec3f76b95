/*
 * tensor/tensor_stream.h: a constant matrix that stays in the host's memory, pinned where the backend has such, and
 * passes through two blocks of the backend's:
 *
 *     host     rows 0 .. | b .. | 2 b .. | 3 b .. | ...
 *     copies   block 0     1      0        1                 each as soon as what reads its block's rows before is done
 *     reads          block 0      1        0        1        while the next rows are copied
 *
 * A backend that copies beside its operations (hal/hal.h) puts them in this order by itself: nothing waits here.
 * Memory: the matrix on the host, 2 b rows on the backend. Not collective.
 */
#pragma once

#include "tensor/tensor.h"

typedef struct tensor_stream {
    weft_hal *hal, *host;
    /* [rows, cols] on a backend of its own, the host's: written by tensor_upload, or below, before the first rows are
     * brought, never later; as an operand beside others it is refused. */
    weft_tensor rows;
    weft_tensor block[2];
    int next;
} tensor_stream;

/* Rows of a block: of some MB, less of a small matrix. */
int64_t tensor_stream_block_rows(weft_dtype dtype, int64_t rows, int64_t cols);
/* block_rows >= 1. tag: of all memory. Zeroed *stream, also after a failure, may be destroyed. WEFT_ERR_RESOURCE: no
 * room. */
weft_status tensor_stream_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, int64_t block_rows,
                                 weft_mem_tag *tag, tensor_stream *stream);
void tensor_stream_destroy(tensor_stream *stream);
/* host: any view of stream->rows; device: a matrix of that shape on the backend, without gaps. Copies one into the
 * other, and waits; before the first rows are brought. WEFT_ERR_RESOURCE: no room for a piece of it in between. */
weft_status tensor_stream_upload(const weft_tensor *host, weft_tensor *device);
weft_status tensor_stream_download(const weft_tensor *device, weft_tensor *host);
/* rows: a view of whole rows of stream->rows, a block at most. [out] here: the same on the backend, the caller's to
 * change, until rows are brought twice more. */
weft_status tensor_stream_bring(tensor_stream *stream, const weft_tensor *rows, weft_tensor *here);
