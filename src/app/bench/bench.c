/* app/bench/bench.c: see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "machine/launcher.h"

static const table_column skip_columns[] = {
    {"algorithm", CELL_TEXT, true}, {"bytes", CELL_INT, true}, {"reason", CELL_TEXT, true}};

#define KERNEL_HEAD(C) C(TEXT, bench, true) C(TEXT, backend, true) C(INT, warmup, true) C(INT, repeats, true)
TABLE_ROW(kernel_head, KERNEL_HEAD);

static bool speaks(const bench_run *run)
{
    return run->comm == NULL || comm_rank(run->comm) == 0;
}

weft_status bench_begin(bench_run *run, const bench_table *table)
{
    const kernel_head kernel = {
        .bench = run->name, .backend = option_text(run->options, OPT_BACKEND), .warmup = 1, .repeats = run->repeats};
    const bool own = table->head != NULL;
    assert(table->columns > 0 && (!own || table->head_columns > 0));
    run->head = (table_grid){.column = own ? table->head_column : kernel_head_columns,
                             .columns = own ? table->head_columns : TABLE_COLUMNS(kernel_head)};
    run->rows = (table_grid){.name = "rows", .column = table->column, .columns = table->columns};
    run->skipped = (table_grid){.name = "unsupported", .column = skip_columns, .columns = 3};
    WEFT_TRY(table_grid_add_row(&run->head, own ? table->head : &kernel));
    if (speaks(run)) {
        table_grid_stream(&run->rows, stdout, &run->head, option_choice(run->options, OPT_FORMAT_OUT));
    }
    snprintf(run->title, sizeof run->title, "bench %s", run->name);
    run->progress = log_progress_begin(run->title, "cases", table->cases * (run->teams > 0 ? run->teams : 1));
    return WEFT_OK;
}

weft_status bench_add(bench_run *run, const void *row)
{
    assert(run->rows.column != NULL); /* begun */
    WEFT_TRY(table_grid_add_row(&run->rows, row));
    log_progress_update(&run->progress, run->rows.rows + run->skipped.rows);
    return WEFT_OK;
}

weft_status bench_skip(bench_run *run, const char *name, int64_t bytes, const char *reason)
{
    WEFT_TRY(table_grid_add(&run->skipped, (table_cell[]){cell_text(name), cell_int(bytes), cell_text(reason)}));
    log_progress_update(&run->progress, run->rows.rows + run->skipped.rows);
    return WEFT_OK;
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

void bench_judge(bench_run *run, const char *what, bench_result *result)
{
    static const double none = (double)NAN;
    const bench_quartiles hidden = {result->time.seconds.count, none, none, none, none};
    result->valid = result->error <= 1.0;
    if (result->valid) {
        return;
    }
    if (run->invalid++ == 0) {
        snprintf(run->first_invalid, sizeof run->first_invalid, "%s is wrong: an error of %.3g times its bound", what,
                 result->error);
    }
    result->time = (bench_pair){.seconds = hidden, .other = result->time.other, .ratio = none};
}

static weft_status check_elements(const bench_case *c, double *error)
{
    double worst = 0.0;
    WEFT_TRY(tensor_download(c->result, c->host));
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = 0; i < c->samples; i++) {
        const int64_t at = c->samples > 1 ? i * (c->elements - 1) / (c->samples - 1) : 0;
        const bench_sum sum = c->element(c->side.self, at);
        worst = bench_sum_worst(worst, &sum);
    }
    *error = worst;
    return WEFT_OK;
}

weft_status bench_measure(bench_run *run, const bench_case *c, bench_result *result)
{
    assert((c->check == NULL) != (c->element == NULL) && c->samples <= c->elements);
    WEFT_TRY(bench_time(run->comm, &c->side, &c->other, run->repeats, &result->time));
    WEFT_TRY(c->check != NULL ? c->check(c->side.self, &result->error) : check_elements(c, &result->error));
    bench_judge(run, c->what, result);
    const double seconds = result->time.seconds.median;
    return result->valid && run->team != NULL
               ? bench_team_saw(run->team, c->flops / seconds, c->bytes / seconds, c->bytes)
               : WEFT_OK;
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

static weft_status run_team(bench_team *team, void *self)
{
    bench_run *run = self;
    run->team = team;
    return run->kind->measure(run);
}

static weft_status run_teams(bench_run *run)
{
    binding start;
    WEFT_CHECK(launcher_size() <= 1, WEFT_ERR_LAUNCH,
               "weft bench %s runs as one process, not as %d: start it without mpirun", run->name, launcher_size());
    WEFT_TRY(bench_team_start(run->options, &start, &run->teams));
    run->sets = 1;
    WEFT_TRY(run->kind->begin(run));
    for (run->set = 0; run->set < run->sets; run->set++) {
        const weft_status status = bench_each_team(run->options, &start, run_team, run);
        if (run->kind->leave != NULL) {
            run->kind->leave(run);
        }
        WEFT_TRY(status);
    }
    return bench_end(run);
}

static weft_status measure_ranks(bench_run *run)
{
    run->comm = run->context->comm;
    run->options = run->context->options;
    WEFT_TRY(run->kind->begin(run));
    WEFT_TRY(run->kind->measure(run));
    return bench_end(run);
}

static weft_status run_ranks(bench_run *run)
{
    app_context context;
    run->context = &context;
    weft_status status = app_context_open(run->options, &context);
    status = status == WEFT_OK ? measure_ranks(run) : status;
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
        const size_t used = strlen(others);
        if (option_id_listed(bench->uses, id)) {
            snprintf(others + used, sizeof others - used, "%s%s", used > 0 ? "|" : "", bench->name);
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
        const size_t used = strlen(known);
        if (strcmp(bench->name, wanted) == 0) {
            WEFT_TRY(check_options(options, bench));
            return run_bench(options, bench);
        }
        snprintf(known + used, sizeof known - used, "%s%s (%s)", used > 0 ? ", " : "", bench->name, bench->measures);
    }
    return weft_fail(WEFT_ERR_USAGE, "weft bench %s: there are %s", wanted, known);
}
