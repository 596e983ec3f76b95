/* dense/data/image_file.c: whole files and their names; see dense/data/image_store.h. */
#include "base/alloc.h"
#include "base/number.h"
#include "dense/data/image_options.def"
#include "dense/data/image_store.h"
#include "io/text/text_stream.h"

enum { FIRST_BYTES = 1 << 16 };

static weft_status read_all(const char *path, text_stream *stream, uint64_t most, uint8_t **data, size_t *bytes)
{
    size_t capacity = 0;
    for (size_t got = 1; got > 0; *bytes += got) {
        if (*bytes == capacity) {
            WEFT_CHECK(capacity <= most, WEFT_ERR_DATA, "%s: unpacks to more than %s: raise " FLAG_CACHE_MEMORY, path,
                       number_say_bytes(most).text);
            capacity = capacity == 0 ? FIRST_BYTES : 2 * capacity;
            WEFT_TRY(weft_realloc((void **)data, capacity, 1, WEFT_MEM_IMAGE));
        }
        WEFT_TRY(text_stream_read(stream, (char *)*data + *bytes, capacity - *bytes, &got));
    }
    WEFT_CHECK(*bytes <= most, WEFT_ERR_DATA, "%s: unpacks to %s, more than %s: raise " FLAG_CACHE_MEMORY, path,
               number_say_bytes(*bytes).text, number_say_bytes(most).text);
    return WEFT_OK;
}

weft_status image_file_read(const char *path, uint64_t most, uint8_t **data, size_t *bytes)
{
    text_stream *stream;
    *data = NULL;
    *bytes = 0;
    WEFT_TRY(text_stream_open(path, &stream));
    weft_status status = read_all(path, stream, most, data, bytes);
    text_stream_close(stream);
    if (status != WEFT_OK) {
        weft_free(*data);
        *data = NULL;
    }
    return status;
}

bool image_file_find(const char *folder, const char *name, char path[FILE_PATH_MAX])
{
    return (file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path)) ||
           (file_path(path, "%s/%s.gz", folder, name) == WEFT_OK && file_exists(path));
}
