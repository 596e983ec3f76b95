/*
 * gnn/data/tables/vertex_ids.h: which vertex a field of an id column names.
 *
 * Where the graph's vertices have names (raw->vertex_names), these; else numbers. Names are found by a search in a sorted
 * copy of the list, 8 bytes a vertex.
 */
#ifndef WEFT_GNN_DATA_TABLES_VERTEX_IDS_H
#define WEFT_GNN_DATA_TABLES_VERTEX_IDS_H

#include "gnn/data/read/reader.h"
#include "io/text/text_field.h"

typedef struct vertex_ids {
    int64_t vertices;
    const name_list *names; /* NULL: numbers */
    const char *const **sorted;
} vertex_ids;

weft_status vertex_ids_open(const raw_graph *raw, vertex_ids *ids);
void vertex_ids_close(vertex_ids *ids);
/* A named vertex, or the number as it stands (3.0 is 3), 0 to ids->vertices: whether ids count from 0 or 1 shows only when all
 * are seen. False: neither. Any thread. */
bool vertex_ids_find(const vertex_ids *ids, const text_field *field, int64_t *vertex);

#endif
