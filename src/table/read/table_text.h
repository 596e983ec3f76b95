/*
 * table/read/table_text.h: columns of one text file whose first lines the caller has looked at, and has chosen columns
 * of by their names. table_open is for tables whose columns describe themselves.
 *
 *   WEFT_TRY(text_header_read(path, TEXT_TABLE_LINE, &header));       io/text/text_header.h
 *   WEFT_TRY_GOTO(table_text_open(&header, "vertices", &text), status, done);
 *   table_text_want(&text, column);                                   of each column that is wanted
 *   WEFT_TRY_GOTO(table_text_each(&text, rows, take, self, NULL), status, done);      or table_text_floats
 *   table_text_close(&text);
 *
 * Rows are lines, as table/rows/csv_lines.h says; they come from io/text/text_source.h, block by block. Missing cells
 * are those of text_field_missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "io/text/text_header.h"

typedef struct table_text {
    const text_header *header;
    int64_t width;        /* columns that are wanted */
    int64_t *place;       /* [header->columns] where a wanted column stands in a row of values; -1: it is not wanted */
    const int64_t *order; /* the row of values of each row of the file; NULL: rows are in order */
    const char *rows_of;  /* "vertices": what there is a row for, for messages */
    bool blank_is_row;    /* an empty line is a row, in a file of one column; at the end it may be one too many */
} table_text;

/* The header must stay; text_header_drop is allowed. */
weft_status table_text_open(const text_header *header, const char *rows_of, table_text *text);
void table_text_close(table_text *text);
/* The column is read; its place is behind those that were wanted before. */
void table_text_want(table_text *text, int64_t column);

/* A cell of a row. */
typedef struct table_cell {
    int thread;
    int64_t row;      /* of values: text->order is followed */
    int64_t place;    /* of the column */
    text_field field; /* without quotes around it; a quote within it stands once */
    bool quoted;      /* it stood in quotes */
} table_cell;

/* Takes a cell on any thread, those of one row in their order. WEFT_ERR_DATA: the message gets file, line, column. */
typedef weft_status (*table_take)(void *self, const table_cell *cell);
/* Fails with "'CELL': expected WHAT". */
weft_status table_cell_expected(const table_cell *cell, const char *what);

/* Hands the wanted cells to `take`. rows: that the file must have. WEFT_ERR_DATA: file, line, column and cell; another
 * number of rows. */
weft_status table_text_each(const table_text *text, int64_t rows, table_take take, void *self);
/* Hands the cells of one column to `take`, whatever columns are wanted. [out] rows: how many there are; may be NULL */
weft_status table_text_column(const table_text *text, int64_t column, table_take take, void *self, int64_t *rows);
/* Reads the wanted columns as numbers. expected: what a cell is, for messages. [out] values: [rows, width], for
 * weft_free, NULL on failure; missing cells are NaN if nan_allowed, else refused. Beside them there is room for those
 * of a block of text. */
weft_status table_text_floats(const table_text *text, int64_t rows, const char *expected, bool nan_allowed,
                              weft_mem_tag *tag, float **values);
/* Fails with "FILE: line N: column 'NAME': REASON". */
weft_status table_text_fail(const table_text *text, int64_t row, int64_t column, const char *reason);

/* Lines of a file below its header that are no comments. */
typedef struct table_lines {
    int64_t filled, blank;
    int64_t blank_tail; /* the empty ones behind the last that is not */
} table_lines;
weft_status table_text_count(const text_header *header, table_lines *lines);
