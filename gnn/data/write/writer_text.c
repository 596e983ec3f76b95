/*
 * gnn/data/write/writer_text.c: the graph alone, as text: METIS .graph, Matrix Market, edge list. A name that ends in
 * .gz is deflated.
 *
 *   metis          "n m", then the neighbours of each vertex, from 1; self-loops, which METIS forbids, are left out
 *   matrix-market  pattern; one triangle when the graph is symmetric; entry (i, j) = edge i -> j, from 1
 *   edge-list      "from TAB to", every directed edge; the comment on top tells how many vertices there are
 */
#include <inttypes.h>

#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/write/writer_parts.h"
#include "io/text/text_out.h"

static int64_t count_loops(const weft_graph *graph)
{
    int64_t loops = 0;
#pragma omp parallel for schedule(static) reduction(+ : loops)
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            loops += graph_source(graph, e) == v;
        }
    }
    return loops;
}

static void put_pair(text_out *out, int64_t a, char between, int64_t b)
{
    text_out_int(out, a);
    text_out_char(out, between);
    text_out_int(out, b);
    text_out_char(out, '\n');
}

/* ---- METIS ---- */

static void put_row(text_out *out, const weft_graph *graph, int64_t v)
{
    bool first = true;
    for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
        int64_t u = graph_source(graph, e);
        if (u != v) {
            if (!first) {
                text_out_char(out, ' ');
            }
            text_out_int(out, u + 1);
            first = false;
        }
    }
    text_out_char(out, '\n');
}

static weft_status write_metis(const weft_graph *graph, const char *path)
{
    int64_t loops = count_loops(graph);
    if (loops > 0) {
        log_warn("%s: %" PRId64 " self-loops are left out: METIS has none", path, loops);
    }
    text_out *out;
    WEFT_TRY(text_out_open(path, &out));
    log_progress progress = log_progress_begin("write METIS", "edges", (double)graph->edges);
    put_pair(out, graph->vertices, ' ', (graph->edges - loops) / 2);
    for (int64_t v = 0; v < graph->vertices; v++) {
        put_row(out, graph, v);
        log_progress_update(&progress, (double)graph->offset[v + 1]);
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

const writer_format writer_metis = {
    .name = "metis",
    .directed = false,
    .write = write_metis,
};

/* ---- Matrix Market ---- */

static weft_status write_matrix_market(const weft_graph *graph, const char *path)
{
    text_out *out;
    WEFT_TRY(text_out_open(path, &out));
    log_progress progress = log_progress_begin("write Matrix Market", "edges", (double)graph->edges);
    text_out_text(out, "%%MatrixMarket matrix coordinate pattern ");
    text_out_text(out, graph->symmetric ? "symmetric\n" : "general\n");
    text_out_int(out, graph->vertices);
    text_out_char(out, ' ');
    put_pair(out, graph->vertices, ' ', writer_count_once(graph));
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            if (!graph->symmetric) {
                put_pair(out, u + 1, ' ', v + 1);
            } else if (u <= v) {
                put_pair(out, v + 1, ' ', u + 1); /* the lower triangle */
            }
        }
        log_progress_update(&progress, (double)graph->offset[v + 1]);
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

const writer_format writer_matrix_market = {
    .name = "matrix-market",
    .directed = true,
    .write = write_matrix_market,
};

/* ---- edge list ---- */

/* An edge list does not show vertices behind the last one that has an edge. */
static void warn_of_lost_vertices(const weft_graph *graph, const char *path)
{
    int64_t last = -1;
#pragma omp parallel for schedule(static) reduction(max : last)
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int64_t u = graph_source(graph, e);
            int64_t larger = u > v ? u : v;
            last = larger > last ? larger : last;
        }
    }
    if (last < graph->vertices - 1) {
        log_warn("%s: vertices after %" PRId64 " have no edge: read it back with " FLAG_VERTICES " %" PRId64, path,
                 last, graph->vertices);
    }
}

static weft_status write_edge_list(const weft_graph *graph, const char *path)
{
    warn_of_lost_vertices(graph, path);
    text_out *out;
    WEFT_TRY(text_out_open(path, &out));
    log_progress progress = log_progress_begin("write edge list", "edges", (double)graph->edges);
    text_out_text(out, graph->symmetric ? "# Undirected graph: each edge both ways\n" : "# Directed graph\n");
    text_out_text(out, "# Nodes: ");
    text_out_int(out, graph->vertices);
    text_out_text(out, " Edges: ");
    text_out_int(out, graph->edges);
    text_out_text(out, "\n# FromNodeId\tToNodeId\n");
    for (int64_t v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            put_pair(out, graph_source(graph, e), '\t', v);
        }
        log_progress_update(&progress, (double)graph->offset[v + 1]);
    }
    log_progress_end(&progress);
    return text_out_commit(out);
}

const writer_format writer_edge_list = {
    .name = "edge-list",
    .directed = true,
    .write = write_edge_list,
};
