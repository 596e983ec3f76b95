/*
 * partition/partition.h: which part owns each edge and which part is the root of each vertex.
 *
 * Everything rests on two arrays over the graph in CSR order, so a vertex-cut and an edge-cut are the same thing to the
 * rest of Weft:
 *
 *   edge_part[e]  the part that aggregates edge e (u -> v)
 *   root[v]       the part that computes vertex v (its dense work, loss and metrics); every vertex has exactly one
 *
 * A part holds v when it is v's root or owns an edge with endpoint v. Where it is not the root it is a replica: a
 * source replica needs v's row before aggregating, a destination replica sends a partial sum after. In an edge-cut
 * every edge lies with its destination's root, so only source replicas (the halo) exist.
 *
 * Methods stand in a table (partition/methods/method.h): one file each.
 */
#pragma once

#include "graph/graph.h"

extern weft_mem_tag WEFT_MEM_PARTITION[1];

enum { PARTITION_MAX_PARTS = 4096 };

enum { PARTITION_NO_PART = UINT16_MAX }; /* an edge that no method has placed: a self-loop, before roots are known */

typedef struct weft_partition {
    int parts;
    const char *method; /* a name of the method table, or "file" */
    bool edge_cut;      /* every edge lies with its destination's root; true if made as such */
    int64_t vertices, edges;
    uint16_t *edge_part; /* [e] in CSR order; NULL when parts == 1, or where roots tell it (by_roots below) */
    uint16_t *root;      /* [n]; NULL when parts == 1 */
    void *mapping;       /* set when the arrays are mapped from a file */
} weft_partition;

/* Returns the part that aggregates edge e into vertex v. */
static inline int partition_part_of(const weft_partition *partition, int64_t e, int64_t v)
{
    return partition->edge_part != NULL ? partition->edge_part[e] : partition->root != NULL ? partition->root[v] : 0;
}

typedef struct partition_report {
    double replication_factor; /* sum over parts of |vertices held| / n, isolated vertices held once */
    double edge_balance;       /* max edges of a part / mean; of shares: the largest ratio to a part's own share */
    double vertex_balance;     /* max vertices held / mean, the same */
    double root_balance;       /* max roots of a part / mean, the same */
    int64_t rows_per_layer;    /* rows sent forward: source replicas + destination replicas, over all parts */
    int64_t split_vertices;    /* vertices held by more than one part */
    int64_t cut_edges;         /* edges whose endpoints have different roots */
    int64_t empty_parts;
    double seconds;
    uint64_t peak_rss_bytes;
} partition_report;

typedef struct partition_options {
    const char *method; /* a name of the method table, or of a file, with a '.' or a '/' in it (given_parts.h) */
    int parts;
    uint64_t seed;
    double balance; /* allowed max/mean of edges, 1.10 */
    int threads;
    bool by_roots;         /* an edge-cut has no edge_part, in memory or on disk */
    uint64_t memory_limit; /* bytes, 0 = what the machine has */
    const double *share;   /* [parts] above 0, their sum 1 (partition/shares.h); NULL: equal parts */
    double share_slack;    /* a stored partition serves whose shares differ by no more than this part of them */
} partition_options;

/* Checks that `name` is a method or an existing file. WEFT_ERR_USAGE with the nearest method, WEFT_ERR_NOINPUT. */
weft_status partition_check_method(const char *name);

/* WEFT_ERR_USAGE if the method cannot make parts of different sizes; the message names the methods that can. */
weft_status partition_check_shares(const char *method);

/* Compute a partition of the whole graph on this process. Not collective. Free with partition_destroy.
 * WEFT_ERR_USAGE unknown method (nearest name), parts out of range, or shares that the method does not make;
 * WEFT_ERR_RESOURCE will not fit (says how much).
 */
weft_status partition_compute(const weft_graph *graph, const partition_options *options, weft_partition *partition,
                              partition_report *report);
/* Returns true if `auto` takes the method stream on this process, because the graph is too large for METIS. */
bool partition_auto_streams(const weft_graph *graph, const partition_options *options);
/* Measures balance and replication. share [parts]: the sizes that were asked for; NULL: equal parts. */
weft_status partition_measure(const weft_graph *graph, const weft_partition *partition, const double *share,
                              partition_report *report);
/* Oracle: every edge and vertex has a part < parts; for an edge-cut every edge lies at its destination's root. */
weft_status partition_is_valid(const weft_graph *graph, const weft_partition *partition);
void partition_destroy(weft_partition *partition);

/* Kept beside the graph: STORE/partition-METHOD-K-SEED/ with the two arrays, the report and the graph's hash; of
 * unequal shares STORE/partition-METHOD-K-SEED-weighted/, the last that were asked for. */
weft_status partition_save(const char *store_path, const weft_graph *graph, const weft_partition *partition,
                           const partition_report *report, const partition_options *options);
/* WEFT_ERR_NOINPUT when there is none, or one of other shares; WEFT_ERR_DATA when it belongs to another graph or is
 * damaged. */
weft_status partition_load(const char *store_path, const weft_graph *graph, const partition_options *options,
                           weft_partition *partition, partition_report *report);
/* Its report alone. */
weft_status partition_load_report(const char *store_path, const weft_graph *graph, const partition_options *options,
                                  partition_report *report);
