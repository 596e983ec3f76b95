/*
 * app/bench/bench_team.h: threads in their places, their backend and the machine's limits. Benches of kernels measure
 * with a team for each number of --thread-counts.
 */
#ifndef WEFT_APP_BENCH_BENCH_TEAM_H
#define WEFT_APP_BENCH_BENCH_TEAM_H

#include "app/options/app_options.h"
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

/* [out] counts: --thread-counts, or else --threads or OMP_NUM_THREADS; 0: as many as the machine has. Returns how many
 * counts there are. */
int bench_thread_counts(const weft_options *options, int64_t counts[BENCH_TEAMS_MAX]);

/* Reads to which CPUs this process is bound, and by whom. Call it before any team is placed. */
weft_status bench_team_start(binding *start);
/* Opens a team. Close it with bench_team_close, also after a failure. */
weft_status bench_team_open(const weft_options *options, const binding *start, int threads, bench_team *team);
void bench_team_close(bench_team *team);

/*
 * Compares a measured rate with the limits. flops: operations a second; 0: no product of float32. bytes: bytes a second
 * of arrays of array_bytes together. A rate that is more than 5 % above a limit shows that the limit is too low: limits
 * are then measured again, once, raised to the rate, kept and logged. Arrays that fit the caches may be faster than the
 * triad, which is logged once.
 */
weft_status bench_team_saw(bench_team *team, double flops, double bytes, double array_bytes);

#endif
