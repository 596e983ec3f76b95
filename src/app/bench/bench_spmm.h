/*
 * app/bench/bench_spmm.h: what the files of `weft bench spmm` share.
 */
#ifndef WEFT_APP_BENCH_BENCH_SPMM_H
#define WEFT_APP_BENCH_BENCH_SPMM_H

#include "app/bench/bench_list.h"
#include "app/bench/team.h"
#include "app/gnn/gnn_options.h"
#include "app/table/grid.h"
#include "base/log.h"

/* One measured case. */
typedef struct bench_row {
    int64_t d;
    const char *order; /* "given", "cluster", or "cluster+move": operands gathered into the order and back */
    hal_spmm_form wanted;
    hal_spmm_info info;
    bench_quartiles seconds;
    double bytes;         /* least memory traffic of a run; see spmm_case.c */
    double near, far;     /* bytes a second of the two levels; 0: not told */
    double tile;          /* the same of the smaller set; 0: there is none */
    double near_rows;     /* of rows of the near set in random order */
    double tile_rows;     /* and of the smaller one */
    double limit_seconds; /* NAN: not told */
    const char *bound;    /* which level sets it */
    double rows_seconds;  /* what random rows of the sets would take; NAN: not told */
    bool valid;
    double worst; /* largest error over its bound, on the sampled rows; above 1 is invalid */
} bench_row;

/* The table, and what its rows to come have in common. */
typedef struct bench_table {
    const char *graph; /* lives as long as the table */
    int64_t vertices, edges;
    int threads;
    machine_limits limits;
    bool above;           /* the log says what percentages above 100 come of */
    double order_seconds; /* of the cluster order; negative when none was made */
    table_grid head, grid;
    log_progress progress;
    int invalid; /* cases whose result is wrong; the first of them: */
    char first_invalid[160];
} bench_table;

/* The matrix in the order in which it is measured. */
typedef struct bench_matrix {
    hal_csr csr;
    const int32_t *position; /* place of each given vertex in this order, or NULL: the given order */
    int64_t *offset;         /* owned when reordered */
    int32_t *column;
    int32_t *place;  /* owned copy behind `position` */
    int32_t *vertex; /* its inverse */
} bench_matrix;

/* Relabel by position (n entries, a permutation; taken over). Free with bench_matrix_free. */
weft_status bench_matrix_reorder(const hal_csr *given, int32_t *position, bench_matrix *out);
void bench_matrix_free(bench_matrix *matrix);

/*
 * Measure one form over all widths. moved: also the time with operands gathered from and scattered to the given order.
 * Adds rows to the table.
 */
weft_status bench_form(const bench_team *team, const bench_matrix *matrix, hal_spmm_form wanted, const int64_t *widths,
                       int count, int repeats, bench_table *table);

/* Start, a row, the end: Markdown and CSV appear row by row. A wrong result has no rate. */
weft_status bench_table_begin(bench_table *table, const weft_options *options);
weft_status bench_table_add(bench_table *table, const bench_row *row);
void bench_table_end(bench_table *table, const weft_options *options);
void bench_table_free(bench_table *table);

enum { BENCH_DATA_MAX = 16, BENCH_DATA_BYTES = 1024 };

/* "a.weft,synth:reddit,scale=0.1,b.weft": graphs separated by commas; what holds a '=' belongs to the generated graph
 * before it. WEFT_ERR_USAGE when one is empty or there are too many. */
weft_status bench_data_parse(const char *text, char data[BENCH_DATA_MAX][BENCH_DATA_BYTES], int *count);

#endif
