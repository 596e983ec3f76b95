/* table/read/csv_parse.h: rows of separated text to cells, by the places that table/rows/csv_scan.h finds. */
#pragma once

#include "table/column/sink.h"
#include "table/rows/row_source.h"

typedef struct csv_parser {
    csv_marks marks;
    csv_places_fn places;
    cell_scan_fn cells;
    int64_t columns; /* cells of a row */
    table_sink *sink;
    const char *rule; /* where the number of columns comes from: "the header names", "line 1 has" */
} csv_parser;

/* A row_parse_fn; self: csv_parser. */
weft_status csv_parse(void *self, row_piece *piece);

/* The text of a cell without blanks and quotes around. [out] cell: points into the text, or into a copy where a doubled
 * quote became one. [out] copy: for weft_free, NULL if there is none. WEFT_ERR_DATA: quotes that are no pair around
 * the cell. */
weft_status csv_cell(const csv_marks *marks, const char *text, const char *end, sink_cell *cell, char **copy);
