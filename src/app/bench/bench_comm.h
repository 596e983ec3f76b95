/* app/bench/bench_comm.h: what the files of `weft bench comm` share: one file an operation (--op). */
#ifndef WEFT_APP_BENCH_BENCH_COMM_H
#define WEFT_APP_BENCH_BENCH_COMM_H

#include "app/bench/bench_grid.h"
#include "app/bench/bench_list.h"
#include "app/setup/context.h"

typedef struct comm_bench {
    const app_context *context;
    int64_t size[BENCH_SIZES_MAX]; /* bytes of the vector */
    int sizes;
    bench_names names;
    int repeats;
    bench_grid grid; /* a row a case */
    char mpi[128];
} comm_bench;

/* Start the table: an operation calls it once its options are known to be right, and before its first case. */
weft_status bench_comm_begin(comm_bench *bench, const table_column *column, int columns);
/* Count a case whose result is wrong: an error of `worst` times its bound. */
void bench_comm_reject(comm_bench *bench, const char *name, int64_t bytes, double worst);
/* The same bits on all ranks of a vector? [out] worst: stays as it is, or becomes infinite. Collective. */
weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst);

/* The operations: each begins the table with its columns and adds its rows. Collective. */
weft_status bench_comm_allreduce(comm_bench *bench);
weft_status bench_comm_shares(comm_bench *bench); /* allgather, bcast, reducescatter */
weft_status bench_comm_sync(comm_bench *bench);
weft_status bench_comm_select(comm_bench *bench);

#endif
