/* gnn/data/edges/edge_weights.h: weights of edges that are known already, put where they belong; and those of text
 * files. */
#pragma once

#include "gnn/data/build/csr_build.h"
#include "gnn/data/edges/id_map.h"
#include "gnn/data/edges/text_head.h"

#define EDGE_WEIGHTS_UNSET UINT32_MAX /* the bits of a number that is no weight */

enum { EDGE_WEIGHTS_REASON = 400, EDGE_WEIGHTS_CALLED = 48 };

typedef struct edge_weights {
    const csr_graph *csr;
    bool both_ways;      /* a weight is its reverse's as well */
    const char *cure;    /* of an edge that weighs differently twice */
    int64_t first_id;    /* what the file calls vertex 0 */
    const id_map *map;   /* what a table calls the vertices, instead of that; or NULL */
    edge_file_kind kind; /* AUTO: as the file looks */
    bool told;           /* what the file's columns are has been logged */
    uint32_t *bits;      /* [entries] of the weights */
} edge_weights;

/* Any thread. False: `reason` tells what is wrong with an edge from -> to, ids from 0, of that weight. */
bool edge_weights_put(const edge_weights *s, int64_t from, int64_t to, double value, char reason[EDGE_WEIGHTS_REASON]);

/* What the file calls a vertex. Returns text. */
const char *edge_weights_called(const edge_weights *s, int64_t vertex, char text[EDGE_WEIGHTS_CALLED]);

/* All weights of a text file: lines FROM TO WEIGHT, Matrix Market, METIS. first_id, both_ways and cure become what the
 * file says. */
weft_status edge_weights_text(const char *path, edge_weights *s);
