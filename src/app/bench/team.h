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
    bool again;  /* limits were measured again, because a rate surpassed them */
    bool cached; /* the log says that rates above the triad's come out of caches */
} bench_team;

/* --thread-counts; without it --threads or OMP_NUM_THREADS; 0 = as many as the machine has. */
int bench_thread_counts(const weft_options *options, int64_t counts[BENCH_TEAMS_MAX]);

/* Who bound this process, and to which CPUs. Call it before any team is placed. */
weft_status bench_team_start(binding *start);
/* Close with bench_team_close, also after a failure. */
weft_status bench_team_open(const weft_options *options, const binding *start, int threads, bench_team *team);
void bench_team_close(bench_team *team);

/*
 * A rate that was seen: operations a second (0: none to compare with a product of float32), and bytes a second of
 * arrays of so many bytes together. One that is more than 5 % above the limits shows that these are too low: they are
 * measured again, once, then raised to what was seen, kept, and said in the log. Arrays that fit the caches may be
 * faster than the triad: that is said, once.
 */
weft_status bench_team_saw(bench_team *team, double flops, double bytes, double array_bytes);

/* One process only: WEFT_ERR_LAUNCH under a launcher with several. */
weft_status bench_one_process(const char *kind);

#endif
