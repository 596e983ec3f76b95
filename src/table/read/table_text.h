/*
 * table/read/table_text.h: columns of one text file whose first lines the caller has looked at, and has chosen columns
 * of by their names. table_open is for tables whose columns describe themselves.
 *
 *   text_header header;                                    io/text/text_header.h
 *   WEFT_TRY(table_text_open(&header, false, &text));      text.rows is known; no column is wanted yet
 *   text.schema.field[j].role = TABLE_FEATURE;             of each column that is wanted,
 *   text.schema.field[j].kind = TABLE_REAL;                a kind, or `take`
 *   WEFT_TRY_GOTO(table_text_read(&text, 0, text.rows, value), status, done);
 *   table_text_close(&text);
 *
 * Rows are lines, as table/rows/csv_lines.h says. Missing cells are those of text_field_missing.
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
    int64_t rows;
    bool blank_is_row;
    struct row_source *source; /* NULL: the file has no rows */
} table_text;

/* Counts rows. The header must stay. blank_is_row: an empty line is a row, in a file of one column. */
weft_status table_text_open(const text_header *header, bool blank_is_row, table_text *text);
void table_text_close(table_text *text);
/* Reads rows first .. first + count - 1, on all threads. value: [header->columns] arrays [count], NULL for columns
 * that are taken or dropped; NULL: none. WEFT_ERR_DATA: file, line, column and cell. */
weft_status table_text_read(table_text *text, int64_t first, int64_t count, void *const *value);
/* Fails with "FILE: line N: column 'NAME': REASON". */
weft_status table_text_fail(const table_text *text, int64_t row, int64_t column, const char *reason);

/* Lines of a file below its header that are no comments. */
typedef struct table_lines {
    int64_t filled, blank;
    int64_t blank_tail; /* the empty ones behind the last that is not */
} table_lines;
weft_status table_text_count(const text_header *header, table_lines *lines);

#endif
