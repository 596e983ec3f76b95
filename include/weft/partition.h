/*
 * weft/partition.h: which part owns each edge, and which part is the root of each vertex.
 *
 * A part holds a vertex when it is its root or owns an edge with it as an endpoint; where it is not the root it keeps a
 * replica, whose row is sent between ranks in every layer. Good partitions have few replicas and equal parts.
 *
 *     weft_partition *partition = NULL;
 *     weft_partition_report report;
 *     weft_options_set(options, "parts", "16");                      options of the command "partition"
 *     if (weft_partition_compute(graph, options, &partition, &report) == WEFT_OK) {
 *         printf("replication factor %.3f\n", report.replication_factor);
 *     }
 *     weft_partition_destroy(partition);
 *
 * weft_train() finds or makes its own partition; these functions are for programs that want the arrays.
 * Not collective. Threads: a partition may be read by any number of threads.
 */
#ifndef WEFT_PARTITION_H
#define WEFT_PARTITION_H

#include <stdint.h>

#include "weft/graph.h"
#include "weft/options.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_partition weft_partition;

typedef struct weft_partition_report {
    double replication_factor; /* vertices held, summed over the parts, divided by n */
    double edge_balance;       /* edges of the largest part divided by the mean */
    double vertex_balance;     /* the same for vertices held */
    double root_balance;       /* the same for roots */
    int64_t rows_per_layer;    /* rows sent forward in a layer, over all parts */
    int64_t split_vertices;    /* vertices held by more than one part */
    int64_t cut_edges;         /* edges whose endpoints have different roots */
    int64_t empty_parts;       /* parts without an edge or a root */
    double seconds;            /* that the partitioner took */
} weft_partition_report;

/*
 * Divide a graph into parts, on this process.
 *   graph      [in]   open; not kept
 *   options    [in]   of the command "partition": method, parts, balance, partition-seed, threads; not kept
 *   partition  [out]  the caller's, for weft_partition_destroy; NULL on failure
 *   report     [out]  its quality; may be NULL
 * The same graph and options give the same partition.
 * WEFT_ERR_USAGE: options of another command; WEFT_ERR_DATA: offsets or ids are out of range, or the graph is not
 * symmetric although it says so (make the store again); WEFT_ERR_UNSUPPORTED: metis cannot divide a graph of this size
 * into so many parts (choose expand); WEFT_ERR_RESOURCE: will not fit in memory (the message says how much is needed).
 */
weft_status weft_partition_compute(const weft_graph *graph, const weft_options *options, weft_partition **partition,
                                   weft_partition_report *report);

/* Number of parts. */
int weft_partition_parts(const weft_partition *partition);
/* [e] in the graph's CSR order: the part of each edge. NULL when there is one part. Valid until destroyed. */
const uint16_t *weft_partition_edge_part(const weft_partition *partition);
/* [n]: the part that is the root of each vertex. NULL when there is one part. Valid until destroyed. */
const uint16_t *weft_partition_root(const weft_partition *partition);

/* Free; NULL is allowed. */
void weft_partition_destroy(weft_partition *partition);

#ifdef __cplusplus
}
#endif
#endif
