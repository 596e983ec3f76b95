/* table/read/csv_parse.c: see table/read/csv_parse.h. */
#include "table/read/csv_parse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/text_field.h"
#include "table/rows/csv_lines.h"
#include "table/table_options.def"

/* Where the parser of a piece stands. */
typedef struct row_place {
    const csv_parser *parser;
    row_piece *piece;
    const char *begin; /* of the row */
    int64_t row, column;
} row_place;

/* Some cells as the kernel has read them, and as a sink_block has them. */
typedef struct cell_run {
    const char *text;
    const int32_t *before, *end;
    const double *value;
    uint8_t *found;
} cell_run;

static cell_run behind(const cell_run *run, int64_t cells)
{
    return (cell_run){run->text, run->before + cells, run->end + cells, run->value + cells, run->found + cells};
}

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
            p->begin = sink_cell_begin(b, i - (size_t)column);
        }
        WEFT_TRY(put_closely(p, b->row + row, b->column + column, sink_cell_begin(b, i), b->text + b->end[i]));
    }
    return WEFT_OK;
}

/* Stores `rows` rows of `columns` cells from the place on, of those rows that are asked for. */
static weft_status put_cells(row_place *p, const cell_run *run, int64_t rows, int64_t columns)
{
    const int64_t from = p->row < p->piece->first ? p->piece->first - p->row : 0;
    const int64_t to = p->piece->last - p->row < rows ? p->piece->last - p->row : rows;
    int64_t left;
    if (from >= to || columns == 0) {
        return WEFT_OK;
    }
    const cell_run wanted = behind(run, from * columns);
    const sink_block block = {.text = wanted.text,
                              .before = wanted.before,
                              .end = wanted.end,
                              .value = wanted.value,
                              .found = wanted.found,
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
        const char *cell = run->text + run->before[cells - 1] + 1;
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

/* Where lines end: [out] line: [found.lines] the number of cells up to the end of each. They are where whole rows end,
 * or else all ends of cells are looked at. */
static void find_lines(const row_place *p, const char *text, const uint32_t *place, csv_found found, uint16_t *line)
{
    const size_t columns = (size_t)p->parser->columns;
    size_t lines = 0;
    for (size_t at = columns - (size_t)p->column; at <= found.places && text[place[at - 1]] == '\n'; at += columns) {
        line[lines++] = (uint16_t)at;
    }
    if (lines == found.lines) {
        return;
    }
    lines = 0;
    for (size_t i = 0; lines < found.lines; i++) {
        line[lines] = (uint16_t)(i + 1);
        lines += text[place[i]] == '\n';
    }
}

/* Copies places; the '\r' before a line end is no part of the cell. */
static void find_ends(const char *text, const uint32_t *place, size_t first, size_t cells, const uint16_t *line,
                      size_t lines, int32_t *end)
{
    memcpy(end, place + first, cells * sizeof *end);
    for (size_t i = 0; i < CELL_GROUP; i++) {
        end[cells + i] = end[cells - 1];
    }
    for (size_t k = 0; k < lines; k++) {
        int32_t *last = &end[line[k] - 1 - first];
        *last -= text[*last - 1] == '\r' && *last - 1 > (int32_t)place[(int64_t)line[k] - 2];
    }
}

/* Returns true if the line at p->begin, which has one cell, is no row: it is empty, or a comment. */
static bool is_no_row(const csv_marks *marks, const char *begin, uint8_t found)
{
    return marks->by_lines ? !csv_line_is_row(marks, begin) : (found & CELL_EMPTY) != 0;
}

/* Whole rows at the beginning of a run, whose lines end at line[k] - first. */
static int64_t whole_rows(const row_place *p, const cell_run *run, const uint16_t *line, size_t lines, size_t first)
{
    const int64_t columns = p->parser->columns;
    int64_t rows = 0;
    while (p->column == 0 && rows < (int64_t)lines && line[rows] - (int64_t)first == (rows + 1) * columns &&
           (columns > 1 || !is_no_row(&p->parser->marks, run->text + run->before[rows] + 1, run->found[rows]))) {
        rows++;
    }
    return rows;
}

/* Cells of one line. line_end: where in the text the line ends with the last of them; NULL: it goes on. */
static weft_status take_line(row_place *p, const cell_run *run, int64_t cells, const uint32_t *line_end)
{
    const bool ends = line_end != NULL;
    const int64_t missing = p->parser->columns - p->column - cells;
    if (cells == 0) {
        return WEFT_OK;
    }
    if (ends && p->column == 0 && cells == 1 && is_no_row(&p->parser->marks, p->begin, *run->found)) {
        p->begin = run->text + *line_end + 1;
        return WEFT_OK;
    }
    if (ends ? missing != 0 : missing <= 0) {
        WEFT_TRY(put_cells(p, run, 1, missing > 0 ? cells - 1 : cells + missing - 1));
        return fail_width(p, run, cells, ends ? run->text + *line_end : p->piece->end);
    }
    WEFT_TRY(put_cells(p, run, 1, cells));
    p->column += cells;
    if (ends) {
        p->begin = run->text + *line_end + 1;
        p->column = 0;
        p->row++;
    }
    return WEFT_OK;
}

/* Cells `first` .. first + cells - 1 of a span, in which these lines end. */
static weft_status take_cells(row_place *p, cell_run run, const uint32_t *place, size_t first, size_t cells,
                              const uint16_t *line, size_t lines)
{
    const size_t end = first + cells;
    while (lines > 0) {
        const int64_t rows = whole_rows(p, &run, line, lines, first);
        const size_t ended = rows > 0 ? (size_t)rows : 1, next = line[ended - 1];
        if (rows > 0) {
            WEFT_TRY(put_cells(p, &run, rows, p->parser->columns));
            p->begin = run.text + place[next - 1] + 1;
            p->row += rows;
        } else {
            WEFT_TRY(take_line(p, &run, (int64_t)(next - first), &place[next - 1]));
        }
        run = behind(&run, (int64_t)(next - first));
        first = next;
        line += ended;
        lines -= ended;
    }
    return take_line(p, &run, (int64_t)(end - first), NULL);
}

/* All cells that end in a span of the text. place[-1] is where the last cell before the span ended. */
static weft_status take_span(row_place *p, const char *text, uint32_t *place, csv_found found)
{
    const csv_parser *parser = p->parser;
    const cell_marks marks = {.point = parser->sink->point, .quote = parser->marks.quote};
    uint16_t all[CSV_SPAN], *line = all;
    double value[SINK_CELLS];
    int32_t end[SINK_CELLS + CELL_GROUP];
    uint8_t bits[SINK_CELLS + SINK_AHEAD] = {0};
    find_lines(p, text, place, found, line);
    memset(place + found.places, 0, CELL_GROUP * sizeof *place); /* are looked at beside the last cells */
    for (size_t i = 0; i < found.places; i += SINK_CELLS) {
        const size_t cells = found.places - i < SINK_CELLS ? found.places - i : SINK_CELLS;
        size_t lines = 0;
        // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): find_lines has written all of them
        while (line + lines < all + found.lines && line[lines] <= i + cells) {
            lines++;
        }
        find_ends(text, place, i, cells, line, lines, end);
        const cell_run run = {text, (const int32_t *)(const void *)place + (int64_t)i - 1, end, value, bits};
        parser->cells(&marks, text, run.before, end, cells, value, bits);
        WEFT_TRY(take_cells(p, run, place, i, cells, line, lines));
        line += lines;
    }
    return WEFT_OK;
}

static weft_status parse_piece(const csv_parser *parser, row_piece *piece)
{
    uint32_t block[1 + CSV_SPAN + CSV_STEP], *place = block + 1;
    uint64_t inside = 0;
    const char *cell = piece->text;
    row_place p = {.parser = parser, .piece = piece, .begin = piece->text, .row = piece->row};
    assert(parser->columns == parser->sink->schema->count && piece->text <= piece->end);
    for (const char *text = piece->text; text < piece->end && p.row < piece->last; text += CSV_SPAN) {
        const size_t left = (size_t)(piece->end - text);
        const csv_found found = parser->places(&parser->marks, text, left < CSV_SPAN ? left : CSV_SPAN, &inside, place);
        place[-1] = (uint32_t)(cell - text - 1);
        const weft_status status = take_span(&p, text, place, found);
        if (status != WEFT_OK) {
            piece->at = p.begin;
            return status;
        }
        cell = found.places > 0 ? text + place[found.places - 1] + 1 : cell;
    }
    piece->at = p.begin;
    WEFT_CHECK(inside == 0 || p.row >= piece->last, WEFT_ERR_DATA,
               "a quote is not closed in this row, up to the end of the file: say " FLAG_QUOTE
               " none if quotes are characters like others");
    piece->at = NULL;
    return WEFT_OK;
}

weft_status csv_parse(void *self, row_piece *piece)
{
    const csv_parser *parser = self;
    const weft_status status = parse_piece(parser, piece);
    sink_flush(parser->sink, piece->thread);
    return status;
}
