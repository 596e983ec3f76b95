/*
 * table/read/csv_head.c: see table/read/csv_head.h.
 *
 * The separator is one that cuts the first rows into equal numbers of cells: ';' before ',' (then a comma may be a
 * decimal point), and the one that makes more cells of ',' and tab. The first line is a header if its first cell
 * that is not empty is neither a number nor a word for a missing value.
 */
#include "table/read/csv_head.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "io/foreign_kind.h"
#include "io/text/text_field.h"
#include "io/text/text_stream.h"
#include "table/read/csv_parse.h"
#include "table/rows/row_index.h"
#include "table/table_options.def"

enum { LOOKED_AT = 64 /* rows that decide the separator */, GUESS_ROWS = 100000 };

/* ---- the first bytes ---- */

static weft_status read_head(const char *path, text_stream *stream, csv_head *head, size_t capacity)
{
    size_t got = 1;
    WEFT_TRY(weft_realloc((void **)&head->block, capacity + 2 * (size_t)ROW_PAD, 1, WEFT_MEM_WORKSPACE));
    memset(head->block, '\n', ROW_PAD);
    char *text = head->block + ROW_PAD;
    while (head->bytes + 1 < capacity && got > 0) {
        WEFT_TRY(text_stream_read(stream, text + head->bytes, capacity - 1 - head->bytes, &got));
        if (head->bytes == 0) {
            WEFT_TRY(foreign_kind_check(path, (const uint8_t *)text, got));
        }
        head->bytes += got;
    }
    head->text = text;
    head->whole = got == 0;
    WEFT_CHECK(head->bytes > 0, WEFT_ERR_DATA, "%s: is empty", path);
    const char *zero = memchr(text, '\0', head->bytes);
    if (zero != NULL) {
        (void)weft_fail(WEFT_ERR_DATA, "a zero byte; expected text");
        return row_fail_at(path, zero - text, WEFT_ERR_DATA);
    }
    if (head->whole && text[head->bytes - 1] != '\n') {
        text[head->bytes++] = '\n';
    }
    memset(text + head->bytes, 0, ROW_PAD);
    return WEFT_OK;
}

/* ---- rows of the head ---- */

/* The next line that is not empty: [*from, *to), without its end. False: none ends within the head. */
static bool next_row(const csv_head *head, const csv_marks *marks, size_t *at, size_t *from, size_t *to)
{
    *from = *to = *at;
    while (*at < head->bytes) {
        bool inside = false;
        const size_t end = row_find_end(marks, head->text, *at, head->bytes, &inside);
        *from = *at;
        *to = end - (end > *at && head->text[end - 1] == '\r');
        *at = end + 1;
        if (end >= head->bytes) {
            return false;
        }
        if (*to > *from) {
            return true;
        }
    }
    return false;
}

static int64_t count_cells(const csv_marks *marks, const char *text, size_t bytes)
{
    int64_t cells = 1;
    bool inside = false;
    for (size_t i = 0; i < bytes; i++) {
        inside = inside != (marks->quote != '\0' && text[i] == marks->quote);
        cells += !inside && text[i] == marks->separator;
    }
    return cells;
}

/* Cells a row if the first rows agree and have several; else 0. */
static int64_t equal_cells(const csv_head *head, csv_marks marks)
{
    size_t at = head->rows_begin, from, to;
    int64_t cells = 0;
    for (int row = 0; row < LOOKED_AT && next_row(head, &marks, &at, &from, &to); row++) {
        const int64_t found = count_cells(&marks, head->text + from, to - from);
        if (found < 2 || (cells > 0 && found != cells)) {
            return 0;
        }
        cells = found;
    }
    return cells;
}

static char guess_separator(const csv_head *head)
{
    csv_marks marks = {.quote = head->marks.quote};
    int64_t cells[3];
    static const char candidates[3] = {';', '\t', ','};
    for (int i = 0; i < 3; i++) {
        marks.separator = candidates[i];
        cells[i] = equal_cells(head, marks);
    }
    if (cells[0] > 0 && cells[0] >= cells[1]) {
        return ';';
    }
    if (cells[1] > 0 || cells[2] > 0) {
        return cells[1] >= cells[2] ? '\t' : ',';
    }
    /* No separator cuts all rows alike: that of the first line, so that the row that differs is told. */
    size_t at = head->rows_begin, from, to;
    if (next_row(head, &head->marks, &at, &from, &to)) {
        for (int i = 0; i < 3; i++) {
            marks.separator = candidates[i];
            if (count_cells(&marks, head->text + from, to - from) > 1) {
                return candidates[i];
            }
        }
    }
    return ',';
}

static bool is_number(const sink_cell *cell, char point)
{
    double value;
    bool whole;
    return decimal_read_slowly(cell->text, cell->bytes, point, &value, &whole);
}

static bool is_missing_word(const sink_cell *cell)
{
    const text_field field = {.text = cell->text, .end = cell->text + cell->bytes};
    return cell->bytes == 0 || text_field_missing(&field) || (cell->bytes == 1 && *cell->text == '?') ||
           (cell->bytes == 2 && memcmp(cell->text, "\\N", 2) == 0);
}

typedef bool (*look_fn)(void *self, int64_t column, const sink_cell *cell);

/* Hands the cells of a row to `look` until it returns false. */
static weft_status each_cell(const csv_marks *marks, const char *text, size_t bytes, look_fn look, void *self)
{
    bool inside = false, more = true;
    size_t from = 0;
    int64_t column = 0;
    for (size_t i = 0; i <= bytes && more; i++) {
        inside = inside != (i < bytes && marks->quote != '\0' && text[i] == marks->quote);
        if (i == bytes || (!inside && text[i] == marks->separator)) {
            sink_cell cell;
            char *copy;
            WEFT_TRY(csv_cell(marks, text + from, text + i, &cell, &copy));
            more = look(self, column++, &cell);
            weft_free(copy);
            from = i + 1;
        }
    }
    return WEFT_OK;
}

/* ---- header and decimal point ---- */

/* self: an int, 1 if the first cell that is not empty is a word, 0 if it is a value. */
static bool look_first(void *self, int64_t column, const sink_cell *cell)
{
    int *word = self;
    (void)column;
    if (cell->bytes == 0) {
        return true;
    }
    *word = !is_number(cell, '.') && !is_number(cell, ',') && !is_missing_word(cell);
    return false;
}

typedef struct points_seen {
    bool comma, point;
    char grouped[16]; /* a cell such as 1,234, whose comma may be decimal or group thousands; "" if there is none */
} points_seen;

/* One to three digits, a comma, three digits. */
static bool may_be_grouped(const sink_cell *cell)
{
    const char *comma = memchr(cell->text, ',', cell->bytes);
    const size_t sign = cell->bytes > 0 && *cell->text == '-';
    const size_t before = comma != NULL ? (size_t)(comma - cell->text) - sign : 0;
    return before >= 1 && before <= 3 && cell->bytes == sign + before + 4;
}

static bool look_point(void *self, int64_t column, const sink_cell *cell)
{
    points_seen *seen = self;
    (void)column;
    const bool comma = memchr(cell->text, ',', cell->bytes) != NULL;
    const bool point = memchr(cell->text, '.', cell->bytes) != NULL;
    if (comma && !point && is_number(cell, ',')) {
        seen->comma = seen->comma || !may_be_grouped(cell);
        snprintf(seen->grouped, sizeof seen->grouped, "%.*s", cell->bytes < 15 ? (int)cell->bytes : 15, cell->text);
    }
    seen->point = seen->point || (point && !comma && is_number(cell, '.'));
    return true;
}

static weft_status find_point(const char *path, const table_request *request, csv_head *head)
{
    points_seen seen = {.comma = false};
    size_t at = head->rows_begin, from, to;
    head->point = request->decimal == TABLE_DECIMAL_COMMA ? ',' : '.';
    if (request->decimal != TABLE_DECIMAL_AUTO || head->marks.separator == ',') {
        WEFT_CHECK(head->point == '.' || head->marks.separator != ',', WEFT_ERR_USAGE,
                   "%s: " FLAG_DECIMAL " comma: the comma separates columns here", path);
        return WEFT_OK;
    }
    for (int row = 0; row < LOOKED_AT && next_row(head, &head->marks, &at, &from, &to); row++) {
        WEFT_TRY(each_cell(&head->marks, head->text + from, to - from, look_point, &seen));
    }
    WEFT_CHECK(seen.comma || seen.point || seen.grouped[0] == '\0', WEFT_ERR_DATA,
               "%s: '%s': the comma may be decimal or group thousands: say " FLAG_DECIMAL
               " comma, or write such numbers "
               "without commas",
               path, seen.grouped);
    if (seen.comma && !seen.point) {
        head->point = ',';
        log_info("%s: numbers have a decimal comma", path);
    }
    return WEFT_OK;
}

static weft_status find_header(const char *path, const table_request *request, const csv_preset *preset, csv_head *head)
{
    const bool guess = request->header == TABLE_HEADER_AUTO;
    size_t at = head->rows_begin, from, to;
    int word = 0;
    WEFT_CHECK(next_row(head, &head->marks, &at, &from, &to), WEFT_ERR_DATA,
               "%s: no row within the first %zu bytes: is a quote not closed?", path, head->bytes);
    if (guess && preset->headless) {
        return WEFT_OK;
    }
    WEFT_TRY(each_cell(&head->marks, head->text + from, to - from, look_first, &word));
    head->named = guess ? word == 1 : request->header == TABLE_HEADER_YES;
    head->rows_begin = head->named ? at : head->rows_begin;
    return WEFT_OK;
}

/* The last row that the head holds wholly. */
static void find_rows_end(csv_head *head)
{
    size_t at = head->rows_begin, from, to;
    head->rows_end = head->rows_begin;
    for (int row = 0; row < GUESS_ROWS && next_row(head, &head->marks, &at, &from, &to); row++) {
        head->rows_end = at;
    }
}

static weft_status fail_no_row(const char *path, const csv_head *head)
{
    size_t at = head->rows_begin;
    while (at < head->bytes && (head->text[at] == '\n' || head->text[at] == '\r')) {
        at++;
    }
    if (at == head->bytes) {
        return weft_fail(WEFT_ERR_DATA,
                         "%s: holds a header and no row: if the first line is a row, say " FLAG_HEADER " no", path);
    }
    (void)weft_fail(WEFT_ERR_DATA,
                    "a quote is not closed in this row: say " FLAG_QUOTE " none if quotes are characters like others");
    return row_fail_at(path, (int64_t)at, WEFT_ERR_DATA);
}

weft_status csv_head_read(const char *path, const table_request *request, const csv_preset *preset, csv_head *head)
{
    text_stream *stream = NULL;
    weft_status status;
    *head = (csv_head){.marks = {.quote = preset->no_quotes ? '\0' : '"'}};
    if (request->quote == TABLE_QUOTE_NONE) {
        head->marks.quote = '\0';
    }
    WEFT_TRY(text_stream_open(path, &stream));
    for (size_t capacity = CSV_HEAD_BYTES;; capacity *= 4) {
        WEFT_TRY_GOTO(read_head(path, stream, head, capacity), status, done);
        head->named = false;
        head->rows_begin = head->bytes >= TEXT_MARK ? text_mark(head->text) : 0;
        head->marks.separator = preset->separator != '\0' ? preset->separator : guess_separator(head);
        status = find_header(path, request, preset, head);
        find_rows_end(head);
        if ((status == WEFT_OK && head->rows_end > head->rows_begin) || head->whole || capacity >= CSV_HEAD_MOST) {
            break;
        }
    }
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(head->rows_end > head->rows_begin ? WEFT_OK : fail_no_row(path, head), status, done);
    status = find_point(path, request, head);
done:
    text_stream_close(stream);
    if (status != WEFT_OK) {
        csv_head_free(head);
    }
    return status;
}

int64_t csv_head_memory(const csv_head *head)
{
    int64_t capacity = CSV_HEAD_BYTES;
    while (capacity < (int64_t)head->bytes) {
        capacity *= 4;
    }
    return capacity + capacity / 4;
}

void csv_head_free(csv_head *head)
{
    weft_free(head->block);
    *head = (csv_head){.block = NULL};
}

/* ---- the schema ---- */

typedef struct namer {
    table_schema *schema;
    int64_t shift; /* 1: rows have one cell more than the header, in front */
    int64_t nameless;
    weft_status status;
} namer;

static bool look_name(void *self, int64_t column, const sink_cell *cell)
{
    namer *n = self;
    char name[32];
    const int64_t place = column + n->shift;
    if (place >= n->schema->count) {
        return false;
    }
    if (cell->bytes == 0) {
        snprintf(name, sizeof name, "c%" PRId64, place + 1);
        n->nameless = n->nameless < 0 ? place : n->nameless;
        n->status = schema_name(n->schema, place, name, strlen(name));
    } else {
        n->status = schema_name(n->schema, place, cell->text, cell->bytes);
    }
    return n->status == WEFT_OK;
}

/* A first column without a name numbers or names the rows: pandas' index, R's row names. */
static void drop_index(const char *path, const namer *n)
{
    table_field *first = &n->schema->field[0];
    if ((n->nameless == 0 || n->shift == 1) && n->schema->count > 1) {
        first->role = TABLE_DROPPED;
        log_info("%s: the first column is left out: it has no name, so it is an index or names the rows", path);
    }
}

static weft_status name_columns(const char *path, const csv_head *head, const csv_preset *preset, table_schema *schema)
{
    namer n = {.schema = schema, .nameless = -1, .status = WEFT_OK};
    size_t at = text_mark(head->text), from, to;
    char name[32];
    if (head->named) {
        (void)next_row(head, &head->marks, &at, &from, &to);
        n.shift = schema->count - count_cells(&head->marks, head->text + from, to - from);
        assert(n.shift == 0 || n.shift == 1);
        WEFT_TRY(n.shift == 1 ? schema_name(schema, 0, "row", 3) : WEFT_OK);
        WEFT_TRY(each_cell(&head->marks, head->text + from, to - from, look_name, &n));
        WEFT_TRY(n.status);
        drop_index(path, &n);
        return WEFT_OK;
    }
    for (int64_t j = 0; j < schema->count; j++) {
        if (preset->name != NULL) {
            preset->name(j, name);
        } else {
            snprintf(name, sizeof name, "c%" PRId64, j + 1);
        }
        WEFT_TRY(schema_name(schema, j, name, strlen(name)));
    }
    return WEFT_OK;
}

/* Cells of the header, or of the first row; one more if all first rows have one more than the header. */
static int64_t count_columns(const csv_head *head)
{
    size_t at = text_mark(head->text), from, to;
    if (!next_row(head, &head->marks, &at, &from, &to)) {
        return 1;
    }
    const int64_t names = count_cells(&head->marks, head->text + from, to - from);
    at = head->rows_begin;
    bool more = head->named && head->marks.separator != ';';
    for (int row = 0; row < LOOKED_AT && more && next_row(head, &head->marks, &at, &from, &to); row++) {
        more = count_cells(&head->marks, head->text + from, to - from) == names + 1;
    }
    return names + more;
}

/* Looks at the first rows with columns of which nothing is known. */
static weft_status guess_kinds(const char *path, const table_request *request, const csv_head *head,
                               table_schema *schema)
{
    table_sink sink;
    table_tally *tally = NULL;
    bool widened;
    row_piece piece = {.text = head->text + head->rows_begin, .end = head->text + head->rows_end, .last = INT64_MAX};
    WEFT_TRY(sink_create(schema, request->missing, head->point, 1, 0, INT64_MAX, NULL, &sink));
    csv_parser parser = {.marks = head->marks,
                         .places = csv_places_best(),
                         .cells = cell_scan_best(),
                         .columns = schema->count,
                         .sink = &sink,
                         .rule = head->named ? "the header names" : "the first row has"};
    weft_status status = csv_parse(&parser, &piece);
    if (status == WEFT_ERR_DATA && piece.at != NULL) {
        status = row_fail_at(path, piece.at - head->text, status);
    }
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&tally, schema->count, WEFT_MEM_WORKSPACE), status, done);
    sink_sum(&sink, tally);
    status = schema_take(path, schema, tally, &widened);
done:
    weft_free(tally);
    sink_free(&sink);
    for (int64_t j = 0; j < schema->count; j++) { /* words of the first rows alone */
        words_free(schema->field[j].words);
        schema->field[j].words = NULL;
    }
    return status;
}

static const char *otherwise(const char *asked, const char *preset)
{
    return asked != NULL && asked[0] != '\0' ? asked : preset;
}

weft_status csv_head_schema(const char *path, const table_request *request, const csv_preset *preset,
                            const csv_head *head, table_schema *schema)
{
    table_request asked = *request;
    asked.target = otherwise(request->target, preset->target);
    asked.category = otherwise(request->category, preset->category);
    asked.drop = otherwise(request->drop, preset->drop);
    WEFT_TRY(schema_create(count_columns(head), schema));
    WEFT_TRY(name_columns(path, head, preset, schema));
    WEFT_TRY(schema_apply(path, &asked, head->named || preset->name != NULL, schema));
    return guess_kinds(path, request, head, schema);
}

weft_status csv_head_match(const char *path, const csv_head *first, const char *first_path, int64_t *begin)
{
    csv_head other = {.marks = first->marks};
    text_stream *stream = NULL;
    size_t at = text_mark(first->text), from = 0, to = 0, other_at, other_from = 0, other_to = 0;
    weft_status status;
    WEFT_TRY(text_stream_open(path, &stream));
    WEFT_TRY_GOTO(read_head(path, stream, &other, first->bytes > CSV_HEAD_BYTES ? first->bytes : CSV_HEAD_BYTES),
                  status, done);
    other_at = text_mark(other.text);
    *begin = (int64_t)other_at;
    if (first->named) {
        const bool same = next_row(first, &first->marks, &at, &from, &to) &&
                          next_row(&other, &first->marks, &other_at, &other_from, &other_to) &&
                          to - from == other_to - other_from &&
                          memcmp(first->text + from, other.text + other_from, to - from) == 0;
        WEFT_CHECK_GOTO(same, status, done, WEFT_ERR_DATA, "%s: its header is not that of %s", path, first_path);
        *begin = (int64_t)other_at;
    }
done:
    text_stream_close(stream);
    csv_head_free(&other);
    return status;
}
