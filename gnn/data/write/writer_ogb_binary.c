/*
 * gnn/data/write/writer_ogb_binary.c: OGB's binary layout, as papers100M has it (see
 * gnn/data/read/reader_ogb_binary.c). Large arrays are made in pieces while they are written.
 */
#include <math.h>

#include "gnn/data/write/writer_parts.h"

static void fill_years(const void *self, int64_t first, int64_t count, void *out)
{
    int64_t *years = out;
    for (int64_t i = 0; i < count; i++) {
        years[i] = writer_ogb_year(self, first + i);
    }
}

static void fill_labels(const void *self, int64_t first, int64_t count, void *out)
{
    const weft_graph *graph = self;
    float *labels = out;
    for (int64_t i = 0; i < count; i++) {
        labels[i] = graph->label[first + i] < 0 ? NAN : (float)graph->label[first + i];
    }
}

static weft_status add_data(npz_writer *npz, const weft_graph *graph)
{
    int64_t n = graph->vertices, e = graph->edges;
    const int64_t one = 1;
    WEFT_TRY(npz_writer_add_filled(npz, "edge_index", 'i', 8, 2, (int64_t[]){2, e}, writer_fill_edge_index, graph));
    WEFT_TRY(npz_writer_add(npz, "num_nodes_list", 'i', 8, 1, &one, &n));
    WEFT_TRY(npz_writer_add(npz, "num_edges_list", 'i', 8, 1, &one, &e));
    if (graph->features > 0) {
        WEFT_TRY(npz_writer_add(npz, "node_feat", 'f', 4, 2, (int64_t[]){n, graph->features}, graph->feature));
    }
    return npz_writer_add_filled(npz, "node_year", 'i', 8, 2, (int64_t[]){n, 1}, fill_years, graph);
}

static weft_status add_labels(npz_writer *npz, const weft_graph *graph)
{
    return npz_writer_add_filled(npz, "node_label", 'f', 4, 2, (int64_t[]){graph->vertices, 1}, fill_labels, graph);
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    char raw[FILE_PATH_MAX];
    WEFT_TRY(file_path(raw, "%s/raw", folder));
    WEFT_TRY(folder_make(raw));
    WEFT_TRY(writer_npz(graph, folder, "raw/data.npz", add_data));
    if (graph->label != NULL) {
        WEFT_TRY(writer_npz(graph, folder, "raw/node-label.npz", add_labels));
    }
    return writer_ogb_split(graph, folder, "time");
}

const writer_format writer_ogb_binary = {
    .name = "ogb-binary",
    .folder = true,
    .carries = WRITER_FEATURES | WRITER_CLASSES | WRITER_LABELS | WRITER_SPLIT,
    .directed = true,
    .write = write_layout,
};
