/*
 * weft/graph.h: graph stores: a folder of .npy arrays and a manifest (docs/formats.md).
 *
 * A store is opened read-only and mapped: nothing is copied, and all processes of a machine share its pages. Letters: n
 * vertices, e directed edges, f features. Row v of the CSR lists the SOURCES u of the edges u -> v, ascending, each
 * once.
 *
 *     weft_graph *graph = NULL;
 *     weft_graph_arrays a;
 *     if (weft_graph_open("cora.weft", 0, &graph) == WEFT_OK) {
 *         weft_graph_get(graph, &a);
 *         for (int64_t k = a.offset[v]; k < a.offset[v + 1]; ++k) { ...a.source[k] -> v... }
 *     }
 *     weft_graph_close(graph);
 *
 * No function here is collective: every rank may open the same store; one rank writes it.
 * Threads: an open graph may be read by any number of threads.
 */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_graph weft_graph;

/* Sizes and arrays: of an open graph, or to be written as a store. NULL arrays are absent; set unused members to 0. */
typedef struct weft_graph_arrays {
    int64_t vertices;        /* n, at least 1; below 2^31 when written */
    int64_t edges;           /* e; both directions of an undirected edge count */
    int64_t features;        /* f; 0: none */
    int64_t classes;         /* labels are 0 .. classes - 1; 0: none */
    int64_t tasks;           /* columns of target; 0: none */
    int64_t splits;          /* rows of split; 1 or 0 in an open graph */
    bool symmetric;          /* the edge set, with its weights, equals its transpose */
    const int64_t *offset;   /* [n + 1], offset[0] = 0, offset[n] = e */
    const int32_t *source;   /* [e] */
    const int64_t *source64; /* [e] instead of source, in stores that hold 64-bit ids; never written */
    const float *weight;     /* [e], 0 or a normal number above; NULL: every edge weighs 1 */
    const float *feature;    /* [n, f] row-major, finite; NULL where features are sparse */
    const int64_t
        *feature_offset; /* [n + 1]: sparse features, instead of feature. Row v has the numbers feature_offset[v] .. */
    const int32_t *feature_column; /* [feature_offset[n]], ascending in a row */
    const float *feature_value;    /* [feature_offset[n]], finite */
    const int32_t *label;          /* [n], -1 = unlabelled */
    const float *target;           /* [n, tasks] row-major instead of label, NaN = unlabelled */
    const uint8_t *split;          /* [splits, n]: 0 train, 1 valid, 2 test, 255 none */
    const char *name;              /* at most 63 bytes; NULL: none */
} weft_graph_arrays;

/*
 * Open a store.
 *   split_index  [in]   which of its splits to use, 0 to splits - 1; 0 for a store without any
 *   graph        [out]  the caller's, for weft_graph_close; NULL on failure
 * WEFT_ERR_NOINPUT: no store at this path; WEFT_ERR_DATA: manifest or array malformed (file, row and value are named:
 * make the store again); WEFT_ERR_USAGE: no such split. Sizes and types are checked, the values are not
 * (weft_graph_validate).
 */
weft_status weft_graph_open(const char *path, int split_index, weft_graph **graph);

/* The sizes of an open graph and pointers to its arrays, read-only and valid until it is closed. */
void weft_graph_get(const weft_graph *graph, weft_graph_arrays *arrays);

/* How many splits the store holds. */
int64_t weft_graph_splits(const weft_graph *graph);

/*
 * Check every value: offsets and ids ascend and are in range, labels and splits are in range, features finite, the
 * graph symmetric if it says so. Reads all of it, on all OpenMP threads. WEFT_ERR_DATA: the first offence, with array,
 * row and value.
 */
weft_status weft_graph_validate(const weft_graph *graph);

/* Unmap; pointers from weft_graph_get become invalid. NULL is allowed. */
void weft_graph_close(weft_graph *graph);

/*
 * Check arrays as weft_graph_validate does and write them as a store, whole or not at all.
 *   path    [in]  the folder to make
 *   arrays  [in]  offset is needed, and source when e > 0; ownership stays with the caller
 *   force   [in]  replace an existing store (nothing but a store or an empty folder is replaced)
 * WEFT_ERR_USAGE: a needed array or count is missing, both label and target are given, or `path` exists (give force, or
 * another path); WEFT_ERR_DATA: a wrong value, with array and row; WEFT_ERR_UNSUPPORTED: 2^31 vertices or more, or
 * source64; WEFT_ERR_IO, WEFT_ERR_PERMISSION: the disk is full or the folder not writable; WEFT_ERR_RESOURCE: memory is
 * short.
 */
weft_status weft_graph_write(const char *path, const weft_graph_arrays *arrays, bool force);

#ifdef __cplusplus
}
#endif
#endif
