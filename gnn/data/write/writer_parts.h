/* gnn/data/write/writer_parts.h: what the writers of layouts share, and the rows of their table (writer_NAME.c). */
#pragma once

#include "gnn/data/write/writer.h"
#include "io/npy.h"

extern const writer_format writer_dgl_reddit;
extern const writer_format writer_edge_list;
extern const writer_format writer_graphsaint;
extern const writer_format writer_matrix_market;
extern const writer_format writer_metis;
extern const writer_format writer_ogb;
extern const writer_format writer_ogb_binary;
extern const writer_format writer_ogb_proteins;

/* For npz_writer_add_filled; self is a weft_graph: the ends of entry e, and ones. */
void writer_fill_source32(const void *self, int64_t first, int64_t count, void *out);
void writer_fill_destination32(const void *self, int64_t first, int64_t count, void *out);
void writer_fill_ones(const void *self, int64_t first, int64_t count, void *out);
/* int64 sources of all entries, then destinations: an array [2, e]. */
void writer_fill_edge_index(const void *self, int64_t first, int64_t count, void *out);

/* FOLDER/NAME made of the arrays that `add` gives it. */
weft_status writer_npz(const weft_graph *graph, const char *folder, const char *name,
                       weft_status (*add)(npz_writer *npz, const weft_graph *graph));

/* The undirected edges of a symmetric graph (self-loops once), or all edges: what a layout that lists each once holds.
 */
int64_t writer_count_once(const weft_graph *graph);
static inline bool writer_listed_once(const weft_graph *graph, int64_t u, int64_t v)
{
    return !graph->symmetric || u <= v;
}

/* ---- OGB's tables ---- */
typedef struct text_out text_out;
/* RAW/STEM.csv.gz: a row for each vertex, or for each edge that is listed (in the order of edge.csv.gz); `put` writes
 * what stands on its line. */
typedef void writer_put_vertex(text_out *out, const weft_graph *graph, int64_t v);
typedef void writer_put_edge(text_out *out, const weft_graph *graph, int64_t u, int64_t v);
weft_status writer_ogb_rows(const weft_graph *graph, const char *raw, const char *stem, writer_put_vertex *put);
weft_status writer_ogb_edge_rows(const weft_graph *graph, const char *raw, const char *stem, writer_put_edge *put);
/* What ogb and ogb-proteins have in common: RAW/num-node-list, num-edge-list, edge. */
weft_status writer_ogb_edges(const weft_graph *graph, const char *raw);
weft_status writer_ogb_floats(const weft_graph *graph, const char *raw, const char *stem, int64_t columns,
                              const float *values);
/* FOLDER/split/NAME/{train,valid,test}.csv.gz; name NULL: as in OGB's data set of this kind. */
weft_status writer_ogb_split(const weft_graph *graph, const char *folder, const char *name);
/* Year of a vertex in OGB's time splits: train up to 2017, valid 2018, test 2019. */
int writer_ogb_year(const weft_graph *graph, int64_t v);
