/* io/gzip_writer.c: see io/gzip_writer.h. zlib's own header and checksum (window bits 16 + 15). */
#include "io/gzip_writer.h"

#include <limits.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"

enum { OUT_BYTES = 64 << 10, LEVEL = 6, MEMORY_LEVEL = 8, GZIP_WINDOW = 16 + MAX_WBITS };

struct gzip_writer {
    file_writer file;
    z_stream deflate;
    uint8_t out[OUT_BYTES];
};

weft_status gzip_writer_open(const char *path, gzip_writer **writer)
{
    *writer = NULL;
    gzip_writer *fresh = NULL;
    WEFT_TRY(WEFT_NEW(&fresh, 1, WEFT_MEM_GENERAL));
    fresh->deflate = (z_stream){.zalloc = NULL};
    weft_status status = file_writer_open(path, &fresh->file);
    if (status == WEFT_OK &&
        deflateInit2(&fresh->deflate, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        file_writer_discard(&fresh->file);
        status = weft_fail(WEFT_ERR_RESOURCE, "%s: no memory to deflate", path);
    }
    if (status != WEFT_OK) {
        weft_free(fresh);
        return status;
    }
    *writer = fresh;
    return WEFT_OK;
}

/* Deflate what is in avail_in, and with Z_FINISH all that zlib still holds. */
static weft_status pump(gzip_writer *writer, int flush)
{
    z_stream *z = &writer->deflate;
    do {
        z->next_out = writer->out;
        z->avail_out = OUT_BYTES;
        int code = deflate(z, flush);
        WEFT_CHECK(code != Z_STREAM_ERROR, WEFT_ERR_INTERNAL, "%s: the deflater is in a wrong state",
                   writer->file.path);
        WEFT_TRY(file_write(&writer->file, writer->out, OUT_BYTES - z->avail_out));
    } while (z->avail_out == 0);
    return WEFT_OK;
}

weft_status gzip_write(gzip_writer *writer, const void *data, size_t bytes)
{
    const Bytef *at = data;
    while (bytes > 0) {
        uInt piece = bytes > UINT_MAX ? UINT_MAX : (uInt)bytes;
        writer->deflate.next_in = (Bytef *)(uintptr_t)at;
        writer->deflate.avail_in = piece;
        WEFT_TRY(pump(writer, Z_NO_FLUSH));
        at += piece;
        bytes -= piece;
    }
    return WEFT_OK;
}

weft_status gzip_writer_commit(gzip_writer *writer)
{
    weft_status status = pump(writer, Z_FINISH);
    status = status == WEFT_OK ? file_writer_commit(&writer->file) : status;
    gzip_writer_discard(writer);
    return status;
}

void gzip_writer_discard(gzip_writer *writer)
{
    if (writer != NULL) {
        (void)deflateEnd(&writer->deflate);
        file_writer_discard(&writer->file);
        weft_free(writer);
    }
}
