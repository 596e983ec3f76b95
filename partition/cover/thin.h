/*
 * partition/cover/thin.h: a dense graph by a few neighbours of each vertex.
 *
 * METIS takes time and memory by the entries of a graph, and in a dense graph a few neighbours of a vertex tell on
 * which of two sides it belongs as well as all of them do. Which of several small groups it belongs to they do not
 * (docs/notes/partition.md).
 */
#pragma once

#include "partition/cover/adjacency.h"

enum {
    THIN_DRAWN = 16,     /* neighbours that a vertex draws */
    THIN_PROBE = 4,      /* that it draws to find out whether any cut saves rows */
    THIN_FROM = 8000000, /* entries; smaller graphs take seconds as they are */
    THIN_DEGREE = 64     /* entries a vertex, of graphs that are dense */
};

static inline bool thin_pays(int64_t vertices, int64_t entries, int parts)
{
    return parts == 2 && entries >= THIN_FROM && entries / THIN_DEGREE >= vertices;
}

/* [out] thin: the pairs of which one vertex drew the other, each vertex `drawn` at most, at even distances in its row
 * from a place that the seed gives. Vertices keep the weights of `from`, which must outlive it; for adjacency_free. */
weft_status adjacency_thin(const adjacency *from, int drawn, uint64_t seed, int threads, adjacency *thin);
