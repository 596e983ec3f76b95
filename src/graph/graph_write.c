/*
 * graph/graph_write.c: a graph store written: arrays into a temporary folder, each with its checksum, the manifest
 * last, then the folder renamed. A reader therefore sees a whole store or none.
 *
 * With force an existing folder is replaced only if it is a graph store or empty: a mistyped --out must not remove a
 * home folder. Features may come from a callback in pieces of 32 MiB, so that they never stand in memory as a whole.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "graph/graph_manifest.h"
#include "io/store/store_writer.h"

enum { PIECE_BYTES = 32 << 20 };

typedef struct graph_writer {
    store_writer store;
    graph_manifest *manifest;
} graph_writer;

static weft_status write_array(graph_writer *w, graph_array id, char kind, int item_bytes, int dims, int64_t rows,
                               int64_t columns, const void *data)
{
    const int64_t shape[2] = {rows, columns};
    return store_array_write(&w->store, &w->manifest->arrays[id], graph_array_names[id], kind, item_bytes, dims, shape,
                             data);
}

static weft_status write_filled_features(graph_writer *w, const graph_arrays *arrays)
{
    store_array *entry = &w->manifest->arrays[GRAPH_FEATURE];
    assert(arrays->fill_features != NULL && arrays->features > 0); /* fill_manifest counted them */
    const int64_t shape[2] = {arrays->vertices, arrays->features};
    size_t row_bytes = (size_t)arrays->features * sizeof(float);
    int64_t piece = row_bytes >= PIECE_BYTES ? 1 : (int64_t)(PIECE_BYTES / row_bytes);
    float *rows = NULL;
    file_writer file;
    WEFT_TRY(weft_malloc((size_t)piece, row_bytes, WEFT_MEM_WORKSPACE, (void **)&rows));
    weft_status status = store_array_begin(&w->store, entry, graph_array_names[GRAPH_FEATURE], 'f', 4, 2, shape, &file);
    if (status == WEFT_OK) {
        for (int64_t row = 0; row < arrays->vertices && status == WEFT_OK; row += piece) {
            int64_t count = arrays->vertices - row < piece ? arrays->vertices - row : piece;
            status = arrays->fill_features(arrays->fill_self, row, count, rows);
            status = status == WEFT_OK ? store_array_piece(&w->store, &file, rows, (size_t)count * row_bytes) : status;
        }
        status = store_array_end(&w->store, entry, status, &file);
    }
    weft_free(rows);
    return status;
}

/* Writes names; NULL if there are none. */
static weft_status write_names(graph_writer *w, graph_array id, const char *const *names, int64_t count)
{
    char *text;
    size_t bytes;
    if (names == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(name_list_join(graph_array_names[id], names, count, &text, &bytes));
    weft_status status = write_array(w, id, 'u', 1, 1, (int64_t)bytes, 0, text);
    weft_free(text);
    return status;
}

static weft_status write_all(graph_writer *w, const graph_arrays *a)
{
    int64_t n = a->vertices;
    WEFT_TRY(write_array(w, GRAPH_OFFSET, 'i', 8, 1, n + 1, 0, a->offset));
    WEFT_TRY(write_array(w, GRAPH_SOURCE, 'i', 4, 1, a->edges, 0, a->source));
    if (a->weight != NULL) {
        WEFT_TRY(write_array(w, GRAPH_WEIGHT, 'f', 4, 1, a->edges, 0, a->weight));
    }
    if (w->manifest->feature_numbers >= 0) {
        const int64_t numbers = w->manifest->feature_numbers;
        assert(numbers == a->feature_offset[n]);
        WEFT_TRY(write_array(w, GRAPH_FEATURE_OFFSET, 'i', 8, 1, n + 1, 0, a->feature_offset));
        WEFT_TRY(write_array(w, GRAPH_FEATURE_COLUMN, 'i', 4, 1, numbers, 0, a->feature_column));
        WEFT_TRY(write_array(w, GRAPH_FEATURE_VALUE, 'f', 4, 1, numbers, 0, a->feature_value));
    } else if (a->feature != NULL) {
        WEFT_TRY(write_array(w, GRAPH_FEATURE, 'f', 4, 2, n, a->features, a->feature));
    } else if (w->manifest->features > 0) {
        WEFT_TRY(write_filled_features(w, a));
    }
    if (a->label != NULL) {
        WEFT_TRY(write_array(w, GRAPH_LABEL, 'i', 4, 1, n, 0, a->label));
    }
    if (a->target != NULL) {
        WEFT_TRY(write_array(w, GRAPH_TARGET, 'f', 4, 2, n, a->tasks, a->target));
    }
    if (a->split != NULL) {
        bool single = a->splits == 1;
        WEFT_TRY(write_array(w, GRAPH_SPLIT, 'u', 1, single ? 1 : 2, single ? n : a->splits, n, a->split));
    }
    WEFT_TRY(write_names(w, GRAPH_CLASS_NAME, w->manifest->class_named ? a->class_name : NULL,
                         a->label != NULL ? a->classes : a->tasks));
    WEFT_TRY(write_names(w, GRAPH_VERTEX_NAME, a->vertex_name, n));
    return graph_manifest_write(w->store.folder, w->manifest);
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

weft_status graph_store_check_replaceable(const char *path)
{
    return store_check_replaceable(path, "a graph store");
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
    graph_writer writer = {
        .store = {.folder = temporary, .progress = log_progress_begin("write store", "bytes", bytes)},
        .manifest = manifest};
    WEFT_TRY_GOTO(write_all(&writer, arrays), status, done);
    log_progress_end(&writer.store.progress);
    WEFT_TRY_GOTO(folder_commit(temporary, path, force), status, done);
done:
    status = status != WEFT_OK ? store_discard(temporary, status) : WEFT_OK;
    weft_free(manifest);
    return status;
}

weft_graph graph_of_arrays(const graph_arrays *a)
{
    weft_graph graph = {.vertices = a->vertices,
                        .edges = a->edges,
                        .features = a->features,
                        .classes = a->classes,
                        .tasks = a->tasks,
                        .symmetric = a->symmetric,
                        .offset = a->offset,
                        .source32 = a->source,
                        .weight = a->weight,
                        .feature = a->feature,
                        .feature_offset = a->feature_offset,
                        .feature_column = a->feature_column,
                        .feature_value = a->feature_value,
                        .label = a->label,
                        .target = a->target};
    snprintf(graph.name, sizeof graph.name, "%s", a->name != NULL ? a->name : "");
    return graph;
}
