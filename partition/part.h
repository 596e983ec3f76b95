/*
 * partition/part.h: what one rank holds of a partitioned graph.
 *
 * Local vertices are numbered owned first (this part is their root), then replicas grouped by their root's part:
 *
 *     0 ........... n_owned ........................ n_local
 *     | owned       | replicas of part 0 | part 1 | ...       |
 *
 * Within each group vertices follow `order` (a locality order) or the global id. With PART_SHARED_FIRST the owned
 * vertices that other parts hold, too, come first, so that the rows which no message concerns are one range, [n_shared,
 * n_owned): a caller that hides messages behind work computes that range meanwhile. The layout costs a few percent of a
 * sum's time where neighbours stood close together. Each rank cuts its own part out of the mapped graph and partition
 * in one scan, without messages, because every list follows from these two arrays.
 */
#pragma once

#include "partition/partition.h"

/* The rows that this part shares with each peer, in the arrays that comm/halo.h takes. The rows for peer p are the
 * entries offset[p] .. offset[p + 1] - 1. */
typedef struct part_halo {
    int64_t *own_offset;  /* [parts + 1] */
    int32_t *own_row;     /* owned rows that the peer has a replica of */
    int64_t *leaf_offset; /* [parts + 1] */
    int32_t *leaf_row;    /* replicas here whose root is the peer */
} part_halo;

typedef enum part_layout { PART_IN_ORDER, PART_SHARED_FIRST } part_layout;

/* Local edges that a thread copies out of a mapped graph before it releases the graph's pages, 16 MiB of one part: else
 * the graph would stand in memory beside its copy. Pages that another thread still reads come back from the system's
 * cache. */
enum { PART_HELD_EDGES = 1 << 22 };

typedef struct weft_part {
    int part, parts;
    part_layout layout;
    int64_t n_global, e_global;
    /* Owned vertices [n_shared, n_owned) are on no other part. With PART_IN_ORDER it is n_owned, whatever is shared. */
    int64_t n_shared;
    int64_t n_owned, n_local;
    int64_t edges; /* of this part */
    /* True if the local edge set equals its transpose: forward and backward sums share one matrix. */
    bool symmetric;
    /* True if the graph equals its transpose and this part has every edge into its owned vertices, as in an edge-cut:
     * backward sums gather the rows that forward sums gather. */
    bool whole_rows;
    int64_t *gid;    /* [n_local] global ids */
    int64_t *offset; /* [n_local + 1] local CSR, rows = destinations */
    int32_t *source; /* [edges] local source ids, ascending in a row */
    float *weight;   /* [edges] weights of the local edges; NULL: all are 1 */
    /* [n_owned] degrees in the whole graph, parallel edges counted. */
    int64_t *in_degree, *out_degree;
    double *in_weight;      /* [n_owned] sum of the weights of all edges into the vertex; NULL without weights */
    part_halo sources;      /* replicas that are a source of a local edge: roots send them before a sum */
    part_halo destinations; /* replicas that are a destination of a local edge: they go to their roots after a sum */
} weft_part;

/*
 * For each vertex, the parts that have an edge which begins or ends there. Cutting several parts needs these sets once;
 * they are found in one pass over the edges. Memory: (parts + 63) / 64 x 16 bytes a vertex, 8 more if the graph is
 * directed.
 */
typedef struct part_holders {
    int words;           /* 64-bit words of a row */
    uint64_t *source;    /* [n, words] bit p: an edge of part p begins at the vertex */
    uint64_t *target;    /* [n, words] bit p: an edge of part p ends at the vertex */
    int64_t *out_degree; /* [n] in the whole graph; NULL if the graph is symmetric */
} part_holders;

/* Not collective. Free with part_holders_free; after a failure `holders` is empty. WEFT_ERR_DATA: the partition is of
 * another graph. */
weft_status part_holders_find(const weft_graph *graph, const weft_partition *partition, part_holders *holders);
void part_holders_free(part_holders *holders);

/*
 * Cut part `part` out of the graph. order: [n] position of each vertex in a locality order, or NULL.
 * Not collective. Free with part_destroy. Cost: one pass over all edges, and two over the rows with edges of the part;
 * while it runs, O(local) memory plus n bytes of bit sets, parts / 4 bytes an owned vertex, and 4 n bytes when `order`
 * is given. WEFT_ERR_DATA: partition of another graph.
 */
weft_status part_extract(const weft_graph *graph, const weft_partition *partition, int part, const int32_t *order,
                         part_layout layout, weft_part *out);
/* Like part_extract(), with the holders that part_holders_find() found, so that no pass over all edges is needed. */
weft_status part_extract_held(const weft_graph *graph, const weft_partition *partition, const part_holders *holders,
                              int part, const int32_t *order, part_layout layout, weft_part *out);
/* Makes the transposed local CSR (rows = sources), which parts need that are neither `symmetric` nor have `whole_rows`.
 * The arrays are the caller's, from base/alloc.h. [out] weight: [edges], NULL if the part has no weights; weight itself
 * may be NULL. */
weft_status part_transpose(const weft_part *part, int64_t **offset, int32_t **destination, float **weight);
/* Free the CSR arrays once the backend has built its own form of them. */
void part_release_edges(weft_part *part);
void part_halo_free(part_halo *halo);
void part_destroy(weft_part *part);
