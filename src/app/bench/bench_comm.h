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

/* An operation of --op. Its functions are collective. */
typedef struct comm_bench_op {
    option_id choices; /* whose choices --algorithms names; OPTION_NONE: there is one algorithm */
    bool all;          /* all of them are measured without --algorithms */
    const table_column *column;
    int columns;
    weft_status (*check)(const comm_bench *bench);        /* refuses options; NULL: there are none to refuse */
    weft_status (*run)(comm_bench *bench, int64_t bytes); /* measures vectors of a size and adds their rows */
} comm_bench_op;

extern const comm_bench_op bench_comm_allreduce, bench_comm_shares, bench_comm_sync, bench_comm_select;

/* Returns the seconds that a row shows. worst: the error over its bound; above 1 the result is wrong, which is counted,
 * and the row shows no seconds. */
bench_quartiles bench_comm_judge(comm_bench *bench, const char *name, int64_t bytes, double worst,
                                 bench_quartiles seconds);
/* [out] worst: infinite where the ranks hold different bits of a vector, else as it is. Collective. */
weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst);

#endif
