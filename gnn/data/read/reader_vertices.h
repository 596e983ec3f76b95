/* gnn/data/read/reader_vertices.h: how many vertices an edge list has, and whether its ids mean what they are taken
 * for. */
#pragma once

#include "gnn/data/build/csr_build.h"
#include "gnn/data/read/reader.h"

/* The edges are read, raw->vertices is the largest id + 1. Tables of one length that are given with them tell the
 * number; what contradicts it, or looks like ids that count from 1, is refused or told with the cure. Nothing where the
 * user gave the number. */
weft_status reader_vertices_settle(const char *input, raw_graph *raw);
/* The tables did not fit with `status`: where their rows are to blame, a word of how the number of vertices came about.
 * Returns the failure again. */
weft_status reader_vertices_hint(const char *input, const raw_graph *raw, weft_status status);
/* How many vertices have an edge, where not all have one. */
void reader_vertices_tell(const char *input, const raw_graph *raw, const csr_graph *csr, bool symmetric);
