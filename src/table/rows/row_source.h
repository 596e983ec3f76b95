/*
 * table/rows/row_source.h: text files as numbered rows, read and parsed by all threads.
 *
 *   file   |--------|--------|--------|--------|      segments of 256 KiB, and of each: rows that end before it, and
 *          0        812      1630     2441     3255   whether it begins inside quotes
 *
 * Opening counts quotes and line ends once. A segment's rows then have numbers before they are parsed, so that threads
 * take segments in any order, and ranks any range of rows. A row belongs to the segment in which it begins; empty lines
 * are no rows. Ranks count a share of the segments each and exchange the counts.
 *
 * A compressed file cannot be read from its middle: every rank unpacks it from its beginning, once to count rows and
 * once more for each pass; ranges of rows in ascending order are one pass. Memory: row_source_memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "table/rows/csv_scan.h"
#include "table/schema.h"
#include "table/table_exchange.h"

typedef struct row_source row_source;

/* A run of whole rows, parsed by one thread. DECIMAL_PAD bytes before it and CSV_STEP bytes behind may be read. */
typedef struct row_piece {
    const char *text;    /* a row, or an empty line, begins here */
    const char *end;     /* behind the '\n' of the last row */
    int64_t row;         /* number of the first row over all files */
    int64_t first, last; /* rows that are wanted: first .. last - 1; others only need to be passed over */
    int thread;
    const char *at; /* [out] where a fault is; NULL: not in the text */
} row_piece;

/* Parses a piece. WEFT_ERR_DATA with piece->at: the message becomes "FILE: line N: MESSAGE". Several threads at
 * once. */
typedef weft_status (*row_parse_fn)(void *self, row_piece *piece);

/* What rows are made of, and where those of each file begin. */
typedef struct row_layout {
    csv_marks marks;
    const int64_t *begin; /* [files] bytes before the first row: a byte order mark, a header */
    int64_t segment;      /* bytes; 0: 256 KiB. Tests take less. */
    int64_t rows_most;    /* more rows are refused; 0: 2^40 */
} row_layout;

/* Opens the files. Paths must stay. */
weft_status row_source_open(const char *const *paths, int count, const row_layout *layout, row_source **source);
/* Counts rows; before any is read. Collective if exchange is not NULL: a rank that fails still takes part. */
weft_status row_source_count(row_source *source, const table_exchange *exchange);
void row_source_close(row_source *source);
int64_t row_source_rows(const row_source *source);
/* Number of the first row of a file, over all files; after row_source_count. */
int64_t row_source_file_row(const row_source *source, int file);
int row_source_threads(const row_source *source);
/* Bytes that counting and reading take at most: buffers, stacks and segments. Beside them the decoder of a compressed
 * file has its window, and a row longer than a segment has more room. */
int64_t row_source_memory(const row_source *source);
/* Hands rows first .. first + count - 1 to the parser. Returns the first fault in the order of the files. */
weft_status row_source_read(row_source *source, int64_t first, int64_t count, row_parse_fn parse, void *self);

/* Fails with "FILE: line N: MESSAGE", the message being the last failure's: `offset` is the fault's place in the
 * unpacked file. */
weft_status row_fail_at(const char *path, int64_t offset, weft_status status);
