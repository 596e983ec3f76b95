/* app/bench/bench_grid.c: see app/bench/bench_grid.h. */
#include "app/bench/bench_grid.h"

#include <assert.h>
#include <stdarg.h>

static const table_column skip_columns[] = {
    {"algorithm", CELL_TEXT, true}, {"bytes", CELL_INT, true}, {"reason", CELL_TEXT, true}};

weft_status bench_grid_begin(bench_grid *grid, const bench_start *start)
{
    assert(start->head != NULL && start->head_columns > 0 && start->columns > 0);
    *grid = (bench_grid){.head = {.column = start->head_column, .columns = start->head_columns},
                         .rows = {.name = "rows", .column = start->column, .columns = start->columns},
                         .skipped = {.name = "unsupported", .column = skip_columns, .columns = 3},
                         .format = option_choice(start->options, OPT_FORMAT_OUT),
                         .speaks = start->speaks};
    WEFT_TRY(table_grid_add_row(&grid->head, start->head));
    if (start->speaks) {
        table_grid_stream(&grid->rows, stdout, &grid->head, grid->format);
    }
    grid->progress = log_progress_begin(start->title, "cases", start->cases);
    return WEFT_OK;
}

weft_status bench_grid_add(bench_grid *grid, const void *row)
{
    assert(grid->rows.column != NULL); /* begun */
    WEFT_TRY(table_grid_add_row(&grid->rows, row));
    log_progress_update(&grid->progress, grid->rows.rows + grid->skipped.rows);
    return WEFT_OK;
}

weft_status bench_grid_skip(bench_grid *grid, const char *name, int64_t bytes, const char *reason)
{
    WEFT_TRY(table_grid_add(&grid->skipped, (table_cell[]){cell_text(name), cell_int(bytes), cell_text(reason)}));
    log_progress_update(&grid->progress, grid->rows.rows + grid->skipped.rows);
    return WEFT_OK;
}

void bench_grid_reject(bench_grid *grid, const char *format, ...)
{
    va_list args;
    if (grid->invalid++ == 0) {
        va_start(args, format);
        vsnprintf(grid->first_invalid, sizeof grid->first_invalid, format, args);
        va_end(args);
    }
}

weft_status bench_grid_end(bench_grid *grid)
{
    log_progress_end(&grid->progress);
    if (grid->speaks) {
        table_grid_print(stdout, &grid->head, &grid->rows, &grid->skipped, grid->format);
    }
    WEFT_CHECK(grid->invalid == 0, WEFT_ERR_INTERNAL, "%s", grid->first_invalid);
    return WEFT_OK;
}

void bench_grid_free(bench_grid *grid)
{
    table_grid_free(&grid->head);
    table_grid_free(&grid->rows);
    table_grid_free(&grid->skipped);
}

bench_kernel_head bench_kernel_head_of(const weft_options *options, const char *bench)
{
    return (bench_kernel_head){.bench = bench,
                               .backend = option_text(options, OPT_BACKEND),
                               .warmup = 1,
                               .repeats = option_int(options, OPT_REPEATS)};
}

weft_status bench_each_team(const weft_options *options, const binding *start,
                            weft_status (*run)(bench_team *team, void *self), void *self)
{
    int64_t threads[BENCH_TEAMS_MAX];
    const int count = bench_thread_counts(options, threads);
    assert(count > 0);
    for (int t = 0; t < count; t++) {
        bench_team team;
        weft_status status = bench_team_open(options, start, (int)threads[t], &team);
        status = status == WEFT_OK ? run(&team, self) : status;
        bench_team_close(&team);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}
