/*
 * partition/cover/edge_pairs.h: the undirected pairs of a graph, the unit that vertex-cuts give to parts.
 *
 * Both directions of a pair {u, v} go to one part: local edge sets of symmetric graphs stay symmetric, so forward and
 * backward share one matrix. A directed graph is treated as its symmetrised self. Self-loops are no pairs.
 *
 *   row v lists the partners u > v, ascending, each once: the pair's place in `other` is its index. Walking the indices
 *   is walking the CSR and taking each pair where it is first met.
 *
 * Memory: 4 bytes a pair + 8 bytes a vertex.
 */
#pragma once

#include "graph/graph.h"

typedef struct pair_list {
    int64_t vertices, pairs;
    int64_t *offset; /* [vertices + 1] */
    int32_t *other;  /* [pairs] */
} pair_list;

/* WEFT_ERR_UNSUPPORTED above 2^31 - 1 vertices. Free with pair_list_free. */
weft_status pair_list_build(const weft_graph *graph, int threads, pair_list *list);
void pair_list_free(pair_list *list);

/* [out] degree [vertices], partners of each vertex. weft_free. */
weft_status pair_list_degrees(const pair_list *list, int threads, int32_t **degree);

/* edge_part of both directions of each pair from pair_part[pairs]; self-loops become `loop_part`. WEFT_ERR_DATA: a row
 * names a pair that the list lacks. */
weft_status pair_list_spread(const pair_list *list, const uint16_t *pair_part, const weft_graph *graph,
                             uint16_t loop_part, int threads, uint16_t *edge_part);

/* The other way round: [out] pair_part [pairs] from edge_part, which tells the part of each pair in one direction at
 * least, and nothing else in the other (PARTITION_NO_PART). */
void pair_list_collect(const pair_list *list, const uint16_t *edge_part, const weft_graph *graph, int threads,
                       uint16_t *pair_part);
