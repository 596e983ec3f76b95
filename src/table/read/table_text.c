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

weft_status table_text_open(const text_header *header, table_text *text)
{
    *text = (table_text){.header = header, .rows_of = "rows"};
    weft_status status = schema_create(header->columns, &text->schema);
    for (int64_t j = 0; j < header->columns && status == WEFT_OK; j++) {
        const char *name = header->named ? header->name[j] : "";
        text->schema.field[j].role = TABLE_DROPPED;
        text->schema.field[j].kind = TABLE_REAL;
        status = schema_name(&text->schema, j, name, strlen(name));
    }
    if (status != WEFT_OK) {
        table_text_close(text);
    }
    return status;
}

void table_text_close(table_text *text)
{
    schema_free(&text->schema);
}

/* ---- rows ---- */

typedef struct text_pass {
    table_text *text;
    int64_t rows; /* -1: any */
    table_sink sink;
    const table_floats *floats;
    int64_t row, column; /* of a fault, and why */
    const char *reason;
    atomic_llong filled, last; /* rows with something in them; the number of the last one, from 1 */
} text_pass;

static csv_marks marks_of(const table_text *text)
{
    return (csv_marks){
        .separator = text->header->separator, .quote = '"', .by_lines = true, .blank_is_row = text->blank_is_row};
}

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
    WEFT_TRY(text_source_open(t->header->path, TEXT_TABLE_LINE, &source));
    weft_status status = text_header_skip(t->header, source);
    status = status == WEFT_OK ? text_source_parse(source, &parser, found) : status;
    text_source_close(source);
    return status;
}

static weft_status check_all(const text_pass *pass, int64_t found)
{
    const table_text *t = pass->text;
    WEFT_CHECK(pass->rows < 0 || found >= pass->rows, WEFT_ERR_DATA, "%s: %" PRId64 " rows for %" PRId64 " %s",
               t->header->path, found, pass->rows, t->rows_of);
    return WEFT_OK;
}

/* ---- cells ---- */

static bool fail_piece(text_piece *piece, weft_status status, const char *at)
{
    if (status != WEFT_ERR_DATA || at == NULL) {
        return text_fail(piece, status);
    }
    piece->at = at;
    snprintf(piece->reason, sizeof piece->reason, "%s", weft_error_message());
    return false;
}

static bool parse_cells(const text_pass *pass, table_sink *sink, int thread, text_piece *piece)
{
    const table_text *t = pass->text;
    csv_parser parser = {.marks = marks_of(t),
                         .places = csv_lines_places,
                         .columns = t->schema.count,
                         .sink = sink,
                         .rule = t->header->named ? "the header names" : "the first row has"};
    row_piece rows = {.text = piece->text,
                      .end = piece->end,
                      .row = piece->row,
                      .last = pass->rows < 0 ? INT64_MAX : pass->rows,
                      .thread = thread};
    const weft_status status = csv_parse(&parser, &rows);
    return status == WEFT_OK || fail_piece(piece, status, rows.at);
}

static bool hand_out(void *self, text_piece *piece)
{
    text_pass *pass = self;
    return parse_cells(pass, &pass->sink, piece->thread, piece);
}

weft_status table_text_each(table_text *text, int64_t rows, int64_t *found)
{
    text_pass pass = {.text = text, .rows = rows};
    int64_t count = 0;
    if (text->header->row != NULL) {
        WEFT_TRY(sink_create(&text->schema, MISSING, '.', omp_get_max_threads(), 0, INT64_MAX, NULL, &pass.sink));
        const weft_status status = read_rows(&pass, hand_out, &count);
        sink_free(&pass.sink);
        WEFT_TRY(status);
    }
    if (found != NULL) {
        *found = count;
    }
    return check_all(&pass, count);
}

/* block [width, count]: rows first .. first + count - 1 of the file, column by column. */
static void put_rows(const table_floats *to, const float *block, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float *row = to->values + (to->order != NULL ? to->order[first + i] : first + i) * to->width;
        for (int64_t c = 0; c < to->width; c++) {
            row[c] = block[c * count + i];
        }
    }
}

/* A piece of text is read into columns, and these go into rows of values. */
static bool read_block(void *self, text_piece *piece)
{
    const text_pass *pass = self;
    const table_floats *to = pass->floats;
    const int64_t columns = pass->text->schema.count, left = to->rows - piece->row;
    const int64_t count = piece->rows < left ? piece->rows : left;
    void **value = NULL;
    float *block = NULL;
    table_sink sink = {.schema = NULL};
    if (count <= 0) {
        return true;
    }
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&value, columns, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&block, count * to->width, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t j = 0; j < columns; j++) {
        value[j] = to->place[j] >= 0 ? block + to->place[j] * count : NULL;
    }
    status = sink_create(&pass->text->schema, MISSING, '.', 1, piece->row, count, value, &sink);
done:;
    const bool good = status == WEFT_OK ? parse_cells(pass, &sink, 0, piece) : text_fail(piece, status);
    if (good) {
        put_rows(to, block, piece->row, count);
    }
    sink_free(&sink);
    weft_free(value);
    weft_free(block);
    return good;
}

weft_status table_text_floats(table_text *text, const table_floats *to)
{
    text_pass pass = {.text = text, .rows = to->rows, .floats = to};
    int64_t count = 0;
    WEFT_TRY(text->header->row != NULL ? read_rows(&pass, read_block, &count) : WEFT_OK);
    return check_all(&pass, count);
}

/* ---- single rows ---- */

static bool fail_row(void *self, text_piece *piece)
{
    const text_pass *pass = self;
    const char *at = piece->text;
    char name[96];
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        if (row == pass->row) {
            piece->at = at;
            snprintf(piece->reason, sizeof piece->reason, "%s: %s", schema_say(&pass->text->schema, pass->column, name),
                     pass->reason);
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

weft_status table_text_fail(table_text *text, int64_t row, int64_t column, const char *reason)
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
    table_text all = {.header = header, .blank_is_row = true};
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
