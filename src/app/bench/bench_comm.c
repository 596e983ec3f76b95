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

#include "app/bench/bench_check.h"
#include "app/setup/comm_setup.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"

/* clang-format off */
#define COMM_HEAD(C)                                                                                                   \
    C(TEXT, op, true) C(INT, ranks, true) C(INT, nodes, true) C(INT, threads, true) C(TEXT, mpi, true)                 \
    C(BOOL, model_measured, true)
/* clang-format on */
TABLE_ROW(comm_head, COMM_HEAD);

bench_quartiles bench_comm_judge(comm_bench *bench, const char *name, int64_t bytes, double worst,
                                 bench_quartiles seconds)
{
    if (worst <= 1.0) {
        return seconds;
    }
    bench_grid_reject(&bench->grid, "%s of %" PRId64 " bytes is wrong: an error of %.3g times its bound", name, bytes,
                      worst);
    return (bench_quartiles){seconds.count, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
}

weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst)
{
    int64_t hash[2] = {(int64_t)bench_bits_hash(x, count), 0};
    hash[1] = ~hash[0]; /* its maximum tells the least hash */
    WEFT_TRY(comm_allreduce(comm, hash, 2, WEFT_DTYPE_I64, COMM_MAX));
    *worst = hash[0] == ~hash[1] ? *worst : (double)INFINITY;
    return WEFT_OK;
}

static weft_status begin(comm_bench *bench, const comm_bench_op *op)
{
    const app_context *context = bench->context;
    snprintf(bench->mpi, sizeof bench->mpi, "none");
    if (comm_native_available(context->comm)) {
        comm_mpi_version(bench->mpi, sizeof bench->mpi);
    }
    const comm_head head = {.op = option_text(context->options, OPT_OP),
                            .ranks = comm_size(context->comm),
                            .nodes = comm_get_layout(context->comm)->nodes,
                            .threads = context->placement.threads,
                            .mpi = bench->mpi,
                            .model_measured = comm_get_model(context->comm)->measured};
    return bench_grid_begin(&bench->grid, &(bench_start){.options = context->options,
                                                         .title = "bench comm",
                                                         .speaks = comm_rank(context->comm) == 0,
                                                         .cases = (double)bench->sizes * bench->names.count,
                                                         .head_column = comm_head_columns,
                                                         .head_columns = TABLE_COLUMNS(comm_head),
                                                         .head = &head,
                                                         .column = op->column,
                                                         .columns = op->columns});
}

/* The algorithms that are measured, by the choices of the operation. */
static weft_status find_names(comm_bench *bench, const comm_bench_op *op)
{
    const weft_options *options = bench->context->options;
    const bool asked = option_is_set(options, OPT_ALGORITHMS);
    if (op->choices == OPTION_NONE) {
        WEFT_CHECK(!asked, WEFT_ERR_USAGE, "--algorithms does not go with --op %s, which has one",
                   option_text(options, OPT_OP));
        bench->names.count = 1;
        return WEFT_OK;
    }
    return bench_names_parse("--algorithms", op->all && !asked ? "all" : option_text(options, OPT_ALGORITHMS),
                             option_row_in(options, op->choices)->choices, &bench->names);
}

static weft_status run_op(comm_bench *bench, const comm_bench_op *op)
{
    const weft_options *options = bench->context->options;
    bench->repeats = (int)option_int(options, OPT_REPEATS);
    WEFT_TRY(bench_sizes_parse(option_text(options, OPT_SIZES), bench->size, &bench->sizes));
    WEFT_TRY(find_names(bench, op));
    WEFT_TRY(op->check != NULL ? op->check(bench) : WEFT_OK);
    WEFT_TRY(begin(bench, op));
    for (int i = 0; i < bench->sizes; i++) {
        WEFT_TRY(op->run(bench, bench->size[i]));
    }
    return bench_grid_end(&bench->grid);
}

static weft_status run(comm_bench *bench, app_context *context)
{
    static const comm_bench_op *const ops[] = {
        [BENCH_OP_ALLREDUCE] = &bench_comm_allreduce, [BENCH_OP_ALLGATHER] = &bench_comm_shares,
        [BENCH_OP_BCAST] = &bench_comm_shares,        [BENCH_OP_REDUCESCATTER] = &bench_comm_shares,
        [BENCH_OP_SYNC] = &bench_comm_sync,           [BENCH_OP_SELECT] = &bench_comm_select};
    bench->context = context;
    WEFT_TRY(comm_setup(context, true));
    return run_op(bench, ops[option_choice(context->options, OPT_OP)]);
}

weft_status bench_comm(const weft_options *options)
{
    app_context context;
    comm_bench bench = {.sizes = 0};
    weft_status status = app_context_open(options, &context);
    status = status == WEFT_OK ? run(&bench, &context) : status;
    if (status != WEFT_OK) {
        fflush(stdout);
        app_context_fail(&context, status);
    }
    bench_grid_free(&bench.grid);
    app_context_close(&context);
    return status;
}
