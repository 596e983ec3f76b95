/* io/store/store_placed.c: arrays written in parts of any order; see io/store/store_writer.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/disk/file_sync.h"
#include "io/npy_text.h"
#include "io/store/store_writer.h"
#include "io/zip/crc32.h"

enum { HASH_PIECE = 1 << 20 };

static weft_status write_at(const store_placed *file, int64_t offset, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = pwrite(file->fd, data, bytes, offset);
        if (written <= 0 && errno != EINTR) {
            return weft_fail_errno(written < 0 ? errno : EIO, file->path);
        }
        if (written > 0) {
            data += written;
            offset += written;
            bytes -= (size_t)written;
        }
    }
    return WEFT_OK;
}

weft_status store_placed_begin(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                               int dims, const int64_t *shape, store_placed *file)
{
    char text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    *entry = store_array_named(name, true);
    entry->dims = dims;
    memcpy(entry->shape, shape, (size_t)dims * sizeof *shape);
    store_dtype_text(kind, item_bytes, entry->dtype);
    file->fd = -1;
    WEFT_TRY(file_path(file->path, "%s/%s", store->folder, entry->file));
    WEFT_TRY(npy_header_text(file->path, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        return file_fail_output(errno, file->path);
    }
    file->header = (int64_t)text_bytes;
    entry->bytes = (int64_t)(text_bytes + data_bytes);
    const int full = posix_fallocate(file->fd, 0, entry->bytes);
    if (full != 0 && full != EOPNOTSUPP && full != EINVAL) {
        return weft_fail_errno(full, file->path);
    }
    return write_at(file, 0, text, text_bytes);
}

weft_status store_placed_write(store_writer *store, const store_placed *file, int64_t offset, const void *data,
                               size_t bytes)
{
    assert(file->fd >= 0 && offset >= 0);
    WEFT_TRY(write_at(file, file->header + offset, data, bytes));
    store->written += (double)bytes;
    log_progress_update(&store->progress, store->written);
    return WEFT_OK;
}

static weft_status hash_file(store_array *entry, const char *path)
{
    file_map map;
    WEFT_TRY(file_map_open(path, &map));
    XXH3_state_t *state = XXH3_createState();
    uint32_t crc = 0;
    if (state == NULL) {
        file_map_close(&map);
        return weft_fail_errno(ENOMEM, path);
    }
    XXH3_128bits_reset(state);
    for (size_t at = 0; at < map.size; at += HASH_PIECE) {
        const size_t piece = map.size - at < HASH_PIECE ? map.size - at : HASH_PIECE;
        XXH3_128bits_update(state, map.data + at, piece);
        crc = zip_crc32(crc, map.data + at, piece);
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        snprintf(entry->xxh3 + 2 * i, 3, "%02x", canonical.digest[i]);
    }
    snprintf(entry->crc32, sizeof entry->crc32, "%08" PRIx32, crc);
    file_map_close(&map);
    return WEFT_OK;
}

weft_status store_placed_end(store_array *entry, weft_status status, store_placed *file)
{
    if (file->fd < 0) {
        return status;
    }
    const int synced = status == WEFT_OK ? file_sync(file->fd) : 0;
    status = synced == 0 ? status : weft_fail_errno(synced, file->path);
    if (close(file->fd) != 0 && status == WEFT_OK) {
        status = weft_fail_errno(errno, file->path);
    }
    file->fd = -1;
    return status == WEFT_OK ? hash_file(entry, file->path) : status;
}
