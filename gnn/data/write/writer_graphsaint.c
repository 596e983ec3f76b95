/*
 * gnn/data/write/writer_graphsaint.c: a GraphSAINT folder (see gnn/data/read/reader_graphsaint.c), with adj_train.npz,
 * the edges between training vertices, which GraphSAINT's own loader wants.
 *
 * Both matrices are CSR by source; a directed graph is transposed for it (4 bytes an edge).
 */
#include <math.h>

#include "base/alloc.h"
#include "gnn/data/write/writer_parts.h"
#include "io/text/text_out.h"

typedef struct matrix {
    int64_t vertices, *indptr;
    int32_t *indices;
} matrix;

static bool in_training(const weft_graph *graph, int64_t v)
{
    return graph->split[v] == 0;
}

/* Counting sort of the edges by source; destinations come out ascending. */
static weft_status by_source(const weft_graph *graph, bool training_only, matrix *m)
{
    int64_t n = graph->vertices, *next = NULL;
    weft_status status;
    *m = (matrix){.vertices = n};
    WEFT_TRY(WEFT_NEW_ZERO(&m->indptr, n + 1, WEFT_MEM_GRAPH));
    for (int64_t v = 0; v < n; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            m->indptr[u + 1] += !training_only || (in_training(graph, u) && in_training(graph, v));
        }
    }
    for (int64_t v = 0; v < n; v++) {
        m->indptr[v + 1] += m->indptr[v];
    }
    WEFT_TRY_GOTO(WEFT_NEW(&m->indices, m->indptr[n], WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&next, n, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t v = 0; v < n; v++) {
        next[v] = m->indptr[v];
    }
    for (int64_t v = 0; v < n; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            if (!training_only || (in_training(graph, u) && in_training(graph, v))) {
                m->indices[next[u]++] = (int32_t)v;
            }
        }
    }
done:
    weft_free(next);
    return status;
}

static weft_status add_matrix(npz_writer *npz, const matrix *m)
{
    int64_t length = m->vertices + 1;
    const int64_t shape[2] = {m->vertices, m->vertices};
    const int64_t two = 2, *entries = &m->indptr[m->vertices];
    WEFT_TRY(npz_writer_add(npz, "indices", 'i', 4, 1, entries, m->indices));
    WEFT_TRY(npz_writer_add(npz, "indptr", 'i', 8, 1, &length, m->indptr));
    WEFT_TRY(npz_writer_add(npz, "format", 'S', 3, 0, NULL, "csr"));
    WEFT_TRY(npz_writer_add(npz, "shape", 'i', 8, 1, &two, shape));
    return npz_writer_add_filled(npz, "data", 'f', 4, 1, entries, writer_fill_ones, NULL);
}

static weft_status add_selected(npz_writer *npz, const weft_graph *graph, bool training_only)
{
    matrix m;
    weft_status status = by_source(graph, training_only, &m);
    status = status == WEFT_OK ? add_matrix(npz, &m) : status;
    WEFT_FREE_ALL(m.indptr, m.indices);
    return status;
}

static weft_status add_full(npz_writer *npz, const weft_graph *graph)
{
    return add_selected(npz, graph, false);
}

static weft_status add_training(npz_writer *npz, const weft_graph *graph)
{
    return add_selected(npz, graph, true);
}

static void put_tasks(text_out *out, const weft_graph *graph, int64_t v)
{
    const float *target = graph->target + v * graph->tasks;
    for (int64_t task = 0; task < graph->tasks; task++) {
        text_out_text(out, task == 0 ? "[" : ", ");
        text_out_int(out, target[task] > 0.5F);
    }
    text_out_char(out, ']');
}

/* Unlabelled vertices stay out of the map; a list cannot say that single tasks are unknown, so its vertex stays out. */
static bool is_labelled(const weft_graph *graph, int64_t v)
{
    if (graph->label != NULL) {
        return graph->label[v] >= 0;
    }
    for (int64_t task = 0; task < graph->tasks; task++) {
        if (isnan(graph->target[v * graph->tasks + task])) {
            return false;
        }
    }
    return true;
}

static weft_status write_classes(const weft_graph *graph, const char *folder)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/class_map.json", folder));
    text_out *out;
    WEFT_TRY(text_out_open(path, &out));
    const char *before = "{\"";
    for (int64_t v = 0; v < graph->vertices; v++) {
        if (!is_labelled(graph, v)) {
            continue;
        }
        text_out_text(out, before);
        text_out_int(out, v);
        text_out_text(out, "\": ");
        if (graph->label != NULL) {
            text_out_int(out, graph->label[v]);
        } else {
            put_tasks(out, graph, v);
        }
        before = ", \"";
    }
    text_out_text(out, before[0] == '{' ? "{}" : "}");
    return text_out_commit(out);
}

static weft_status write_roles(const weft_graph *graph, const char *folder)
{
    static const char *const keys[] = {"{\"tr\": [", "], \"va\": [", "], \"te\": ["};
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/role.json", folder));
    text_out *out;
    WEFT_TRY(text_out_open(path, &out));
    for (int part = 0; part < 3; part++) {
        text_out_text(out, keys[part]);
        const char *before = "";
        for (int64_t v = 0; v < graph->vertices; v++) {
            if (graph->split[v] == part) {
                text_out_text(out, before);
                text_out_int(out, v);
                before = ", ";
            }
        }
    }
    text_out_text(out, "]}");
    return text_out_commit(out);
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(writer_npz(graph, folder, "adj_full.npz", add_full));
    WEFT_TRY(writer_npz(graph, folder, "adj_train.npz", add_training));
    WEFT_TRY(file_path(path, "%s/feats.npy", folder));
    WEFT_TRY(npy_write(path, 'f', 4, 2, (int64_t[]){graph->vertices, graph->features}, graph->feature));
    WEFT_TRY(write_classes(graph, folder));
    return write_roles(graph, folder);
}

const writer_format writer_graphsaint = {
    .name = "graphsaint",
    .folder = true,
    .needs = WRITER_FEATURES | WRITER_LABELS | WRITER_SPLIT,
    .carries = WRITER_FEATURES | WRITER_CLASSES | WRITER_LABELS | WRITER_SPLIT,
    .directed = true,
    .write = write_layout,
};
