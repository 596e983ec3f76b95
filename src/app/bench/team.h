/*
 * app/bench/team.h: the threads, the backend and the machine limits of one number of threads: what the kernels' benches
 * (spmm, gemm, dense) open for each entry of --thread-counts.
 */
#ifndef WEFT_APP_BENCH_TEAM_H
#define WEFT_APP_BENCH_TEAM_H

#include "app/bench/bench.h"
#include "app/setup/machine_limits.h"
#include "machine/binding.h"

enum { BENCH_TEAMS_MAX = 64 };

typedef struct bench_team {
    machine machine;
    placement place;
    weft_hal *hal;
    machine_limits limits;
} bench_team;

/* --thread-counts; without it --threads or OMP_NUM_THREADS; 0 = as many as the machine has. */
int bench_thread_counts(const weft_options *options, int64_t counts[BENCH_TEAMS_MAX]);

/* Who bound this process, and to which CPUs. Call it before any team is placed. */
weft_status bench_team_start(binding *start);
/* Close with bench_team_close, also after a failure. */
weft_status bench_team_open(const weft_options *options, const binding *start, int threads, bench_team *team);
void bench_team_close(bench_team *team);

/* One process only: WEFT_ERR_LAUNCH under a launcher with several. */
weft_status bench_one_process(const char *kind);

#endif
