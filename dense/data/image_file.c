/* dense/data/image_file.c: whole files and their names; see dense/data/image_file.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "dense/data/image_file.h"
#include "dense/data/image_reader.h"
#include "io/text/text_stream.h"

enum { FIRST_BYTES = 1 << 16 };

static weft_status fail_large(const image_bytes *all, const image_options *options)
{
    return weft_fail(WEFT_ERR_DATA, "%s: unpacks to more than %s: raise %s", all->path,
                     number_say_bytes(options->memory).text, image_memory_flag(options));
}

/* Room for more: twice as much, at most a byte more than there may be. */
static weft_status grow(image_bytes *all, uint64_t most, size_t *capacity)
{
    const uint64_t twice = *capacity == 0 ? FIRST_BYTES : 2 * (uint64_t)*capacity;
    *capacity = (size_t)(twice <= most ? twice : most + 1);
    return weft_realloc((void **)&all->unpacked, *capacity, 1, WEFT_MEM_IMAGE);
}

static weft_status unpack(text_stream *stream, const image_options *options, image_bytes_stated stated,
                          image_bytes *all)
{
    size_t capacity = 0;
    for (size_t got = 1; got > 0; all->bytes += got) {
        const uint64_t whole = stated != NULL && all->bytes > 0 ? stated(all->unpacked, all->bytes) : 0;
        if (whole > 0 && all->bytes > whole) {
            break; /* the reader says what is wrong */
        }
        const uint64_t most = whole > 0 && whole < options->memory ? whole : options->memory;
        if (all->bytes > most) {
            return fail_large(all, options);
        }
        if (all->bytes == capacity) {
            WEFT_TRY(grow(all, most, &capacity));
        }
        WEFT_TRY(text_stream_read(stream, (char *)all->unpacked + all->bytes, capacity - all->bytes, &got));
    }
    all->data = all->unpacked;
    return WEFT_OK;
}

static weft_status map(image_bytes *all)
{
    WEFT_TRY(file_map_open(all->path, &all->map));
    all->data = all->map.data;
    all->bytes = all->map.size;
    return WEFT_OK;
}

weft_status image_bytes_open(const char *path, const image_options *options, image_bytes_stated stated,
                             image_bytes *all)
{
    text_stream *stream;
    *all = (image_bytes){.bytes = 0};
    WEFT_TRY(text_stream_open(path, &stream));
    weft_status status = WEFT_NEW(&all->path, strlen(path) + 1, WEFT_MEM_IMAGE);
    if (status == WEFT_OK) {
        memcpy(all->path, path, strlen(path) + 1);
        status = text_stream_plain(stream) ? map(all) : unpack(stream, options, stated, all);
    }
    text_stream_close(stream);
    if (status != WEFT_OK) {
        image_bytes_close(all);
    }
    return status;
}

void image_bytes_close(image_bytes *all)
{
    WEFT_FREE_ALL(all->path, all->unpacked);
    file_map_close(&all->map);
    *all = (image_bytes){.bytes = 0};
}

bool image_file_find(const char *folder, const char *name, char path[FILE_PATH_MAX])
{
    return (file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path)) ||
           (file_path(path, "%s/%s.gz", folder, name) == WEFT_OK && file_exists(path));
}
