/*
 * gnn/data/tables/vertex_cells.c: cells of a vertex_table, one by one or as numbers.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/tables/vertex_table.h"

enum { SHOWN = 40 };

weft_status vertex_expected(const vertex_cell *cell, const char *what)
{
    const ptrdiff_t length = cell->field.end - cell->field.text;
    return length == 0 ? weft_fail(WEFT_ERR_DATA, "an empty field: expected %s", what)
                       : weft_fail(WEFT_ERR_DATA, "'%.*s': expected %s", (int)(length > SHOWN ? SHOWN : length),
                                   cell->field.text, what);
}

/* ---- one by one ---- */

typedef struct cell_pass {
    const vertex_table *table;
    vertex_take take;
    void *self;
} cell_pass;

/* A table_take. */
static weft_status hand_over(void *self, int thread, int64_t row, int64_t column, const sink_cell *cell)
{
    const cell_pass *pass = self;
    const vertex_table *t = pass->table;
    const vertex_cell c = {.thread = thread,
                           .row = t->order != NULL ? t->order[row] : row,
                           .place = t->place[column],
                           .field = {.text = cell->text, .end = cell->text + cell->bytes},
                           .quoted = cell->quoted};
    return pass->take(pass->self, &c);
}

/* Columns that are wanted, or the one that is not -1, get a role. */
static void want_columns(vertex_table *t, int64_t column, table_take take, void *self)
{
    for (int64_t j = 0; j < t->header.columns; j++) {
        table_field *field = &t->text.schema.field[j];
        field->role = (column < 0 ? t->place[j] >= 0 : j == column) ? TABLE_FEATURE : TABLE_DROPPED;
        field->take = take;
        field->self = self;
    }
}

weft_status vertex_table_column(vertex_table *t, int64_t column, vertex_take take, void *self, int64_t *rows)
{
    cell_pass pass = {.table = t, .take = take, .self = self};
    want_columns(t, column, hand_over, &pass);
    return table_text_each(&t->text, -1, rows);
}

weft_status vertex_table_each(vertex_table *t, vertex_take take, void *self)
{
    cell_pass pass = {.table = t, .take = take, .self = self};
    want_columns(t, -1, hand_over, &pass);
    return table_text_each(&t->text, t->raw->vertices, NULL);
}

weft_status vertex_table_floats(vertex_table *t, const char *expected, bool nan_allowed, weft_mem_tag *tag,
                                float **values)
{
    const int64_t n = t->raw->vertices;
    WEFT_TRY(weft_malloc((size_t)n, (size_t)t->width * sizeof **values, tag, (void **)values));
    want_columns(t, -1, NULL, NULL);
    for (int64_t j = 0; j < t->header.columns; j++) {
        t->text.schema.field[j].expected = expected;
        t->text.schema.field[j].required = !nan_allowed;
    }
    const table_floats to = {.rows = n, .width = t->width, .place = t->place, .order = t->order, .values = *values};
    const weft_status status = table_text_floats(&t->text, &to);
    if (status != WEFT_OK) {
        weft_free(*values);
        *values = NULL;
    }
    return status;
}
