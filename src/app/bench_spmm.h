/*
 * app/bench_spmm.h: what the files of `weft bench spmm` share.
 */
#ifndef WEFT_APP_BENCH_SPMM_H
#define WEFT_APP_BENCH_SPMM_H

#include <stdio.h>

#include "app/bench.h"
#include "hal/hal.h"

/* One measured case. */
typedef struct bench_row {
    int64_t d;
    const char *order;  /* "given", "cluster", or "cluster+move": operands gathered into the order and back */
    const char *wanted; /* form asked for */
    hal_spmm_info info;
    bench_quartiles seconds;
    double bytes; /* least memory traffic of a run; see bench_spmm_case.c */
    bool valid;
    double worst; /* largest error over its bound, on the sampled rows; above 1 is invalid */
} bench_row;

typedef struct bench_table {
    char graph[64];
    const char *backend;
    int64_t vertices, edges;
    int threads;
    double triad;         /* bytes a second of a = b + s * c, all threads */
    double order_seconds; /* of the cluster order; negative when none was made */
    bench_row *row;
    int count;
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

/* Bytes a second of the STREAM triad on arrays larger than the caches. */
weft_status bench_triad(int threads, double *bytes_per_second);

/* Relabel by position (n entries, a permutation; taken over). Free with bench_matrix_free. */
weft_status bench_matrix_reorder(const hal_csr *given, int32_t *position, bench_matrix *out);
void bench_matrix_free(bench_matrix *matrix);

/*
 * Measure one form over all widths. moved: also the time with operands gathered from and scattered to the given order.
 * Appends rows to the table, which has room for them.
 */
weft_status bench_form(weft_hal *hal, const bench_matrix *matrix, const char *wanted, const int64_t *widths, int count,
                       int repeats, bench_table *table);

void bench_print(FILE *out, const bench_table *table, bench_format format);

/* seconds a run -> billions of edge elements a second; NaN for a result that was not right. */
double bench_rate(const bench_table *table, const bench_row *row);

#endif
