/* app/bench/bench_comm.h: what the files of `weft bench comm` share. */
#pragma once

#include "app/bench/bench.h"

typedef struct comm_bench_op comm_bench_op;

typedef struct comm_bench {
    bench_run run;
    const comm_bench_op *op;
    const char *op_name;           /* --op */
    int64_t size[BENCH_SIZES_MAX]; /* bytes of the vector */
    int sizes;
    bench_names names; /* algorithms */
    double best;       /* least median of the algorithms measured at this size; NaN: none yet */
    char mpi[128];
} comm_bench;

/* One algorithm on one vector of float32. */
typedef struct comm_case {
    const char *name;
    int number; /* of the algorithm among its choices */
    int64_t bytes, count;
} comm_case;

/* An operation of --op. Its functions are collective. */
struct comm_bench_op {
    option_id choices; /* whose choices --algorithms names; OPTION_NONE: there is one algorithm */
    bool all;          /* all of them are measured without --algorithms */
    const table_column *column;
    int columns;
    weft_status (*check)(const weft_options *options);          /* refuses options; NULL: there are none to refuse */
    weft_status (*run)(comm_bench *bench, const comm_case *at); /* measures a case and adds its row */
};

extern const comm_bench_op bench_comm_allreduce, bench_comm_shares, bench_comm_sync, bench_comm_select;

/* Columns that the rows of most operations have, and values that the rows of all have. */
/* clang-format off */
#define COMM_SECONDS(C)                                                                                                \
    C(INT, bytes, true) C(INT, ranks, false) C(INT, nodes, false) C(INT, n, false) C(REAL, seconds_median, true)       \
    C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(REAL, seconds_min, false)
/* clang-format on */
#define COMM_COMMON(bench, at, result)                                                                                 \
    BENCH_TIMES(result), .op = (bench)->op_name, .bytes = (at)->bytes, .ranks = comm_size((bench)->run.comm),          \
                         .seconds_min = (result)->time.seconds.least

/* Adds sign times what this rank has sent so far by all lanes that benches use: bytes, messages, shared bytes. */
void bench_comm_traffic(const weft_comm *comm, int sign, int64_t total[3]);
/* Writes what messages say of a case. Returns `what`. */
const char *bench_comm_name(char what[BENCH_WHAT_BYTES], const comm_case *at);
/* With --algorithms all, a status WEFT_ERR_UNSUPPORTED becomes a line among the cases that cannot run. Other statuses
 * are returned. */
weft_status bench_comm_skip(comm_bench *bench, const comm_case *at, weft_status status, const char *reason);
/* [out] worst: infinite where the ranks hold different bits of a vector, else unchanged. Collective. */
weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst);
