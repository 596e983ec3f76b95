/* app/bench/bench_comm.h: what the files of `weft bench comm` share: one file an operation (--op). */
#ifndef WEFT_APP_BENCH_BENCH_COMM_H
#define WEFT_APP_BENCH_BENCH_COMM_H

#include "app/bench/bench.h"
#include "app/bench/bench_list.h"
#include "app/setup/context.h"
#include "app/table/grid.h"
#include "base/log.h"

typedef struct comm_bench {
    const app_context *context;
    int64_t size[BENCH_SIZES_MAX]; /* bytes of the vector */
    int sizes;
    bench_names names;
    int repeats;
    table_grid head; /* one row about the run */
    table_grid grid; /* a row a case */
    char mpi[128];
    log_progress progress;
    table_grid unsupported; /* algorithm, bytes, reason */
    int invalid;            /* cases whose result is wrong; the first of them: */
    char first_invalid[160];
} comm_bench;

/* Start the table: an operation calls it once its options are known to be right, and before its first case. Rows appear
 * as they are measured where the format allows it. */
weft_status bench_comm_begin(comm_bench *bench, const table_column *column, int columns);
/* Add a measured case. */
weft_status bench_comm_add(comm_bench *bench, const table_cell *cell);
/* Note a case that this build or these nodes cannot run; name and reason live as long as the bench. */
weft_status bench_comm_skip(comm_bench *bench, const char *name, int64_t bytes, const char *reason);
/* Count a case whose result is wrong: an error of `worst` times its bound. */
void bench_comm_reject(comm_bench *bench, const char *name, int64_t bytes, double worst);

/* The operations: each sets the grid's columns and adds its rows. Collective. */
weft_status bench_comm_allreduce(comm_bench *bench);
weft_status bench_comm_sync(comm_bench *bench);
weft_status bench_comm_select(comm_bench *bench);

#endif
