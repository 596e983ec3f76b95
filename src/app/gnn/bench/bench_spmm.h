/* app/gnn/bench/bench_spmm.h: what the files of `weft bench spmm` share. */
#pragma once

#include "app/bench/bench.h"
#include "base/file.h"
#include "graph/graph.h"

/*
 * form            the form that ran: auto has chosen one
 * order           "given", "cluster", or "cluster+move": operands are gathered into the order and back
 * of_best         the median over the smallest median of the forms so far; of auto, measured last: auto/best
 * bytes_model     least memory traffic of a run: the prepared matrix, x and out once
 * set_bytes       bytes that each thread reads again and again
 * bound           the level of memory that sets the limit; see spmm_case.c
 * percent_of_rows of the time that random rows out of those sets would take
 * error           the largest error of the sampled rows over its bound
 */
/* clang-format off */
#define SPMM_ROW(C)                                                                                                    \
    C(TEXT, graph, true) C(INT, vertices, false) C(INT, edges, false) C(INT, threads, true) C(INT, d, true)            \
    C(TEXT, order, true) C(TEXT, wanted, true) C(TEXT, form, true) C(INT, block_cols, false)                           \
    C(INT, prepared_bytes, false) C(REAL, build_seconds, true) BENCH_SECONDS(C) C(REAL, gelem_per_s, true)             \
    C(REAL, of_best, true) C(REAL, bytes_model, false) C(REAL, triad_bytes_per_s, false)                               \
    C(REAL, percent_of_triad, false) C(INT, set_bytes, false) C(REAL, near_bytes_per_s, false)                         \
    C(REAL, far_bytes_per_s, false) C(REAL, limit_seconds, false) C(TEXT, bound, true)                                 \
    C(REAL, percent_of_limit, true) C(REAL, rows_bytes_per_s, false) C(REAL, percent_of_rows, true)                    \
    C(REAL, percent_of_gemm, false) C(REAL, order_seconds, false) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(spmm_row, SPMM_ROW);

/* The matrix, in the vertex order in which it is measured. The arrays of a reordered matrix are its own; the given
 * matrix has none. */
typedef struct bench_matrix {
    hal_csr csr;
    int32_t *position; /* [rows] place of each given vertex in this order; NULL: the given order */
    int32_t *vertex;   /* [rows] its inverse */
    int64_t *offset;   /* csr.offset */
    int32_t *column;   /* csr.column */
} bench_matrix;

/* Relabels the vertices. position: [n] a permutation, which belongs to `out` then. Free with bench_matrix_free. */
weft_status bench_matrix_reorder(const hal_csr *given, int32_t *position, bench_matrix *out);
void bench_matrix_free(bench_matrix *matrix);

enum { BENCH_DATA_MAX = 16, BENCH_DATA_BYTES = 1024, SPMM_WIDTHS_MAX = 64 };

typedef struct spmm_bench {
    bench_run run; /* a set is a graph */
    char data[BENCH_DATA_MAX][BENCH_DATA_BYTES];
    char name[BENCH_DATA_MAX][64]; /* of the graphs */
    char scratch[FILE_PATH_MAX];   /* folder of a generated store, removed after its use; "": none */
    weft_graph graph;              /* open while its cases are measured */
    bench_matrix given, ordered;   /* ordered.csr.rows 0: not made yet */
    int64_t widths[SPMM_WIDTHS_MAX];
    int width_count;
    bench_names forms;    /* numbers are those of hal_spmm_form */
    double order_seconds; /* what making the order of the graph took; NaN: not made yet */
    bool above;           /* the log has explained percentages above 100 */
} spmm_bench;

/* Measures a form for d columns and adds its row to the table. A reordered matrix has a second row, for operands that
 * are gathered from the given order and scattered to it. */
weft_status bench_form(spmm_bench *bench, const bench_matrix *matrix, hal_spmm_form wanted, int64_t d);

extern const bench_kind bench_spmm;

/* "a.weft,synth:reddit,scale=0.1,b.weft": graphs separated by commas; what holds a '=' belongs to the generated graph
 * before it. WEFT_ERR_USAGE when one is empty or there are too many. */
weft_status bench_data_parse(const char *text, char data[BENCH_DATA_MAX][BENCH_DATA_BYTES], int *count);
