/* app/bench/bench_comm.h: what the files of `weft bench comm` share. Axis 0 has the bytes of the vector, axis 1 the
 * algorithms. */
#pragma once

#include "app/bench/bench.h"

/* An operation of --op. */
typedef struct comm_bench_op {
    bench_kind kind;   /* without begin() */
    option_id choices; /* whose choices --algorithms names; OPTION_NONE: there is one algorithm */
    bool all;          /* all of them are measured without --algorithms */
    weft_status (*check)(const weft_options *options); /* refuses options; NULL: there are none to refuse */
} comm_bench_op;

extern const comm_bench_op bench_comm_allreduce, bench_comm_shares, bench_comm_sync, bench_comm_select;

/* The float32 elements of the vector of the case under way. */
#define COMM_COUNT(run) ((run)->at[0] / (int64_t)sizeof(float))
/* Columns that the rows of most operations have, and values that the rows of all have. */
/* clang-format off */
#define COMM_SECONDS(C)                                                                                                \
    C(INT, bytes, true) C(INT, ranks, false) C(INT, nodes, false) C(INT, n, false) C(REAL, seconds_median, true)       \
    C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(REAL, seconds_min, false)
/* clang-format on */
#define COMM_COMMON(run, result)                                                                                       \
    BENCH_TIMES(result), .op = option_text((run)->options, OPT_OP), .bytes = (run)->at[0],                             \
                         .ranks = comm_size((run)->comm), .seconds_min = (result)->time.seconds.least

/* Adds sign times what this rank has sent so far by all lanes that benches use: bytes, messages, shared bytes. */
void bench_comm_traffic(const weft_comm *comm, int sign, int64_t total[3]);
/* [out] worst: infinite where the ranks hold different bits of a vector, else unchanged. Collective. */
weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst);
