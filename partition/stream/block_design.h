/*
 * partition/stream/block_design.h: which parts hold which groups of vertices, so that every two groups meet in a part.
 *
 * Vertices are cut into `points` groups of the same size, and each part holds some of them, its block. Where every two groups, and
 * each with itself, lie in a common block, every pair of vertices has a part that holds both ends, whatever the graph: a vertex has
 * as many replicas as blocks hold its group. For q^2 + q + 1 parts those are q + 1, the lines of a projective plane; between
 * those numbers of parts a little more. No cut of a complete graph has fewer.
 *
 * Projective planes for vertex-cuts: N. Jain, G. Liao, T. L. Willke: GraphBuilder: scalable graph ETL framework. GRADES'13,
 * doi:10.1145/2484425.2484429. Coverings of pairs by few blocks: W. H. Mills: Covering designs I. Ars Combinatoria 8, 1979; those
 * here were found by exchanging points of random blocks, and are checked by tests.
 */
#ifndef WEFT_PARTITION_STREAM_BLOCK_DESIGN_H
#define WEFT_PARTITION_STREAM_BLOCK_DESIGN_H

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_DESIGN_PARTS = 32, BLOCK_DESIGN_POINTS = 48 };

typedef struct block_design {
    int parts, points;
    uint32_t holders[BLOCK_DESIGN_POINTS]; /* [points] bit p: part p holds the group */
} block_design;

/* Is there one for so many parts? [out] design. */
bool block_design_find(int parts, block_design *design);

#endif
