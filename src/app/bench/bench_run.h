/*
 * app/bench/bench_run.h: the driver of all benches.
 *
 * A bench is a bench_kind: it names columns and cases. The driver opens threads (benches of kernels, one process) or
 * ranks (bench comm), times each case, checks its result, and prints the rows as they come. A wrong result gets no
 * time and no rate, and the command ends with exit code 70.
 *
 *      begin(run)      reads options; bench_begin() gives the columns
 *      measure(run)    bench_measure() a case, bench_add() its row; kernels: once with each team and set of data
 *      leave(run)      the teams are through with run->set
 *      end(run)        frees
 */
#ifndef WEFT_APP_BENCH_BENCH_RUN_H
#define WEFT_APP_BENCH_BENCH_RUN_H

#include "app/bench/bench_team.h"
#include "app/bench/bench_time.h"
#include "app/setup/context.h"
#include "app/table/grid.h"
#include "app/workload/workload.h"

typedef struct bench_run bench_run;

typedef struct bench_kind {
    size_t bytes; /* of the bench's own struct, which begins with a bench_run and is zeros at first */
    bool ranks;   /* the ranks of the job measure together */
    weft_status (*begin)(bench_run *run);
    weft_status (*measure)(bench_run *run);
    void (*leave)(bench_run *run); /* NULL: nothing to do */
    void (*end)(bench_run *run);   /* NULL: nothing to do */
} bench_kind;

struct bench_run {
    const char *name; /* "gemm" */
    char title[32];   /* in the log: "bench gemm" */
    const weft_options *options;
    int repeats;
    app_context *context; /* NULL: a bench of kernels */
    weft_comm *comm;      /* NULL: this process alone */
    bench_team *team;     /* kernels: the threads that measure now */
    int teams;            /* kernels: numbers of threads to measure */
    int set, sets;        /* kernels: sets of data (1 unless begin() says so), of which all teams measure `set` now */
    table_grid head;      /* one row about the run */
    table_grid rows;
    table_grid skipped; /* cases that this build or these nodes cannot run: name, bytes, reason */
    log_progress progress;
    int invalid;
    char first_invalid[320];
};

/* Runs a bench. Called on every rank, before MPI is started. WEFT_ERR_LAUNCH: a bench of kernels was started as several
 * processes. WEFT_ERR_INTERNAL: a result was wrong. */
weft_status bench_run_kind(const weft_options *options, const workload_bench *bench);

/* ---- the table: structs of TABLE_ROW ----------------------------------------------------------------------------- */

typedef struct bench_table {
    const table_column *head_column, *column;
    int head_columns, columns;
    const void *head; /* row of head_column; NULL: the head of benches of kernels */
    double cases;     /* of one team; 0: unknown */
} bench_table;

#define BENCH_ROWS(row) .column = row##_columns, .columns = TABLE_COLUMNS(row)
#define BENCH_HEAD(row) .head_column = row##_columns, .head_columns = TABLE_COLUMNS(row)

weft_status bench_begin(bench_run *run, const bench_table *table);
weft_status bench_add(bench_run *run, const void *row);
/* Adds a case that cannot run here. The texts live as long as the run. */
weft_status bench_skip(bench_run *run, const char *name, int64_t bytes, const char *reason);
/* Prints the rest. WEFT_ERR_INTERNAL: a result was wrong. */
weft_status bench_end(bench_run *run);
void bench_free(bench_run *run);

/* The columns of a time, and their values. */
/* clang-format off */
#define BENCH_SECONDS(C)                                                                                               \
    C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(INT, n, true)
/* clang-format on */
#define BENCH_TIMES(q) .seconds_median = (q).median, .seconds_q1 = (q).q1, .seconds_q3 = (q).q3, .n = (q).count

/* ---- a case ------------------------------------------------------------------------------------------------------ */

typedef struct bench_case {
    char what[200]; /* in messages: "product ab of 7 rows" */
    bench_side side;
    bench_side other; /* in turns with `side` */
    /* Checks what the last run gave. [out] error: the largest error over its bound, the same on every rank. */
    weft_status (*check)(void *self, double *error);
    double flops, bytes; /* of one run, to be compared with the machine's limits (bench_team_saw); 0: neither */
} bench_case;

typedef struct bench_result {
    bench_pair time; /* NaN where the result is wrong */
    double error;    /* over its bound: above 1 is wrong */
    bool valid;
} bench_result;

/* Times a case and checks it. */
weft_status bench_measure(bench_run *run, const bench_case *c, bench_result *result);
/* Sets result->valid by its error. The times of a wrong result are erased, and the run fails with the first of them. */
void bench_judge(bench_run *run, const char *what, bench_result *result);

#endif
