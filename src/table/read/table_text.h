/*
 * table/read/table_text.h: columns of one text file whose first lines the caller has looked at, and has chosen columns
 * of by their names. table_open is for tables whose columns describe themselves.
 *
 *   text_header header;                                    io/text/text_header.h
 *   WEFT_TRY(table_text_open(&header, &text));             no column is wanted yet
 *   text.schema.field[j].role = TABLE_FEATURE;             of each column that is wanted,
 *   text.schema.field[j].take = take;                      who gets its cells, or `expected` for numbers
 *   WEFT_TRY_GOTO(table_text_each(&text, -1, &rows), status, done);
 *   table_text_close(&text);
 *
 * Rows are lines, as table/rows/csv_lines.h says; lines come from io/text/text_source.h, block by block. Missing cells
 * are those of text_field_missing.
 */
#ifndef WEFT_TABLE_READ_TABLE_TEXT_H
#define WEFT_TABLE_READ_TABLE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "io/text/text_header.h"
#include "table/column/sink.h"
#include "table/schema.h"

typedef struct table_text {
    const text_header *header;
    table_schema schema; /* [header->columns]; all columns are dropped until the caller wants them */
    const char *rows_of; /* "vertices": what there is a row for, for messages */
    bool blank_is_row;   /* an empty line is a row, in a file of one column; at the end it may be one too many */
} table_text;

/* The header must stay. */
weft_status table_text_open(const text_header *header, table_text *text);
void table_text_close(table_text *text);

/* Hands the cells of wanted columns to their `take`. rows: that the file must have, -1: any. [out] found, may be NULL:
 * how many it has. WEFT_ERR_DATA: file, line, column and cell; another number of rows. */
weft_status table_text_each(table_text *text, int64_t rows, int64_t *found);

/* Where numbers go. */
typedef struct table_floats {
    int64_t rows;         /* that the file must have */
    int64_t width;        /* columns that are wanted */
    const int64_t *place; /* [header->columns] where a wanted column stands in a row of values, else -1 */
    const int64_t *order; /* [rows] the row of values of each row of the file; NULL: in order */
    float *values;        /* [rows, width] */
} table_floats;
/* Reads wanted columns, all of them numbers. Memory: beside the values those of a block of text. */
weft_status table_text_floats(table_text *text, const table_floats *to);

/* Fails with "FILE: line N: column 'NAME': REASON". */
weft_status table_text_fail(table_text *text, int64_t row, int64_t column, const char *reason);

/* Lines of a file below its header that are no comments. */
typedef struct table_lines {
    int64_t filled, blank;
    int64_t blank_tail; /* the empty ones behind the last that is not */
} table_lines;
weft_status table_text_count(const text_header *header, table_lines *lines);

#endif
