/* gnn/data/write/writer.c: the table of output layouts, and what is done once for all of them. */
#include "gnn/data/write/writer.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base_options.def"
#include "base/file.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader.h"
#include "gnn/data/write/writer_parts.h"

enum { FORMATS = 8 };

static const writer_format *const formats[FORMATS] = {
    &writer_ogb,        &writer_ogb_proteins, &writer_ogb_binary,    &writer_dgl_reddit,
    &writer_graphsaint, &writer_metis,        &writer_matrix_market, &writer_edge_list,
};

const writer_format *writer_format_at(int i)
{
    return i >= 0 && i < FORMATS ? formats[i] : NULL;
}

/* What of features, classes, labels and split a store has. */
static int held_by(const weft_graph *graph)
{
    return (graph->features > 0 ? WRITER_FEATURES : 0) | (graph->label != NULL ? WRITER_CLASSES | WRITER_LABELS : 0) |
           (graph->target != NULL ? WRITER_LABELS : 0) | (graph->split != NULL ? WRITER_SPLIT : 0);
}

static weft_status check_fits(const weft_graph *graph, const writer_format *format)
{
    int missing = format->needs & ~held_by(graph);
    WEFT_CHECK(missing == 0, WEFT_ERR_USAGE, FLAG_TO " %s: %s has no %s, which the layout needs", format->name,
               graph->name,
               (missing & WRITER_FEATURES) != 0  ? "features"
               : (missing & WRITER_CLASSES) != 0 ? "classes (integer labels)"
               : (missing & WRITER_LABELS) != 0  ? "labels"
                                                 : "split (" FLAG_RANDOM_SPLIT " 60/20/20 draws one)");
    WEFT_CHECK(format->directed || graph->symmetric, WEFT_ERR_USAGE,
               FLAG_TO " %s: %s is directed, which the format cannot tell; choose matrix-market or edge-list",
               format->name, graph->name);
    if (graph->weight != NULL) {
        log_warn("%s carries no weights of edges: those of %s are not written", format->name, graph->name);
    }
    const bool classes = graph->class_names.text != NULL && (format->carries & WRITER_LABELS) != 0;
    if (classes || graph->vertex_names) {
        log_warn("%s carries no names: %s%s%s of %s are written as numbers", format->name, classes ? "classes" : "",
                 classes && graph->vertex_names ? " and " : "", graph->vertex_names ? "vertices" : "", graph->name);
    }
    int lost = held_by(graph) & ~format->carries & ~WRITER_CLASSES;
    if (lost != 0) {
        log_info("%s carries no%s%s%s: only the rest of %s is written", format->name,
                 (lost & WRITER_FEATURES) != 0 ? " features" : "", (lost & WRITER_LABELS) != 0 ? " labels" : "",
                 (lost & WRITER_SPLIT) != 0 ? " split" : "", graph->name);
    }
    return WEFT_OK;
}

/* A mistyped --out must not remove something else: only the same layout, or an empty folder, is replaced. */
static weft_status check_replaceable(const char *path, const writer_format *format, bool force)
{
    if (!file_exists(path)) {
        return WEFT_OK;
    }
    WEFT_CHECK(force, WEFT_ERR_USAGE, "%s: exists already; choose another name, or replace it with " FLAG_FORCE, path);
    if (!format->folder) {
        return WEFT_OK; /* file_writer refuses folders */
    }
    const reader_format *reader;
    WEFT_TRY(reader_format_find(path, format->reader != NULL ? format->reader : format->name, &reader));
    assert(reader->matches != NULL); /* as every layout of a folder has */
    WEFT_CHECK(reader->matches(path) || rmdir(path) == 0, WEFT_ERR_USAGE,
               "%s: exists and has not the layout %s: " FLAG_FORCE " does not replace it; choose another name", path,
               format->name);
    return WEFT_OK;
}

static weft_status write_folder(const weft_graph *graph, const writer_format *format, const char *path, bool force)
{
    char temporary[FILE_PATH_MAX];
    WEFT_TRY(folder_begin(path, force, temporary));
    weft_status status = format->write(graph, temporary);
    if (status == WEFT_OK) {
        return folder_commit(temporary, path, force);
    }
    char message[2048];
    snprintf(message, sizeof message, "%s", weft_error_message());
    (void)folder_remove(temporary);
    return weft_fail(status, "%s", message);
}

static weft_status write_layout(const weft_graph *graph, const writer_format *format, const char *path, bool force)
{
    return format->folder ? write_folder(graph, format, path, force) : format->write(graph, path);
}

/* Layouts hold features whole: sparse ones are spread out first. */
static weft_status write_whole(const weft_graph *graph, const writer_format *format, const char *path, bool force)
{
    float *feature = NULL;
    if (graph->feature_offset == NULL || (format->carries & WRITER_FEATURES) == 0) {
        return write_layout(graph, format, path, force);
    }
    WEFT_TRY(weft_malloc((size_t)graph->vertices, (size_t)graph->features * sizeof *feature, WEFT_MEM_FEATURE,
                         (void **)&feature));
    for (int64_t v = 0; v < graph->vertices; v++) {
        (void)graph_feature_row(graph, v, feature + v * graph->features);
    }
    weft_graph whole = *graph;
    whole.feature = feature;
    const weft_status status = write_layout(&whole, format, path, force);
    weft_free(feature);
    return status;
}

weft_status writer_write(const weft_graph *graph, const char *name, const char *path, bool force)
{
    const writer_format *format = NULL;
    for (int i = 0; i < FORMATS && format == NULL; i++) {
        format = strcmp(formats[i]->name, name) == 0 ? formats[i] : NULL;
    }
    WEFT_CHECK(format != NULL, WEFT_ERR_INTERNAL, "no writer of '%s'", name);
    WEFT_TRY(check_fits(graph, format));
    WEFT_TRY(check_replaceable(path, format, force));
    WEFT_TRY(write_whole(graph, format, path, force));
    log_info("%s: written (%s)", path, format->name);
    return WEFT_OK;
}

/* ---- shared by the layouts ---- */

weft_status writer_npz(const weft_graph *graph, const char *folder, const char *name,
                       weft_status (*add)(npz_writer *npz, const weft_graph *graph))
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s", folder, name));
    npz_writer *npz;
    WEFT_TRY(npz_writer_open(path, &npz));
    weft_status status = add(npz, graph);
    if (status != WEFT_OK) {
        npz_writer_discard(npz);
        return status;
    }
    return npz_writer_commit(npz);
}

int64_t writer_count_once(const weft_graph *graph)
{
    if (!graph->symmetric) {
        return graph->edges;
    }
    int64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            count += graph_source(graph, e) <= v;
        }
    }
    return count;
}

void writer_fill_source32(const void *self, int64_t first, int64_t count, void *out)
{
    int32_t *ids = out;
    for (int64_t i = 0; i < count; i++) {
        ids[i] = (int32_t)graph_source(self, first + i);
    }
}

void writer_fill_destination32(const void *self, int64_t first, int64_t count, void *out)
{
    const weft_graph *graph = self;
    int32_t *ids = out;
    int64_t row = graph_row_of(graph, first);
    for (int64_t i = 0; i < count; i++) {
        while (graph->offset[row + 1] <= first + i) {
            row++;
        }
        ids[i] = (int32_t)row;
    }
}

void writer_fill_ones(const void *self, int64_t first, int64_t count, void *out)
{
    (void)self;
    (void)first;
    float *ones = out;
    for (int64_t i = 0; i < count; i++) {
        ones[i] = 1.0F;
    }
}

void writer_fill_edge_index(const void *self, int64_t first, int64_t count, void *out)
{
    const weft_graph *graph = self;
    int64_t *ids = out;
    int64_t row =
        first + count > graph->edges ? graph_row_of(graph, first > graph->edges ? first - graph->edges : 0) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t e = first + i;
        if (e < graph->edges) {
            ids[i] = graph_source(graph, e);
            continue;
        }
        while (graph->offset[row + 1] <= e - graph->edges) {
            row++;
        }
        ids[i] = row;
    }
}
