/*
 * app/bench/bench_grid.h: the driver of all benches. Cases are measured one after the other, checked, and printed as
 * rows as they come. A wrong result gets no rate, and the command ends with exit code 70.
 *
 *      bench_grid_begin(&grid, &start)       once the options are known to be right
 *      bench_grid_add(&grid, &row)           a measured case
 *      bench_grid_reject(&grid, ...)         its result is wrong: the command fails with the first of these messages
 *      bench_grid_end(&grid)                 prints the rest
 *      bench_grid_free(&grid)                also after a failure
 */
#ifndef WEFT_APP_BENCH_BENCH_GRID_H
#define WEFT_APP_BENCH_BENCH_GRID_H

#include "app/bench/bench.h"
#include "app/bench/team.h"
#include "app/table/grid.h"
#include "base/log.h"

typedef struct bench_grid {
    table_grid head; /* one row about the run */
    table_grid rows;
    table_grid skipped; /* cases that this build or these nodes cannot run: name, bytes, reason */
    table_format format;
    bool speaks; /* this process prints */
    log_progress progress;
    int invalid;
    char first_invalid[320];
} bench_grid;

typedef struct bench_start {
    const weft_options *options;
    const char *title; /* "bench gemm", in the log */
    bool speaks;
    double cases; /* 0: unknown */
    const table_column *head_column, *column;
    int head_columns, columns;
    const void *head; /* row of head_column */
} bench_start;

/* The columns of a start: its head and its rows are structs of TABLE_ROW. */
#define BENCH_COLUMNS(head_row, row)                                                                                   \
    .head_column = head_row##_columns, .head_columns = TABLE_COLUMNS(head_row), .column = row##_columns,               \
    .columns = TABLE_COLUMNS(row)

weft_status bench_grid_begin(bench_grid *grid, const bench_start *start);
weft_status bench_grid_add(bench_grid *grid, const void *row);
/* Adds a case that cannot run here. The texts live as long as the grid. */
weft_status bench_grid_skip(bench_grid *grid, const char *name, int64_t bytes, const char *reason);
void bench_grid_reject(bench_grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* WEFT_ERR_INTERNAL: a case was rejected. */
weft_status bench_grid_end(bench_grid *grid);
void bench_grid_free(bench_grid *grid);

/* The head of benches of kernels. */
#define BENCH_KERNEL_HEAD(C) C(TEXT, bench, true) C(TEXT, backend, true) C(INT, warmup, true) C(INT, repeats, true)
TABLE_ROW(bench_kernel_head, BENCH_KERNEL_HEAD);
bench_kernel_head bench_kernel_head_of(const weft_options *options, const char *bench);

/* The columns of a time, and what fills them. */
/* clang-format off */
#define BENCH_SECONDS(C)                                                                                               \
    C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(INT, n, true)
/* clang-format on */
#define BENCH_SET_SECONDS(row, q)                                                                                      \
    ((row)->seconds_median = (q).median, (row)->seconds_q1 = (q).q1, (row)->seconds_q3 = (q).q3, (row)->n = (q).count)

/* Calls run() with a team for each number of --thread-counts. start: from bench_team_start. */
weft_status bench_each_team(const weft_options *options, const binding *start,
                            weft_status (*run)(bench_team *team, void *self), void *self);

#endif
