/*
 * io/text/text_table.h: a whole table (.csv, .txt, also .gz and .xz), its numbers into one array or its fields to a
 * caller.
 *
 * Which separator a file has, whether it has a header, and which columns matter shows io/text/text_header.h. Empty
 * lines and lines that begin with # or % are skipped. Numbers are read in the C locale whatever the program's.
 * Parallel; the array grows by doubling when the row count is not known. Fields of columns that nobody wants need not
 * be numbers.
 */
#ifndef WEFT_IO_TEXT_TEXT_TABLE_H
#define WEFT_IO_TEXT_TEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"
#include "io/text/text_header.h"

enum { TEXT_TABLE_LINE = 64 << 20 }; /* bytes of a line, for text_header_read */

/* What to read of a table. */
typedef struct text_columns {
    const text_header *header;
    const int64_t
        *place; /* [header->columns] where a column stands in a row of values, -1 = nobody wants it; NULL: in order */
    int64_t width;        /* values of a row */
    int64_t rows;         /* the table must have; -1 = any */
    const int64_t *order; /* [rows] which row of values the rows of the file are; NULL: in order */
    bool nan_allowed;     /* floats: what text_field_missing says becomes NaN */
    bool blank_is_row;    /* an empty line is a row of one empty field */
    int64_t blank_tail;   /* empty lines at the end that are no rows */
    const char *rows_of;  /* "vertices": what there is a row for, for messages; NULL: not known */
    const char *what;     /* "a finite number": what is expected of a float, for messages; NULL: that */
} text_columns;

/* A wanted field, on any thread; false with piece->at and piece->reason set (text_expected) ends the reading. */
typedef bool (*text_take)(void *self, text_piece *piece, int64_t row, int64_t place, const text_field *field);

/* Errors (WEFT_ERR_DATA) name file, line, column and the field as it stands there. [out] rows: how many there were. */
weft_status text_columns_floats(const text_columns *columns, weft_mem_tag *tag, int64_t *rows, float **values);
weft_status text_columns_each(const text_columns *columns, void *self, text_take take, int64_t *rows);

/* Rows of the file as they stand, below the header. */
typedef struct text_row_count {
    int64_t filled, blank; /* lines that are no comments */
    int64_t blank_tail;    /* the empty ones behind the last that is not */
} text_row_count;
weft_status text_count_rows(const text_header *header, text_row_count *count);

/*
 * All columns of a file, but for an index or row names in front.
 * [in/out] rows, columns   -1 = any, becomes the file's; else it must match (WEFT_ERR_DATA tells file and both)
 * [out] values             [rows, columns] row-major; weft_free. NULL when there are no rows
 */
weft_status text_table_ints(const char *path, weft_mem_tag *tag, int64_t *rows, int64_t *columns, int64_t **values);
weft_status text_table_floats(const char *path, weft_mem_tag *tag, bool nan_allowed, int64_t *rows, int64_t *columns,
                              float **values);

#endif
