/* app/gnn/bench/bench_spmm.h: what the files of `weft bench spmm` share. */
#pragma once

#include "app/bench/bench.h"
#include "app/gnn/data/graph_data.h"

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

enum { SPMM_DATA_MAX = 16, SPMM_DATA_BYTES = 1024 };
enum { ORDER, FORM, WIDTH }; /* axes; forms are those of hal_spmm_form */

typedef struct spmm_bench {
    bench_run run; /* a set is a graph */
    char data[SPMM_DATA_MAX][SPMM_DATA_BYTES];
    char name[SPMM_DATA_MAX][64]; /* of the graphs */
    graph_data graph;             /* open while its cases are measured */
    int32_t *position, *vertex;   /* [vertices] of graph.part: place of each given vertex, and its inverse */
    double order_seconds;         /* what making that order took; NaN: not made yet */
    bool above;                   /* the log has explained percentages above 100 */
} spmm_bench;

enum { SAMPLED_ROWS = 128 };

/* One form of aggregation of one width. */
typedef struct spmm_case {
    weft_hal *hal;
    hal_csr csr;
    const int32_t *vertex; /* [rows] the given vertex of each row; NULL: the given order */
    int64_t d, longest;    /* columns of x; the row with most entries */
    hal_spmm *spmm;
    hal_spmm_info info;
    bench_array x, out;              /* [rows, d] in the given order */
    bench_array own_x, own_out;      /* in the matrix's own order, if that is another */
    weft_tensor vertices, positions; /* [rows, 1] of that order */
    bool move;                       /* operands come in the given order and go back to it */
    bench_array *result;
} spmm_case;

/* A matrix in another order has a second row, for operands that are gathered from the given order and scattered to
 * it. */
weft_status spmm_case_open(bench_run *run, void *c);
weft_status spmm_case_measure(bench_run *run, void *c);
void spmm_case_close(void *c);

extern const bench_kind bench_spmm;

/* "a.weft,synth:reddit,scale=0.1,b.weft": graphs separated by commas; what holds a '=' belongs to the generated graph
 * before it. WEFT_ERR_USAGE when one is empty or there are too many. */
weft_status bench_data_parse(const char *text, char data[SPMM_DATA_MAX][SPMM_DATA_BYTES], int *count);
