/*
 * gnn/data/tables/vertex_table.h: a text file with a row for each vertex, whose columns are found by their names.
 *
 * Rows are vertices 0, 1, ... in the file's order, or as a column of ids says, in which each vertex stands once. A
 * first column without a name (pandas' index, R's row names) must count the rows: where it does not, nobody knows which
 * vertex a row is.
 *
 *   vertex_table t;
 *   WEFT_TRY(vertex_table_open(path, raw, &t));            or the header turns out to be a row: text_header_drop
 *   vertex_table_want(&t, column);                         each column that is read
 *   WEFT_TRY_GOTO(vertex_table_begin(&t), status, done);   reads ids, says what is left out
 *   ... vertex_table_floats(&t, ...) or vertex_table_each(&t, ...)
 *   vertex_table_close(&t);
 */
#ifndef WEFT_GNN_DATA_TABLES_VERTEX_TABLE_H
#define WEFT_GNN_DATA_TABLES_VERTEX_TABLE_H

#include "gnn/data/read/reader.h"
#include "table/read/table_text.h"

typedef struct vertex_table {
    const raw_graph *raw;
    text_header header;
    table_text text;     /* from vertex_table_begin on */
    int64_t id;          /* the column of ids, or -1 */
    int64_t *place;      /* [header.columns] where a wanted column stands in a row of values, -1: it is not wanted */
    int64_t width;       /* how many columns are wanted */
    const char *rows_of; /* what it has a row for, for messages */
    bool blank_is_row;   /* an empty line is a row */
    int64_t *order;      /* [vertices] the vertex of each row of the file; NULL: rows are in order */
} vertex_table;

/* A wanted cell. */
typedef struct vertex_cell {
    int thread;
    int64_t row;      /* the vertex */
    int64_t place;    /* of the column among those that are wanted */
    text_field field; /* without quotes */
    bool quoted;      /* it stood in quotes */
} vertex_cell;

/* Takes a cell on any thread, those of one row in their order. WEFT_ERR_DATA: the message gets file, line, column. */
typedef weft_status (*vertex_take)(void *self, const vertex_cell *cell);

weft_status vertex_table_open(const char *path, const raw_graph *raw, vertex_table *table);
void vertex_table_close(vertex_table *table);
/* Returns the number of columns whose names have no role in a table of vertices: neither ids, labels, a split nor an
 * index. [out] last: the last one, or -1 */
int64_t vertex_table_plain(const vertex_table *table, int64_t *last);
bool vertex_table_is_plain(const vertex_table *table, int64_t column);
/* The column is read; its place is behind those that were wanted before. */
void vertex_table_want(vertex_table *table, int64_t column);
/* Empty lines are rows where the number of vertices shows it: in files of one column, without ids. */
weft_status vertex_table_count_blanks(vertex_table *table);
weft_status vertex_table_begin(vertex_table *table);

/* Hands the wanted cells to `take`. WEFT_ERR_DATA: as `take` says; there are fewer rows than vertices. */
weft_status vertex_table_each(vertex_table *table, vertex_take take, void *self);
/* Hands the cells of one column to `take`, whatever columns are wanted. [out] rows, may be NULL: how many there are. */
weft_status vertex_table_column(vertex_table *table, int64_t column, vertex_take take, void *self, int64_t *rows);
/* Reads the wanted columns as numbers. expected: what a cell is, for messages. [out] values: [vertices, width], for
 * weft_free; missing cells are NaN if nan_allowed, else refused. NULL on failure. */
weft_status vertex_table_floats(vertex_table *table, const char *expected, bool nan_allowed, weft_mem_tag *tag,
                                float **values);
/* Fails with "'CELL': expected WHAT". */
weft_status vertex_expected(const vertex_cell *cell, const char *what);

/* Which vertex a field of an id column names: by raw->ids where the input has such, else a number as it stands (3.0 is
 * 3), 0 to raw->vertices: whether ids count from 0 or 1 shows only when all are seen. False: neither. Any thread. */
bool vertex_table_find(const raw_graph *raw, const text_field *field, int64_t *vertex);

#endif
