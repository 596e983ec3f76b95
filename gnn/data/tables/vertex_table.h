/*
 * gnn/data/tables/vertex_table.h: a text file with a row for each vertex, whose columns are found by their names.
 *
 * Rows are vertices 0, 1, ... in the file's order, or as a column of ids says, in which each vertex stands once. A
 * first column without a name (pandas' index, R's row names) must count the rows: where it does not, nobody knows which
 * vertex a row is.
 *
 *   vertex_table t;
 *   WEFT_TRY(vertex_table_open(path, raw, &t));            or the header turns out to be a row: text_header_drop
 *   table_text_want(&t.text, column);                      each column that is read
 *   WEFT_TRY_GOTO(vertex_table_begin(&t), status, done);   reads ids, says what is left out
 *   ... table_text_floats(&t.text, ...) or table_text_each(&t.text, ...)
 *   vertex_table_close(&t);
 */
#pragma once

#include "gnn/data/read/reader.h"
#include "table/read/table_text.h"

typedef struct vertex_table {
    const raw_graph *raw;
    text_header header;
    table_text text;
    int64_t id;     /* the column of ids, or -1 */
    int64_t *order; /* [vertices] for text.order; NULL: rows are in order */
} vertex_table;

weft_status vertex_table_open(const char *path, const raw_graph *raw, vertex_table *table);
void vertex_table_close(vertex_table *table);
/* Returns the number of columns whose names have no role in a table of vertices: neither ids, labels, a split nor an
 * index. [out] last: the last one, or -1 */
int64_t vertex_table_plain(const vertex_table *table, int64_t *last);
bool vertex_table_is_plain(const vertex_table *table, int64_t column);
/* Empty lines are rows where the number of vertices shows it: in files of one column, without ids. */
weft_status vertex_table_count_blanks(vertex_table *table);
weft_status vertex_table_begin(vertex_table *table);

/* Which vertex a field of an id column names: by raw->ids where the input has such, else a number as it stands (3.0 is
 * 3), 0 to raw->vertices: whether ids count from 0 or 1 shows only when all are seen. False: neither. Any thread. */
bool vertex_table_find(const raw_graph *raw, const text_field *field, int64_t *vertex);
