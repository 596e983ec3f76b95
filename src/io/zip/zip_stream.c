/*
 * io/zip/zip_stream.c: the bytes of one zip member, in pieces as large as the caller asks for.
 *
 * The inflater writes straight into the caller's buffer and stops at its end. The CRC-32 runs along.
 */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "io/zip/crc32.h"
#include "io/zip/zip.h"

weft_status zip_stream_open(const char *name, const uint8_t *archive, const zip_member *member, zip_stream *stream)
{
    *stream = (zip_stream){.name = name,
                           .member = member,
                           .next = archive + member->data_offset,
                           .packed_left = member->packed_bytes,
                           .left = member->bytes};
    if (member->method == 8) {
        /* Negative window bits: raw deflate, as zip stores it. */
        int code = inflateInit2(&stream->inflate, -MAX_WBITS);
        WEFT_CHECK(code == Z_OK, WEFT_ERR_RESOURCE, "%s: the inflater does not start (%s)", name,
                   code == Z_MEM_ERROR ? "no memory" : "zlib is of another version");
        stream->inflating = 1;
    }
    return WEFT_OK;
}

static void feed(zip_stream *stream)
{
    if (stream->inflate.avail_in == 0) {
        uInt bytes = stream->packed_left > UINT_MAX ? UINT_MAX : (uInt)stream->packed_left;
        stream->inflate.next_in = (Bytef *)(uintptr_t)stream->next;
        stream->inflate.avail_in = bytes;
        stream->next += bytes;
        stream->packed_left -= bytes;
    }
}

static weft_status inflate_into(zip_stream *stream, uint8_t *dst, size_t bytes)
{
    z_stream *z = &stream->inflate;
    while (bytes > 0) {
        feed(stream);
        uInt room = bytes > UINT_MAX ? UINT_MAX : (uInt)bytes;
        z->next_out = dst;
        z->avail_out = room;
        int code = inflate(z, Z_NO_FLUSH);
        WEFT_CHECK(code != Z_MEM_ERROR, WEFT_ERR_RESOURCE, "%s: no memory to inflate", stream->name);
        size_t made = room - z->avail_out;
        dst += made;
        bytes -= made;
        WEFT_CHECK(code == Z_OK || (code == Z_STREAM_END && bytes == 0), WEFT_ERR_DATA, "%s: the deflated data are %s",
                   stream->name, code == Z_STREAM_END || code == Z_BUF_ERROR ? "shorter than declared" : "garbled");
    }
    return WEFT_OK;
}

weft_status zip_stream_read(zip_stream *stream, void *dst, size_t bytes)
{
    WEFT_CHECK(bytes <= stream->left, WEFT_ERR_DATA, "%s: truncated: %zu bytes wanted, %" PRIu64 " left", stream->name,
               bytes, stream->left);
    if (bytes == 0) {
        return WEFT_OK;
    }
    if (stream->inflating) {
        WEFT_TRY(inflate_into(stream, dst, bytes));
    } else {
        memcpy(dst, stream->next, bytes);
        stream->next += bytes;
        stream->packed_left -= bytes;
    }
    stream->left -= bytes;
    stream->crc = zip_crc32(stream->crc, dst, bytes);
    return WEFT_OK;
}

weft_status zip_stream_finish(zip_stream *stream)
{
    WEFT_CHECK(stream->left == 0, WEFT_ERR_DATA, "%s: %" PRIu64 " bytes after the array", stream->name, stream->left);
    if (stream->inflating) {
        uint8_t surplus;
        int code = Z_OK;
        while (code == Z_OK) { /* the end marker may still be to come; it makes no output */
            feed(stream);
            stream->inflate.next_out = &surplus;
            stream->inflate.avail_out = 1;
            code = inflate(&stream->inflate, Z_NO_FLUSH);
            WEFT_CHECK(stream->inflate.avail_out == 1, WEFT_ERR_DATA, "%s: the deflated data are longer than declared",
                       stream->name);
        }
        WEFT_CHECK(code == Z_STREAM_END && stream->packed_left == 0 && stream->inflate.avail_in == 0, WEFT_ERR_DATA,
                   "%s: the deflated data do not end where the directory says", stream->name);
    }
    WEFT_CHECK(stream->crc == stream->member->crc, WEFT_ERR_DATA,
               "%s: wrong CRC: %08x, the directory says %08x: damaged", stream->name, stream->crc, stream->member->crc);
    return WEFT_OK;
}

void zip_stream_close(zip_stream *stream)
{
    if (stream->inflating) {
        inflateEnd(&stream->inflate);
        stream->inflating = 0;
    }
}
