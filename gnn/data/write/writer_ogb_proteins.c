/*
 * gnn/data/write/writer_ogb_proteins.c: a graph in the layout of ogbn-proteins, which differs from OGB's other sets:
 * eight features of edges in place of those of vertices, binary tasks, a species for each vertex, a split by species.
 *
 * The features of an edge are the means of its ends' first eight, repeated when there are fewer; classes become a task
 * each. So the layout is for trying out, not for carrying a graph's features.
 */
#include <math.h>

#include "gnn/data/write/writer_parts.h"
#include "io/text/text_out.h"

enum { CHANNELS = 8, FIRST_SPECIES = 3702 };

static void put_channels(text_out *out, const weft_graph *graph, int64_t u, int64_t v)
{
    const float *a = graph->feature + u * graph->features;
    const float *b = graph->feature + v * graph->features;
    for (int channel = 0; channel < CHANNELS; channel++) {
        int64_t c = channel % graph->features;
        text_out_text(out, channel > 0 ? "," : "");
        text_out_float(out, 0.5F * a[c] + 0.5F * b[c]);
    }
}

/* A task for each class: is it this vertex's? */
static void put_tasks(text_out *out, const weft_graph *graph, int64_t v)
{
    for (int64_t c = 0; c < graph->classes; c++) {
        text_out_text(out, c > 0 ? "," : "");
        text_out_float(out, graph->label[v] < 0 ? NAN : graph->label[v] == c ? 1.0F : 0.0F);
    }
}

/* One species for each part of the split, as in ogbn-proteins, whose parts share none. */
static void put_species(text_out *out, const weft_graph *graph, int64_t v)
{
    text_out_int(out, FIRST_SPECIES + (graph->split[v] < 3 ? graph->split[v] : 3));
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    char raw[FILE_PATH_MAX];
    WEFT_TRY(file_path(raw, "%s/raw", folder));
    WEFT_TRY(folder_make(raw));
    WEFT_TRY(writer_ogb_edges(graph, raw));
    WEFT_TRY(writer_ogb_edge_rows(graph, raw, "edge-feat", put_channels));
    WEFT_TRY(graph->target != NULL ? writer_ogb_floats(graph, raw, "node-label", graph->tasks, graph->target)
                                   : writer_ogb_rows(graph, raw, "node-label", put_tasks));
    WEFT_TRY(writer_ogb_rows(graph, raw, "node_species", put_species));
    return writer_ogb_split(graph, folder, "species");
}

const writer_format writer_ogb_proteins = {
    .name = "ogb-proteins",
    .reader = "ogb",
    .folder = true,
    .needs = WRITER_FEATURES | WRITER_LABELS | WRITER_SPLIT,
    .carries = WRITER_FEATURES | WRITER_CLASSES | WRITER_LABELS | WRITER_SPLIT,
    .directed = false,
    .write = write_layout,
};
