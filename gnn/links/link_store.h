/*
 * gnn/links/link_store.h: the graph that messages pass along when some of its edges are to be predicted: all vertices
 * and features, and the edges of train alone. Neither degrees nor sums show an edge of valid or test.
 */
#pragma once

#include "gnn/links/link_draw.h"
#include "graph/graph.h"

/* Writes the store anew at `path`: features as they are, no labels and no splits. Memory: 8 bytes a vertex and 4 (with
 * weights 8) an edge that is kept. */
weft_status link_store_write(const weft_graph *graph, const link_shares *shares, const char *path);
