/* io/store/store_writer.c: see io/store/store_writer.h. */
#include "io/store/store_writer.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base_options.def"
#include "io/npy_text.h"
#include "io/zip/crc32.h"

enum { PIECE_BYTES = 32 << 20 };

static weft_status write_counted(store_writer *store, file_writer *file, const void *data, size_t bytes)
{
    WEFT_TRY(file_write(file, data, bytes));
    store->crc = zip_crc32(store->crc, data, bytes);
    return WEFT_OK;
}

weft_status store_array_begin(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                              int dims, const int64_t *shape, file_writer *file)
{
    char path[FILE_PATH_MAX], text[NPY_TEXT_MAX];
    size_t text_bytes = 0, data_bytes = 0;
    assert(dims >= 1 && dims <= NPY_MAX_DIMS);
    *entry = store_array_named(name, true);
    entry->dims = dims;
    memcpy(entry->shape, shape, (size_t)dims * sizeof *shape);
    store_dtype_text(kind, item_bytes, entry->dtype);
    WEFT_TRY(file_path(path, "%s/%s", store->folder, entry->file));
    WEFT_TRY(npy_header_text(path, kind, item_bytes, dims, shape, text, &text_bytes, &data_bytes));
    WEFT_TRY(file_writer_open(path, file));
    store->crc = 0;
    weft_status status = write_counted(store, file, text, text_bytes);
    if (status != WEFT_OK) {
        file_writer_discard(file);
    }
    return status;
}

weft_status store_array_piece(store_writer *store, file_writer *file, const void *data, size_t bytes)
{
    WEFT_TRY(write_counted(store, file, data, bytes));
    store->written += (double)bytes;
    log_progress_update(&store->progress, store->written);
    return WEFT_OK;
}

weft_status store_array_end(store_writer *store, store_array *entry, weft_status status, file_writer *file)
{
    if (status != WEFT_OK) {
        file_writer_discard(file);
        return status;
    }
    entry->bytes = ftello(file->stream);
    file_writer_hash(file, entry->xxh3);
    snprintf(entry->crc32, sizeof entry->crc32, "%08" PRIx32, store->crc);
    return file_writer_commit(file);
}

weft_status store_array_write(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                              int dims, const int64_t *shape, const void *data)
{
    file_writer file;
    size_t bytes = (size_t)item_bytes;
    for (int d = 0; d < dims; d++) {
        bytes *= (size_t)shape[d];
    }
    WEFT_TRY(store_array_begin(store, entry, name, kind, item_bytes, dims, shape, &file));
    weft_status status = WEFT_OK;
    for (size_t at = 0; at < bytes && status == WEFT_OK; at += PIECE_BYTES) {
        const size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        status = store_array_piece(store, &file, (const char *)data + at, piece);
    }
    return store_array_end(store, entry, status, &file);
}

/* Returns true if the path is a folder without entries; a link to one is none. */
static bool is_empty_folder(const char *path)
{
    int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = file >= 0 ? fdopendir(file) : NULL;
    int entries = 0;
    if (folder == NULL) {
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    weft_status status = WEFT_OK;
    const struct dirent *entry;
    while (entries == 0 && (entry = folder_next(folder, path, &status)) != NULL) {
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(folder);
    return status == WEFT_OK && entries == 0;
}

weft_status store_check_replaceable(const char *path, const char *what)
{
    char name[FILE_PATH_MAX];
    WEFT_TRY(file_path(name, "%s/manifest.json", path));
    WEFT_CHECK(!file_exists(path) || file_exists(name) || is_empty_folder(path), WEFT_ERR_USAGE,
               "%s: exists and is not %s: " FLAG_FORCE " does not replace it; choose another name", path, what);
    return WEFT_OK;
}

weft_status store_discard(const char *temporary, weft_status status)
{
    if (temporary[0] == '\0' || !file_exists(temporary)) {
        return status;
    }
    char message[2048];
    snprintf(message, sizeof message, "%s", weft_error_message());
    (void)folder_remove(temporary);
    return weft_fail(status, "%s", message);
}
