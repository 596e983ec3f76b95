/*
 * partition/stream/block_design.h: which parts hold which groups of vertices, so that every two groups meet in a part.
 *
 * Vertices are cut into `points` groups, and each part holds some of them, its block. Where every two groups, and
 * each with itself, lie in a common block, every pair of vertices has a part that holds both ends, whatever the graph:
 * a vertex has as many replicas as blocks hold its group. For q^2 + q + 1 parts those are q + 1, the lines of a
 * projective plane; between those numbers of parts a little more. No cut of a complete graph has fewer.
 *
 * Even designs have groups and blocks of one size. Lean ones have fewer replicas, and blocks of up to 1.1 times the
 * mean: the lines of the next smaller plane, of which some are cut in three, thirds two by two; and blocks of few
 * vertices, which get their share of edges from within groups, if those have as many. The sizes of their groups are
 * solutions of linear programs. There is one where it saves more replicas than the largest block grows, both in
 * percent.
 *
 * Projective planes for vertex-cuts: N. Jain, G. Liao, T. L. Willke: GraphBuilder: scalable graph ETL framework.
 * GRADES'13, doi:10.1145/2484425.2484429. Coverings of pairs by few blocks: W. H. Mills: Covering designs I. Ars
 * Combinatoria 8, 1979; the even ones here were found by exchanging points of random blocks. Tests check all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_DESIGN_PARTS = 32, BLOCK_DESIGN_POINTS = 48 };

typedef enum block_design_kind { BLOCK_DESIGN_LEAN, BLOCK_DESIGN_EVEN, BLOCK_DESIGN_KINDS } block_design_kind;

typedef struct block_design {
    int parts, points;
    double share[BLOCK_DESIGN_POINTS];     /* [points] of all vertices: the group's */
    uint32_t holders[BLOCK_DESIGN_POINTS]; /* [points] bit p: part p holds the group */
} block_design;

/* Is there one of that kind for so many parts? [out] design. */
bool block_design_find(int parts, block_design_kind kind, block_design *design);
