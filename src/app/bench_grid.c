/* app/bench_grid.c: see app/bench_grid.h. */
#include "app/bench_grid.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/number.h"

weft_status bench_grid_add(bench_grid *grid, const bench_cell *cell)
{
    if (grid->rows == grid->capacity) {
        const int capacity = grid->capacity == 0 ? 16 : 2 * grid->capacity;
        WEFT_TRY(weft_realloc((void **)&grid->cell, (size_t)capacity * (size_t)grid->columns, sizeof *grid->cell,
                              WEFT_MEM_GENERAL));
        grid->capacity = capacity;
    }
    for (int c = 0; c < grid->columns; c++) {
        grid->cell[grid->rows * grid->columns + c] = cell[c];
    }
    grid->rows++;
    return WEFT_OK;
}

void bench_grid_free(bench_grid *grid)
{
    weft_free(grid->cell);
    grid->cell = NULL;
    grid->rows = grid->capacity = 0;
}

static const bench_cell *cell_at(const bench_grid *grid, int row, int column)
{
    return &grid->cell[row * grid->columns + column];
}

static void print_cell(FILE *out, bench_cell_kind kind, const bench_cell *cell, bool exact)
{
    char text[NUMBER_TEXT_MAX];
    switch (kind) {
    case CELL_TEXT:
        fputs(cell->text, out);
        break;
    case CELL_INT:
        fprintf(out, "%" PRId64, cell->integer);
        break;
    case CELL_REAL:
        if (!isfinite(cell->real)) {
            fputs(exact ? "" : "-", out);
        } else if (exact) {
            fputs(number_format_real(cell->real, text), out);
        } else {
            fprintf(out, "%.4g", cell->real);
        }
        break;
    case CELL_BOOL:
        fputs(exact ? (cell->flag ? "true" : "false") : (cell->flag ? "yes" : "NO"), out);
        break;
    }
}

static void print_md_table(FILE *out, const bench_grid *grid)
{
    for (int c = 0; c < grid->columns; c++) {
        if (grid->column[c].brief) {
            fprintf(out, "| %s ", grid->column[c].name);
        }
    }
    fputs("|\n", out);
    for (int c = 0; c < grid->columns; c++) {
        if (grid->column[c].brief) {
            fputs(grid->column[c].kind == CELL_TEXT ? "|---" : "|--:", out);
        }
    }
    fputs("|\n", out);
    for (int r = 0; r < grid->rows; r++) {
        for (int c = 0; c < grid->columns; c++) {
            if (grid->column[c].brief) {
                fputs("| ", out);
                print_cell(out, grid->column[c].kind, cell_at(grid, r, c), false);
                fputc(' ', out);
            }
        }
        fputs("|\n", out);
    }
}

static void print_md(FILE *out, const bench_grid *head, const bench_grid *grid, const bench_grid *second)
{
    for (int c = 0; c < head->columns; c++) {
        fprintf(out, "%s%s: ", c > 0 ? "; " : "", head->column[c].name);
        print_cell(out, head->column[c].kind, cell_at(head, 0, c), false);
    }
    fputs("\n\n", out);
    print_md_table(out, grid);
    if (second->rows > 0) {
        fprintf(out, "\n%s:\n\n", second->name);
        print_md_table(out, second);
    }
}

static void print_csv(FILE *out, const bench_grid *grid)
{
    for (int c = 0; c < grid->columns; c++) {
        fprintf(out, "%s%s", c > 0 ? "," : "", grid->column[c].name);
    }
    fputc('\n', out);
    for (int r = 0; r < grid->rows; r++) {
        for (int c = 0; c < grid->columns; c++) {
            fputs(c > 0 ? "," : "", out);
            print_cell(out, grid->column[c].kind, cell_at(grid, r, c), true);
        }
        fputc('\n', out);
    }
}

static void write_row(json_writer *json, const bench_grid *grid, int row)
{
    for (int c = 0; c < grid->columns; c++) {
        const bench_cell *cell = cell_at(grid, row, c);
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
            json_bool(json, name, cell->flag);
            break;
        }
    }
}

static void write_rows(json_writer *json, const bench_grid *grid)
{
    json_array(json, grid->name);
    for (int r = 0; r < grid->rows; r++) {
        json_object(json, NULL);
        write_row(json, grid, r);
        json_end(json);
    }
    json_end(json);
}

static void print_json(FILE *out, const bench_grid *head, const bench_grid *grid, const bench_grid *second)
{
    json_writer json = json_begin(out, true);
    json_object(&json, NULL);
    write_row(&json, head, 0);
    write_rows(&json, grid);
    write_rows(&json, second);
    json_end(&json);
    json_line_end(&json);
}

void bench_grid_print(FILE *out, const bench_grid *head, const bench_grid *grid, const bench_grid *second,
                      bench_format format)
{
    switch (format) {
    case BENCH_MD:
        print_md(out, head, grid, second);
        break;
    case BENCH_CSV:
        print_csv(out, grid);
        break;
    case BENCH_JSON:
        print_json(out, head, grid, second);
        break;
    }
}
