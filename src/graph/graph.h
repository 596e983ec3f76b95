/*
 * graph/graph.h: the graph store, opened.
 *
 * A store is a folder of .npy arrays and a manifest (docs/formats.md). Opening maps it read-only: nothing is copied,
 * and every rank of a node shares the pages. Row v of the CSR lists the SOURCES u of the edges u -> v, ascending, each
 * once.
 *
 *   offset   int64 [n + 1]          feature  float32 [n, f]   (f = 0: none)
 *   source   int32 or int64 [e]     label    int32 [n] (-1 = unlabelled) or float32 [n, tasks] (NaN = unlabelled)
 *   weight   float32 [e], 0 or a normal number above, in the order of source; without it every edge weighs 1
 *   split    uint8 [n] 0 train, 1 valid, 2 test, 255 none;   several splits: uint8 [k, n], one is chosen at opening
 *
 * Features that are mostly zeros may stand sparse instead, by rows, with columns that ascend: feature_offset int64 [n +
 * 1], feature_column int32 [numbers], feature_value float32 [numbers].
 *
 * Names of classes and of vertices, where the input had some: texts, one a line (io/name_list.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "base/status.h"
#include "io/name_list.h"

extern weft_mem_tag WEFT_MEM_GRAPH[1];   /* edges, labels, splits, and what is made of them */
extern weft_mem_tag WEFT_MEM_FEATURE[1]; /* of vertices */

typedef struct weft_graph {
    int64_t vertices; /* n */
    int64_t edges;    /* e, directed entries of the CSR */
    int64_t features; /* f */
    int64_t classes;  /* classes of integer labels, or 0 */
    int64_t tasks;    /* columns of float labels, or 0 */
    int64_t splits;   /* how many split vectors the store holds */
    bool symmetric;   /* the edge set equals its transpose, and so do its weights */
    const int64_t *offset;
    const int32_t *source32; /* exactly one of source32, source64 is set (when e > 0) */
    const int64_t *source64;
    const float *weight;           /* of each edge; NULL: all are 1 */
    const float *feature;          /* NULL where features stand sparse: graph_feature_row reads either */
    const int64_t *feature_offset; /* sparse features; NULL where they stand whole */
    const int32_t *feature_column;
    const float *feature_value;
    const int32_t *label;
    const float *target;   /* float labels [n, tasks] */
    const uint8_t *split;  /* the chosen vector [n], or NULL */
    name_list class_names; /* [classes], or [tasks] where labels are tasks; text NULL: they have no names */
    bool vertex_names;     /* vertices have names: graph_vertex_names reads them */
    char name[64];
    char hash[33]; /* XXH3-128 of the manifest (and of the size and time of arrays it gives no checksum
                    * for), hex: names the graph in caches and manifests */
    char seal[33]; /* hash of `hash` and of inode, size and times of every array; "" = not from a store */
    struct graph_mapping *mapping;
} weft_graph;

/*
 * Open a store read-only. split_index chooses among its split vectors (0 .. splits - 1).
 * verify: also check the checksums of every array (reads all of it).
 * WEFT_ERR_NOINPUT: no such folder or no manifest in it; WEFT_ERR_DATA: manifest or array malformed (file, row, value).
 */
weft_status graph_open(const char *path, int split_index, bool verify, weft_graph *graph);
/* Give the mapped pages back to the kernel (they stay in the page cache): lowers the resident set. */
void graph_release_pages(const weft_graph *graph);
void graph_close(weft_graph *graph);

/* Read the names of all vertices, which the input called them by. [out] names: [vertices], for name_list_free; text
 * NULL if the store has none. Takes 8 bytes a vertex beside the texts. WEFT_ERR_DATA names the line that is no name. */
weft_status graph_vertex_names(const weft_graph *graph, name_list *names);

static inline int64_t graph_source(const weft_graph *graph, int64_t e)
{
    return graph->source32 != NULL ? graph->source32[e] : graph->source64[e];
}

/* The first entry of row v whose source is not below u. */
static inline int64_t graph_first_from(const weft_graph *graph, int64_t v, int64_t u)
{
    int64_t place = graph->offset[v];
    SEARCH_FIRST(place, graph->offset[v + 1], graph_source(graph, at) < u);
    return place;
}

/* The row in which entry e lies. */
static inline int64_t graph_row_of(const weft_graph *graph, int64_t e)
{
    int64_t row = 0;
    SEARCH_FIRST(row, graph->vertices - 1, graph->offset[at + 1] <= e);
    return row;
}

/* Returns row v of the features, [features]: where it stands, or spread out in room [features] where features stand
 * sparse. */
const float *graph_feature_row(const weft_graph *graph, int64_t v, float *room);

/* One row: how many features are not 0, and below 0; their sum, and the sum of their magnitudes. */
typedef struct graph_feature_count {
    int64_t numbers, negative;
    double sum, magnitude;
} graph_feature_count;
graph_feature_count graph_feature_counts(const weft_graph *graph, int64_t v);

/* Returns how many features of row v are not 0. [out] column, value: these features, by ascending column; both NULL:
 * only count. */
int64_t graph_feature_numbers(const weft_graph *graph, int64_t v, int32_t *column, float *value);

/* In-memory arrays to be written as a store; ownership stays with the caller. NULL arrays are left out. */
typedef struct graph_arrays {
    int64_t vertices, edges, features, classes, tasks, splits;
    bool symmetric;
    const int64_t *offset;
    const int32_t *source;
    const float *weight; /* [edges] */
    const float *feature;
    const int64_t *feature_offset; /* [n + 1]: sparse features, instead of `feature` */
    const int32_t *feature_column; /* [feature_offset[n]], ascending in each row */
    const float *feature_value;
    const int32_t *label;
    const float *target;
    const uint8_t *split;           /* [splits, n] */
    const char *const *class_name;  /* [classes] or [tasks]; NULL: none */
    const char *const *vertex_name; /* [vertices]; NULL: none */
    const char *name;
    const char *origin; /* free text for the manifest: command, input files, seed */
    /* Instead of `feature`: fill rows row .. row + rows - 1 of the feature matrix, called in row order. */
    weft_status (*fill_features)(void *self, int64_t row, int64_t rows, float *out);
    void *fill_self;
} graph_arrays;

/* A graph that is these arrays, which must outlive it: for operations that only read. It has no split. */
weft_graph graph_of_arrays(const graph_arrays *arrays);

/* May graph_store_write with force put a store here? WEFT_ERR_USAGE: something else lies there. Looks only, so that it
 * can be asked before an hour of reading. */
weft_status graph_store_check_replaceable(const char *path);

/* Write atomically: into a temporary folder beside `path`, flushed, renamed. An existing store is refused unless force.
 */
weft_status graph_store_write(const char *path, const graph_arrays *arrays, bool force);

/* Every invariant of a graph: offsets monotone, ids in range and ascending within a row, labels and splits in range,
 * values finite, symmetric if it says so. The first offence is reported with array, row and value. Parallel, one pass.
 */
weft_status graph_validate(const weft_graph *graph);
/* Checks labels, targets and split only. */
weft_status graph_validate_labels(const weft_graph *graph);
/* graph_validate, unless this store was found good before and none of its files was touched since: then labels and
 * split alone. Leaves STORE/checked.json where it may. */
weft_status graph_validate_once(const char *store, const weft_graph *graph);

/* The first entry (in CSR order) u of a row v that has no counterpart v in row u, or, where edges have weights, one of
 * another weight; or -1. Rows must ascend. [out] row v. */
int64_t graph_first_one_way(const weft_graph *graph, int64_t *row);
