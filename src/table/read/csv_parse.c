/* table/read/csv_parse.c: see table/read/csv_parse.h. */
#include "table/read/csv_parse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/text_field.h"
#include "table/rows/csv_lines.h"
#include "table/table_options.def"

typedef struct row_place {
    const csv_parser *parser;
    row_piece *piece;
    table_tally *tally;
    const char *begin; /* of the row */
    const char *cell;  /* where the next cell begins */
    int64_t row, column;
} row_place;

/* ---- cells ---- */

/* A cell whose quotes are no pair around it. Where rows are lines, its closing quote may be missing. */
static weft_status fail_quote(const csv_marks *marks, const char *text, const char *end, const char *why)
{
    enum { SHOWN = 40 };
    return marks->by_lines
               ? weft_fail(WEFT_ERR_DATA, "'%.*s': expected a quote that ends a field within its line",
                           end - text > SHOWN ? SHOWN : (int)(end - text), text)
               : weft_fail(WEFT_ERR_DATA, "%s, or say " FLAG_QUOTE " none if quotes are characters like others", why);
}

static weft_status copy_doubled(const csv_marks *marks, const char *text, const char *end, sink_cell *cell, char **copy)
{
    const char quote = marks->quote, *const begin = text - 1;
    char *at;
    WEFT_TRY(weft_malloc((size_t)(end - text) + 2 * (size_t)DECIMAL_PAD, 1, WEFT_MEM_WORKSPACE, (void **)copy));
    at = *copy + DECIMAL_PAD;
    cell->text = at;
    while (text < end) {
        if (*text == quote && (text + 1 == end || *++text != quote)) {
            weft_free(*copy);
            *copy = NULL;
            return fail_quote(marks, begin, end + 1, "a quote stands alone within a cell in quotes: double it");
        }
        *at++ = *text++;
    }
    *at = '\0';
    cell->bytes = (size_t)(at - cell->text);
    return WEFT_OK;
}

weft_status csv_cell(const csv_marks *marks, const char *text, const char *end, sink_cell *cell, char **copy)
{
    const char separator = marks->separator, quote = marks->quote;
    *copy = NULL;
    text = text_skip_around(text, separator);
    text = text > end ? end : text;
    while (end > text && (end[-1] == ' ' || (end[-1] == '\t' && separator != '\t'))) {
        end--;
    }
    *cell = (sink_cell){.text = text, .bytes = (size_t)(end - text)};
    if (quote == '\0' || memchr(text, quote, cell->bytes) == NULL || (marks->by_lines && *text != quote)) {
        return WEFT_OK;
    }
    if (*text != quote || cell->bytes < 2 || end[-1] != quote) {
        return fail_quote(marks, text, end, "a quote within a cell that is not in quotes: quote the cell");
    }
    *cell = (sink_cell){.text = text + 1, .bytes = cell->bytes - 2, .quoted = true};
    return memchr(cell->text, quote, cell->bytes) == NULL ? WEFT_OK
                                                          : copy_doubled(marks, text + 1, end - 1, cell, copy);
}

/* A cell that is no common number. */
static weft_status put_closely(const row_place *p, const char *end)
{
    sink_cell cell;
    char *copy;
    weft_status status = csv_cell(&p->parser->marks, p->cell, end, &cell, &copy);
    if (status == WEFT_OK) {
        status = sink_put(p->parser->sink, p->piece->thread, p->row, p->column, &cell);
    } else if (status == WEFT_ERR_DATA) {
        char name[96];
        (void)weft_fail_context(status, "%s: ", schema_say(p->parser->sink->schema, p->column, name));
    }
    weft_free(copy);
    return status;
}

/* Returns true if the row is one of those that are asked for. */
static inline bool is_wanted(const row_place *p)
{
    return p->row >= p->piece->first && p->row < p->piece->last;
}

static inline weft_status put_cell(const row_place *p, const char *end)
{
    if (!is_wanted(p) ||
        sink_put_quickly(p->parser->sink, &p->tally[p->column], p->row, p->column, p->cell, (size_t)(end - p->cell))) {
        return WEFT_OK;
    }
    return put_closely(p, end);
}

/* ---- rows ---- */

static weft_status fail_width(const row_place *p, const char *end)
{
    const csv_parser *parser = p->parser;
    const bool by_lines = parser->marks.by_lines;
    int64_t found = by_lines ? text_fields_of(p->begin, parser->marks.separator) : 1;
    uint64_t inside = 0;
    char name[96];
    if (found < 0) {
        (void)fail_quote(&parser->marks, p->cell, p->cell + strcspn(p->cell, "\r\n"), "");
        return weft_fail_context(WEFT_ERR_DATA, "%s: ", schema_say(parser->sink->schema, p->column, name));
    }
    for (const char *at = p->begin; at < end && !by_lines; at++) {
        inside ^= parser->marks.quote != '\0' && *at == parser->marks.quote;
        found += *at == parser->marks.separator && inside == 0;
        if (*at == '\n' && inside == 0) {
            break;
        }
    }
    return weft_fail(WEFT_ERR_DATA, "%" PRId64 " cells separated by %s, and %s %" PRId64 "%s", found,
                     text_separator_name(parser->marks.separator), parser->rule, parser->columns,
                     parser->marks.separator == ',' ? ": a cell with a comma stands in quotes" : "");
}

/* Returns true if the line that ends at `stop` is no row: it is empty, or a comment, and so has one cell. */
static bool is_no_row(const row_place *p, const char *stop)
{
    const csv_marks *marks = &p->parser->marks;
    return p->column == 0 && (marks->by_lines ? !csv_line_is_row(marks, p->cell) : stop == p->cell);
}

/* The line that ends at `end`, a '\n'. */
static weft_status end_row(row_place *p, const char *end)
{
    const char *stop = end - (end > p->cell && end[-1] == '\r');
    if (is_no_row(p, stop)) {
        p->begin = p->cell = end + 1;
        return WEFT_OK;
    }
    assert(p->cell <= end && *end == '\n');
    if (p->column != p->parser->columns - 1) {
        return fail_width(p, end);
    }
    WEFT_TRY(put_cell(p, stop));
    p->begin = p->cell = end + 1;
    p->column = 0;
    p->row++;
    return WEFT_OK;
}

/* The cell and the column stand in registers between cells that are common numbers. */
static weft_status take_places(row_place *p, const char *text, const uint32_t *place, size_t places)
{
    const table_sink *sink = p->parser->sink;
    const int64_t last = p->parser->columns - 1;
    const char *cell = p->cell;
    int64_t column = p->column, row = p->row;
    bool wanted = is_wanted(p);
    for (size_t i = 0; i < places; i++) {
        const char *end = text + place[i];
        if (*end != '\n' && column < last) {
            if (wanted && !sink_put_quickly(sink, &p->tally[column], row, column, cell, (size_t)(end - cell))) {
                p->cell = cell;
                p->column = column;
                WEFT_TRY(put_closely(p, end));
            }
            cell = end + 1;
            column++;
            continue;
        }
        p->cell = cell;
        p->column = column;
        WEFT_TRY(*end == '\n' ? end_row(p, end) : fail_width(p, p->piece->end));
        cell = p->cell;
        column = p->column;
        row = p->row;
        wanted = is_wanted(p);
    }
    p->cell = cell;
    p->column = column;
    return WEFT_OK;
}

weft_status csv_parse(void *self, row_piece *piece)
{
    const csv_parser *parser = self;
    uint32_t place[CSV_SPAN + CSV_STEP];
    uint64_t inside = 0;
    row_place p = {.parser = parser,
                   .piece = piece,
                   .tally = parser->sink->tally + piece->thread * parser->columns,
                   .begin = piece->text,
                   .cell = piece->text,
                   .row = piece->row};
    assert(parser->columns == parser->sink->schema->count && piece->text <= piece->end);
    for (const char *text = piece->text; text < piece->end; text += CSV_SPAN) {
        const size_t left = (size_t)(piece->end - text);
        const size_t places = parser->places(&parser->marks, text, left < CSV_SPAN ? left : CSV_SPAN, &inside, place);
        const weft_status status = take_places(&p, text, place, places);
        if (status != WEFT_OK) {
            piece->at = p.begin;
            return status;
        }
        if (p.row >= piece->last) {
            return WEFT_OK;
        }
    }
    piece->at = p.begin;
    WEFT_CHECK(inside == 0, WEFT_ERR_DATA,
               "a quote is not closed in this row, up to the end of the file: say " FLAG_QUOTE
               " none if quotes are characters like others");
    piece->at = NULL;
    return WEFT_OK;
}
