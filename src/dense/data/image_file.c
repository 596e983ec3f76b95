/* dense/data/image_file.c: whole files and their names; see dense/data/image_store.h. */
#include "base/alloc.h"
#include "base/number.h"
#include "dense/data/image_options.def"
#include "dense/data/image_store.h"
#include "io/text/text_stream.h"

enum { FIRST_BYTES = 1 << 16 };

static weft_status unpack(const char *path, text_stream *stream, uint64_t most, image_bytes *all)
{
    size_t capacity = 0;
    for (size_t got = 1; got > 0; all->bytes += got) {
        if (all->bytes == capacity) {
            WEFT_CHECK(capacity <= most, WEFT_ERR_DATA, "%s: unpacks to more than %s: raise " FLAG_CACHE_MEMORY, path,
                       number_say_bytes(most).text);
            capacity = capacity == 0 ? FIRST_BYTES : 2 * capacity;
            WEFT_TRY(weft_realloc((void **)&all->unpacked, capacity, 1, WEFT_MEM_IMAGE));
        }
        WEFT_TRY(text_stream_read(stream, (char *)all->unpacked + all->bytes, capacity - all->bytes, &got));
    }
    WEFT_CHECK(all->bytes <= most, WEFT_ERR_DATA, "%s: unpacks to %s, more than %s: raise " FLAG_CACHE_MEMORY, path,
               number_say_bytes(all->bytes).text, number_say_bytes(most).text);
    all->data = all->unpacked;
    return WEFT_OK;
}

static weft_status map(const char *path, image_bytes *all)
{
    WEFT_TRY(file_map_open(path, &all->map));
    all->data = all->map.data;
    all->bytes = all->map.size;
    return WEFT_OK;
}

weft_status image_bytes_open(const char *path, uint64_t most, image_bytes *all)
{
    text_stream *stream;
    *all = (image_bytes){.bytes = 0};
    WEFT_TRY(text_stream_open(path, &stream));
    weft_status status = text_stream_plain(stream) ? map(path, all) : unpack(path, stream, most, all);
    text_stream_close(stream);
    if (status != WEFT_OK) {
        image_bytes_close(all);
    }
    return status;
}

void image_bytes_close(image_bytes *all)
{
    weft_free(all->unpacked);
    file_map_close(&all->map);
    *all = (image_bytes){.bytes = 0};
}

bool image_file_find(const char *folder, const char *name, char path[FILE_PATH_MAX])
{
    return (file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path)) ||
           (file_path(path, "%s/%s.gz", folder, name) == WEFT_OK && file_exists(path));
}
