/*
 * io/text/text_table.c: see io/text/text_table.h. Rows are counted before a block is parsed, so that every thread
 * knows where its values go.
 */
#include "io/text/text_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "io/text/text_source.h"

enum { FIRST_ROWS = 1024 };

typedef struct table {
    const text_columns *columns;
    const text_header *header;
    weft_mem_tag *tag;
    int64_t capacity; /* rows */
    int64_t *ints;    /* one of the three is used */
    float *floats;
    text_take take;
    void *self;
    bool is_float;
} table;

/* ---- room ---- */

static weft_status grow(table *t, int64_t rows)
{
    void **block = t->is_float ? (void **)&t->floats : (void **)&t->ints;
    size_t size = t->is_float ? sizeof *t->floats : sizeof *t->ints;
    size_t count;
    WEFT_CHECK(!__builtin_mul_overflow((size_t)rows, (size_t)t->columns->width, &count), WEFT_ERR_RESOURCE,
               "%s: %" PRId64 " rows of %" PRId64 " numbers are too many", t->header->path, rows, t->columns->width);
    WEFT_TRY(weft_realloc(block, count, size, t->tag));
    t->capacity = rows;
    return WEFT_OK;
}

/* Whether a first line of numbers is 0, 1, 2, ..., as pandas calls columns that have no names. */
static bool counts_columns(const text_header *h)
{
    text_field field;
    const char *at = h->row;
    int64_t number, j = 0;
    if (h->named || h->columns < 2) {
        return false;
    }
    do {
        if (!text_scan_field(&at, h->separator, &field) || !text_field_whole(&field, &number) || number != j) {
            return false;
        }
        j++;
    } while (text_next_field(&at, h->separator));
    return true;
}

static weft_status reserve(void *self, int64_t rows)
{
    table *t = self;
    const int64_t wanted = t->columns->rows;
    if (wanted >= 0 && rows - t->columns->blank_tail > wanted) {
        const char *hint =
            counts_columns(t->header) ? "; if line 1, 0, 1, 2, ..., is a header, give the columns names" : "";
        return t->columns->rows_of != NULL
                   ? weft_fail(WEFT_ERR_DATA, "%s: more rows than the %" PRId64 " %s%s", t->header->path, wanted,
                               t->columns->rows_of, hint)
                   : weft_fail(WEFT_ERR_DATA, "%s: more than %" PRId64 " rows of numbers, which is what was expected%s",
                               t->header->path, wanted, hint);
    }
    if (rows <= t->capacity || t->take != NULL) {
        return WEFT_OK;
    }
    int64_t doubled = t->capacity > INT64_MAX / 2 ? rows : 2 * t->capacity;
    doubled = doubled < FIRST_ROWS && wanted < 0 ? FIRST_ROWS : doubled;
    return grow(t, wanted >= 0 ? wanted : doubled > rows ? doubled : rows);
}

/* ---- faults ---- */

static bool fail_width(const table *t, text_piece *piece, const char *at, int64_t found)
{
    const int64_t columns = t->header->columns;
    piece->at = at;
    snprintf(piece->reason, sizeof piece->reason, "%s%" PRId64 " fields where %" PRId64 " are expected",
             found > columns ? "more than " : "", found > columns ? columns : found, columns);
    return false;
}

/* Something follows the value of column j and is no separator. */
static bool fail_separator(const table *t, text_piece *piece, const char *at)
{
    const char separator = t->header->separator;
    char what[80];
    if (*at == ',' && isdigit((unsigned char)at[1]) && separator != ',' && separator != TEXT_WHOLE_LINE) {
        piece->at = at;
        snprintf(piece->reason, sizeof piece->reason,
                 "a comma within a number: decimal commas? (numbers are written 0.5; %s separates the fields)",
                 text_separator_name(separator));
        return false;
    }
    snprintf(what, sizeof what,
             separator == TEXT_WHOLE_LINE ? "%s, as line %" PRId64 " has one field"
                                          : "a separator (%s, as in line %" PRId64 ")",
             text_separator_name(separator), t->header->line);
    return text_expected(piece, at, what);
}

/* The column before what is wrong with it. */
static bool fail_column(const table *t, text_piece *piece, int64_t column)
{
    char name[64], reason[sizeof piece->reason];
    if (t->header->named && t->header->columns > 1 && piece->status == WEFT_OK) {
        memcpy(reason, piece->reason, sizeof reason);
        snprintf(piece->reason, sizeof piece->reason, "%s: %.420s", text_header_column(t->header, column, name),
                 reason);
    }
    return false;
}

/* ---- values ---- */

static bool put_missing(const table *t, text_piece *piece, const char **at, int64_t place)
{
    text_field field;
    const char *past = *at;
    if (!t->columns->nan_allowed || !text_scan_field(&past, t->header->separator, &field) ||
        !text_field_missing(&field)) {
        return text_expected(piece, *at, t->columns->what != NULL ? t->columns->what : "a finite number");
    }
    t->floats[place] = NAN;
    *at = past;
    return true;
}

/* A number at *at, in quotes or not, to its place. */
static bool put_number(const table *t, text_piece *piece, const char **at, int64_t place)
{
    const bool quoted = **at == '"';
    const char *past = *at + quoted;
    if (!t->is_float) {
        if (!text_scan_int(&past, &t->ints[place])) {
            return text_expected(piece, *at, "a whole number");
        }
    } else {
        double value;
        if (!text_scan_real(&past, false, &value)) {
            return put_missing(t, piece, at, place);
        }
        t->floats[place] = (float)value;
        if (!isfinite(t->floats[place])) {
            return text_expected(piece, *at, "a number within the range of float32");
        }
    }
    if (quoted && *past++ != '"') {
        return text_expected(piece, *at, "a number, and the quote behind it");
    }
    *at = past;
    return true;
}

static bool put_field(const table *t, text_piece *piece, const char **at, int64_t row, int64_t place)
{
    text_field field;
    const char *begin = *at;
    if (!text_scan_field(at, t->header->separator, &field)) {
        return text_expected(piece, begin, "a quote that ends a field within its line");
    }
    return place < 0 || t->take(t->self, piece, row, place, &field);
}

/* One row, whose values go to row `row`. */
static inline bool parse_row(const table *t, text_piece *piece, const char **at, int64_t row)
{
    const text_columns *c = t->columns;
    const char separator = t->header->separator;
    for (int64_t j = 0; j < t->header->columns; j++) {
        if (j > 0 && !text_next_field(at, separator)) {
            return text_at_end(*at) ? fail_width(t, piece, *at, j) : fail_separator(t, piece, *at);
        }
        const int64_t place = c->place == NULL ? j : c->place[j];
        if (!(t->take == NULL && place >= 0 ? put_number(t, piece, at, row * c->width + place)
                                            : put_field(t, piece, at, row, place))) {
            return fail_column(t, piece, j);
        }
    }
    if (text_next_field(at, separator)) {
        return fail_width(t, piece, *at, t->header->columns + 1);
    }
    return text_at_end(*at) || fail_separator(t, piece, *at);
}

static bool parse_rows(void *self, text_piece *piece)
{
    const table *t = self;
    const text_columns *c = t->columns;
    const char *at = piece->text;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        if (c->rows < 0 || row < c->rows) { /* else an empty line behind the last row */
            at = text_row_begin(piece, at, t->header->separator);
            if (!parse_row(t, piece, &at, c->order != NULL ? c->order[row] : row)) {
                return false;
            }
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

static weft_status read_table(table *t, int64_t *rows)
{
    const text_columns *c = t->columns;
    const char *path = c->header->path;
    text_source *source = NULL;
    text_parser parser = {.self = t,
                          .parse = parse_rows,
                          .reserve = reserve,
                          .count_rows = true,
                          .blank_is_row = c->blank_is_row,
                          .comments = "#%"};
    weft_status status = WEFT_OK;
    *rows = 0;
    t->header = c->header;
    if (c->header->row != NULL) {
        WEFT_TRY_GOTO(text_source_open(path, TEXT_TABLE_LINE, &source), status, done);
        WEFT_TRY_GOTO(text_header_skip(c->header, source), status, done);
        WEFT_TRY_GOTO(text_source_parse(source, &parser, rows), status, done);
        *rows -= c->blank_tail;
        WEFT_TRY_GOTO(t->take == NULL ? grow(t, *rows) : WEFT_OK, status, done);
    }
    WEFT_CHECK_GOTO(c->rows < 0 || *rows == c->rows || c->rows_of == NULL, status, done, WEFT_ERR_DATA,
                    "%s: %" PRId64 " rows for %" PRId64 " %s", path, *rows, c->rows, c->rows_of);
    WEFT_CHECK_GOTO(c->rows < 0 || *rows == c->rows, status, done, WEFT_ERR_DATA,
                    "%s: %" PRId64 " rows of numbers, expected %" PRId64, path, *rows, c->rows);
done:
    text_source_close(source);
    if (status != WEFT_OK) {
        weft_free(t->ints);
        weft_free(t->floats);
        t->ints = NULL;
        t->floats = NULL;
    }
    return status;
}

weft_status text_columns_floats(const text_columns *columns, weft_mem_tag *tag, int64_t *rows, float **values)
{
    table t = {.columns = columns, .tag = tag, .is_float = true};
    const weft_status status = read_table(&t, rows);
    *values = t.floats;
    return status;
}

weft_status text_columns_each(const text_columns *columns, void *self, text_take take, int64_t *rows)
{
    table t = {.columns = columns, .take = take, .self = self};
    return read_table(&t, rows);
}

/* ---- rows ---- */

typedef struct row_counter {
    atomic_llong filled, last; /* rows with something in them; the number of the last one, from 1 */
} row_counter;

static bool count_filled(void *self, text_piece *piece)
{
    row_counter *counter = self;
    const char *at = piece->text;
    int64_t filled = 0, last = 0;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        const bool blank = text_at_end(at);
        filled += !blank;
        last = blank ? last : row + 1;
        at = text_next_line(at, piece->end);
    }
    atomic_fetch_add(&counter->filled, filled);
    long long before = atomic_load(&counter->last);
    while (last > before && !atomic_compare_exchange_weak(&counter->last, &before, last)) {
    }
    return true;
}

weft_status text_count_rows(const text_header *header, text_row_count *count)
{
    text_source *source;
    int64_t rows = 0;
    row_counter counter;
    atomic_init(&counter.filled, 0);
    atomic_init(&counter.last, 0);
    const text_parser parser = {
        .self = &counter, .parse = count_filled, .count_rows = true, .blank_is_row = true, .comments = "#%"};
    WEFT_TRY(text_source_open(header->path, TEXT_TABLE_LINE, &source));
    weft_status status = text_header_skip(header, source);
    status = status == WEFT_OK ? text_source_parse(source, &parser, &rows) : status;
    text_source_close(source);
    const int64_t filled = atomic_load(&counter.filled);
    *count = (text_row_count){
        .filled = filled, .blank = rows - filled, .blank_tail = rows - (int64_t)atomic_load(&counter.last)};
    return status;
}

/* ---- whole files ---- */

/* All columns but an index in front. */
static weft_status read_whole(const char *path, table *t, text_columns *c, int64_t *rows, int64_t *columns)
{
    text_header h;
    int64_t *place = NULL;
    int64_t read = 0;
    WEFT_TRY(text_header_read(path, TEXT_TABLE_LINE, &h));
    weft_status status;
    c->header = &h;
    c->width = h.columns - (h.index == 0);
    WEFT_CHECK_GOTO(*columns < 0 || h.row == NULL || c->width == *columns, status, done, WEFT_ERR_DATA,
                    "%s: line %" PRId64 ": %" PRId64 " fields where %" PRId64 " are expected", path, h.row_line,
                    c->width, *columns);
    if (h.index == 0) {
        WEFT_TRY_GOTO(WEFT_NEW(&place, h.columns, WEFT_MEM_WORKSPACE), status, done);
        for (int64_t j = 0; j < h.columns; j++) {
            place[j] = j - 1;
        }
        c->place = place;
        text_header_tell_unused(&h, NULL);
    }
    WEFT_TRY_GOTO(read_table(t, &read), status, done);
    *rows = read;
    *columns = h.row == NULL && *columns >= 0 ? *columns : c->width;
done:
    t->header = c->header = NULL;
    weft_free(place);
    text_header_free(&h);
    return status;
}

weft_status text_table_ints(const char *path, weft_mem_tag *tag, int64_t *rows, int64_t *columns, int64_t **values)
{
    text_columns c = {.rows = *rows};
    table t = {.columns = &c, .tag = tag};
    const weft_status status = read_whole(path, &t, &c, rows, columns);
    *values = t.ints;
    return status;
}

weft_status text_table_floats(const char *path, weft_mem_tag *tag, bool nan_allowed, int64_t *rows, int64_t *columns,
                              float **values)
{
    text_columns c = {.rows = *rows, .nan_allowed = nan_allowed};
    table t = {.columns = &c, .tag = tag, .is_float = true};
    const weft_status status = read_whole(path, &t, &c, rows, columns);
    *values = t.floats;
    return status;
}
