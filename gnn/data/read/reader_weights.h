/* gnn/data/read/reader_weights.h: weights of edges, read for a graph whose edges are known. */
#ifndef WEFT_GNN_DATA_READ_READER_WEIGHTS_H
#define WEFT_GNN_DATA_READ_READER_WEIGHTS_H

#include "gnn/data/build/csr_build.h"

/*
 * A weight for every entry of `csr` from a file of edges: text of lines FROM TO WEIGHT, a Matrix Market file with values, or an
 * .npz with a matrix of SciPy's, adj_data, or edges and weights. both_ways: an edge of the file means both directions.
 * memory_bytes: what the arrays of an .npz must fit, 0 = no limit. [out] weight [entries], weft_free; NULL on failure.
 * WEFT_ERR_DATA names file, line or row, and edge: what is no weight, an edge that the graph does not have, one that weighs
 * differently twice, or one without a weight. Self-loops that the graph does not have are passed over.
 */
weft_status reader_weights(const char *path, const csr_graph *csr, bool both_ways, int64_t memory_bytes,
                           float **weight);

#endif
