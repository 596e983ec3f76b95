/* app/bench/bench_team.c: threads of a bench, and the limits of their machine; see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <math.h>

enum { TEAMS_MAX = 64 };

static int thread_counts(const weft_options *options, int64_t counts[TEAMS_MAX])
{
    if (option_is_set(options, OPT_THREAD_COUNTS)) {
        const int count = option_list(options, OPT_THREAD_COUNTS, counts, TEAMS_MAX);
        return count < TEAMS_MAX ? count : TEAMS_MAX;
    }
    counts[0] = app_requested_threads(options);
    return 1;
}

weft_status bench_team_start(const weft_options *options, binding *start, int *teams)
{
    int64_t counts[TEAMS_MAX];
    machine m;
    *teams = thread_counts(options, counts);
    WEFT_TRY(machine_detect(&m));
    weft_status status = binding_read(&m, start);
    machine_free(&m);
    return status;
}

static weft_status open_team(const weft_options *options, const binding *start, int threads, bench_team *team)
{
    const pin_mode pin = option_choice(options, OPT_PIN);
    bool kept = false;
    bound_by by;
    *team = (bench_team){.hal = NULL};
    WEFT_TRY(machine_detect(&team->machine));
    binding_of_node(start, 1, pin, &team->machine, &by);
    const placement_request request = {.node_ranks = 1,
                                       .node_rank = 0,
                                       .masks = &start->mask,
                                       .threads = threads,
                                       .pin = pin,
                                       .by = by,
                                       .job_ranks = 1,
                                       .nodes = 1};
    WEFT_TRY(placement_plan(&team->machine, &request, &team->place));
    WEFT_TRY(placement_apply(&team->place));
    WEFT_TRY(weft_hal_open(option_text(options, OPT_BACKEND), team->place.threads, &team->hal));
    WEFT_TRY(limits_find(&team->machine, &team->place, team->hal, &team->limits, &kept));
    log_info("machine limits with %d threads: triad %.1f GB/s, gemm of backend %s %.0f GFLOP/s (%s)",
             team->place.threads, team->limits.triad * 1e-9, team->hal->name, team->limits.gemm * 1e-9,
             kept ? "kept from an earlier run" : "measured now");
    return WEFT_OK;
}

static void close_team(bench_team *team)
{
    weft_hal_close(team->hal);
    placement_free(&team->place);
    machine_free(&team->machine);
    *team = (bench_team){.hal = NULL};
}

weft_status bench_each_team(const weft_options *options, const binding *start,
                            weft_status (*run)(bench_team *team, void *self), void *self)
{
    int64_t counts[TEAMS_MAX];
    weft_status status = WEFT_OK;
    const int teams = thread_counts(options, counts);
    for (int t = 0; t < teams && status == WEFT_OK; t++) {
        bench_team team;
        status = open_team(options, start, (int)counts[t], &team);
        status = status == WEFT_OK ? run(&team, self) : status;
        close_team(&team);
    }
    return status;
}

static bool surpasses(double rate, double limit)
{
    return rate > 1.05 * limit;
}

static weft_status measure_again(bench_team *team)
{
    machine_limits fresh;
    team->again = true;
    WEFT_TRY(limits_measure(&team->machine, &team->place, team->hal, &fresh));
    log_info("machine limits are surpassed, so measured again: triad %.1f GB/s (%.1f before), gemm %.0f GFLOP/s (%.0f)",
             fresh.triad * 1e-9, team->limits.triad * 1e-9, fresh.gemm * 1e-9, team->limits.gemm * 1e-9);
    team->limits.read = fmax(team->limits.read, fresh.read);
    team->limits.triad = fmax(team->limits.triad, fresh.triad);
    team->limits.gemm = fmax(team->limits.gemm, fresh.gemm);
    team->limits.others = fresh.others;
    return WEFT_OK;
}

static void raise_limit(const char *name, const char *unit, double seen, double *limit)
{
    if (surpasses(seen, *limit)) {
        log_info("machine limit of %s raised from %.3g to %.3g %s, which was seen here", name, *limit * 1e-9,
                 seen * 1e-9, unit);
        *limit = seen;
    }
}

weft_status bench_team_saw(bench_team *team, double flops, double bytes, double array_bytes)
{
    machine_limits *limits = &team->limits;
    const bool fits = array_bytes < 3.0 * (double)stream_array_bytes(team->machine.l3_bytes, 1);
    if (fits && surpasses(bytes, limits->triad) && !team->cached) {
        team->cached = true;
        log_info("percent_of_triad above 100: arrays of %.1f MB are read from caches, the triad's are not",
                 array_bytes * 1e-6);
    }
    bytes = fits ? 0.0 : bytes;
    if (!surpasses(flops, limits->gemm) && !surpasses(bytes, limits->triad)) {
        return WEFT_OK;
    }
    WEFT_TRY(team->again ? WEFT_OK : measure_again(team));
    raise_limit("gemm", "GFLOP/s", flops, &limits->gemm);
    raise_limit("triad", "GB/s", bytes, &limits->triad);
    const limits_key key = limits_key_of(&team->machine, team->hal, 1);
    limits_keep(&key, limits);
    return WEFT_OK;
}
