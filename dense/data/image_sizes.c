/* dense/data/image_sizes.c: see dense/data/image_sizes.h. */
#include "dense/data/image_sizes.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "dense/data/decode/image_decode.h"

enum { HEAD = 256, VERSION = 3 };

static weft_status describe(const char *folder, const image_key *key, int64_t files, char path[FILE_PATH_MAX],
                            char head[HEAD])
{
    memset(head, 0, HEAD);
    snprintf(head, HEAD, "weft image sizes %d\nidentity %s\nfiles %lld\n", VERSION, key->identity, (long long)files);
    return file_path(path, "%s/images-%s.sizes", folder, key->place);
}

static uint64_t checksum(const char head[HEAD], const int32_t *sizes, size_t bytes)
{
    return file_checksum(sizes, bytes, file_checksum(head, HEAD, 0));
}

static bool are_plausible(const int32_t *sizes, int64_t files)
{
    for (int64_t i = 0; i < files; ++i) {
        const int64_t height = sizes[IMAGE_SIZES_COLUMNS * i], width = sizes[IMAGE_SIZES_COLUMNS * i + 1];
        const int32_t channels = sizes[IMAGE_SIZES_COLUMNS * i + 2];
        if (height < 0 || width < 0 || (height == 0) != (width == 0) || height * width > IMAGE_PIXELS_MAX ||
            (height > 0 ? channels != 1 && channels != 3 : channels != 0)) {
            return false;
        }
    }
    return true;
}

bool image_sizes_read(const char *folder, const image_key *key, int64_t files, int32_t *sizes)
{
    char path[FILE_PATH_MAX], head[HEAD];
    uint64_t sum;
    file_map map;
    const size_t bytes = (size_t)files * IMAGE_SIZES_COLUMNS * sizeof *sizes;
    if (describe(folder, key, files, path, head) != WEFT_OK || !file_exists(path) ||
        file_map_open(path, &map) != WEFT_OK) {
        weft_error_clear();
        return false;
    }
    bool known = map.size == HEAD + bytes + sizeof sum && memcmp(map.data, head, HEAD) == 0;
    if (known) {
        memcpy(sizes, map.data + HEAD, bytes);
        memcpy(&sum, map.data + HEAD + bytes, sizeof sum);
        known = sum == checksum(head, sizes, bytes) && are_plausible(sizes, files);
    }
    file_map_close(&map);
    return known;
}

static weft_status write_file(const char *path, const char head[HEAD], const int32_t *sizes, size_t bytes)
{
    file_writer writer;
    const uint64_t sum = checksum(head, sizes, bytes);
    WEFT_TRY(file_writer_open(path, &writer));
    weft_status status = file_write(&writer, head, HEAD);
    status = status == WEFT_OK ? file_write(&writer, sizes, bytes) : status;
    status = status == WEFT_OK ? file_write(&writer, &sum, sizeof sum) : status;
    if (status != WEFT_OK) {
        file_writer_discard(&writer);
        return status;
    }
    return file_writer_commit(&writer);
}

void image_sizes_write(const char *folder, const image_key *key, int64_t files, const int32_t *sizes)
{
    char path[FILE_PATH_MAX], head[HEAD];
    weft_status status = folder_make(folder);
    status = status == WEFT_OK ? describe(folder, key, files, path, head) : status;
    status =
        status == WEFT_OK ? write_file(path, head, sizes, (size_t)files * IMAGE_SIZES_COLUMNS * sizeof *sizes) : status;
    if (status != WEFT_OK) {
        log_warn("%s: the next job looks at all images again", weft_error_message());
        weft_error_clear();
    }
}
