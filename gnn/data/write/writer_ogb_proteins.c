/*
 * gnn/data/write/writer_ogb_proteins.c: a graph in the layout of ogbn-proteins, which differs from OGB's other sets:
 * eight features of edges in place of those of vertices, binary tasks, a species for each vertex, a split by species.
 *
 * The features of an edge are the means of its ends' first eight, repeated when there are fewer; classes become a task
 * each. So the layout is for trying out, not for carrying a graph's features.
 */
#include <math.h>

#include "base/log.h"
#include "gnn/data/write/writer_parts.h"
#include "io/text/text_out.h"

enum { CHANNELS = 8, FIRST_SPECIES = 3702 };

static void put_channels(text_out *out, const weft_graph *graph, int64_t u, int64_t v)
{
    const float *a = graph->feature + u * graph->features;
    const float *b = graph->feature + v * graph->features;
    for (int channel = 0; channel < CHANNELS; channel++) {
        int64_t c = channel % graph->features;
        text_out_float(out, 0.5F * a[c] + 0.5F * b[c]);
        text_out_char(out, channel + 1 < CHANNELS ? ',' : '\n');
    }
}

/* In the order of edge.csv.gz. */
static weft_status write_edge_features(const weft_graph *graph, const char *raw)
{
    text_out *out;
    WEFT_TRY(writer_open_table(raw, "edge-feat", &out));
    log_progress progress = log_progress_begin("write edge-feat.csv.gz", "edges", (double)graph->edges);
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            if (writer_listed_once(graph, u, v)) {
                put_channels(out, graph, u, v);
            }
        }
        log_progress_update(&progress, (double)graph->offset[v + 1]);
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

/* A task for each class: is it this vertex's? */
static weft_status write_tasks(const weft_graph *graph, const char *raw)
{
    text_out *out;
    WEFT_TRY(writer_open_table(raw, "node-label", &out));
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t c = 0; c < graph->classes; c++) {
            text_out_float(out, graph->label[v] < 0 ? NAN : graph->label[v] == c ? 1.0F : 0.0F);
            text_out_char(out, c + 1 < graph->classes ? ',' : '\n');
        }
    }
    return text_out_commit(out);
}

/* One species for each part of the split, as in ogbn-proteins, whose parts share none. */
static weft_status write_species(const weft_graph *graph, const char *raw)
{
    text_out *out;
    WEFT_TRY(writer_open_table(raw, "node_species", &out));
    for (int64_t v = 0; v < graph->vertices; v++) {
        text_out_int(out, FIRST_SPECIES + (graph->split[v] < 3 ? graph->split[v] : 3));
        text_out_char(out, '\n');
    }
    return text_out_commit(out);
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    char raw[FILE_PATH_MAX];
    WEFT_TRY(file_path(raw, "%s/raw", folder));
    WEFT_TRY(folder_make(raw));
    WEFT_TRY(writer_ogb_edges(graph, raw));
    WEFT_TRY(write_edge_features(graph, raw));
    WEFT_TRY(graph->target != NULL ? writer_ogb_floats(graph, raw, "node-label", graph->tasks, graph->target)
                                   : write_tasks(graph, raw));
    WEFT_TRY(write_species(graph, raw));
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
