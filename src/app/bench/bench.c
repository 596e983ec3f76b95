/* app/bench/bench.c: see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "base/number.h"
#include "base/text/append.h"
#include "machine/launcher.h"

#define SKIP_ROW(C)    C(TEXT, algorithm, true) C(INT, bytes, true) C(TEXT, reason, true)
#define KERNEL_HEAD(C) C(TEXT, bench, true) C(TEXT, backend, true) C(INT, warmup, true) C(INT, repeats, true)
TABLE_ROW(skip_row, SKIP_ROW);
TABLE_ROW(kernel_head, KERNEL_HEAD);

/* Kernels begin before there is a communicator. */
static bool speaks(const bench_run *run)
{
    return run->comm == NULL || comm_rank(run->comm) == 0;
}

weft_status bench_begin(bench_run *run)
{
    double cases = run->threads.count > 0 ? run->threads.count : 1;
    run->sets = 1;
    WEFT_TRY(run->kind->begin(run));
    if (run->head.rows == 0) {
        WEFT_TRY(BENCH_HEAD(run, kernel_head, .bench = run->name, .backend = option_text(run->options, OPT_BACKEND),
                            .warmup = 1, .repeats = run->repeats));
    }
    run->rows = (table_grid){.name = "rows", .column = run->kind->column, .columns = run->kind->columns};
    run->skipped = (table_grid){.name = "unsupported", BENCH_ROWS(skip_row)};
    if (speaks(run)) {
        table_grid_stream(&run->rows, stdout, &run->head, option_choice(run->options, OPT_FORMAT_OUT));
    }
    for (int a = 0; a < BENCH_AXES; a++) {
        cases *= a > 0 && run->axis[a].count == 0 ? 1 : run->axis[a].count;
    }
    snprintf(run->title, sizeof run->title, "bench %s", run->name);
    run->progress = log_progress_begin(run->title, "cases", cases);
    return WEFT_OK;
}

weft_status bench_add(bench_run *run, const void *row)
{
    assert(run->rows.column != NULL); /* begun */
    return table_grid_add_row(&run->rows, row);
}

weft_status bench_add_best(bench_run *run, void *row, const char *const *same)
{
    table_cell *cell = row;
    const int best = table_grid_column(&run->rows, "of_best"), median = table_grid_column(&run->rows, "seconds_median");
    cell[best].real = cell[median].real / table_grid_least(&run->rows, row, "seconds_median", same);
    return bench_add(run, row);
}

weft_status bench_end(bench_run *run)
{
    log_progress_end(&run->progress);
    if (speaks(run)) {
        table_grid_print(stdout, &run->head, &run->rows, &run->skipped, option_choice(run->options, OPT_FORMAT_OUT));
    }
    WEFT_CHECK(run->invalid == 0, WEFT_ERR_INTERNAL, "%s", run->first_invalid);
    return WEFT_OK;
}

void bench_free(bench_run *run)
{
    table_grid_free(&run->head);
    table_grid_free(&run->rows);
    table_grid_free(&run->skipped);
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

weft_status bench_judge(bench_run *run, bench_result *result)
{
    WEFT_TRY(comm_allreduce(run->comm, &result->error, 1, WEFT_DTYPE_F64, COMM_MAX));
    result->valid = result->error <= 1.0;
    if (!result->valid) {
        if (run->invalid++ == 0) {
            snprintf(run->first_invalid, sizeof run->first_invalid, "%s is wrong: an error of %.3g times its bound",
                     run->what, result->error);
        }
        const sample_quartiles hidden = {result->time.seconds.count, NAN, NAN, NAN, NAN};
        result->time = (bench_pair){.seconds = hidden, .other = result->time.other, .ratio = NAN};
    }
    return WEFT_OK;
}

static weft_status check_elements(const bench_case *c, double *error)
{
    const int64_t samples = smaller(c->samples, c->elements);
    double worst = 0.0;
    WEFT_TRY(bench_array_copy(c->result, BENCH_DOWN));
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = 0; i < samples; i++) {
        const bench_sum sum = c->element(c->side.self, samples > 1 ? i * (c->elements - 1) / (samples - 1) : 0);
        const double bound = 4.0 * sqrt((double)sum.terms + 4.0) * 0x1p-24 * sum.magnitude + sum.more;
        worst = bench_worse(worst, fabs(sum.found - sum.exact) / (bound + 0x1p-100));
    }
    *error = worst;
    return WEFT_OK;
}

/* Arrays that fit the caches may be faster than the triad. */
static weft_status compare(bench_run *run, double flops, double bytes, double seconds)
{
    const app_context *at = run->context;
    const bool fits = bytes < 3.0 * (double)stream_array_bytes(at->machine.l3_bytes, 1);
    if (fits && bytes / seconds > LIMITS_NOISE * run->limits.triad && !run->cached) {
        run->cached = true;
        log_info("percent_of_triad above 100: arrays of %.1f MB are read from caches, the triad's are not",
                 bytes * 1e-6);
    }
    return limits_raise(&at->machine, &at->placement, at->hal, flops / seconds, fits ? 0.0 : bytes / seconds,
                        &run->again, &run->limits);
}

weft_status bench_measure(bench_run *run, const bench_case *c, bench_result *result)
{
    assert((c->check == NULL) != (c->element == NULL));
    WEFT_TRY(bench_time(run->comm, &c->side, &c->other, run->repeats, &result->time));
    WEFT_TRY(c->check != NULL ? c->check(c->side.self, &result->error) : check_elements(c, &result->error));
    WEFT_TRY(bench_judge(run, result));
    return result->valid && c->flops > 0.0 ? compare(run, c->flops, c->bytes, result->time.seconds.median) : WEFT_OK;
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

/* After a failure the job ends, and other ranks may not come to meet, so that nothing collective is closed. */
static weft_status run_case(bench_run *run)
{
    const bench_kind *kind = run->kind;
    void *c = NULL;
    if (kind->ranks) {
        snprintf(run->what, sizeof run->what, "%s of %" PRId64 " bytes", bench_name(run, 1), run->at[0]);
    }
    WEFT_TRY(weft_calloc(1, kind->case_bytes, WEFT_MEM_GENERAL, &c));
    weft_status status = kind->open(run, c);
    if (status == WEFT_OK) {
        status = kind->measure(run, c);
    } else if (status == WEFT_ERR_UNSUPPORTED && kind->unsupported != NULL && run->axis[1].all) {
        weft_error_clear();
        const skip_row row = {.algorithm = bench_name(run, 1), .bytes = run->at[0], .reason = kind->unsupported};
        status = table_grid_add_row(&run->skipped, &row);
    }
    if (status == WEFT_OK || comm_size(run->comm) == 1) {
        kind->close(c);
    }
    weft_free(c);
    log_progress_update(&run->progress, ++run->done);
    return status;
}

weft_status bench_cases(bench_run *run)
{
    WEFT_TRY(run->kind->enter != NULL ? run->kind->enter(run) : WEFT_OK);
    for (int64_t i = 0, left = 0; left == 0; i++) {
        left = i;
        for (int a = BENCH_AXES - 1; a >= 0; a--) {
            const bench_axis *axis = &run->axis[a];
            const int count = axis->count > 0 ? axis->count : 1;
            run->place[a] = (int)(left % count);
            run->at[a] = axis->listed ? axis->value[run->place[a]] : run->place[a];
            left /= count;
        }
        WEFT_TRY(left == 0 ? run_case(run) : WEFT_OK);
    }
    return WEFT_OK;
}

static weft_status measure_team(bench_run *run, const weft_options *options, const binding *start)
{
    const app_context *at = run->context;
    bool kept = false;
    run->again = run->cached = false;
    WEFT_TRY(app_context_open_alone(options, start, run->context));
    run->comm = at->comm;
    WEFT_TRY(limits_find(&at->machine, &at->placement, at->hal, &run->limits, &kept));
    log_info("machine limits with %d threads: triad %.1f GB/s, gemm of backend %s %.0f GFLOP/s (%s)",
             at->placement.threads, run->limits.triad * 1e-9, at->hal->name, run->limits.gemm * 1e-9,
             kept ? "kept from an earlier run" : "measured now");
    return bench_cases(run);
}

static weft_status run_team(bench_run *run, const binding *start, int64_t threads)
{
    app_context context = {.comm = NULL};
    weft_options *options = NULL;
    char text[NUMBER_TEXT_MAX];
    run->context = &context;
    WEFT_TRY(option_copy(run->options, &options));
    weft_status status = option_assign(options, "threads", number_format_real((double)threads, text));
    status = status == WEFT_OK ? measure_team(run, options, start) : status;
    app_context_close(&context);
    option_destroy(options);
    run->comm = NULL;
    return status;
}

/* The numbers of threads, and to which CPUs this process is bound before any team is placed. */
static weft_status find_teams(bench_run *run, binding *start)
{
    machine m;
    run->threads = (bench_axis){.count = 1, .listed = true, .value = {app_requested_threads(run->options)}};
    if (option_is_set(run->options, OPT_THREAD_COUNTS)) {
        bench_axis_numbers(run->options, OPT_THREAD_COUNTS, &run->threads);
    }
    WEFT_TRY(machine_detect(&m));
    const weft_status status = binding_read(&m, start);
    machine_free(&m);
    return status;
}

static weft_status run_teams(bench_run *run)
{
    binding start;
    weft_status status = WEFT_OK;
    WEFT_CHECK(launcher_size() <= 1, WEFT_ERR_LAUNCH,
               "weft bench %s runs as one process, not as %d: start it without mpirun", run->name, launcher_size());
    WEFT_TRY(find_teams(run, &start));
    WEFT_TRY(bench_begin(run));
    for (run->set = 0; run->set < run->sets; run->set++) {
        for (int t = 0; t < run->threads.count && status == WEFT_OK; t++) {
            status = run_team(run, &start, run->threads.value[t]);
        }
        if (run->kind->leave != NULL) {
            run->kind->leave(run);
        }
        WEFT_TRY(status);
    }
    return bench_end(run);
}

static weft_status run_ranks(bench_run *run)
{
    app_context context;
    weft_status status = app_context_open(run->options, &context);
    run->context = &context;
    run->comm = context.comm;
    run->options = context.options;
    status = status == WEFT_OK ? bench_begin(run) : status;
    status = status == WEFT_OK ? bench_cases(run) : status;
    status = status == WEFT_OK ? bench_end(run) : status;
    if (status != WEFT_OK) {
        fflush(stdout);
        app_context_fail(&context, status);
    }
    app_context_close(&context);
    return status;
}

static weft_status run_bench(const weft_options *options, const workload_bench *bench)
{
    const bench_kind *kind = bench->kind;
    bench_run *run = NULL;
    assert(kind->bytes >= sizeof *run);
    WEFT_TRY(weft_calloc(1, kind->bytes, WEFT_MEM_GENERAL, (void **)&run));
    run->kind = kind;
    run->name = bench->name;
    run->options = options;
    run->repeats = (int)option_int(options, OPT_REPEATS);
    const weft_status status = kind->ranks ? run_ranks(run) : run_teams(run);
    if (kind->end != NULL) {
        kind->end(run);
    }
    bench_free(run);
    weft_free(run);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const option_id gemm_uses[] = {OPT_DIMS, OPT_ROWS, OPT_INPUTS, OPT_THREAD_COUNTS, OPTION_NONE};
static const option_id comm_uses[] = {OPT_OP, OPT_SIZES, OPT_ALGORITHMS, OPTION_NONE};
static const workload_bench own[] = {{"gemm", "dense products", &bench_gemm, gemm_uses},
                                     {"comm", "communication", &bench_comm, comm_uses},
                                     {NULL, NULL, NULL, NULL}};

/* Bench number i, those of the kinds of workload behind those of all; NULL behind the last. */
static const workload_bench *bench_at(int i)
{
    for (int kind = -1; kind < 0 || workload_list[kind] != NULL; ++kind) {
        const workload_bench *list = kind < 0 ? own : workload_list[kind]->benches;
        for (; list != NULL && list->name != NULL; ++list) {
            if (i-- == 0) {
                return list;
            }
        }
    }
    return NULL;
}

/* The option is another bench's: it would be taken for something that was measured. */
static weft_status refuse_option(const weft_options *options, option_id id, const workload_bench *wanted)
{
    char others[128] = "";
    const workload_bench *bench = NULL;
    for (int i = 0; (bench = bench_at(i)) != NULL; ++i) {
        if (option_id_listed(bench->uses, id)) {
            text_append(others, sizeof others, "%s%s", others[0] != '\0' ? "|" : "", bench->name);
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "--%s %s: weft bench %s does not use it (weft bench %s does)",
                     option_row_in(options, id)->name, option_value_text(options, id), wanted->name, others);
}

/* What a file or the environment says is for all benches; what the command line says must be for this one. */
static weft_status check_options(const weft_options *options, const workload_bench *wanted)
{
    const workload_bench *bench = NULL;
    for (int i = 0; (bench = bench_at(i)) != NULL; ++i) {
        for (const option_id *id = bench->uses; *id != OPTION_NONE; ++id) {
            if (!option_id_listed(wanted->uses, *id) && option_source_of(options, *id) == OPTION_COMMAND_LINE) {
                return refuse_option(options, *id, wanted);
            }
        }
    }
    return WEFT_OK;
}

weft_status app_bench(const weft_options *options)
{
    const char *wanted = option_argument(options, 0);
    const workload_bench *bench = NULL;
    char known[512] = "";
    for (int i = 0; (bench = bench_at(i)) != NULL; ++i) {
        if (strcmp(bench->name, wanted) == 0) {
            WEFT_TRY(check_options(options, bench));
            return run_bench(options, bench);
        }
        text_append_item(known, sizeof known, "%s (%s)", bench->name, bench->measures);
    }
    return weft_fail(WEFT_ERR_USAGE, "weft bench %s: there are %s", wanted, known);
}
