/* app/bench/bench.h: the command `weft bench`, and quartiles of what its benches measure. */
#ifndef WEFT_APP_BENCH_BENCH_H
#define WEFT_APP_BENCH_BENCH_H

#include "app/options/app_options.h"

/* Statistics of the seconds of `count` repetitions. */
typedef struct bench_quartiles {
    int count;
    double least, q1, median, q3;
} bench_quartiles;

/* Linear interpolation between neighbours; sorts `value`. All NaN when count is 0. */
bench_quartiles bench_quartiles_of(double *value, int count);

/* Measures run(argument) in this process (app/bench/pair.h). */
weft_status bench_time(weft_status (*run)(void *argument), void *argument, int repeats, bench_quartiles *seconds);

/* weft bench NAME. Called on every rank, before MPI is started. */
weft_status app_bench(const weft_options *options);

/* Benches of every kind of workload. Collective over the processes of the job. */
weft_status bench_gemm(const weft_options *options); /* one process only */
weft_status bench_comm(const weft_options *options);

#endif
