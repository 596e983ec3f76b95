/* app/bench/bench_limits.c: rates of a bench beside the limits of the machine; see app/bench/bench.h. */
#include "app/bench/bench.h"

weft_status bench_limits_find(bench_run *run)
{
    const app_context *at = run->context;
    machine_limits *of = &run->limits.of;
    bool kept = false;
    run->limits.again = run->limits.cached = false;
    WEFT_TRY(limits_find(&at->machine, &at->placement, at->hal, of, &kept));
    log_info("machine limits with %d threads: triad %.1f GB/s, gemm of backend %s %.0f GFLOP/s (%s)",
             at->placement.threads, of->triad * 1e-9, at->hal->name, of->gemm * 1e-9,
             kept ? "kept from an earlier run" : "measured now");
    return WEFT_OK;
}

static bool surpasses(double rate, double limit)
{
    return rate > 1.05 * limit;
}

static weft_status measure_again(const app_context *at, machine_limits *of)
{
    machine_limits fresh;
    WEFT_TRY(limits_measure(&at->machine, &at->placement, at->hal, &fresh));
    log_info("machine limits are surpassed, so measured again: triad %.1f GB/s (%.1f before), gemm %.0f GFLOP/s (%.0f)",
             fresh.triad * 1e-9, of->triad * 1e-9, fresh.gemm * 1e-9, of->gemm * 1e-9);
    *of = (machine_limits){fmax(of->read, fresh.read), fmax(of->triad, fresh.triad), fmax(of->gemm, fresh.gemm),
                           fresh.others};
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

weft_status bench_limits_saw(bench_run *run, double flops, double bytes, double array_bytes)
{
    const app_context *at = run->context;
    machine_limits *of = &run->limits.of;
    const bool fits = array_bytes < 3.0 * (double)stream_array_bytes(at->machine.l3_bytes, 1);
    if (fits && surpasses(bytes, of->triad) && !run->limits.cached) {
        run->limits.cached = true;
        log_info("percent_of_triad above 100: arrays of %.1f MB are read from caches, the triad's are not",
                 array_bytes * 1e-6);
    }
    bytes = fits ? 0.0 : bytes;
    if (!surpasses(flops, of->gemm) && !surpasses(bytes, of->triad)) {
        return WEFT_OK;
    }
    WEFT_TRY(run->limits.again ? WEFT_OK : measure_again(at, of));
    run->limits.again = true;
    raise_limit("gemm", "GFLOP/s", flops, &of->gemm);
    raise_limit("triad", "GB/s", bytes, &of->triad);
    const limits_key key = limits_key_of(&at->machine, at->hal, 1);
    limits_keep(&key, of);
    return WEFT_OK;
}
