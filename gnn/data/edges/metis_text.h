/* gnn/data/edges/metis_text.h: METIS graph files, for their edges and for what these weigh. */
#pragma once

#include "gnn/data/build/arcs.h"
#include "io/text/text_source.h"

enum { METIS_LINE_MAX = 1 << 30 }; /* bytes of a line, for text_source_open */

/* By the name: .graph, .mgraph, .metis, also packed; `head` is how the text begins. */
bool metis_is(const char *path, const char *head);

/* Each edge neighbour -> vertex of each line. weighs: somebody reads the weights; else it is said that nobody does.
 * [out] vertices */
weft_status metis_edges_parse(const char *path, text_source *source, bool weighs, arcs *into, int64_t *vertices);

/* put(self, from, to, weight, reason): of each neighbour of each line, ids from 0, from any thread; false with a reason
 * of at most 399 bytes ends the reading with the line. WEFT_ERR_DATA where FMT tells of no edge weights. */
typedef struct metis_weights {
    void *self;
    bool (*put)(const void *self, int64_t from, int64_t to, double weight, char *reason);
} metis_weights;
weft_status metis_weights_parse(const char *path, text_source *source, const metis_weights *weights);
