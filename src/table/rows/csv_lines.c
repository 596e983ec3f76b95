/* table/rows/csv_lines.c: see table/rows/csv_lines.h. */
#include "table/rows/csv_lines.h"

#include <assert.h>
#include <string.h>

#include "io/text/text_field.h"

/* Where a scan stands within a line. The first is that of a new piece. */
typedef enum line_place {
    LINE_BEGIN,
    LINE_CELL,     /* before the first character of a cell */
    LINE_WITHIN,   /* behind it, or behind the quote that ends a cell */
    LINE_QUOTED,   /* in quotes */
    LINE_DOUBLED,  /* before the second of two quotes */
    LINE_WATCHLESS /* nothing counts up to the end of the line */
} line_place;

/* The cell ends at `at`: false for blanks at the end of a line, which separate nothing. */
static bool separates(const csv_marks *marks, const char *at)
{
    return marks->separator != TEXT_BLANKS || !text_at_end(text_skip_blanks(at));
}

static inline bool is_separator(const csv_marks *marks, char c)
{
    return c == marks->separator || (c == '\t' && marks->separator == TEXT_BLANKS);
}

static line_place within_cell(const csv_marks *marks, const char *at, bool *ends)
{
    if (!is_separator(marks, *at)) {
        return LINE_WITHIN;
    }
    *ends = separates(marks, at);
    return *ends ? LINE_CELL : LINE_WATCHLESS;
}

/* What a character makes of the place before it. [out] ends: the cell ends here. */
static line_place step(const csv_marks *marks, line_place before, const char *at, bool *ends)
{
    switch (before) {
    case LINE_BEGIN:
        if (!csv_line_is_row(marks, at)) {
            return LINE_WATCHLESS;
        } /* fall through */
    case LINE_CELL:
        if (*at == ' ' || (*at == '\t' && marks->separator != '\t')) {
            return LINE_CELL;
        }
        return marks->quote != '\0' && *at == marks->quote ? LINE_QUOTED : within_cell(marks, at, ends);
    case LINE_WITHIN:
        return within_cell(marks, at, ends);
    case LINE_QUOTED:
        return *at != marks->quote ? LINE_QUOTED : at[1] == marks->quote ? LINE_DOUBLED : LINE_WITHIN;
    case LINE_DOUBLED:
        return LINE_QUOTED;
    default:
        return LINE_WATCHLESS;
    }
}

size_t csv_lines_places(const csv_marks *marks, const char *text, size_t bytes, uint64_t *inside, uint32_t *place)
{
    size_t found = 0;
    line_place now = (line_place)*inside;
    assert(marks->by_lines && now <= LINE_WATCHLESS);
    for (size_t i = 0; i < bytes; i++) {
        bool ends = text[i] == '\n';
        now = ends ? LINE_BEGIN : step(marks, now, text + i, &ends);
        place[found] = (uint32_t)i;
        found += ends;
    }
    *inside = (uint64_t)now;
    return found;
}

csv_count csv_lines_count(const csv_marks *marks, const char *text, size_t bytes)
{
    csv_count count = {.end = CSV_LINE_AS_BEGUN};
    const char *const end = text + bytes;
    for (const char *at = text; at < end;) {
        const bool first = at == text;
        while (at < end && (*at == ' ' || *at == '\t' || (*at == '\r' && at[1] == '\n'))) {
            at++;
        }
        if (at == end) {
            return count;
        }
        const bool row = csv_line_is_row(marks, at);
        count.rows[0] += row;
        count.rows[1] += row && !first;
        at = memchr(at, '\n', (size_t)(end - at));
        count.end = at == NULL ? CSV_LINE_INSIDE : CSV_LINE_BLANK;
        at = at == NULL ? end : at + 1;
    }
    return count;
}
