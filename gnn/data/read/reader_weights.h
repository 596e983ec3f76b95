/* gnn/data/read/reader_weights.h: weights of edges, read for a graph whose edges are known. */
#pragma once

#include "gnn/data/build/csr_build.h"
#include "gnn/data/edges/id_map.h"
#include "gnn/data/edges/text_head.h"

typedef struct reader_weights_how {
    bool both_ways;       /* an edge of the file means both directions */
    edge_file_kind kind;  /* of text; AUTO: as it looks */
    bool told;            /* the file is the input: what its columns are has been logged */
    int64_t first_id;     /* what a table of text calls vertex 0 */
    const id_map *map;    /* what it calls the vertices, instead; or NULL */
    int64_t memory_bytes; /* what the arrays of an .npz must fit, 0 = no limit */
} reader_weights_how;

/*
 * A weight for every entry of `csr` from a file of edges: a table of text with a column of weights, a Matrix Market
 * file with values, a METIS file with edge weights, or an .npz with a matrix of SciPy's, adj_data, edges and weights,
 * or edge_index and edge_weight. [out] weight [entries], weft_free; NULL on failure.
 * WEFT_ERR_DATA names file, line or row, and edge: what is no weight, an edge that the graph does not have, one that
 * weighs differently twice, or one without a weight. Self-loops that the graph does not have are passed over.
 */
weft_status reader_weights(const char *path, const csr_graph *csr, const reader_weights_how *how, float **weight);
