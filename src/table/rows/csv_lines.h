/*
 * table/rows/csv_lines.h: the dialect of text in which every row is a line (csv_marks.by_lines), as people write tables
 * of numbers by hand and NumPy's savetxt does.
 *
 *   # a comment, also %        is no row, wherever it stands
 *   (blanks)                   is no row, or a row of one empty cell if blank_is_row
 *   1  2.5 "a b"               separators as in io/text/text_field.h: ' ' is a run of blanks and tabs, '\n' none
 *
 * Cells in quotes do not go on in another line. A quote within a cell that does not begin with one is a character.
 * A segment of a file may begin within a line. Whether that line is a row shows its first character that is no blank:
 * the row is counted where this character stands, an empty line where its '\n' stands.
 */
#ifndef WEFT_TABLE_ROWS_CSV_LINES_H
#define WEFT_TABLE_ROWS_CSV_LINES_H

#include "io/text/text_source.h"
#include "table/rows/csv_scan.h"

/* csv_count.end: what the text ends in. */
typedef enum csv_line_end {
    CSV_LINE_AS_BEGUN, /* there are blanks alone, so it ends as it begins */
    CSV_LINE_BLANK,    /* at the beginning of a line, or behind blanks there */
    CSV_LINE_INSIDE    /* behind a character of a line that is no blank */
} csv_line_end;

/* Returns true if the line that begins at `at`, or goes on there behind blanks, is a row. The line must end. */
static inline bool csv_line_is_row(const csv_marks *marks, const char *at)
{
    at = text_skip_blanks(at);
    return text_at_end(at) ? marks->blank_is_row : *at != '#' && *at != '%';
}

/* A csv_places_fn; the text must end a line, at any place behind `bytes`. */
size_t csv_lines_places(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place);
/* A csv_count_fn. rows[1]: of a text that begins behind a character that is no blank. */
csv_count csv_lines_count(const csv_marks *marks, const char *text, size_t bytes);
/* Whether text behind the counted one begins behind a character that is no blank; `inside`: whether that one does. */
static inline bool csv_lines_inside(const csv_count *count, bool inside)
{
    return count->end == CSV_LINE_AS_BEGUN ? inside : count->end == CSV_LINE_INSIDE;
}

#endif
