/*
 * trees/grow/histograms.h: histograms of nodes over the rows of all ranks, of which a rank keeps some columns.
 *
 * A slot holds the histograms of one node: for each of this rank's columns its cells (trees/data/bins.h), of a sum of
 * gradients and a sum of hessians, on one rank in one number where the node has at most HAL_HISTOGRAM_ROWS rows, which
 * halves its memory. Slots are used again, so a tree takes memory for the nodes that wait at one time.
 *
 * Nodes that are divided together are one reduce-scatter, if they take at most SCATTER_BYTES, else several:
 *
 *      vector     share of rank 0: its columns of node 0, 1, ... | share of rank 1: its columns of node 0, 1, ... | ...
 *      a column   for each bin that it has the sums, in one number where all ranks together have few rows of the node
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/bins.h"
#include "trees/grow/rank_exchange.h"
#include "trees/grow/split.h"

typedef struct tree_histograms {
    weft_comm *comm;
    weft_hal *hal;
    const tree_bins *bins;
    int first, columns; /* this rank's columns: first .. first + columns - 1 */
    int64_t *cell;      /* [all columns + 1] bins of the columns before each */
    weft_tensor *local; /* [locals] each [cells of all columns, 2] of this rank's rows of a node; none on one rank */
    int locals;         /* nodes that threads sum side by side */
    int64_t *vector;    /* what is reduced and scattered */
    int64_t *count;     /* [ranks] numbers of the shares */
    comm_plan *plan;    /* NULL on one rank */
    weft_status failed; /* of this rank while others waited: told when ranks agree next */
    rank_exchange *exchange;
    weft_tensor *slot; /* [slots] each [cells of this rank's columns, 2 or 1] */
    int *unused;       /* [slots] numbers of slots that nobody holds */
    int slots, slot_capacity, unuseds, unused_capacity;
} tree_histograms;

/* exchange: lives as long as the histograms. Collective. */
weft_status histograms_create(weft_comm *comm, const tree_bins *bins, rank_exchange *exchange, tree_histograms *h);
void histograms_destroy(tree_histograms *h); /* zeros are fine */
enum { HISTOGRAMS_LEAST = 8 /* nodes for which there is room in any case */ };

/* Nodes whose histograms, of 2 numbers a cell, take so many bytes on the rank that has most; 0: INT_MAX. */
int histograms_fit(const tree_histograms *h, uint64_t bytes);
/* [out] slot: for a node of so many rows of all ranks, to be given back; with several ranks the rows do not matter.
 * Local. */
weft_status histograms_take(tree_histograms *h, int64_t rows, int *slot);
/* [out] rest: for the node of so many rows that is left of one with the slot `whole`: the same slot if its cells are as
 * wide, else one to be given back. Local. */
weft_status histograms_take_rest(tree_histograms *h, int whole, int64_t rows, int *rest);
void histograms_give_back(tree_histograms *h, int slot);
/* Nodes whose histograms are built together. */
typedef struct histogram_node {
    int64_t begin, end; /* places of its rows in the list, on this rank */
    int64_t rows;       /* of all ranks */
    int slot;           /* becomes the sums of its rows, on all ranks */
    int whole;          /* slot of its parent; -1: none */
    int rest;           /* becomes what is left of the parent without the node's rows: histograms_take_rest */
    int64_t before;     /* [out] numbers a bin of the nodes that are sent before it */
} histogram_node;

/* list: rows of this rank, in which those of a node stand together; pair: by row (hal_pair_of).
 * node: [nodes], comes back in another order, on all ranks the same. Where this rank cannot sum, h->failed says so, and
 * the sums mean nothing. Collective. */
weft_status histograms_build(tree_histograms *h, const weft_tensor *list, const weft_tensor *pair, histogram_node *node,
                             int nodes);
/* [out] best: of `nodes` nodes with these slots, the best split by any rank's columns. Collective. */
weft_status histograms_best(tree_histograms *h, const split_rule *rule, const int *slot, const split_node *node,
                            int nodes, tree_split *best);
