/*
 * trees/grow/growth_work.h: what ranks send while trees grow, in closed form.
 *
 * A tree on P ranks, with B batches of nodes that are divided together (levels, where growth is by levels):
 *
 *      all-reduces of the vector     bytes
 *      largest gradient, hessian     24            once a tree
 *      sums and rows of the root     24            once a tree
 *      agreement that nobody failed  8             B + 3 times a tree
 *      rows of children              8 a child     a batch; children at the greatest depth need none, here and below
 *      best splits                   growth_record_bytes a node; the root, then the children of a batch
 *      sums of leaves                16 a leaf     once a tree
 *
 *      reduce-scatter of histograms by columns: the root, then of each batch the child of fewer rows of each division:
 *                                    for each bin that a column has, that of missing values with it, 16 bytes; 8 in a
 *                                    node of at most HAL_HISTOGRAM_ROWS rows of all ranks
 *
 * A rank sends the vector of an all-reduce in as many messages as recursive doubling takes: log2 P, of numbers of ranks
 * between powers of two one more or only one (comm/coll/allreduce_recursive_doubling.c). Of a reduce-scatter it sends
 * each other rank that rank's share. An all-reduce longer than EXCHANGE_BYTES goes in parts, and so does a batch whose
 * histograms take more than SCATTER_BYTES: as many nodes at a time as fit, one at least, those of most rows first.
 * All of this holds for each rank on a node of its own; on one node agreements, and the messages of a reduce-scatter,
 * go through shared memory.
 */
#pragma once

#include "comm/core/cost.h"
#include "trees/forest/forest.h"

enum {
    EXCHANGE_BYTES = 1 << 16, /* of an all-reduce */
    SCATTER_BYTES = 1 << 22,  /* of all shares of a reduce-scatter, on each rank */
    AGREE_BYTES = 8,
    SPLIT_HEAD_BYTES = 32, /* of a split by numbers */
    SPLIT_BYTES = 64,      /* with a set of bins of a byte */
    SPLIT_WIDE_BYTES = 160 /* with any set */
};

/* Counts of what is sent, and of what a rank computes; both add up over trees. */
typedef struct growth_work {
    int64_t calls, call_bytes; /* all-reduces, and the bytes of their vectors */
    int64_t scatters, numbers; /* reduce-scatters, and the numbers of 8 bytes that they send for each bin */
    int64_t trees, built;      /* and nodes whose histograms were built */
    int64_t summed, divided;   /* rows of this rank in histograms, and in nodes that were divided */
    int64_t scanned;           /* nodes whose best split was looked for */
} growth_work;

/* Seconds of a rank in the parts of growth that have counts of their own. */
typedef struct growth_seconds {
    double sums, division, scans; /* of `summed`, of `divided` rows, of `scanned` nodes */
    double exchange;              /* until messages had come, those waited for with them */
} growth_seconds;

/* Shape of trees and data that the work of a tree follows from. */
typedef struct growth_shape {
    int64_t rows;         /* on which the tree is grown, of all ranks */
    int depth;            /* of a leaf at most; 0: no bound */
    int64_t cells;        /* bins of all columns, with those of missing values */
    int64_t record_bytes; /* of a best split */
} growth_shape;

static inline void growth_add_call(growth_work *work, int64_t bytes)
{
    work->calls += 1;
    work->call_bytes += bytes;
}

/* Adds the calls of one vector that is sent in parts, each of whole elements. */
void growth_add_vector(growth_work *work, int64_t elements, int64_t element_bytes);
/* Bytes of a best split, where a column of categories has so many bins at most; 0: there is none. */
int64_t growth_record_bytes(int category_bins);
/* Numbers in a cell of the histogram of a node of so many rows. */
int growth_width(int64_t rows);
/* Takes the nodes of the next reduce-scatter off those that are left, whose histograms have 2 numbers a bin and 1, of
 * so many bins of all columns. Returns how many, the wide ones first. */
int64_t growth_next_scatter(int64_t *wide, int64_t *narrow, int64_t cells);
/* Adds the reduce-scatters of the histograms of a batch. */
void growth_add_scatters(growth_work *work, int64_t wide, int64_t narrow, int64_t cells);
/* Numbers a bin that a reduce-scatter takes at most, at least the 2 of one node. */
int64_t growth_scatter_most(int64_t cells);
/* Bytes of all shares of a reduce-scatter, at most. */
uint64_t growth_scatter_bytes(int64_t cells);
/* Bytes of the histograms of the nodes that wait at one time, at most, on a rank with so many cells. depth, leaves: of
 * a tree, 0: no bound. rows: of all ranks. */
uint64_t growth_histogram_bytes(int64_t rows, int depth, int leaves, int64_t cells);
/* Adds what one tree sends that is grown level by level: of growth by leaves without a bound of leaves, too. Rows of a
 * node are its share of the root's hessian, so they are exact where each row has the same. Local; WEFT_ERR_RESOURCE. */
weft_status growth_add_tree(const weft_tree *tree, const growth_shape *shape, growth_work *work);

/* First of the columns that a rank keeps. */
int growth_first_column(int columns, int rank, int ranks);
/* column_cells: [columns] bins of each. The bytes and messages that a rank sends, and the critical path of all. */
comm_cost growth_cost(const growth_work *work, const int *column_cells, int columns, int rank, int ranks);
