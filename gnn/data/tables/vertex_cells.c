/*
 * gnn/data/tables/vertex_cells.c: cells of a vertex_table, one by one or as numbers. Columns of numbers are read block
 * by block of rows, and each block is brought into rows of values, which go to their vertices.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/tables/vertex_table.h"

enum { BLOCK_BYTES = 32 << 20, SHOWN = 40 };

weft_status vertex_expected(const vertex_cell *cell, const char *what)
{
    const ptrdiff_t length = cell->field.end - cell->field.text;
    return length == 0 ? weft_fail(WEFT_ERR_DATA, "an empty field: expected %s", what)
                       : weft_fail(WEFT_ERR_DATA, "'%.*s': expected %s", (int)(length > SHOWN ? SHOWN : length),
                                   cell->field.text, what);
}

static weft_status check_rows(const vertex_table *t)
{
    WEFT_CHECK(t->text.rows == t->rows, WEFT_ERR_DATA, "%s: %" PRId64 " rows for %" PRId64 " %s", t->header.path,
               t->text.rows, t->rows, t->rows_of);
    return WEFT_OK;
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

/* Reads the wanted columns, or the one that is not -1. */
static weft_status read_cells(vertex_table *t, int64_t column, vertex_take take, void *self)
{
    cell_pass pass = {.table = t, .take = take, .self = self};
    for (int64_t j = 0; j < t->header.columns; j++) {
        table_field *field = &t->text.schema.field[j];
        field->role = (column < 0 ? t->place[j] >= 0 : j == column) ? TABLE_FEATURE : TABLE_DROPPED;
        field->take = hand_over;
        field->self = &pass;
    }
    return table_text_read(&t->text, 0, t->text.rows, NULL);
}

weft_status vertex_table_column(vertex_table *t, int64_t column, vertex_take take, void *self)
{
    return read_cells(t, column, take, self);
}

weft_status vertex_table_each(vertex_table *t, vertex_take take, void *self)
{
    WEFT_TRY(read_cells(t, -1, take, self));
    return check_rows(t);
}

/* ---- numbers ---- */

/* block [width, capacity]: rows first .. first + count - 1 of the file, column by column. */
static void put_rows(const vertex_table *t, const float *block, int64_t capacity, int64_t first, int64_t count,
                     float *values)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        float *row = values + (t->order != NULL ? t->order[first + i] : first + i) * t->width;
        for (int64_t c = 0; c < t->width; c++) {
            row[c] = block[c * capacity + i];
        }
    }
}

static weft_status read_blocks(vertex_table *t, void **value, float *block, int64_t capacity, float *values)
{
    const int64_t rows = t->text.rows;
    log_progress progress = log_progress_begin("read", "rows", (double)rows);
    for (int64_t first = 0; first < rows; first += capacity) {
        const int64_t count = rows - first < capacity ? rows - first : capacity;
        WEFT_TRY(table_text_read(&t->text, first, count, value));
        put_rows(t, block, capacity, first, count, values);
        log_progress_update(&progress, (double)(first + count));
    }
    log_progress_end(&progress);
    return check_rows(t);
}

weft_status vertex_table_floats(vertex_table *t, const char *expected, bool nan_allowed, weft_mem_tag *tag,
                                float **values)
{
    const int64_t rows = t->text.rows, most = BLOCK_BYTES / (int64_t)sizeof(float) / (t->width > 0 ? t->width : 1);
    const int64_t capacity = rows < most ? rows : most > 0 ? most : 1;
    void **value = NULL;
    float *block = NULL;
    weft_status status;
    *values = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&value, t->header.columns, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&block, capacity * t->width, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(weft_malloc((size_t)rows, (size_t)t->width * sizeof **values, tag, (void **)values), status, done);
    for (int64_t j = 0; j < t->header.columns; j++) {
        const bool wanted = t->place[j] >= 0;
        table_field *field = &t->text.schema.field[j];
        value[j] = wanted ? block + t->place[j] * capacity : NULL;
        field->role = wanted ? TABLE_FEATURE : TABLE_DROPPED;
        field->kind = TABLE_REAL;
        field->take = NULL;
        field->expected = expected;
        field->required = !nan_allowed;
    }
    status = read_blocks(t, value, block, capacity, *values);
done:
    weft_free(value);
    weft_free(block);
    if (status != WEFT_OK) {
        weft_free(*values);
        *values = NULL;
    }
    return status;
}
