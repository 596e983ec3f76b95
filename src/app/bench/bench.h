/* app/bench/bench.h: the command `weft bench`. */
#ifndef WEFT_APP_BENCH_BENCH_H
#define WEFT_APP_BENCH_BENCH_H

#include "app/options/app_options.h"

/* weft bench NAME. Called on every rank, before MPI is started. */
weft_status app_bench(const weft_options *options);

#endif
