/*
 * io/text/text_table.c: see io/text/text_table.h. Rows are counted before a block is parsed, so that every thread
 * knows where its values go.
 */
#include "io/text/text_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/text/text_source.h"

enum { LINE_MAX_BYTES = 64 << 20, FIRST_ROWS = 1024 };

typedef struct table {
    const char *path;
    weft_mem_tag *tag;
    int64_t columns;
    int64_t wanted_rows; /* -1 = any */
    int64_t capacity;    /* rows */
    bool nan_allowed;
    int64_t *ints; /* exactly one of the two is used */
    float *floats;
    bool is_float;
} table;

static weft_status grow(table *t, int64_t rows)
{
    void **block = t->is_float ? (void **)&t->floats : (void **)&t->ints;
    size_t size = t->is_float ? sizeof *t->floats : sizeof *t->ints;
    size_t count;
    WEFT_CHECK(!__builtin_mul_overflow((size_t)rows, (size_t)t->columns, &count), WEFT_ERR_RESOURCE,
               "%s: %" PRId64 " rows of %" PRId64 " numbers are too many", t->path, rows, t->columns);
    WEFT_TRY(weft_realloc(block, count, size, t->tag));
    t->capacity = rows;
    return WEFT_OK;
}

static weft_status reserve(void *self, int64_t rows)
{
    table *t = self;
    WEFT_CHECK(t->wanted_rows < 0 || rows <= t->wanted_rows, WEFT_ERR_DATA,
               "%s: more than %" PRId64 " rows of numbers, which is what was expected", t->path, t->wanted_rows);
    if (rows <= t->capacity) {
        return WEFT_OK;
    }
    int64_t doubled = t->capacity > INT64_MAX / 2 ? rows : 2 * t->capacity;
    doubled = doubled < FIRST_ROWS && t->wanted_rows < 0 ? FIRST_ROWS : doubled;
    return grow(t, t->wanted_rows >= 0 ? t->wanted_rows : doubled > rows ? doubled : rows);
}

static bool put_value(const table *t, text_piece *piece, const char **at, int64_t place)
{
    const char *field = *at;
    if (!t->is_float) {
        return text_scan_int(at, &t->ints[place]) || text_expected(piece, field, "a whole number");
    }
    double value;
    if (t->nan_allowed && (text_at_end(field) || *field == ',' || *field == ';')) {
        value = (double)NAN;
    } else if (!text_scan_real(at, t->nan_allowed, &value)) {
        return text_expected(piece, field, "a finite number");
    }
    t->floats[place] = (float)value;
    bool fits = isfinite(t->floats[place]) || (t->nan_allowed && isnan(value));
    return fits || text_expected(piece, field, "a number within the range of float32");
}

static bool fail_width(text_piece *piece, const char *at, int64_t found, int64_t columns)
{
    piece->at = at;
    snprintf(piece->reason, sizeof piece->reason, "%s%" PRId64 " fields where %" PRId64 " are expected",
             found > columns ? "more than " : "", found > columns ? columns : found, columns);
    return false;
}

static bool parse_rows(void *self, text_piece *piece)
{
    const table *t = self;
    const char *at = piece->text;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        for (int64_t j = 0; j < t->columns; j++) {
            const char *before = at;
            at = j == 0 ? at : text_skip_separator(at);
            bool comma = memchr(before, ',', (size_t)(at - before)) != NULL; /* what follows it is a field, if empty */
            if (text_at_end(at) && !comma) {
                return fail_width(piece, at, j, t->columns);
            }
            if (!put_value(t, piece, &at, row * t->columns + j)) {
                return false;
            }
            if (!text_at_end(at) && at == text_skip_separator(at)) {
                return text_expected(piece, at, "a separator after the number");
            }
        }
        at = text_skip_blanks(at);
        if (!text_at_end(at)) {
            return fail_width(piece, at, t->columns + 1, t->columns);
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

static bool begins_number(const char *line, bool nan_allowed)
{
    const char *at = text_skip_blanks(line);
    double value;
    return text_scan_real(&at, nan_allowed, &value) || (nan_allowed && *at == ',');
}

/* Past comments and a header; the columns of the first row of numbers. */
static weft_status look_at_head(text_source *source, table *t, char *line, bool *empty)
{
    bool header_seen = false;
    for (;;) {
        WEFT_TRY(text_source_line(source, line, LINE_MAX_BYTES, empty));
        const char *first = text_skip_blanks(line);
        if (*empty || (*first != '\0' && *first != '#' && *first != '%' &&
                       (begins_number(line, t->nan_allowed) || header_seen))) {
            break;
        }
        header_seen = header_seen || (*first != '\0' && *first != '#' && *first != '%');
    }
    if (*empty) {
        return WEFT_OK;
    }
    int64_t columns = text_count_fields(line);
    WEFT_CHECK(t->columns < 0 || columns == t->columns, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": %" PRId64 " fields where %" PRId64 " are expected", t->path,
               text_source_line_number(source), columns, t->columns);
    t->columns = columns;
    text_source_unread(source);
    return WEFT_OK;
}

static weft_status read_table(table *t, int64_t *rows)
{
    text_source *source = NULL;
    char *line = NULL;
    bool empty = false;
    text_parser parser = {.self = t, .parse = parse_rows, .reserve = reserve, .count_rows = true, .comments = "#%"};
    weft_status status;
    *rows = 0;
    WEFT_TRY_GOTO(text_source_open(t->path, LINE_MAX_BYTES, &source), status, done);
    WEFT_TRY_GOTO(weft_malloc(LINE_MAX_BYTES, 1, WEFT_MEM_WORKSPACE, (void **)&line), status, done);
    WEFT_TRY_GOTO(look_at_head(source, t, line, &empty), status, done);
    weft_free(line);
    line = NULL;
    if (!empty) {
        WEFT_TRY_GOTO(text_source_parse(source, &parser, rows), status, done);
        WEFT_TRY_GOTO(grow(t, *rows), status, done);
    }
    WEFT_CHECK_GOTO(t->wanted_rows < 0 || *rows == t->wanted_rows, status, done, WEFT_ERR_DATA,
                    "%s: %" PRId64 " rows of numbers, expected %" PRId64, t->path, *rows, t->wanted_rows);
done:
    weft_free(line);
    text_source_close(source);
    return status;
}

static weft_status finish(table *t, weft_status status, int64_t *rows, int64_t *columns, int64_t read)
{
    if (status != WEFT_OK) {
        weft_free(t->ints);
        weft_free(t->floats);
        t->ints = NULL;
        t->floats = NULL;
        return status;
    }
    *rows = read;
    *columns = t->columns < 0 ? 0 : t->columns;
    return WEFT_OK;
}

weft_status text_table_ints(const char *path, weft_mem_tag *tag, int64_t *rows, int64_t *columns, int64_t **values)
{
    table t = {.path = path, .tag = tag, .columns = *columns, .wanted_rows = *rows};
    int64_t read;
    weft_status status = read_table(&t, &read);
    status = finish(&t, status, rows, columns, read);
    *values = t.ints;
    return status;
}

weft_status text_table_floats(const char *path, weft_mem_tag *tag, bool nan_allowed, int64_t *rows, int64_t *columns,
                              float **values)
{
    table t = {.path = path,
               .tag = tag,
               .columns = *columns,
               .wanted_rows = *rows,
               .nan_allowed = nan_allowed,
               .is_float = true};
    int64_t read;
    weft_status status = read_table(&t, &read);
    status = finish(&t, status, rows, columns, read);
    *values = t.floats;
    return status;
}
