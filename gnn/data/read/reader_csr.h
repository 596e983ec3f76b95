/* gnn/data/read/reader_csr.h: the edges of an input as CSR, wherever its reader put them. */
#ifndef WEFT_GNN_DATA_READ_READER_CSR_H
#define WEFT_GNN_DATA_READ_READER_CSR_H

#include "gnn/data/build/csr_build.h"
#include "gnn/data/read/reader.h"

/* raw's edges are given up. WEFT_ERR_DATA names a vertex whose edges lack their reverse where raw->stores_both says
 * that all are there and none are added. */
weft_status reader_csr_make(const char *input, raw_graph *raw, bool add_reverse, bool keep_self_loops, csr_graph *graph,
                            bool *symmetric);

#endif
