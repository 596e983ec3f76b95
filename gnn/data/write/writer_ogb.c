/*
 * gnn/data/write/writer_ogb.c: OGB's text layout (see gnn/data/read/reader_ogb.c), .csv.gz.
 *
 * A symmetric graph lists each undirected edge once, as products and proteins do. The split's folder is named as in the
 * official set that the graph resembles: products by name, proteins by its tasks, arxiv otherwise, which also has a
 * year for each vertex.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gnn/data/write/writer_parts.h"
#include "io/text/text_out.h"

static const char *split_name(const weft_graph *graph)
{
    return graph->target != NULL ? "species" : strstr(graph->name, "products") != NULL ? "sales_ranking" : "time";
}

int writer_ogb_year(const weft_graph *graph, int64_t v)
{
    return graph->split != NULL && graph->split[v] < 3 ? 2017 + graph->split[v] : 2017;
}

static weft_status open_table(const char *folder, const char *stem, text_out **out)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s.csv.gz", folder, stem));
    return text_out_open(path, out);
}

static weft_status write_count(const char *folder, const char *stem, int64_t count)
{
    text_out *out;
    WEFT_TRY(open_table(folder, stem, &out));
    text_out_int(out, count);
    text_out_char(out, '\n');
    return text_out_commit(out);
}

weft_status writer_ogb_edge_rows(const weft_graph *graph, const char *raw, const char *stem, writer_put_edge *put)
{
    text_out *out;
    char stage[64];
    WEFT_TRY(open_table(raw, stem, &out));
    snprintf(stage, sizeof stage, "write %s.csv.gz", stem);
    log_progress progress = log_progress_begin(stage, "edges", (double)graph->edges);
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            if (writer_listed_once(graph, u, v)) {
                put(out, graph, u, v);
                text_out_char(out, '\n');
            }
        }
        log_progress_update(&progress, (double)graph->offset[v + 1]);
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

weft_status writer_ogb_rows(const weft_graph *graph, const char *raw, const char *stem, writer_put_vertex *put)
{
    text_out *out;
    WEFT_TRY(open_table(raw, stem, &out));
    for (int64_t v = 0; v < graph->vertices; v++) {
        put(out, graph, v);
        text_out_char(out, '\n');
    }
    return text_out_commit(out);
}

static void put_ends(text_out *out, const weft_graph *graph, int64_t u, int64_t v)
{
    (void)graph;
    text_out_int(out, u);
    text_out_char(out, ',');
    text_out_int(out, v);
}

weft_status writer_ogb_edges(const weft_graph *graph, const char *raw)
{
    WEFT_TRY(write_count(raw, "num-node-list", graph->vertices));
    WEFT_TRY(write_count(raw, "num-edge-list", writer_count_once(graph)));
    return writer_ogb_edge_rows(graph, raw, "edge", put_ends);
}

/* [vertices, columns] with commas. */
weft_status writer_ogb_floats(const weft_graph *graph, const char *raw, const char *stem, int64_t columns,
                              const float *values)
{
    text_out *out;
    WEFT_TRY(open_table(raw, stem, &out));
    log_progress progress = log_progress_begin("write features and labels", "rows", (double)graph->vertices);
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t c = 0; c < columns; c++) {
            text_out_float(out, values[v * columns + c]);
            text_out_char(out, c + 1 < columns ? ',' : '\n');
        }
        log_progress_update(&progress, (double)(v + 1));
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

static void put_class(text_out *out, const weft_graph *graph, int64_t v)
{
    if (graph->label[v] < 0) {
        text_out_text(out, "nan");
    } else {
        text_out_int(out, graph->label[v]);
    }
}

static void put_year(text_out *out, const weft_graph *graph, int64_t v)
{
    text_out_int(out, writer_ogb_year(graph, v));
}

static weft_status write_list(const weft_graph *graph, const char *folder, const char *stem, int part)
{
    text_out *out;
    WEFT_TRY(open_table(folder, stem, &out));
    for (int64_t v = 0; v < graph->vertices; v++) {
        if (graph->split[v] == part) {
            text_out_int(out, v);
            text_out_char(out, '\n');
        }
    }
    return text_out_commit(out);
}

weft_status writer_ogb_split(const weft_graph *graph, const char *folder, const char *name)
{
    static const char *const stems[] = {"train", "valid", "test"};
    if (graph->split == NULL) {
        return WEFT_OK;
    }
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/split/%s", folder, name != NULL ? name : split_name(graph)));
    WEFT_TRY(folder_make(path));
    for (int part = 0; part < 3; part++) {
        WEFT_TRY(write_list(graph, path, stems[part], part));
    }
    return WEFT_OK;
}

static weft_status write_layout(const weft_graph *graph, const char *folder)
{
    char raw[FILE_PATH_MAX];
    WEFT_TRY(file_path(raw, "%s/raw", folder));
    WEFT_TRY(folder_make(raw));
    WEFT_TRY(writer_ogb_edges(graph, raw));
    if (graph->features > 0) {
        WEFT_TRY(writer_ogb_floats(graph, raw, "node-feat", graph->features, graph->feature));
    }
    if (graph->label != NULL) {
        WEFT_TRY(writer_ogb_rows(graph, raw, "node-label", put_class));
    } else if (graph->target != NULL) {
        WEFT_TRY(writer_ogb_floats(graph, raw, "node-label", graph->tasks, graph->target));
    }
    if (strcmp(split_name(graph), "time") == 0) {
        WEFT_TRY(writer_ogb_rows(graph, raw, "node_year", put_year));
    }
    return writer_ogb_split(graph, folder, NULL);
}

const writer_format writer_ogb = {
    .name = "ogb",
    .folder = true,
    .carries = WRITER_FEATURES | WRITER_CLASSES | WRITER_LABELS | WRITER_SPLIT,
    .directed = true,
    .write = write_layout,
};
