/*
 * table/rows/csv_lines.h: the dialect of text in which every row is a line (csv_marks.by_lines), as people write tables
 * of numbers by hand and NumPy's savetxt does.
 *
 *   # a comment, also %        is no row, wherever it stands
 *   (blanks)                   is no row, or a row of one empty cell if blank_is_row
 *   1  2.5 "a b"               separators as in io/text/text_field.h: ' ' is a run of blanks and tabs, '\n' none
 *
 * Cells in quotes do not go on in another line. A quote within a cell that does not begin with one is a character.
 */
#pragma once

#include "io/text/text_source.h"
#include "table/rows/csv_scan.h"

#define CSV_LINE_COMMENTS "#%"

/* Returns true if the line that begins at `at` is a row. */
static inline bool csv_line_is_row(const csv_marks *marks, const char *at)
{
    at = text_skip_blanks(at);
    return text_at_end(at) ? marks->blank_is_row : strchr(CSV_LINE_COMMENTS, *at) == NULL;
}

/* A csv_places_fn; the line in which the text ends must end behind it. */
csv_found csv_lines_places(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place);
