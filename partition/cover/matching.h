/*
 * partition/cover/matching.h: minimum vertex cover of a bipartite graph.
 *
 * A greedy matching is completed to a maximum one by phases of shortest augmenting paths (Hopcroft-Karp), and the cover
 * is read off it (Koenig): with Z = what alternating paths reach from unmatched left vertices, (left \ Z) and (right in
 * Z). O(edges x sqrt(vertices)); a handful of phases in practice. All arrays are the caller's: nothing is allocated
 * here, so it may run inside parallel regions.
 *
 * J. Hopcroft, R. Karp: An n^5/2 algorithm for maximum matchings in bipartite graphs. SIAM J. Comput. 2(4), 1973,
 * doi:10.1137/0202019;  D. Koenig, 1931.
 */
#pragma once

#include <stdint.h>

typedef struct bipartite {
    int32_t left, right;     /* vertices of each side */
    const int64_t *offset;   /* [left + 1] */
    const int32_t *adjacent; /* [offset[left]] right vertices */
} bipartite;

typedef struct matching_work {
    int32_t *left_match;  /* [left] partner, or -1 */
    int32_t *right_match; /* [right] */
    int32_t *level;       /* [left] distance from an unmatched left vertex, or -1 */
    int32_t *queue;       /* [left] also the path of the search */
    int64_t *next;        /* [left] first edge not yet tried */
} matching_work;

/* [out] covered_left [left], covered_right [right]: 1 in the cover. Returns its size. */
int64_t matching_cover(const bipartite *graph, const matching_work *work, uint8_t *covered_left,
                       uint8_t *covered_right);
