/*
 * gnn/data/write/writer_dgl_reddit.c: the two archives of DGL's and PyG's Reddit (see
 * gnn/data/read/reader_dgl_reddit.c): a SciPy COO matrix and the arrays of the vertices.
 */
#include "gnn/data/write/writer_parts.h"

static weft_status add_graph(npz_writer *npz, const weft_graph *graph)
{
    const int64_t *e = &graph->edges;
    const int64_t shape[2] = {graph->vertices, graph->vertices};
    const int64_t two = 2;
    WEFT_TRY(npz_writer_add_filled(npz, "row", 'i', 4, 1, e, writer_fill_source32, graph));
    WEFT_TRY(npz_writer_add_filled(npz, "col", 'i', 4, 1, e, writer_fill_destination32, graph));
    WEFT_TRY(npz_writer_add(npz, "format", 'S', 3, 0, NULL, "coo"));
    WEFT_TRY(npz_writer_add(npz, "shape", 'i', 8, 1, &two, shape));
    return npz_writer_add_filled(npz, "data", 'f', 4, 1, e, writer_fill_ones, graph);
}

static void fill_types(const void *self, int64_t first, int64_t count, void *out)
{
    const weft_graph *graph = self;
    int32_t *types = out;
    for (int64_t i = 0; i < count; i++) {
        uint8_t part = graph->split[first + i];
        types[i] = part < 3 ? part + 1 : 0;
    }
}

static void fill_ids(const void *self, int64_t first, int64_t count, void *out)
{
    (void)self;
    int32_t *ids = out;
    for (int64_t i = 0; i < count; i++) {
        ids[i] = (int32_t)(first + i);
    }
}

static weft_status add_data(npz_writer *npz, const weft_graph *graph)
{
    const int64_t *n = &graph->vertices;
    WEFT_TRY(npz_writer_add(npz, "feature", 'f', 4, 2, (int64_t[]){*n, graph->features}, graph->feature));
    WEFT_TRY(npz_writer_add(npz, "label", 'i', 4, 1, n, graph->label));
    WEFT_TRY(npz_writer_add_filled(npz, "node_types", 'i', 4, 1, n, fill_types, graph));
    return npz_writer_add_filled(npz, "node_ids", 'i', 4, 1, n, fill_ids, graph);
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    WEFT_TRY(writer_npz(graph, folder, "reddit_graph.npz", add_graph));
    return writer_npz(graph, folder, "reddit_data.npz", add_data);
}

const writer_format writer_dgl_reddit = {
    .name = "dgl-reddit",
    .folder = true,
    .needs = WRITER_FEATURES | WRITER_CLASSES | WRITER_SPLIT,
    .carries = WRITER_FEATURES | WRITER_CLASSES | WRITER_LABELS | WRITER_SPLIT,
    .directed = true,
    .write = write_layout,
};
