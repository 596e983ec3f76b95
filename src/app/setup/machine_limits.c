/* app/setup/machine_limits.c: see app/setup/machine_limits.h. */
#include "app/setup/machine_limits.h"

#include <math.h>
#include <unistd.h>

#include "app/setup/load_watch.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "io/json.h"
#include "machine/cache.h"

#define LIMITS_FORMAT "weft-machine 1"

enum { LIMITS_MOST_BYTES = 1 << 16, GEMM_LEAST = 128, GEMM_MOST = 2048, GEMM_REPEATS = 5 };
static const double gemm_seconds = 0.02; /* of one product: long enough for the clock and the threads' start */
enum { STREAM_LEAST = 1 << 18, STREAM_MOST = 1 << 26, STREAM_REPEATS = 10 }; /* elements of a device's arrays; runs */
static const double stream_seconds = 2e-4;                                   /* of one run: many times a launch */

/* ---- the file ----------------------------------------------------------------------------------------------- */
limits_key limits_key_of(const machine *m, const weft_hal *hal, int node_ranks)
{
    limits_key key = {.ranks = node_ranks, .threads = hal->threads};
    gethostname(key.host, sizeof key.host - 1);
    snprintf(key.cpu, sizeof key.cpu, "%s", m->model);
    snprintf(key.backend, sizeof key.backend, "%s", hal->name);
    return key;
}

weft_status limits_path(const limits_key *key, char path[FILE_PATH_MAX])
{
    char text[640], hash[33], name[64];
    const int length = snprintf(text, sizeof text, "%s|%s|%s|%d|%d|%s", key->host, key->cpu, key->backend, key->ranks,
                                key->threads, version_program());
    file_hash(text, (size_t)length, hash);
    snprintf(name, sizeof name, "machine-%.16s.json", hash);
    return cache_path(name, path);
}

static const double most_rate = 1e20;

static weft_status read_root(const char *path, const json_value *root, const limits_key *key, machine_limits *limits)
{
    int64_t ranks = 0, threads = 0;
    machine_limits read = {0};
    WEFT_TRY(json_expect_text(path, root, "format", LIMITS_FORMAT));
    WEFT_TRY(json_expect_text(path, root, "host", key->host));
    WEFT_TRY(json_expect_text(path, root, "cpu", key->cpu));
    WEFT_TRY(json_expect_text(path, root, "backend", key->backend));
    WEFT_TRY(json_expect_text(path, root, "weft", version_program()));
    WEFT_TRY(json_get_int(path, root, "ranks", key->ranks, key->ranks, &ranks));
    WEFT_TRY(json_get_int(path, root, "threads", key->threads, key->threads, &threads));
    WEFT_TRY(json_get_amount(path, root, "read_bytes_per_s", most_rate, "bytes a second", &read.read));
    WEFT_TRY(json_get_amount(path, root, "triad_bytes_per_s", most_rate, "bytes a second", &read.triad));
    WEFT_TRY(json_get_amount(path, root, "gemm_flop_per_s", most_rate, "operations a second", &read.gemm));
    if (json_find(root, "others_cpus") != NULL) {
        WEFT_TRY(json_get_amount(path, root, "others_cpus", PLACEMENT_MAX_CPUS, "CPUs", &read.others));
    }
    *limits = read;
    return WEFT_OK;
}

weft_status limits_read(const char *path, const limits_key *key, machine_limits *limits)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    WEFT_TRY(json_read_object(path, LIMITS_MOST_BYTES, &document, &root));
    weft_status status = read_root(path, root, key, limits);
    json_free(document);
    return status;
}

weft_status limits_write(const char *path, const limits_key *key, const machine_limits *limits)
{
    file_writer writer;
    WEFT_TRY(cache_make_parent(path));
    WEFT_TRY(file_writer_open(path, &writer));
    json_writer json = json_begin(writer.stream, true);
    json_object(&json, NULL);
    json_text(&json, "format", LIMITS_FORMAT);
    json_text(&json, "host", key->host);
    json_text(&json, "cpu", key->cpu);
    json_text(&json, "backend", key->backend);
    json_int(&json, "ranks", key->ranks);
    json_int(&json, "threads", key->threads);
    json_text(&json, "weft", version_program());
    json_real(&json, "read_bytes_per_s", limits->read);
    json_real(&json, "triad_bytes_per_s", limits->triad);
    json_real(&json, "gemm_flop_per_s", limits->gemm);
    if (limits->others > 0.0) {
        json_real(&json, "others_cpus", limits->others);
    }
    json_end(&json);
    json_line_end(&json);
    return file_writer_commit(&writer);
}

/* ---- measuring ---------------------------------------------------------------------------------------------- */
/* The best of `repeats` products of n x n matrices of ones; x holds three of them. */
static weft_status time_product(weft_hal *hal, float *x, int64_t n, int repeats, double *seconds)
{
    const hal_gemm_args gemm = {.alpha = 1.0,
                                .a = hal_mat_of(x, WEFT_DTYPE_F32, n, n, n),
                                .b = hal_mat_of(x + n * n, WEFT_DTYPE_F32, n, n, n),
                                .c = hal_mat_of(x + 2 * n * n, WEFT_DTYPE_F32, n, n, n)};
    WEFT_TRY(hal_gemm(hal, &gemm));
    WEFT_TRY(hal->stream.sync(hal));
    *seconds = 1e9;
    for (int i = 0; i < repeats; i++) {
        const double start = clock_seconds();
        WEFT_TRY(hal_gemm(hal, &gemm));
        WEFT_TRY(hal->stream.sync(hal));
        const double taken = clock_seconds() - start;
        *seconds = taken < *seconds ? taken : *seconds;
    }
    return WEFT_OK;
}

weft_status limits_measure_gemm(weft_hal *hal, double *flop_per_second)
{
    const size_t most = (size_t)3 * GEMM_MOST * GEMM_MOST;
    weft_status status = WEFT_OK;
    float *host = NULL;
    void *device = NULL;
    double seconds = 0.0;
    int64_t n = GEMM_LEAST;
    WEFT_TRY_GOTO(WEFT_NEW(&host, most, WEFT_MEM_WORKSPACE), status, done);
    for (size_t i = 0; i < most; i++) {
        host[i] = 1.0F;
    }
    WEFT_TRY_GOTO(hal->mem.alloc(hal, most * sizeof *host, WEFT_MEM_WORKSPACE, &device), status, done);
    WEFT_TRY_GOTO(hal->mem.upload(hal, device, host, most * sizeof *host), status, done);
    WEFT_TRY_GOTO(time_product(hal, device, n, 1, &seconds), status, done);
    while (n < GEMM_MOST && seconds * 8.0 < 2.0 * gemm_seconds) {
        n *= 2;
        WEFT_TRY_GOTO(time_product(hal, device, n, 1, &seconds), status, done);
    }
    WEFT_TRY_GOTO(time_product(hal, device, n, GEMM_REPEATS, &seconds), status, done);
    *flop_per_second = 2.0 * (double)n * (double)n * (double)n / seconds;
done:
    hal->mem.free(hal, device);
    weft_free(host);
    return status;
}

/* The best of some runs over arrays of n elements: y = a x + b y, or a sum that reads x alone. */
static weft_status time_stream(weft_hal *hal, float *x, double *sum, int64_t n, bool reads, double *seconds)
{
    const hal_mat from = hal_row_of(x, WEFT_DTYPE_F32, n);
    const hal_mat to = hal_row_of(x + n, WEFT_DTYPE_F32, n);
    *seconds = 1e9;
    for (int i = 0; i <= STREAM_REPEATS; ++i) {
        const double start = clock_seconds();
        WEFT_TRY(
            reads ? hal_sum_squares(hal, &(hal_sum_squares_args){.x = from, .out = hal_row_of(sum, WEFT_DTYPE_F64, 1)})
                  : hal_axpby(hal, &(hal_axpby_args){.x = from, .y = to, .alpha = 0.5, .beta = 0.5}));
        WEFT_TRY(hal->stream.sync(hal));
        const double taken = clock_seconds() - start;
        *seconds = i > 0 && taken < *seconds ? taken : *seconds; /* the first warms up */
    }
    return WEFT_OK;
}

/* Of a device's own memory, by its operations: arrays grow until a run is long beside a launch, and its caches are
 * small. */
static weft_status measure_device(weft_hal *hal, machine_limits *limits)
{
    weft_status status = WEFT_OK;
    void *x = NULL, *sum = NULL;
    double triad = 0.0, read = 0.0;
    int64_t n = STREAM_LEAST / 4;
    WEFT_TRY_GOTO(hal->mem.alloc(hal, sizeof(double), WEFT_MEM_WORKSPACE, &sum), status, done);
    do {
        n *= 4;
        hal->mem.free(hal, x);
        x = NULL;
        WEFT_TRY_GOTO(hal->mem.alloc(hal, (size_t)(2 * n) * sizeof(float), WEFT_MEM_WORKSPACE, &x), status, done);
        WEFT_TRY_GOTO(hal->mem.zero(hal, x, (size_t)(2 * n) * sizeof(float)), status, done);
        WEFT_TRY_GOTO(time_stream(hal, x, sum, n, false, &triad), status, done);
    } while (triad < stream_seconds && n < STREAM_MOST);
    WEFT_TRY_GOTO(time_stream(hal, x, sum, n, true, &read), status, done);
    *limits =
        (machine_limits){.read = (double)n * sizeof(float) / read, .triad = 3.0 * (double)n * sizeof(float) / triad};
done:
    hal->mem.free(hal, x);
    hal->mem.free(hal, sum);
    return status;
}

static weft_status measure(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits)
{
    const stream_request request = {.threads = plan->threads,
                                    .array_bytes = stream_array_bytes(m->l3_bytes, 1),
                                    .cpu = plan->cpu,
                                    .thread_node = -1,
                                    .memory_node = -1};
    stream_rates rates;
    if (hal->mem.room != NULL) {
        WEFT_TRY(measure_device(hal, limits));
    } else {
        WEFT_TRY(stream_measure(&request, &rates));
        *limits = (machine_limits){.read = rates.read, .triad = rates.triad};
    }
    return limits_measure_gemm(hal, &limits->gemm);
}

weft_status limits_measure(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits)
{
    load_watch watch;
    load_watch_begin(&watch);
    const weft_status status = measure(m, plan, hal, limits);
    const double others = load_watch_end(&watch, plan);
    limits->others = status == WEFT_OK ? others : 0.0;
    return status;
}

void limits_keep(const limits_key *key, const machine_limits *limits)
{
    char path[FILE_PATH_MAX];
    if (limits_path(key, path) != WEFT_OK || limits_write(path, key, limits) != WEFT_OK) {
        log_info("machine limits not kept: %s", weft_error_message());
        weft_error_clear();
    }
}

weft_status limits_find(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits, bool *kept)
{
    const limits_key key = limits_key_of(m, hal, 1);
    char path[FILE_PATH_MAX];
    *kept = limits_path(&key, path) == WEFT_OK && limits_read(path, &key, limits) == WEFT_OK;
    weft_error_clear();
    if (*kept && load_was_theirs(limits->others, plan)) {
        log_info("machine limits were measured while others used %.1f CPUs: measured again", limits->others);
        *kept = false;
    }
    if (*kept) {
        return WEFT_OK;
    }
    WEFT_TRY(limits_measure(m, plan, hal, limits));
    limits_keep(&key, limits);
    return WEFT_OK;
}

static weft_status measure_again(const machine *m, const placement *plan, weft_hal *hal, machine_limits *limits)
{
    machine_limits fresh;
    WEFT_TRY(limits_measure(m, plan, hal, &fresh));
    log_info("machine limits are surpassed, so measured again: triad %.1f GB/s (%.1f before), gemm %.0f GFLOP/s (%.0f)",
             fresh.triad * 1e-9, limits->triad * 1e-9, fresh.gemm * 1e-9, limits->gemm * 1e-9);
    *limits = (machine_limits){.read = fmax(limits->read, fresh.read),
                               .triad = fmax(limits->triad, fresh.triad),
                               .gemm = fmax(limits->gemm, fresh.gemm),
                               .others = fresh.others};
    return WEFT_OK;
}

static void raise_one(const char *name, const char *unit, double seen, double *limit)
{
    if (seen > LIMITS_NOISE * *limit) {
        log_info("machine limit of %s raised from %.3g to %.3g %s, which was seen here", name, *limit * 1e-9,
                 seen * 1e-9, unit);
        *limit = seen;
    }
}

weft_status limits_raise(const machine *m, const placement *plan, weft_hal *hal, double flops, double bytes,
                         bool *again, machine_limits *limits)
{
    if (flops <= LIMITS_NOISE * limits->gemm && bytes <= LIMITS_NOISE * limits->triad) {
        return WEFT_OK;
    }
    WEFT_TRY(*again ? WEFT_OK : measure_again(m, plan, hal, limits));
    *again = true;
    raise_one("gemm", "GFLOP/s", flops, &limits->gemm);
    raise_one("triad", "GB/s", bytes, &limits->triad);
    const limits_key key = limits_key_of(m, hal, 1);
    limits_keep(&key, limits);
    return WEFT_OK;
}
