/* io/text/foreign_file.c: see io/text/foreign_file.h. */
#include "io/text/foreign_file.h"

#include "io/foreign_kind.h"
#include "io/text/text_stream.h"

weft_status foreign_file_refuse(const char *path)
{
    char head[FOREIGN_HEAD];
    text_stream *stream;
    size_t held = 0;
    WEFT_TRY(text_stream_open(path, &stream));
    weft_status status = WEFT_OK;
    for (size_t got = 1; status == WEFT_OK && got > 0 && held < FOREIGN_HEAD; held += got) {
        got = 0;
        status = text_stream_read(stream, head + held, FOREIGN_HEAD - held, &got);
    }
    text_stream_close(stream);
    WEFT_TRY(status);
    WEFT_CHECK(held > 0, WEFT_ERR_DATA, "%s: is empty", path);
    return foreign_kind_check(path, (const uint8_t *)head, held);
}
