/*
 * graph/graph_write.c: a graph store written: arrays into a temporary folder, each with its checksum, the manifest
 * last, then the folder renamed. A reader therefore sees a whole store or none.
 *
 * With force an existing folder is replaced only if it is a graph store or empty: a mistyped --out must not remove a
 * home folder. Features may come from a callback in pieces of 32 MiB, so that they never stand in memory as a whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base_options.def"
#include "base/log.h"
#include "graph/graph_manifest.h"

enum { PIECE_BYTES = 32 << 20 };

typedef struct store_writer {
    const char *folder;
    graph_manifest *manifest;
    log_progress progress;
    double written;
} store_writer;

/* Begin the array's file and note it in the manifest. */
static weft_status begin_array(store_writer *store, graph_array id, char kind, int item_bytes, int dims, int64_t rows,
                               int64_t columns, file_writer *writer)
{
    graph_manifest_array *entry = &store->manifest->arrays[id];
    *entry = (graph_manifest_array){.present = true, .dims = dims, .shape = {rows, columns}};
    snprintf(entry->file, sizeof entry->file, "%s.npy", graph_array_names[id]);
    snprintf(entry->dtype, sizeof entry->dtype, "%s%d",
             kind == 'f'   ? "float"
             : kind == 'i' ? "int"
                           : "uint",
             8 * item_bytes);
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", store->folder, entry->file));
    return npy_writer_begin(path, kind, item_bytes, dims, entry->shape, writer);
}

static weft_status write_piece(store_writer *store, file_writer *writer, const void *data, size_t bytes)
{
    WEFT_TRY(file_write(writer, data, bytes));
    store->written += (double)bytes;
    log_progress_update(&store->progress, store->written);
    return WEFT_OK;
}

/* On failure the file is discarded. */
static weft_status end_array(store_writer *store, graph_array id, weft_status status, file_writer *writer)
{
    if (status != WEFT_OK) {
        file_writer_discard(writer);
        return status;
    }
    graph_manifest_array *entry = &store->manifest->arrays[id];
    entry->bytes = ftello(writer->stream);
    file_writer_hash(writer, entry->xxh3);
    return file_writer_commit(writer);
}

static weft_status write_array(store_writer *store, graph_array id, char kind, int item_bytes, int dims, int64_t rows,
                               int64_t columns, const void *data)
{
    file_writer writer;
    WEFT_TRY(begin_array(store, id, kind, item_bytes, dims, rows, columns, &writer));
    size_t bytes = (size_t)rows * (size_t)(dims > 1 ? columns : 1) * (size_t)item_bytes;
    weft_status status = WEFT_OK;
    for (size_t at = 0; at < bytes && status == WEFT_OK; at += PIECE_BYTES) {
        size_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        status = write_piece(store, &writer, (const char *)data + at, piece);
    }
    return end_array(store, id, status, &writer);
}

static weft_status write_filled_features(store_writer *store, const graph_arrays *arrays)
{
    size_t row_bytes = (size_t)arrays->features * sizeof(float);
    int64_t piece = row_bytes >= PIECE_BYTES ? 1 : (int64_t)(PIECE_BYTES / row_bytes);
    float *rows = NULL;
    WEFT_TRY(weft_malloc((size_t)piece, row_bytes, WEFT_MEM_WORKSPACE, (void **)&rows));
    file_writer writer;
    weft_status status = begin_array(store, GRAPH_FEATURE, 'f', 4, 2, arrays->vertices, arrays->features, &writer);
    if (status == WEFT_OK) {
        for (int64_t row = 0; row < arrays->vertices && status == WEFT_OK; row += piece) {
            int64_t count = arrays->vertices - row < piece ? arrays->vertices - row : piece;
            status = arrays->fill_features(arrays->fill_self, row, count, rows);
            if (status == WEFT_OK) {
                status = write_piece(store, &writer, rows, (size_t)count * row_bytes);
            }
        }
        status = end_array(store, GRAPH_FEATURE, status, &writer);
    }
    weft_free(rows);
    return status;
}

/* NULL: there are none. */
static weft_status write_names(store_writer *store, graph_array id, const char *const *names, int64_t count)
{
    char *text;
    size_t bytes;
    if (names == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(name_list_join(graph_array_names[id], names, count, &text, &bytes));
    weft_status status = write_array(store, id, 'u', 1, 1, (int64_t)bytes, 0, text);
    weft_free(text);
    return status;
}

static weft_status write_all(store_writer *store, const graph_arrays *a)
{
    int64_t n = a->vertices;
    WEFT_TRY(write_array(store, GRAPH_OFFSET, 'i', 8, 1, n + 1, 0, a->offset));
    WEFT_TRY(write_array(store, GRAPH_SOURCE, 'i', 4, 1, a->edges, 0, a->source));
    if (a->weight != NULL) {
        WEFT_TRY(write_array(store, GRAPH_WEIGHT, 'f', 4, 1, a->edges, 0, a->weight));
    }
    if (store->manifest->feature_numbers >= 0) {
        const int64_t numbers = store->manifest->feature_numbers;
        WEFT_TRY(write_array(store, GRAPH_FEATURE_OFFSET, 'i', 8, 1, n + 1, 0, a->feature_offset));
        WEFT_TRY(write_array(store, GRAPH_FEATURE_COLUMN, 'i', 4, 1, numbers, 0, a->feature_column));
        WEFT_TRY(write_array(store, GRAPH_FEATURE_VALUE, 'f', 4, 1, numbers, 0, a->feature_value));
    } else if (a->feature != NULL) {
        WEFT_TRY(write_array(store, GRAPH_FEATURE, 'f', 4, 2, n, a->features, a->feature));
    } else if (store->manifest->features > 0) {
        WEFT_TRY(write_filled_features(store, a));
    }
    if (a->label != NULL) {
        WEFT_TRY(write_array(store, GRAPH_LABEL, 'i', 4, 1, n, 0, a->label));
    }
    if (a->target != NULL) {
        WEFT_TRY(write_array(store, GRAPH_TARGET, 'f', 4, 2, n, a->tasks, a->target));
    }
    if (a->split != NULL) {
        bool single = a->splits == 1;
        WEFT_TRY(write_array(store, GRAPH_SPLIT, 'u', 1, single ? 1 : 2, single ? n : a->splits, n, a->split));
    }
    WEFT_TRY(write_names(store, GRAPH_CLASS_NAME, store->manifest->class_named ? a->class_name : NULL,
                         a->label != NULL ? a->classes : a->tasks));
    WEFT_TRY(write_names(store, GRAPH_VERTEX_NAME, a->vertex_name, n));
    return graph_manifest_write(store->folder, store->manifest);
}

/* Counts of arrays that are left out become 0. */
static weft_status fill_manifest(const char *path, const graph_arrays *a, graph_manifest *manifest)
{
    WEFT_CHECK(a->vertices >= 1 && a->vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%s: %" PRId64 " vertices; a store is written with 1 to 2147483647", path, a->vertices);
    const bool sparse = a->features > 0 && a->feature_offset != NULL;
    const bool features = a->features > 0 && (sparse || a->feature != NULL || a->fill_features != NULL);
    *manifest = (graph_manifest){
        .vertices = a->vertices,
        .edges = a->edges,
        .features = features ? a->features : 0,
        .feature_numbers = sparse ? a->feature_offset[a->vertices] : -1,
        .classes = a->label != NULL ? a->classes : 0,
        .tasks = a->target != NULL ? a->tasks : 0,
        .splits = a->split != NULL ? a->splits : 0,
        .symmetric = a->symmetric,
        .weighted = a->weight != NULL,
        .class_named = a->class_name != NULL && (a->label != NULL || a->target != NULL),
        .vertex_named = a->vertex_name != NULL,
    };
    WEFT_CHECK((a->label == NULL || a->classes > 0) && (a->target == NULL || a->tasks > 0) &&
                   (a->split == NULL || a->splits > 0) && (a->label == NULL || a->target == NULL),
               WEFT_ERR_INTERNAL, "%s: labels, targets and splits disagree with their counts", path);
    snprintf(manifest->name, sizeof manifest->name, "%s", a->name != NULL ? a->name : "");
    snprintf(manifest->origin, sizeof manifest->origin, "%s", a->origin != NULL ? a->origin : "");
    return WEFT_OK;
}

/* A link to one is not. */
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

/* Only a graph store, or an empty folder, may be replaced. */
weft_status graph_store_check_replaceable(const char *path)
{
    char name[FILE_PATH_MAX];
    WEFT_TRY(file_path(name, "%s/manifest.json", path));
    WEFT_CHECK(!file_exists(path) || file_exists(name) || is_empty_folder(path), WEFT_ERR_USAGE,
               "%s: exists and is not a graph store: " FLAG_FORCE " does not replace it; choose another name", path);
    return WEFT_OK;
}

weft_status graph_store_write(const char *path, const graph_arrays *arrays, bool force)
{
    char temporary[FILE_PATH_MAX] = "";
    graph_manifest *manifest = NULL;
    weft_status status;
    if (force) {
        WEFT_TRY(graph_store_check_replaceable(path));
    }
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&manifest, 1, WEFT_MEM_GENERAL), status, done);
    WEFT_TRY_GOTO(fill_manifest(path, arrays, manifest), status, done);
    WEFT_TRY_GOTO(folder_begin(path, force, temporary), status, done);
    const double of_features = manifest->feature_numbers >= 0
                                   ? 8.0 * (double)(manifest->feature_numbers + arrays->vertices)
                                   : 4.0 * (double)arrays->vertices * (double)manifest->features;
    const double bytes =
        (double)arrays->edges * (arrays->weight != NULL ? 8 : 4) + (double)arrays->vertices * 8 + of_features;
    store_writer store = {
        .folder = temporary, .manifest = manifest, .progress = log_progress_begin("write store", "bytes", bytes)};
    WEFT_TRY_GOTO(write_all(&store, arrays), status, done);
    log_progress_end(&store.progress);
    WEFT_TRY_GOTO(folder_commit(temporary, path, force), status, done);
done:
    if (status != WEFT_OK && temporary[0] != '\0' && file_exists(temporary)) {
        char message[2048];
        snprintf(message, sizeof message, "%s", weft_error_message());
        (void)folder_remove(temporary);
        status = weft_fail(status, "%s", message);
    }
    weft_free(manifest);
    return status;
}
