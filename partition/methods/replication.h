/*
 * partition/methods/replication.h: for each vertex, the parts that hold it and how many of its edges lie in each.
 *
 *   held   bit p of row v: part p owns an edge (not a self-loop) with endpoint v
 *   edges  one count for each set bit, ascending parts; a vertex's counts start at first[v]
 *
 * Memory: parts / 8 + 8 bytes a vertex and 4 bytes a (vertex, part) that occurs.
 */
#ifndef WEFT_PARTITION_METHODS_REPLICATION_H
#define WEFT_PARTITION_METHODS_REPLICATION_H

#include "partition/partition.h"

typedef struct replica_table {
    int64_t vertices;
    int words;      /* 64-bit words of a row of held */
    uint64_t *held; /* [vertices, words] */
    int64_t *first; /* [vertices + 1] */
    int32_t *edges; /* [first[vertices]] */
} replica_table;

weft_status replica_table_build(const weft_graph *graph, const weft_partition *partition, int threads,
                                replica_table *table);
void replica_table_free(replica_table *table);

#endif
