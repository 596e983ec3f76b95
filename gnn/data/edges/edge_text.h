/*
 * gnn/data/edges/edge_text.h: lines that hold the two ends of an edge into collected edges, by all threads.
 *
 * Either two ids first, separated by blanks, tabs or a comma, and numbers behind them, which are read over (Matrix
 * Market); or the columns of a table (gnn/data/edges/edge_columns.h). All lines have the same number of fields. Errors
 * name file, line and field.
 */
#pragma once

#include "gnn/data/build/arcs.h"
#include "gnn/data/edges/edge_columns.h"
#include "gnn/data/edges/id_map.h"
#include "io/text/text_source.h"

typedef struct edge_text {
    int64_t first_id;          /* what the file calls vertex 0 */
    int64_t vertices;          /* ids are below it; -1 = not known: up to 2147483646 */
    int64_t columns;           /* fields of a line, 2 or more; of a table: its header tells */
    char comments[4];          /* lines that begin so are skipped */
    const edge_columns *table; /* NULL: two ids first */
    const id_map *map;         /* of a table: what its ids mean, instead of the three numbers above */
} edge_text;

/* The rest of the source. */
weft_status edge_text_parse(text_source *source, const edge_text *rules, arcs *into);

/* What ids of a table mean. */
typedef struct edge_text_ids {
    int64_t first, vertices; /* as above */
    const id_map *map;       /* or NULL */
} edge_text_ids;

/* A whole table, whose columns are known: comments # and %, the header, the rows. */
weft_status edge_text_table(text_source *source, const edge_columns *columns, const edge_text_ids *ids, arcs *into);
/* Reads a list of edges whose ids count from 0; further columns are left out with a word. */
weft_status edge_text_read(text_source *source, const char *path, int64_t vertices, arcs *into);
