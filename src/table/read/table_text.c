/* table/read/table_text.c: see table/read/table_text.h. */
#include "table/read/table_text.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "table/read/csv_parse.h"
#include "table/rows/csv_lines.h"

#define MISSING "NA,NaN,-NaN,N/A,#N/A,null,<NA>" /* as text_field_missing has them */

static csv_marks marks_of(const text_header *header, bool blank_is_row)
{
    return (csv_marks){.separator = header->separator, .quote = '"', .by_lines = true, .blank_is_row = blank_is_row};
}

static weft_status open_rows(const text_header *header, const csv_marks *marks, row_source **source)
{
    const int64_t begin = header->named ? header->below : header->begin;
    const row_layout layout = {.marks = *marks, .begin = &begin};
    WEFT_TRY(row_source_open(&header->path, 1, &layout, source));
    const weft_status status = row_source_count(*source, NULL);
    if (status != WEFT_OK) {
        row_source_close(*source);
        *source = NULL;
    }
    return status;
}

static weft_status make_schema(const text_header *header, table_schema *schema)
{
    WEFT_TRY(schema_create(header->columns, schema));
    for (int64_t j = 0; j < header->columns; j++) {
        const char *name = header->named ? header->name[j] : "";
        schema->field[j].role = TABLE_DROPPED;
        WEFT_TRY(schema_name(schema, j, name, strlen(name)));
    }
    return WEFT_OK;
}

weft_status table_text_open(const text_header *header, bool blank_is_row, table_text *text)
{
    const csv_marks marks = marks_of(header, blank_is_row);
    assert(!blank_is_row || header->columns == 1);
    *text = (table_text){.header = header, .blank_is_row = blank_is_row};
    weft_status status = make_schema(header, &text->schema);
    if (status == WEFT_OK && header->row != NULL) {
        status = open_rows(header, &marks, &text->source);
        text->rows = status == WEFT_OK ? row_source_rows(text->source) : 0;
    }
    if (status != WEFT_OK) {
        table_text_close(text);
    }
    return status;
}

void table_text_close(table_text *text)
{
    row_source_close(text->source);
    schema_free(&text->schema);
    *text = (table_text){.source = NULL};
}

weft_status table_text_read(table_text *text, int64_t first, int64_t count, void *const *value)
{
    table_sink sink;
    if (count == 0) {
        return WEFT_OK;
    }
    assert(text->source != NULL && first >= 0 && count > 0);
    WEFT_TRY(sink_create(&text->schema, MISSING, '.', row_source_threads(text->source), first, count, value, &sink));
    csv_parser parser = {.marks = marks_of(text->header, text->blank_is_row),
                         .places = csv_lines_places,
                         .columns = text->schema.count,
                         .sink = &sink,
                         .rule = text->header->named ? "the header names" : "the first row has"};
    const weft_status status = row_source_read(text->source, first, count, csv_parse, &parser);
    sink_free(&sink);
    return status;
}

/* ---- rows one by one ---- */

/* What a pass looks for: the row of a fault, or facts about all lines. */
typedef struct line_pass {
    csv_marks marks;
    const table_schema *schema;
    int64_t row, column;
    const char *reason;
    atomic_llong filled, last; /* lines with something in them; the number of the last one, from 1 */
} line_pass;

static weft_status fail_in_line(void *self, row_piece *piece)
{
    const line_pass *pass = self;
    char name[96];
    int64_t row = piece->row;
    for (const char *at = piece->text; at < piece->end; at = text_next_line(at, piece->end)) {
        const bool is_row = csv_line_is_row(&pass->marks, at);
        if (is_row && row == pass->row) {
            piece->at = at;
            return weft_fail(WEFT_ERR_DATA, "%s: %s", schema_say(pass->schema, pass->column, name), pass->reason);
        }
        row += is_row;
    }
    return WEFT_OK;
}

weft_status table_text_fail(const table_text *text, int64_t row, int64_t column, const char *reason)
{
    line_pass pass = {.marks = marks_of(text->header, text->blank_is_row),
                      .schema = &text->schema,
                      .row = row,
                      .column = column,
                      .reason = reason};
    assert(row < text->rows && column < text->schema.count);
    return row_source_read(text->source, row, 1, fail_in_line, &pass);
}

static weft_status count_filled(void *self, row_piece *piece)
{
    line_pass *pass = self;
    int64_t row = piece->row, filled = 0, last = 0;
    for (const char *at = piece->text; at < piece->end; at = text_next_line(at, piece->end)) {
        const bool is_row = csv_line_is_row(&pass->marks, at), blank = text_at_end(text_skip_blanks(at));
        row += is_row;
        filled += is_row && !blank;
        last = is_row && !blank ? row : last;
    }
    atomic_fetch_add(&pass->filled, filled);
    long long before = atomic_load(&pass->last);
    while (last > before && !atomic_compare_exchange_weak(&pass->last, &before, last)) {
    }
    return WEFT_OK;
}

weft_status table_text_count(const text_header *header, table_lines *lines)
{
    line_pass pass = {.marks = marks_of(header, true)};
    row_source *source;
    atomic_init(&pass.filled, 0);
    atomic_init(&pass.last, 0);
    WEFT_TRY(open_rows(header, &pass.marks, &source));
    const int64_t rows = row_source_rows(source);
    const weft_status status = row_source_read(source, 0, rows, count_filled, &pass);
    row_source_close(source);
    const int64_t filled = atomic_load(&pass.filled);
    *lines =
        (table_lines){.filled = filled, .blank = rows - filled, .blank_tail = rows - (int64_t)atomic_load(&pass.last)};
    return status;
}
