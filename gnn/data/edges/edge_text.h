/*
 * gnn/data/edges/edge_text.h: lines "from to ..." into collected edges, by all threads.
 *
 * Two ids first, separated by blanks, tabs or a comma; further fields are numbers that are read over. All lines have
 * the same number of fields. Errors name file, line and field.
 */
#ifndef WEFT_GNN_DATA_EDGES_EDGE_TEXT_H
#define WEFT_GNN_DATA_EDGES_EDGE_TEXT_H

#include "gnn/data/build/arcs.h"
#include "io/text/text_source.h"

enum { EDGE_LINE_MAX = 1 << 20 }; /* bytes of a line, for text_source_open */

typedef struct edge_text {
    int64_t first_id; /* what the file calls vertex 0: 0 or 1 */
    int64_t vertices; /* ids are below it; -1 = not known: up to 2147483646 */
    int64_t columns;  /* fields of a line, 2 or more */
    char comments[4]; /* lines that begin so are skipped */
} edge_text;

/* The rest of the source. */
weft_status edge_text_parse(text_source *source, const edge_text *rules, arcs *into);

/* A whole file: comments # and %, an optional header line, columns as in its first row of numbers. `weighed`: somebody else reads
 * what follows the ids; else it is said that nobody does. */
weft_status edge_text_read(text_source *source, const char *path, int64_t vertices, bool weighed, arcs *into);

#endif
