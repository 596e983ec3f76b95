/*
 * io/store/store_writer.h: arrays written into the folder of a store, each with its entry for the manifest.
 *
 *   store_writer writer = {.folder = temporary, .progress = log_progress_begin("write store", "bytes", bytes)};
 *   WEFT_TRY(store_array_write(&writer, &entry, "label", 'i', 4, 1, shape, data));
 *
 * The folder is the temporary one of folder_begin (base/file.h); the caller writes the manifest last and commits the
 * folder, so a reader sees a whole store or none.
 */
#pragma once

#include <stdbool.h>

#include "base/log.h"
#include "io/store/store_array.h"

typedef struct store_writer {
    const char *folder;
    log_progress progress;
    double written; /* bytes so far */
    uint32_t crc;   /* CRC-32 of the open array so far */
} store_writer;

/* Begins the array's file and fills in its entry but for bytes and checksums. */
weft_status store_array_begin(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                              int dims, const int64_t *shape, file_writer *file);
weft_status store_array_piece(store_writer *store, file_writer *file, const void *data, size_t bytes);
/* Ends the file: commits it if status is WEFT_OK, else discards it and returns status. */
weft_status store_array_end(store_writer *store, store_array *entry, weft_status status, file_writer *file);
/* All three for an array in memory. */
weft_status store_array_write(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                              int dims, const int64_t *shape, const void *data);

/* An array whose parts are written in any order. Its checksums are made at the end, by reading the file. */
typedef struct store_placed {
    int fd;
    char path[FILE_PATH_MAX];
    int64_t header; /* bytes before the data */
} store_placed;

/* Makes the file at its full size, so that a full disk shows at once. */
weft_status store_placed_begin(store_writer *store, store_array *entry, const char *name, char kind, int item_bytes,
                               int dims, const int64_t *shape, store_placed *file);
/* Writes bytes at an offset of the data. */
weft_status store_placed_write(store_writer *store, const store_placed *file, int64_t offset, const void *data,
                               size_t bytes);
/* Closes the file; if status is WEFT_OK, also flushes it and fills in the checksums. Returns status, or the failure. */
weft_status store_placed_end(store_array *entry, weft_status status, store_placed *file);

/* WEFT_ERR_USAGE unless `path` is absent, a store (it has a manifest) or an empty folder; `what`: "a graph store".
 * Looks only, so that it can be asked before an hour of reading. */
weft_status store_check_replaceable(const char *path, const char *what);
/* Removes what a failed writing left at `temporary`, keeps the message and returns status. */
weft_status store_discard(const char *temporary, weft_status status);
