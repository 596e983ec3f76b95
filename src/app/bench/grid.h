/*
 * app/bench/grid.h: figures in rows and named columns, printed as Markdown, CSV or JSON.
 *
 *      static const bench_column columns[] = {{"bytes", CELL_INT, true}, {"seconds", CELL_REAL, true}};
 *      bench_grid grid = {.name = "rows", .column = columns, .columns = 2};
 *      WEFT_TRY(bench_grid_add(&grid, (bench_cell[]){cell_int(4096), cell_real(1e-6)}));
 *      bench_grid_free(&grid);
 *
 * A real that is not finite prints as nothing (null in JSON): there is no such figure. CELL_VALID is a bool that reads
 * VALID or INVALID in Markdown.
 *
 * A grid that streams prints its rows as they are added, where the format allows (Markdown and CSV):
 *
 *      bench_grid_stream(&grid, stdout, &head, format);
 *      WEFT_TRY(bench_grid_add(&grid, ...));               a line on stdout
 *      bench_grid_print(stdout, &head, &grid, &second, format);   what is left: all of JSON, the second table
 */
#ifndef WEFT_APP_BENCH_GRID_H
#define WEFT_APP_BENCH_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/bench/bench.h"

typedef enum bench_cell_kind { CELL_TEXT, CELL_INT, CELL_REAL, CELL_BOOL, CELL_VALID } bench_cell_kind;

typedef struct bench_column {
    const char *name;
    bench_cell_kind kind;
    bool brief; /* shown in Markdown, which is for reading; CSV and JSON hold everything */
} bench_column;

typedef union bench_cell {
    const char *text; /* lives as long as the grid */
    int64_t integer;
    double real;
    bool flag;
} bench_cell;

typedef struct bench_grid {
    const char *name; /* key of the array in JSON */
    const bench_column *column;
    int columns;
    bench_cell *cell; /* [rows, columns] */
    int rows, capacity;
    FILE *stream; /* prints rows as they come; NULL: not */
    table_format format;
} bench_grid;

static inline bench_cell cell_text(const char *text)
{
    return (bench_cell){.text = text};
}

static inline bench_cell cell_int(int64_t value)
{
    return (bench_cell){.integer = value};
}

static inline bench_cell cell_real(double value)
{
    return (bench_cell){.real = value};
}

static inline bench_cell cell_flag(bool value)
{
    return (bench_cell){.flag = value};
}

/* Print head and column names now, and rows from now on. The columns must be set. JSON waits for the end. */
void bench_grid_stream(bench_grid *grid, FILE *out, const bench_grid *head, table_format format);
/* cell: [columns], in the kinds of the columns. */
weft_status bench_grid_add(bench_grid *grid, const bench_cell *cell);
void bench_grid_free(bench_grid *grid);
/* The least finite real in column `value` of the rows that equal `cell` ([columns]) in each of the columns same[count];
 * `cell` itself is one of them. NaN when there is none. */
double bench_grid_least(const bench_grid *grid, const bench_cell *cell, int value, const int *same, int count);

/*
 * head: one row that describes the run (JSON: keys of the object; Markdown: a line above). second: what could not be
 * measured; printed below in Markdown when it has rows, always there in JSON; left out of CSV.
 */
void bench_grid_print(FILE *out, const bench_grid *head, const bench_grid *grid, const bench_grid *second,
                      table_format format);

#endif
