/*
 * partition/methods/method.h: the table of partitioning methods. Adding one means one new file with one function and
 * one new row in partition/methods/method.c.
 */
#pragma once

#include "partition/partition.h"
#include "partition/shares.h"

typedef enum partition_kind {
    PARTITION_VERTEX_CUT, /* run fills edge_part, self-loops with PARTITION_NO_PART; roots are chosen afterwards */
    PARTITION_EDGE_CUT    /* run fills root; every edge then goes to its destination's root */
} partition_kind;

typedef struct partition_job {
    const weft_graph *graph;
    const partition_options *options;
    int parts;             /* >= 2 */
    int threads;           /* >= 1 */
    uint64_t memory_limit; /* bytes, 0 = unknown */
    partition_kind *made;  /* the kind of the method's row; a method that makes either says which it made */
} partition_job;

/* Allowed max / mean of pairs: half of the allowed imbalance is left for the two directions of pairs and for
 * self-loops. */
static inline double partition_pair_balance(const partition_options *options)
{
    return 1.0 + (options->balance - 1.0) / 2;
}

typedef struct partition_method {
    const char *name;
    const char *description;
    partition_kind kind;
    bool shares; /* parts may have different sizes */
    weft_status (*run)(const partition_job *job, weft_partition *partition);
} partition_method;

/* Partitioners index by these numbers, and stores may be written by anybody: rows [begin, end) ascend and name
 * vertices. WEFT_ERR_DATA. */
weft_status partition_check_rows(const weft_graph *graph, int64_t begin, int64_t end, int threads);
/* max / mean of counts that sum to `total`, or the largest ratio to a part's share; 1 when there is nothing. */
double partition_balance_of(const int64_t *count, int parts, const double *share, double total);

const partition_method *partition_method_at(int i); /* NULL past the end */
/* A name with a '.' or a '/' is a file's: the row "file", which stands in no list. NULL: there is none. */
const partition_method *partition_method_find(const char *name);

weft_status method_auto(const partition_job *job, weft_partition *partition);
/* Returns true if the graph is too large for METIS on this machine, so that auto takes the method stream. */
bool method_auto_streams(const partition_job *job);
weft_status method_metis(const partition_job *job, weft_partition *partition);
weft_status method_expand(const partition_job *job, weft_partition *partition);
weft_status method_edgecut(const partition_job *job, weft_partition *partition);
weft_status method_random(const partition_job *job, weft_partition *partition);
weft_status method_file(const partition_job *job, weft_partition *partition);
weft_status method_2d(const partition_job *job, weft_partition *partition);
weft_status method_stream(const partition_job *job, weft_partition *partition);
weft_status method_libra(const partition_job *job, weft_partition *partition);
