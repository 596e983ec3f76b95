/* table/read/table_text.c: see table/read/table_text.h. */
#include "table/read/table_text.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

#include "table/read/csv_parse.h"
#include "table/rows/csv_lines.h"

#define MISSING "NA,NaN,-NaN,N/A,#N/A,null,<NA>" /* as text_field_missing has them */

enum { SHOWN = 40 };

weft_status table_text_open(const text_header *header, const char *rows_of, table_text *text)
{
    *text = (table_text){.header = header, .rows_of = rows_of};
    WEFT_TRY(WEFT_NEW(&text->place, header->columns, WEFT_MEM_WORKSPACE));
    for (int64_t j = 0; j < header->columns; j++) {
        text->place[j] = -1;
    }
    return WEFT_OK;
}

void table_text_close(table_text *text)
{
    weft_free(text->place);
    text->place = NULL;
}

void table_text_want(table_text *text, int64_t column)
{
    assert(text->place[column] < 0);
    text->place[column] = text->width++;
}

weft_status table_cell_expected(const table_cell *cell, const char *what)
{
    const ptrdiff_t length = cell->field.end - cell->field.text;
    return length == 0 ? weft_fail(WEFT_ERR_DATA, "an empty field: expected %s", what)
                       : weft_fail(WEFT_ERR_DATA, "'%.*s': expected %s", (int)(length > SHOWN ? SHOWN : length),
                                   cell->field.text, what);
}

/* ---- rows ---- */

typedef struct text_pass {
    const table_text *text;
    int64_t rows; /* -1: any */
    table_schema schema;
    table_sink sink;
    table_take take; /* who gets the cells; */
    void *self;
    float *values;       /* or where numbers go */
    int64_t row, column; /* of a fault, and why */
    const char *reason;
    atomic_llong filled, last; /* rows with something in them; the number of the last one, from 1 */
} text_pass;

/* Whether a first line of numbers is 0, 1, 2, ..., as pandas calls columns that have no names. */
static bool counts_columns(const text_header *h)
{
    text_field field;
    int64_t number, j = 0;
    while (!h->named && text_header_sample(h, j, &field) && text_field_whole(&field, &number) && number == j) {
        j++;
    }
    return j > 1 && j == h->columns;
}

/* The file has at least as many rows as these. */
static weft_status check_rows(void *self, int64_t rows)
{
    const text_pass *pass = self;
    const table_text *t = pass->text;
    WEFT_CHECK(pass->rows < 0 || rows <= pass->rows || t->blank_is_row, WEFT_ERR_DATA,
               "%s: more rows than the %" PRId64 " %s%s", t->header->path, pass->rows, t->rows_of,
               counts_columns(t->header) ? "; if line 1, 0, 1, 2, ..., is a header, give the columns names" : "");
    return WEFT_OK;
}

/* [out] found, may be NULL: how many rows there are. */
static weft_status read_rows(text_pass *pass, bool (*parse)(void *self, text_piece *piece), int64_t *found)
{
    const table_text *t = pass->text;
    const text_parser parser = {.self = pass,
                                .parse = parse,
                                .reserve = check_rows,
                                .count_rows = true,
                                .blank_is_row = t->blank_is_row,
                                .comments = CSV_LINE_COMMENTS};
    text_source *source;
    int64_t count = 0;
    WEFT_TRY(text_source_open(t->header->path, TEXT_TABLE_LINE, &source));
    weft_status status = text_header_skip(t->header, source);
    status = status == WEFT_OK ? text_source_parse(source, &parser, &count) : status;
    text_source_close(source);
    WEFT_CHECK(status != WEFT_OK || count >= pass->rows, WEFT_ERR_DATA, "%s: %" PRId64 " rows for %" PRId64 " %s",
               t->header->path, count, pass->rows, t->rows_of);
    if (found != NULL) {
        *found = count;
    }
    return status;
}

/* ---- cells ---- */

/* A sink_take. */
static weft_status hand_over(void *self, int thread, int64_t row, int64_t column, const sink_cell *cell)
{
    const text_pass *pass = self;
    const table_text *t = pass->text;
    const table_cell c = {.thread = thread,
                          .row = t->order != NULL ? t->order[row] : row,
                          .place = t->place[column],
                          .field = {.text = cell->text, .end = cell->text + cell->bytes},
                          .quoted = cell->quoted};
    return pass->take(pass->self, &c);
}

/* A schema of the wanted columns, or of the one that is not -1. */
static weft_status make_schema(text_pass *pass, int64_t column, const table_field *wanted)
{
    const table_text *t = pass->text;
    WEFT_TRY(schema_create(t->header->columns, &pass->schema));
    for (int64_t j = 0; j < t->header->columns; j++) {
        const char *name = t->header->named ? t->header->name[j] : "";
        pass->schema.field[j] = *wanted;
        pass->schema.field[j].role = (column < 0 ? t->place[j] >= 0 : j == column) ? TABLE_FEATURE : TABLE_DROPPED;
        WEFT_TRY(schema_name(&pass->schema, j, name, strlen(name)));
    }
    return WEFT_OK;
}

static bool parse_cells(const text_pass *pass, table_sink *sink, int thread, text_piece *piece)
{
    const text_header *h = pass->text->header;
    csv_parser parser = {
        .marks = {.separator = h->separator, .quote = '"', .by_lines = true, .blank_is_row = pass->text->blank_is_row},
        .places = csv_lines_places,
        .cells = cell_scan_best(),
        .columns = h->columns,
        .sink = sink,
        .rule = h->named ? "the header names" : "the first row has"};
    row_piece rows = {.text = piece->text,
                      .end = piece->end,
                      .row = piece->row,
                      .last = pass->rows < 0 ? INT64_MAX : pass->rows,
                      .thread = thread};
    const weft_status status = csv_parse(&parser, &rows);
    if (status != WEFT_ERR_DATA || rows.at == NULL) {
        return status == WEFT_OK || text_fail(piece, status);
    }
    piece->at = rows.at;
    snprintf(piece->reason, sizeof piece->reason, "%s", weft_error_message());
    return false;
}

static bool hand_out(void *self, text_piece *piece)
{
    text_pass *pass = self;
    return parse_cells(pass, &pass->sink, piece->thread, piece);
}

static weft_status read_cells(text_pass *pass, int64_t column, int64_t *found)
{
    weft_status status;
    WEFT_TRY_GOTO(make_schema(pass, column, &(table_field){.take = hand_over, .self = pass}), status, done);
    WEFT_TRY_GOTO(sink_create(&pass->schema, MISSING, '.', omp_get_max_threads(), 0, INT64_MAX, NULL, &pass->sink),
                  status, done);
    status = read_rows(pass, hand_out, found);
    sink_free(&pass->sink);
done:
    schema_free(&pass->schema);
    return status;
}

weft_status table_text_each(const table_text *text, int64_t rows, table_take take, void *self)
{
    return read_cells(&(text_pass){.text = text, .rows = rows, .take = take, .self = self}, -1, NULL);
}

weft_status table_text_column(const table_text *text, int64_t column, table_take take, void *self, int64_t *rows)
{
    return read_cells(&(text_pass){.text = text, .rows = -1, .take = take, .self = self}, column, rows);
}

/* ---- numbers ---- */

/* block [width, count]: rows first .. first + count - 1 of the file, column by column. */
static void put_rows(const text_pass *pass, const float *block, int64_t first, int64_t count)
{
    const table_text *t = pass->text;
    for (int64_t i = 0; i < count; i++) {
        float *row = pass->values + (t->order != NULL ? t->order[first + i] : first + i) * t->width;
        for (int64_t c = 0; c < t->width; c++) {
            row[c] = block[c * count + i];
        }
    }
}

/* A piece of text is read into columns, and these go into rows of values. */
static bool read_block(void *self, text_piece *piece)
{
    text_pass *pass = self;
    const table_text *t = pass->text;
    const int64_t left = pass->rows - piece->row, count = piece->rows < left ? piece->rows : left;
    void **value = NULL;
    float *block = NULL;
    table_sink sink = {.schema = NULL};
    bool good = count <= 0;
    if (good) {
        return true;
    }
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&value, t->header->columns, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&block, count * t->width, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t j = 0; j < t->header->columns; j++) {
        value[j] = t->place[j] >= 0 ? block + t->place[j] * count : NULL;
    }
    WEFT_TRY_GOTO(sink_create(&pass->schema, MISSING, '.', 1, piece->row, count, value, &sink), status, done);
    good = parse_cells(pass, &sink, 0, piece);
    if (good) {
        put_rows(pass, block, piece->row, count);
    }
done:
    sink_free(&sink);
    weft_free(value);
    weft_free(block);
    return good || (status != WEFT_OK && text_fail(piece, status));
}

weft_status table_text_floats(const table_text *text, int64_t rows, const char *expected, bool nan_allowed,
                              weft_mem_tag *tag, float **values)
{
    const table_field wanted = {.kind = TABLE_REAL, .expected = expected, .required = !nan_allowed};
    text_pass pass = {.text = text, .rows = rows};
    weft_status status;
    *values = NULL;
    WEFT_TRY_GOTO(make_schema(&pass, -1, &wanted), status, done);
    WEFT_TRY_GOTO(weft_malloc((size_t)rows, (size_t)text->width * sizeof **values, tag, (void **)values), status, done);
    pass.values = *values;
    status = read_rows(&pass, read_block, NULL);
done:
    schema_free(&pass.schema);
    if (status != WEFT_OK) {
        weft_free(*values);
        *values = NULL;
    }
    return status;
}

/* ---- single rows ---- */

static bool fail_row(void *self, text_piece *piece)
{
    const text_pass *pass = self;
    const char *at = piece->text;
    char name[64];
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        if (row == pass->row) {
            piece->at = at;
            snprintf(piece->reason, sizeof piece->reason, "%s: %s",
                     text_header_column(pass->text->header, pass->column, name), pass->reason);
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

weft_status table_text_fail(const table_text *text, int64_t row, int64_t column, const char *reason)
{
    text_pass pass = {.text = text, .rows = -1, .row = row, .column = column, .reason = reason};
    return read_rows(&pass, fail_row, NULL);
}

static bool count_filled(void *self, text_piece *piece)
{
    text_pass *pass = self;
    const char *at = piece->text;
    int64_t filled = 0, last = 0;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        const bool blank = text_at_end(at);
        filled += !blank;
        last = blank ? last : row + 1;
        at = text_next_line(at, piece->end);
    }
    atomic_fetch_add(&pass->filled, filled);
    long long before = atomic_load(&pass->last);
    while (last > before && !atomic_compare_exchange_weak(&pass->last, &before, last)) {
    }
    return true;
}

weft_status table_text_count(const text_header *header, table_lines *lines)
{
    const table_text all = {.header = header, .blank_is_row = true};
    text_pass pass = {.text = &all, .rows = -1};
    int64_t rows = 0;
    atomic_init(&pass.filled, 0);
    atomic_init(&pass.last, 0);
    const weft_status status = read_rows(&pass, count_filled, &rows);
    const int64_t filled = atomic_load(&pass.filled);
    *lines =
        (table_lines){.filled = filled, .blank = rows - filled, .blank_tail = rows - (int64_t)atomic_load(&pass.last)};
    return status;
}
