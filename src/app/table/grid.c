/* app/table/grid.c: see app/table/grid.h. */
#include "app/table/grid.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/escape.h"
#include "base/number.h"
#include "io/json.h"

static bool equal_cells(table_cell_kind kind, const table_cell *a, const table_cell *b)
{
    return kind == CELL_TEXT   ? strcmp(a->text, b->text) == 0
           : kind == CELL_INT  ? a->integer == b->integer
           : kind == CELL_REAL ? a->real == b->real
                               : a->flag == b->flag;
}

int table_grid_column(const table_grid *grid, const char *name)
{
    int column = 0;
    while (strcmp(grid->column[column].name, name) != 0) {
        ++column;
        assert(column < grid->columns);
    }
    return column;
}

double table_grid_least(const table_grid *grid, const void *row, const char *value, const char *const *same)
{
    const table_cell *mine = row;
    const int at = table_grid_column(grid, value);
    double least = isfinite(mine[at].real) ? mine[at].real : (double)NAN;
    for (int r = 0; r < grid->rows; r++) {
        const table_cell *other = grid->cell + (size_t)r * (size_t)grid->columns;
        bool equal = isfinite(other[at].real);
        for (const char *const *name = same; *name != NULL; ++name) {
            const int c = table_grid_column(grid, *name);
            equal = equal && equal_cells(grid->column[c].kind, &other[c], &mine[c]);
        }
        least = equal ? fmin(least, other[at].real) : least;
    }
    return least;
}

void table_grid_free(table_grid *grid)
{
    weft_free(grid->cell);
    grid->cell = NULL;
    grid->rows = grid->capacity = 0;
}

static const table_cell *cell_at(const table_grid *grid, int row, int column)
{
    return &grid->cell[row * grid->columns + column];
}

/* With a backslash doubled, so that what stands for a control character is no text that another name may have. */
static void double_backslashes(const char *text, char *to, size_t capacity)
{
    size_t used = 0;
    for (; *text != '\0' && used + 2 < capacity; text++) {
        if (*text == '\\') {
            to[used++] = '\\';
        }
        to[used++] = *text;
    }
    to[used] = '\0';
}

void table_print_text(FILE *out, const char *foreign, table_format format)
{
    char doubled[ESCAPED_MAX];
    if (format == TABLE_CSV) {
        double_backslashes(foreign, doubled, sizeof doubled);
        foreign = doubled;
    }
    const escaped_text safe = escape_say(foreign);
    const char *text = safe.text;
    const bool quoted = format == TABLE_CSV && strpbrk(text, ",\"\n") != NULL;
    fputs(quoted ? "\"" : "", out);
    for (; *text != '\0'; text++) {
        if (quoted && *text == '"') {
            fputc('"', out);
        } else if (format == TABLE_MD && *text == '|') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
    fputs(quoted ? "\"" : "", out);
}

static void print_cell(FILE *out, table_cell_kind kind, const table_cell *cell, table_format format)
{
    const bool md = format == TABLE_MD;
    char text[NUMBER_TEXT_MAX];
    switch (kind) {
    case CELL_TEXT:
        table_print_text(out, cell->text, format);
        break;
    case CELL_INT:
        fprintf(out, "%" PRId64, cell->integer);
        break;
    case CELL_REAL:
        if (!isfinite(cell->real)) {
            fputs(md ? "-" : "", out);
        } else if (md) {
            fprintf(out, "%.4g", cell->real);
        } else {
            fputs(number_format_real(cell->real, text), out);
        }
        break;
    case CELL_BOOL:
        fputs(md ? (cell->flag ? "yes" : "NO") : (cell->flag ? "true" : "false"), out);
        break;
    case CELL_VALID:
        fputs(md ? (cell->flag ? "VALID" : "INVALID") : (cell->flag ? "true" : "false"), out);
        break;
    }
}

static bool shown(const table_grid *grid, int column, table_format format)
{
    return format != TABLE_MD || grid->column[column].brief;
}

static void print_columns(FILE *out, const table_grid *grid, table_format format)
{
    const bool md = format == TABLE_MD;
    int printed = 0;
    for (int c = 0; c < grid->columns; c++) {
        if (shown(grid, c, format)) {
            fprintf(out, md ? "| %s " : printed > 0 ? ",%s" : "%s", grid->column[c].name);
            printed++;
        }
    }
    fputs(md ? "|\n" : "\n", out);
    for (int c = 0; md && c < grid->columns; c++) {
        if (shown(grid, c, format)) {
            fputs(grid->column[c].kind == CELL_TEXT ? "|---" : "|--:", out);
        }
    }
    fputs(md ? "|\n" : "", out);
}

static void print_row(FILE *out, const table_grid *grid, int row, table_format format)
{
    const bool md = format == TABLE_MD;
    int printed = 0;
    for (int c = 0; c < grid->columns; c++) {
        if (shown(grid, c, format)) {
            fputs(md ? "| " : printed > 0 ? "," : "", out);
            print_cell(out, grid->column[c].kind, cell_at(grid, row, c), format);
            fputs(md ? " " : "", out);
            printed++;
        }
    }
    fputs(md ? "|\n" : "\n", out);
}

static void print_table(FILE *out, const table_grid *grid, table_format format)
{
    print_columns(out, grid, format);
    for (int r = 0; r < grid->rows; r++) {
        print_row(out, grid, r, format);
    }
}

static void print_md_head(FILE *out, const table_grid *head)
{
    for (int c = 0; c < head->columns; c++) {
        fprintf(out, "%s%s: ", c > 0 ? "; " : "", head->column[c].name);
        print_cell(out, head->column[c].kind, cell_at(head, 0, c), TABLE_MD);
    }
    fputs("\n\n", out);
}

weft_status table_grid_add(table_grid *grid, const table_cell *cell)
{
    return table_grid_add_row(grid, cell);
}

weft_status table_grid_add_row(table_grid *grid, const void *row)
{
    assert(grid->columns > 0);
    if (grid->rows == grid->capacity) {
        const int capacity = grid->capacity == 0 ? 16 : 2 * grid->capacity;
        WEFT_TRY(weft_realloc((void **)&grid->cell, (size_t)capacity * (size_t)grid->columns, sizeof *grid->cell,
                              WEFT_MEM_GENERAL));
        grid->capacity = capacity;
    }
    memcpy(grid->cell + (size_t)grid->rows * (size_t)grid->columns, row, (size_t)grid->columns * sizeof *grid->cell);
    grid->rows++;
    if (grid->stream != NULL) {
        print_row(grid->stream, grid, grid->rows - 1, grid->format);
        fflush(grid->stream);
    }
    return WEFT_OK;
}

void table_grid_stream(table_grid *grid, FILE *out, const table_grid *head, table_format format)
{
    if (format == TABLE_JSON) {
        return;
    }
    if (format == TABLE_MD) {
        print_md_head(out, head);
    }
    print_columns(out, grid, format);
    fflush(out);
    grid->stream = out;
    grid->format = format;
}

static void write_row(json_writer *json, const table_grid *grid, int row)
{
    for (int c = 0; c < grid->columns; c++) {
        const table_cell *cell = cell_at(grid, row, c);
        const char *name = grid->column[c].name;
        switch (grid->column[c].kind) {
        case CELL_TEXT:
            json_text(json, name, cell->text);
            break;
        case CELL_INT:
            json_int(json, name, cell->integer);
            break;
        case CELL_REAL:
            json_real(json, name, cell->real);
            break;
        case CELL_BOOL:
        case CELL_VALID:
            json_bool(json, name, cell->flag);
            break;
        }
    }
}

static void write_rows(json_writer *json, const table_grid *grid)
{
    json_array(json, grid->name);
    for (int r = 0; r < grid->rows; r++) {
        json_object(json, NULL);
        write_row(json, grid, r);
        json_end(json);
    }
    json_end(json);
}

static void print_json(FILE *out, const table_grid *head, const table_grid *grid, const table_grid *second)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    write_row(&json, head, 0);
    write_rows(&json, grid);
    if (second != NULL) {
        write_rows(&json, second);
    }
    json_end(&json);
    json_line_end(&json);
}

void table_grid_print(FILE *out, const table_grid *head, const table_grid *grid, const table_grid *second,
                      table_format format)
{
    if (format == TABLE_JSON) {
        print_json(out, head, grid, second);
        return;
    }
    if (grid->stream == NULL) {
        if (format == TABLE_MD) {
            print_md_head(out, head);
        }
        print_table(out, grid, format);
    }
    if (format == TABLE_MD && second != NULL && second->rows > 0) {
        fprintf(out, "\n%s:\n\n", second->name);
        print_table(out, second, format);
    }
}
