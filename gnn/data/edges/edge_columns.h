/*
 * gnn/data/edges/edge_columns.h: which columns of a table are the ends of edges, and which one their weight.
 *
 * A header names them (io/text/text_header.h). Without names that are known the only two columns that can be meant are
 * taken, with a word; without a header the first two, and the third for a weight. What networkx.write_edgelist puts
 * behind the ids, {...}, is no column.
 */
#pragma once

#include "io/text/text_header.h"

enum { EDGE_LINE_MAX = 1 << 20 }; /* bytes of a line, for text_source_open */

typedef struct edge_columns {
    text_header header;
    int64_t from, to;  /* columns */
    int64_t weight;    /* -1: none is read */
    bool dictionaries; /* {...} ends each line */
} edge_columns;

typedef struct edge_fields {
    text_field from, to, weight;
} edge_fields;

/* Does a text that begins with `head` look like a list of edges? Last of all formats that are asked. */
bool edge_columns_match(const char *path, const char *head);

/* Look at the first lines of `path`. weighs: a weight is read, else wanted by nobody here. tell: log what is left out
 * or guessed. WEFT_ERR_DATA in words of the header. Free with edge_columns_free. columns->header.columns 0: there is no
 * line. */
weft_status edge_columns_find(const char *path, bool weighs, bool tell, edge_columns *columns);
void edge_columns_free(edge_columns *columns);

/* The fields of the row that begins at *at (text_next_row); *at moves to its end. False: piece->at and reason say why
 * not. */
bool edge_columns_scan(const edge_columns *columns, text_piece *piece, const char **at, edge_fields *fields);
