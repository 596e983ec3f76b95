/*
 * gnn/data/tables/vertex_table.c: see gnn/data/tables/vertex_table.h. Ids are read before the values, in a pass of
 * their own, so that a vertex that comes twice or never is found before two threads write one row.
 */
#include "gnn/data/tables/vertex_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "gnn/data/edges/text_head.h"

enum { REASON = 200, NAME_MOST = 64 };

bool vertex_table_find(const raw_graph *raw, const text_field *field, int64_t *vertex)
{
    return raw->ids.count > 0 ? id_map_find(&raw->ids, field, vertex)
                              : text_field_whole(field, vertex) && *vertex >= 0 && *vertex <= raw->vertices;
}

weft_status vertex_table_open(const char *path, const raw_graph *raw, vertex_table *t)
{
    *t = (vertex_table){.raw = raw, .id = -1};
    WEFT_TRY(text_header_read(path, TEXT_TABLE_LINE, &t->header));
    weft_status status = table_text_open(&t->header, "vertices", &t->text);
    status = status != WEFT_OK    ? status
             : raw->ids.count > 0 ? text_header_take_ids(&t->header, &t->id)
                                  : text_header_find(&t->header, TEXT_ID, &t->id);
    if (status != WEFT_OK) {
        vertex_table_close(t);
    }
    return status;
}

void vertex_table_close(vertex_table *t)
{
    table_text_close(&t->text);
    text_header_free(&t->header);
    weft_free(t->order);
    *t = (vertex_table){.raw = t->raw};
}

bool vertex_table_is_plain(const vertex_table *t, int64_t column)
{
    static const text_role roles[] = {TEXT_ID, TEXT_LABEL, TEXT_SPLIT, TEXT_TRAIN, TEXT_VALID, TEXT_TEST};
    bool plain = column != t->header.index && column != t->id;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        plain = plain && !text_header_is(&t->header, column, roles[i]);
    }
    return plain;
}

int64_t vertex_table_plain(const vertex_table *t, int64_t *last)
{
    int64_t count = 0;
    *last = -1;
    for (int64_t j = 0; j < t->header.columns; j++) {
        if (vertex_table_is_plain(t, j)) {
            *last = j;
            count++;
        }
    }
    return count;
}

/* ---- an index ---- */

/* self: the number of the first row. */
static weft_status take_index(void *self, const table_cell *cell)
{
    const int64_t *first = self;
    int64_t number;
    if (text_field_whole(&cell->field, &number) && number == *first + cell->row) {
        return WEFT_OK;
    }
    return table_cell_expected(cell, "the number of the row, as in the rows before: if this first column, which has no "
                                     "name, says which vertex a row is, name it id; else remove it");
}

/* An index must count; row names that are words say nothing about an order. */
static weft_status check_index(const vertex_table *t)
{
    text_field field;
    int64_t first;
    if (t->id >= 0 || t->header.index < 0 || !text_header_sample(&t->header, t->header.index, &field) ||
        !text_field_whole(&field, &first)) {
        return WEFT_OK;
    }
    first = first == 1 ? 1 : 0; /* R counts from 1, pandas from 0 */
    return table_text_column(&t->text, t->header.index, take_index, &first, NULL);
}

/* ---- ids ---- */

typedef struct id_pass {
    const raw_graph *raw;
    int64_t *order; /* [vertices] */
} id_pass;

static weft_status take_id(void *self, const table_cell *cell)
{
    const id_pass *p = self;
    const int64_t n = p->raw->vertices;
    char what[96];
    WEFT_CHECK(cell->row < n, WEFT_ERR_DATA, "more rows than the %" PRId64 " vertices", n);
    if (vertex_table_find(p->raw, &cell->field, &p->order[cell->row])) {
        return WEFT_OK;
    }
    const bool named = p->raw->ids.count > 0;
    snprintf(what, sizeof what, "the id of a vertex, %s%" PRId64 "%s", named ? "one of the " : "0 to ",
             named ? n : n - 1, named ? " in the edges" : "");
    return table_cell_expected(cell, what);
}

/* Ids that are numbers count from 0, or from 1 where the edges do. */
static weft_status count_from_zero(const vertex_table *t, int64_t *order, int64_t rows)
{
    const int64_t n = t->raw->vertices;
    bool zero = false;
    int64_t past = -1; /* the first row of id n */
    for (int64_t row = 0; row < rows; row++) {
        zero = zero || order[row] == 0;
        past = past < 0 && order[row] == n ? row : past;
    }
    if (past < 0) {
        return WEFT_OK;
    }
    if (zero || t->raw->first_id != 1) {
        char reason[REASON];
        snprintf(reason, sizeof reason, "vertex %" PRId64 ": vertices are 0 to %" PRId64 "%s", n, n - 1,
                 zero ? "" : "; do these ids count from 1, and those of the edges from 0?");
        return table_text_fail(&t->text, past, t->id, reason);
    }
    for (int64_t row = 0; row < rows; row++) {
        order[row]--;
    }
    return WEFT_OK;
}

static weft_status check_once(const vertex_table *t, const int64_t *order, int64_t rows)
{
    const int64_t n = t->raw->vertices;
    int64_t twice = -1, never = 0;
    bool *seen = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&seen, n, WEFT_MEM_WORKSPACE));
    for (int64_t row = 0; row < rows && twice < 0; row++) {
        twice = seen[order[row]] ? row : -1;
        seen[order[row]] = true;
    }
    while (never < n && seen[never]) {
        never++;
    }
    weft_free(seen);
    if (twice < 0 && never == n) {
        return WEFT_OK;
    }
    const int64_t vertex = twice >= 0 ? order[twice] : never;
    char number[64], column[64], reason[REASON];
    snprintf(number, sizeof number, "%" PRId64, vertex + t->raw->first_id);
    const char *name = t->raw->vertex_names.text != NULL ? t->raw->vertex_names.text[vertex] : number;
    if (twice >= 0) {
        snprintf(reason, sizeof reason, "vertex %.40s has a row already", name);
        return table_text_fail(&t->text, twice, t->id, reason);
    }
    return weft_fail(WEFT_ERR_DATA, "%s: no row for vertex %.40s in %s: %" PRId64 " rows, %" PRId64 " vertices",
                     t->header.path, name, text_header_column(&t->header, t->id, column), rows, n);
}

static weft_status read_order(vertex_table *t)
{
    id_pass pass = {.raw = t->raw};
    int64_t rows = 0;
    weft_status status;
    WEFT_TRY(WEFT_NEW(&pass.order, t->raw->vertices, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(table_text_column(&t->text, t->id, take_id, &pass, &rows), status, done);
    WEFT_TRY_GOTO(t->raw->ids.count == 0 ? count_from_zero(t, pass.order, rows) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(check_once(t, pass.order, rows), status, done);
    t->text.order = t->order = pass.order;
    return WEFT_OK;
done:
    weft_free(pass.order);
    return status;
}

/* ---- before the values ---- */

/* Whether a comment above rows without a header names their columns, and one of them not what the rows are read for:
 * NumPy's savetxt writes its header so. Names of the parts in their order are what such columns mean. */
static bool comment_names_columns(const vertex_table *t, const char *line)
{
    static const text_role parts[] = {TEXT_TRAIN, TEXT_VALID, TEXT_TEST};
    char text[NAME_MOST], *name = text;
    const text_header h = {.named = true, .index = -1, .columns = 1, .name = &name};
    const vertex_table one = {.header = h, .id = -1};
    const char separator = text_separator_of(line);
    const char *at = line;
    text_field field;
    bool role = false, parted = t->header.columns == 3;
    if (text_fields_of(line, separator) != t->header.columns) {
        return false;
    }
    for (int64_t j = 0; j < t->header.columns && text_scan_field(&at, separator, &field); j++) {
        text_copy_field(&field, text, sizeof text);
        role = role || !vertex_table_is_plain(&one, 0);
        parted = parted && text_header_is(&h, 0, parts[j]);
        (void)text_next_field(&at, separator);
    }
    return role && !parted;
}

static weft_status look_at_comment(const vertex_table *t)
{
    char head[TEXT_HEAD], line[TEXT_HEAD + 1];
    if (t->header.named || t->header.columns < 2) {
        return WEFT_OK;
    }
    WEFT_TRY(reader_text_head(t->header.path, head));
    if (reader_text_comment(head, line) && comment_names_columns(t, line)) {
        log_warn(
            "%s: the comment above the first row, '%.*s', names columns, and is not followed: all columns are read as "
            "they stand. Take away the # to make a header of it (numpy.savetxt: comments='')",
            t->header.path, (int)strcspn(line, "\n"), line);
    }
    return WEFT_OK;
}

static weft_status tell(const vertex_table *t)
{
    bool *used = NULL;
    char name[64];
    WEFT_TRY(WEFT_NEW(&used, t->header.columns, WEFT_MEM_WORKSPACE));
    for (int64_t j = 0; j < t->header.columns; j++) {
        used[j] = t->text.place[j] >= 0 || j == t->id;
    }
    text_header_tell_unused(&t->header, used);
    weft_free(used);
    if (t->id >= 0) {
        log_info("%s: %s says which vertex a row is", t->header.path, text_header_column(&t->header, t->id, name));
    }
    return WEFT_OK;
}

weft_status vertex_table_begin(vertex_table *t)
{
    WEFT_TRY(tell(t));
    WEFT_TRY(look_at_comment(t));
    WEFT_TRY(check_index(t));
    return t->id >= 0 ? read_order(t) : WEFT_OK;
}

weft_status vertex_table_count_blanks(vertex_table *t)
{
    table_lines lines;
    const int64_t n = t->raw->vertices;
    if (t->header.columns != 1) {
        return WEFT_OK;
    }
    WEFT_TRY(table_text_count(&t->header, &lines));
    const int64_t rows = lines.filled + lines.blank;
    t->text.blank_is_row = lines.filled < n && rows - lines.blank_tail <= n && n <= rows;
    return WEFT_OK;
}
