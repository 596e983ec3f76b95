/* app/bench/bench_run.c: see app/bench/bench_run.h. */
#include "app/bench/bench_run.h"

#include <assert.h>
#include <math.h>

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

static weft_status run_team(bench_run *run, const bench_kind *kind, const binding *start, int threads)
{
    bench_team team;
    weft_status status = bench_team_open(run->options, start, threads, &team);
    run->team = &team;
    status = status == WEFT_OK ? kind->measure(run) : status;
    run->team = NULL;
    bench_team_close(&team);
    return status;
}

static weft_status run_teams(bench_run *run, const bench_kind *kind)
{
    int64_t threads[BENCH_TEAMS_MAX];
    binding start;
    WEFT_CHECK(launcher_size() <= 1, WEFT_ERR_LAUNCH,
               "weft bench %s runs as one process, not as %d: start it without mpirun", run->name, launcher_size());
    WEFT_TRY(bench_team_start(&start));
    run->teams = bench_thread_counts(run->options, threads);
    run->sets = 1;
    WEFT_TRY(kind->begin(run));
    for (run->set = 0; run->set < run->sets; run->set++) {
        weft_status status = WEFT_OK;
        for (int t = 0; t < run->teams && status == WEFT_OK; t++) {
            status = run_team(run, kind, &start, (int)threads[t]);
        }
        if (kind->leave != NULL) {
            kind->leave(run);
        }
        WEFT_TRY(status);
    }
    return bench_end(run);
}

static weft_status measure_ranks(bench_run *run, const bench_kind *kind)
{
    run->comm = run->context->comm;
    run->options = run->context->options;
    WEFT_TRY(kind->begin(run));
    WEFT_TRY(kind->measure(run));
    return bench_end(run);
}

static weft_status run_ranks(bench_run *run, const bench_kind *kind)
{
    app_context context;
    run->context = &context;
    weft_status status = app_context_open(run->options, &context);
    status = status == WEFT_OK ? measure_ranks(run, kind) : status;
    if (status != WEFT_OK) {
        fflush(stdout);
        app_context_fail(&context, status);
    }
    app_context_close(&context);
    return status;
}

weft_status bench_run_kind(const weft_options *options, const workload_bench *bench)
{
    const bench_kind *kind = bench->kind;
    bench_run *run = NULL;
    assert(kind->bytes >= sizeof *run);
    WEFT_TRY(weft_calloc(1, kind->bytes, WEFT_MEM_GENERAL, (void **)&run));
    run->name = bench->name;
    run->options = options;
    run->repeats = (int)option_int(options, OPT_REPEATS);
    const weft_status status = kind->ranks ? run_ranks(run, kind) : run_teams(run, kind);
    if (kind->end != NULL) {
        kind->end(run);
    }
    bench_free(run);
    weft_free(run);
    return status;
}
