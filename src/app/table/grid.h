/*
 * app/table/grid.h: figures in rows and named columns, printed as Markdown, CSV or JSON.
 *
 *      static const table_column columns[] = {{"bytes", CELL_INT, true}, {"seconds", CELL_REAL, true}};
 *      table_grid grid = {.name = "rows", .column = columns, .columns = 2};
 *      WEFT_TRY(table_grid_add(&grid, (table_cell[]){cell_int(4096), cell_real(1e-6)}));
 *      table_grid_free(&grid);
 *
 * A real that is not finite prints as nothing (null in JSON): there is no such figure. CELL_VALID is a bool that reads
 * VALID or INVALID in Markdown.
 *
 * A grid that streams prints its rows as they are added, where the format allows (Markdown and CSV):
 *
 *      table_grid_stream(&grid, stdout, &head, format);
 *      WEFT_TRY(table_grid_add(&grid, ...));               a line on stdout
 *      table_grid_print(stdout, &head, &grid, &second, format);   what is left: all of JSON, the second table
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/options/option_choices.h"
#include "base/status.h"

typedef enum table_cell_kind { CELL_TEXT, CELL_INT, CELL_REAL, CELL_BOOL, CELL_VALID } table_cell_kind;

typedef struct table_column {
    const char *name;
    table_cell_kind kind;
    bool brief; /* shown in Markdown, which is for reading; CSV and JSON hold everything */
} table_column;

typedef union table_cell {
    const char *text; /* lives as long as the grid */
    int64_t integer;
    double real;
    bool flag;
} table_cell;

typedef struct table_grid {
    const char *name; /* key of the array in JSON */
    const table_column *column;
    int columns;
    table_cell *cell; /* [rows, columns] */
    int rows, capacity;
    FILE *stream; /* prints rows as they come; NULL: not */
    table_format format;
} table_grid;

/*
 * A row as a struct whose fields are the columns, from one list:
 *
 *      #define TIME_ROW(C) C(INT, bytes, true) C(REAL, seconds, true)
 *      TABLE_ROW(time_row, TIME_ROW);
 *      WEFT_TRY(table_grid_add_row(&grid, &(time_row){.bytes = 4096, .seconds = 1e-6}));
 *
 * with the columns time_row_columns, of which there are TABLE_COLUMNS(time_row).
 */
#define TABLE_TYPE_TEXT                 const char *
#define TABLE_TYPE_INT                  int64_t
#define TABLE_TYPE_REAL                 double
#define TABLE_TYPE_BOOL                 bool
#define TABLE_TYPE_VALID                bool
#define TABLE_FIELD(kind, name, brief)  _Alignas(table_cell) TABLE_TYPE_##kind name;
#define TABLE_COLUMN(kind, name, brief) {#name, CELL_##kind, brief},
#define TABLE_COLUMNS(row)              ((int)(sizeof row##_columns / sizeof *row##_columns))
#define TABLE_ROW(row, LIST)                                                                                           \
    typedef struct row {                                                                                               \
        LIST(TABLE_FIELD)                                                                                              \
    } row;                                                                                                             \
    static const table_column row##_columns[] = {LIST(TABLE_COLUMN)};                                                  \
    _Static_assert(sizeof(row) == sizeof row##_columns / sizeof *row##_columns * sizeof(table_cell), "a cell a field")

static inline table_cell cell_text(const char *text)
{
    return (table_cell){.text = text};
}

static inline table_cell cell_int(int64_t value)
{
    return (table_cell){.integer = value};
}

static inline table_cell cell_real(double value)
{
    return (table_cell){.real = value};
}

static inline table_cell cell_flag(bool value)
{
    return (table_cell){.flag = value};
}

/* Print a foreign text as a cell. In CSV it is quoted where it must be (RFC 4180), control characters are \n, \t, \r
 * or \xNN and a backslash is doubled, so that different texts stay different; in Markdown a bar is escaped. */
void table_print_text(FILE *out, const char *text, table_format format);

/* Print head and column names now, and rows from now on. The columns must be set. JSON waits for the end. */
void table_grid_stream(table_grid *grid, FILE *out, const table_grid *head, table_format format);
/* cell: [columns], in the kinds of the columns. */
weft_status table_grid_add(table_grid *grid, const table_cell *cell);
/* row: a struct that TABLE_ROW made with the columns. */
weft_status table_grid_add_row(table_grid *grid, const void *row);
void table_grid_free(table_grid *grid);
/* The place of the column of this name, which the grid has. */
int table_grid_column(const table_grid *grid, const char *name);
/* The least finite real in the column `value` of the rows that equal `row` in each of the columns `same`, up to NULL.
 * `row` itself, [columns] cells or a struct of TABLE_ROW, is one of them. NaN when there is none. */
double table_grid_least(const table_grid *grid, const void *row, const char *value, const char *const *same);

/*
 * head: one row that describes the run (JSON: keys of the object; Markdown: a line above). second: what could not be
 * measured; printed below in Markdown when it has rows, always there in JSON; left out of CSV; NULL: there is no such
 * thing.
 */
void table_grid_print(FILE *out, const table_grid *head, const table_grid *grid, const table_grid *second,
                      table_format format);
