/*
 * partition/part.h: what one rank holds of a partitioned graph.
 *
 * Local vertices are numbered owned first (this part is their root), then replicas grouped by their root's part:
 *
 *     0 ........... n_owned ........................ n_local
 *     | owned       | replicas of part 0 | part 1 | ...       |
 *
 * Within each group they follow `order` (a locality order) or the global id. Where messages are hidden behind work, owned
 * vertices that other parts hold, too, come first (PART_SHARED_FIRST): what does not wait for messages, and what no message
 * waits for, is one range of rows then, [n_shared, n_owned). That costs a few percent of a sum's time where neighbours stood
 * close together. Each rank cuts its own part out of the mapped graph and partition in one scan, with no messages: every
 * list is derived from the same two arrays.
 */
#ifndef WEFT_PARTITION_PART_H
#define WEFT_PARTITION_PART_H

#include "partition/partition.h"

/* Rows shared with each peer, as comm/halo.h wants them: plain arrays. */
typedef struct part_halo {
    int64_t *own_offset; /* [parts + 1] */
    int32_t *own_row;
    int64_t *leaf_offset; /* [parts + 1] */
    int32_t *leaf_row;
} part_halo;

typedef enum part_layout { PART_IN_ORDER, PART_SHARED_FIRST } part_layout;

typedef struct weft_part {
    int part, parts;
    part_layout layout;
    int64_t n_global, e_global;
    int64_t
        n_shared; /* owned vertices from here on are on no other part; PART_IN_ORDER: n_owned, they are not told apart */
    int64_t n_owned, n_local;
    int64_t edges;   /* local */
    bool symmetric;  /* the LOCAL edge set equals its transpose: forward and backward share one matrix */
    bool whole_rows; /* the graph equals its transpose and the local edges are all those into owned vertices, as in an
                             * edge-cut: backward gathers what forward gathers */
    int64_t *gid;    /* [n_local] global ids */
    int64_t *offset; /* [n_local + 1] local CSR, rows = destinations */
    int32_t *source; /* [edges] local source ids, ascending in a row */
    float *weight;   /* [edges] of the local edges; NULL: all are 1 */
    int64_t *in_degree;     /* [n_owned] degrees in the whole graph, multiplicity counted */
    int64_t *out_degree;    /* [n_owned] */
    double *in_weight;      /* [n_owned] weights of all edges into the vertex, added up; NULL without weights */
    part_halo sources;      /* replicas that are a source of a local edge: forward before aggregating */
    part_halo destinations; /* replicas that are a destination of a local edge: reverse after aggregating */
} weft_part;

/*
 * What cutting several parts has in common: the parts whose edges begin at each vertex, and end there. Found in one pass over the
 * edges. Memory: (parts + 63) / 64 x 16 bytes a vertex, 8 more where the graph is directed.
 */
typedef struct part_holders {
    int words;           /* 64-bit words of a row */
    uint64_t *source;    /* [n, words] bit p: an edge of part p begins at the vertex */
    uint64_t *target;    /* [n, words] bit p: one ends there */
    int64_t *out_degree; /* [n] of all edges; NULL: the graph is symmetric */
} part_holders;

/* Not collective. Free with part_holders_free, after a failure it is empty. WEFT_ERR_DATA: partition of another graph. */
weft_status part_holders_find(const weft_graph *graph, const weft_partition *partition, part_holders *holders);
void part_holders_free(part_holders *holders);

/*
 * Cut part `part` out of the graph. order: [n] position of each vertex in a locality order, or NULL.
 * Not collective. Free with part_destroy. Cost: one pass over all edges, and two over the rows with edges of the part; while it
 * runs, O(local) memory plus n bytes of bit sets, parts / 4 bytes an owned vertex, and 4 n bytes when `order` is given.
 * WEFT_ERR_DATA: partition of another graph.
 */
weft_status part_extract(const weft_graph *graph, const weft_partition *partition, int part, const int32_t *order,
                         part_layout layout, weft_part *out);
/* The same part, without the pass over all edges: holders tells what that would. */
weft_status part_extract_held(const weft_graph *graph, const weft_partition *partition, const part_holders *holders,
                              int part, const int32_t *order, part_layout layout, weft_part *out);
/* The transposed local CSR (rows = sources), for parts of which neither is true. Arrays are the caller's, from base/alloc.h.
 * weight: NULL, or where those of the entries go, NULL of a part without. */
weft_status part_transpose(const weft_part *part, int64_t **offset, int32_t **destination, float **weight);
/* Free the CSR arrays once the backend has built its own form of them. */
void part_release_edges(weft_part *part);
void part_halo_free(part_halo *halo);
void part_destroy(weft_part *part);

#endif
