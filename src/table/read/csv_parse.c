/* table/read/csv_parse.c: see table/read/csv_parse.h. */
#include "table/read/csv_parse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/text_field.h"
#include "table/rows/csv_lines.h"
#include "table/table_options.def"

enum { CELLS = 2048 /* read by a kernel at a time: their values stay in the cache */ };

/* Where the parser of a piece stands. */
typedef struct row_place {
    const csv_parser *parser;
    row_piece *piece;
    const char *begin; /* of the row */
    int64_t row, column;
} row_place;

/* Some cells as the kernel has read them. */
typedef struct cell_run {
    const char *text;
    const uint32_t *place;
    const double *value;
    uint8_t *found;
} cell_run;

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

/* A cell that sink_put_block leaves. */
static weft_status put_closely(const row_place *p, int64_t row, int64_t column, const char *begin, const char *end)
{
    sink_cell cell;
    char *copy;
    weft_status status = csv_cell(&p->parser->marks, begin, end, &cell, &copy);
    if (status == WEFT_OK) {
        status = sink_put(p->parser->sink, p->piece->thread, row, column, &cell);
    } else if (status == WEFT_ERR_DATA) {
        char name[96];
        (void)weft_fail_context(status, "%s: ", schema_say(p->parser->sink->schema, column, name));
    }
    weft_free(copy);
    return status;
}

/* The cells of a block that the sink has left, in the order of rows. */
static weft_status put_left(row_place *p, const sink_block *b)
{
    const size_t cells = (size_t)(b->rows * b->columns);
    for (size_t i = 0; i < cells; i++) {
        if ((b->found[i] & CELL_LEFT) == 0) {
            continue;
        }
        const int64_t row = (int64_t)i / b->columns, column = (int64_t)i % b->columns;
        if (b->column == 0) {
            p->begin = cell_begin(b->text, b->place, i - (size_t)column);
        }
        WEFT_TRY(put_closely(p, b->row + row, b->column + column, cell_begin(b->text, b->place, i),
                             cell_end(b->text, b->place, i, b->found[i])));
    }
    return WEFT_OK;
}

/* Stores `rows` rows of `columns` cells from the place on, of those rows that are asked for. */
static weft_status put_cells(row_place *p, const cell_run *run, int64_t rows, int64_t columns)
{
    const int64_t from = p->row < p->piece->first ? p->piece->first - p->row : 0;
    const int64_t to = p->piece->last - p->row < rows ? p->piece->last - p->row : rows;
    const int64_t skipped = from * columns;
    int64_t left;
    if (from >= to || columns == 0) {
        return WEFT_OK;
    }
    const sink_block block = {.text = run->text,
                              .place = run->place + skipped,
                              .value = run->value + skipped,
                              .found = run->found + skipped,
                              .row = p->row + from,
                              .rows = to - from,
                              .column = p->column,
                              .columns = columns};
    WEFT_TRY(sink_put_block(p->parser->sink, p->piece->thread, &block, &left));
    return left == 0 ? WEFT_OK : put_left(p, &block);
}

/* ---- rows ---- */

/* cells: of the line, up to its end or to the first cell too many. */
static weft_status fail_width(const row_place *p, const cell_run *run, int64_t cells, const char *end)
{
    const csv_parser *parser = p->parser;
    const bool by_lines = parser->marks.by_lines;
    int64_t found = by_lines ? text_fields_of(p->begin, parser->marks.separator) : 1;
    uint64_t inside = 0;
    char name[96];
    if (found < 0) {
        const char *cell = cell_begin(run->text, run->place, (size_t)cells - 1);
        const int64_t column = p->column + cells - 1;
        (void)fail_quote(&parser->marks, cell, cell + strcspn(cell, "\r\n"), "");
        return weft_fail_context(WEFT_ERR_DATA, "%s: ", schema_say(parser->sink->schema, column, name));
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

/* Cells up to the end of a line, or all if none ends. SINK_AHEAD bytes behind the cells are read. */
static size_t line_cells(const uint8_t *found, size_t cells)
{
    uint64_t bits = 0;
    size_t i = 0;
    while (i < cells && bits == 0) {
        memcpy(&bits, found + i, sizeof bits);
        bits &= CELL_LAST * UINT64_C(0x0101010101010101);
        i += sizeof bits;
    }
    const size_t end = bits == 0 ? cells : i - sizeof bits + (size_t)__builtin_ctzll(bits) / 8 + 1;
    return end < cells ? end : cells;
}

/* Whole rows at the beginning of some cells. A line of one cell may be empty, and is looked at alone. */
static int64_t whole_rows(const row_place *p, const uint8_t *found, size_t cells)
{
    const size_t columns = (size_t)p->parser->columns;
    int64_t rows = 0;
    if (p->column > 0 || columns == 1) {
        return 0;
    }
    while (cells >= columns && line_cells(found, columns) == columns && (found[columns - 1] & CELL_LAST) != 0) {
        found += columns;
        cells -= columns;
        rows++;
    }
    return rows;
}

/* Returns true if the line at p->begin, which has one cell, is no row: it is empty, or a comment. */
static bool is_no_row(const row_place *p, uint8_t found)
{
    const csv_marks *marks = &p->parser->marks;
    return marks->by_lines ? !csv_line_is_row(marks, p->begin) : (found & CELL_EMPTY) != 0;
}

/* Cells of one line, the last of which may end it. */
static weft_status take_line(row_place *p, const cell_run *run, int64_t cells)
{
    const char *end = run->text + (int32_t)run->place[cells - 1];
    const int64_t missing = p->parser->columns - p->column - cells;
    const uint8_t last = run->found[cells - 1];
    const bool ends = (last & CELL_LAST) != 0;
    if (ends && p->column == 0 && cells == 1 && is_no_row(p, last)) {
        p->begin = end + 1;
        return WEFT_OK;
    }
    if (ends ? missing != 0 : missing <= 0) {
        WEFT_TRY(put_cells(p, run, 1, missing > 0 ? cells - 1 : cells + missing - 1));
        return fail_width(p, run, cells, ends ? end : p->piece->end);
    }
    WEFT_TRY(put_cells(p, run, 1, cells));
    p->column += cells;
    if (ends) {
        p->begin = end + 1;
        p->column = 0;
        p->row++;
    }
    return WEFT_OK;
}

static weft_status take_cells(row_place *p, cell_run run, size_t cells)
{
    while (cells > 0) {
        const int64_t rows = whole_rows(p, run.found, cells);
        const size_t taken = rows > 0 ? (size_t)(rows * p->parser->columns) : line_cells(run.found, cells);
        if (rows > 0) {
            WEFT_TRY(put_cells(p, &run, rows, p->parser->columns));
            p->begin = run.text + (int32_t)run.place[taken - 1] + 1;
            p->row += rows;
        } else {
            WEFT_TRY(take_line(p, &run, (int64_t)taken));
        }
        run.place += taken;
        run.value += taken;
        run.found += taken;
        cells -= taken;
    }
    return WEFT_OK;
}

/* All cells that end in a span of the text. place[-1] is where the last cell before the span ended. */
static weft_status take_span(row_place *p, const char *text, const uint32_t *place, size_t places)
{
    const csv_parser *parser = p->parser;
    const cell_marks marks = {.point = parser->sink->point, .quote = parser->marks.quote};
    double value[CELLS];
    uint8_t found[CELLS + SINK_AHEAD] = {0};
    for (size_t i = 0; i < places; i += CELLS) {
        const size_t cells = places - i < CELLS ? places - i : CELLS;
        parser->cells(&marks, text, place + i, cells, value, found);
        WEFT_TRY(take_cells(p, (cell_run){text, place + i, value, found}, cells));
    }
    return WEFT_OK;
}

weft_status csv_parse(void *self, row_piece *piece)
{
    const csv_parser *parser = self;
    uint32_t block[1 + CSV_SPAN + CSV_STEP], *place = block + 1;
    uint64_t inside = 0;
    const char *cell = piece->text;
    row_place p = {.parser = parser, .piece = piece, .begin = piece->text, .row = piece->row};
    assert(parser->columns == parser->sink->schema->count && piece->text <= piece->end);
    for (const char *text = piece->text; text < piece->end && p.row < piece->last; text += CSV_SPAN) {
        const size_t left = (size_t)(piece->end - text);
        const size_t places = parser->places(&parser->marks, text, left < CSV_SPAN ? left : CSV_SPAN, &inside, place);
        place[-1] = (uint32_t)(cell - text - 1);
        const weft_status status = take_span(&p, text, place, places);
        if (status != WEFT_OK) {
            piece->at = p.begin;
            return status;
        }
        cell = places > 0 ? text + place[places - 1] + 1 : cell;
    }
    piece->at = p.begin;
    WEFT_CHECK(inside == 0 || p.row >= piece->last, WEFT_ERR_DATA,
               "a quote is not closed in this row, up to the end of the file: say " FLAG_QUOTE
               " none if quotes are characters like others");
    piece->at = NULL;
    return WEFT_OK;
}
