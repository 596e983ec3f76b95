/*
 * app/bench/bench_comm.c: weft bench comm: what the communication core takes and sends, on all ranks of the job.
 *
 *      mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all --format json
 *
 * Every case is checked against sums in double precision of the ranks' known inputs before its rate is printed; a wrong
 * one gets no rate and the command ends with exit code 70. Times are those of the slowest rank; see app/bench/pair.h.
 */
#include "app/bench/bench_comm.h"

#include <inttypes.h>
#include <math.h>

#include "app/setup/comm_setup.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"

static const table_column skip_columns[] = {
    {"algorithm", CELL_TEXT, true}, {"bytes", CELL_INT, true}, {"reason", CELL_TEXT, true}};

/* A case has been measured or skipped. */
static void count_case(comm_bench *bench)
{
    log_progress_update(&bench->progress, bench->grid.rows + bench->unsupported.rows);
}

weft_status bench_comm_skip(comm_bench *bench, const char *name, int64_t bytes, const char *reason)
{
    WEFT_TRY(table_grid_add(&bench->unsupported, (table_cell[]){cell_text(name), cell_int(bytes), cell_text(reason)}));
    count_case(bench);
    return WEFT_OK;
}

weft_status bench_comm_add(comm_bench *bench, const table_cell *cell)
{
    WEFT_TRY(table_grid_add(&bench->grid, cell));
    count_case(bench);
    return WEFT_OK;
}

void bench_comm_reject(comm_bench *bench, const char *name, int64_t bytes, double worst)
{
    if (bench->invalid++ == 0) {
        snprintf(bench->first_invalid, sizeof bench->first_invalid,
                 "%s of %" PRId64 " bytes is wrong: an error of %.3g times its bound", name, bytes, worst);
    }
}

weft_status bench_comm_begin(comm_bench *bench, const table_column *column, int columns)
{
    static const table_column head_columns[] = {{"op", CELL_TEXT, true},   {"ranks", CELL_INT, true},
                                                {"nodes", CELL_INT, true}, {"threads", CELL_INT, true},
                                                {"mpi", CELL_TEXT, true},  {"model_measured", CELL_BOOL, true}};
    const app_context *context = bench->context;
    const weft_options *options = context->options;
    snprintf(bench->mpi, sizeof bench->mpi, "none");
    if (comm_native_available(context->comm)) {
        comm_mpi_version(bench->mpi, sizeof bench->mpi);
    }
    bench->head = (table_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    bench->grid.column = column;
    bench->grid.columns = columns;
    WEFT_TRY(table_grid_add(&bench->head,
                            (table_cell[]){cell_text(option_text(options, OPT_OP)), cell_int(comm_size(context->comm)),
                                           cell_int(comm_get_layout(context->comm)->nodes),
                                           cell_int(context->placement.threads), cell_text(bench->mpi),
                                           cell_flag(comm_get_model(context->comm)->measured)}));
    if (comm_rank(context->comm) == 0) {
        table_grid_stream(&bench->grid, stdout, &bench->head, option_choice(options, OPT_FORMAT_OUT));
    }
    bench->progress = log_progress_begin("bench comm", "cases", (double)bench->sizes * bench->names.count);
    return WEFT_OK;
}

static weft_status run_op(comm_bench *bench, const weft_options *options)
{
    const char *algorithms = option_text(options, OPT_ALGORITHMS);
    bench->repeats = (int)option_int(options, OPT_REPEATS);
    WEFT_TRY(bench_sizes_parse(option_text(options, OPT_SIZES), bench->size, &bench->sizes));
    switch (option_choice(options, OPT_OP)) {
    case BENCH_OP_ALLREDUCE:
        WEFT_TRY(bench_names_parse("--algorithms", algorithms,
                                   option_row_in(bench->context->options, OPT_ALLREDUCE)->choices, &bench->names));
        return bench_comm_allreduce(bench);
    case BENCH_OP_SYNC:
        WEFT_TRY(bench_names_parse("--algorithms", algorithms,
                                   option_row_in(bench->context->options, OPT_SYNC)->choices, &bench->names));
        return bench_comm_sync(bench);
    case BENCH_OP_SELECT:
        WEFT_TRY(bench_names_parse("--algorithms", option_is_set(options, OPT_ALGORITHMS) ? algorithms : "all",
                                   option_row_in(bench->context->options, OPT_TOPK_SELECT)->choices, &bench->names));
        return bench_comm_select(bench);
    default:
        return weft_fail(WEFT_ERR_INTERNAL, "--op %s has no bench", option_text(options, OPT_OP));
    }
}

static weft_status run(comm_bench *bench, app_context *context)
{
    const weft_options *options = context->options;
    bench->context = context;
    WEFT_TRY(comm_setup(context, true));
    WEFT_TRY(run_op(bench, options));
    log_progress_end(&bench->progress);
    if (comm_rank(context->comm) == 0) {
        table_grid_print(stdout, &bench->head, &bench->grid, &bench->unsupported,
                         option_choice(options, OPT_FORMAT_OUT));
    }
    WEFT_CHECK(bench->invalid == 0, WEFT_ERR_INTERNAL, "%s", bench->first_invalid);
    return WEFT_OK;
}

weft_status bench_comm(const weft_options *options)
{
    app_context context;
    comm_bench bench = {.grid = {.name = "rows"},
                        .unsupported = {.name = "unsupported", .column = skip_columns, .columns = 3}};
    weft_status status = app_context_open(options, &context);
    status = status == WEFT_OK ? run(&bench, &context) : status;
    if (status != WEFT_OK) {
        fflush(stdout);
        app_context_fail(&context, status);
    }
    table_grid_free(&bench.head);
    table_grid_free(&bench.grid);
    table_grid_free(&bench.unsupported);
    app_context_close(&context);
    return status;
}
