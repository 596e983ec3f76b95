/* table/rows/csv_lines.c: see table/rows/csv_lines.h. */
#include "table/rows/csv_lines.h"

#include <assert.h>

#include "io/text/text_field.h"

/* Where a scan stands within a line. The first is that of a new piece. */
typedef enum line_place {
    LINE_BEGIN,
    LINE_CELL,    /* before the first character of a cell */
    LINE_WITHIN,  /* behind it, or behind the quote that ends a cell */
    LINE_QUOTED,  /* in quotes */
    LINE_DOUBLED, /* before the second of two quotes */
    LINE_OVER     /* no cell ends before the line does */
} line_place;

/* A character within a cell. [out] ends: the cell ends here; blanks at the end of a line separate nothing. */
static line_place within_cell(char separator, const char *at, bool *ends)
{
    if (*at != separator && !(*at == '\t' && separator == TEXT_BLANKS)) {
        return LINE_WITHIN;
    }
    *ends = separator != TEXT_BLANKS || !text_at_end(text_skip_blanks(at));
    return *ends ? LINE_CELL : LINE_OVER;
}

/* What a character makes of the place before it. [out] ends: the cell ends here. */
static line_place step(const csv_marks *marks, line_place before, const char *at, bool *ends)
{
    if (before == LINE_BEGIN) {
        before = csv_line_is_row(marks, at) ? LINE_CELL : LINE_OVER;
    }
    switch (before) {
    case LINE_CELL:
        return *at == ' ' || (*at == '\t' && marks->separator != '\t') ? LINE_CELL
               : *at == marks->quote                                   ? LINE_QUOTED
                                                                       : within_cell(marks->separator, at, ends);
    case LINE_WITHIN:
        return within_cell(marks->separator, at, ends);
    case LINE_QUOTED:
        return *at != marks->quote ? LINE_QUOTED : at[1] == marks->quote ? LINE_DOUBLED : LINE_WITHIN;
    case LINE_DOUBLED:
        return LINE_QUOTED;
    default:
        return LINE_OVER;
    }
}

csv_found csv_lines_places(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place)
{
    csv_found found = {.places = 0};
    line_place now = (line_place)*inside;
    assert(marks->by_lines && now <= LINE_OVER);
    for (size_t i = 0; i < bytes; i++) {
        bool ends = text[i] == '\n';
        found.lines += ends;
        now = ends ? LINE_BEGIN : step(marks, now, text + i, &ends);
        place[found.places] = (uint32_t)i;
        found.places += ends;
    }
    *inside = (uint64_t)now;
    return found;
}
