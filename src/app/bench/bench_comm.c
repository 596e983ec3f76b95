/*
 * app/bench/bench_comm.c: weft bench comm: what the communication core takes and sends, on all ranks of the job.
 *
 *      mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all --format json
 *
 * Every case is checked against sums in double precision of the ranks' known inputs before its rate is printed. Times
 * are those of the slowest rank; see app/bench/bench_time.h.
 */
#include "app/bench/bench_comm.h"

#include <inttypes.h>

#include "app/setup/comm_setup.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"

/* clang-format off */
#define COMM_HEAD(C)                                                                                                   \
    C(TEXT, op, true) C(INT, ranks, true) C(INT, nodes, true) C(INT, threads, true) C(TEXT, mpi, true)                 \
    C(BOOL, model_measured, true)
/* clang-format on */
TABLE_ROW(comm_head, COMM_HEAD);

const char *bench_comm_name(char what[BENCH_WHAT_BYTES], const comm_case *at)
{
    snprintf(what, BENCH_WHAT_BYTES, "%s of %" PRId64 " bytes", at->name, at->bytes);
    return what;
}

void bench_comm_traffic(const weft_comm *comm, int sign, int64_t total[3])
{
    static const comm_lane lanes[] = {COMM_LANE_GRADIENT, COMM_LANE_SHADOW};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        const comm_stats stats = comm_lane_stats(comm, lanes[i]);
        total[0] += sign * (int64_t)stats.bytes_sent;
        total[1] += sign * (int64_t)stats.messages_sent;
        total[2] += sign * (int64_t)stats.shared_bytes;
    }
}

weft_status bench_comm_skip(comm_bench *bench, const comm_case *at, weft_status status, const char *reason)
{
    if (status != WEFT_ERR_UNSUPPORTED || !bench->names.all) {
        return status;
    }
    weft_error_clear();
    return bench_skip(&bench->run, at->name, at->bytes, reason);
}

weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst)
{
    int64_t hash[2] = {(int64_t)bench_bits_hash(x, count), 0};
    hash[1] = ~hash[0]; /* its maximum tells the least hash */
    WEFT_TRY(comm_allreduce(comm, hash, 2, WEFT_DTYPE_I64, COMM_MAX));
    *worst = hash[0] == ~hash[1] ? *worst : (double)INFINITY;
    return WEFT_OK;
}

/* The algorithms that are measured, by the choices of the operation. */
static weft_status find_names(comm_bench *bench)
{
    const weft_options *options = bench->run.options;
    const bool asked = option_is_set(options, OPT_ALGORITHMS);
    if (bench->op->choices == OPTION_NONE) {
        WEFT_CHECK(!asked, WEFT_ERR_USAGE, "--algorithms does not go with --op %s, which has one", bench->op_name);
        return bench_names_parse("--op", bench->op_name, bench->op_name, &bench->names);
    }
    return bench_names_parse("--algorithms", bench->op->all && !asked ? "all" : option_text(options, OPT_ALGORITHMS),
                             option_row_in(options, bench->op->choices)->choices, &bench->names);
}

static weft_status begin(bench_run *run)
{
    static const comm_bench_op *const ops[] = {
        [BENCH_OP_ALLREDUCE] = &bench_comm_allreduce, [BENCH_OP_ALLGATHER] = &bench_comm_shares,
        [BENCH_OP_BCAST] = &bench_comm_shares,        [BENCH_OP_REDUCESCATTER] = &bench_comm_shares,
        [BENCH_OP_SYNC] = &bench_comm_sync,           [BENCH_OP_SELECT] = &bench_comm_select};
    comm_bench *bench = (comm_bench *)run;
    const comm_bench_op *op = bench->op = ops[option_choice(run->options, OPT_OP)];
    bench->op_name = option_text(run->options, OPT_OP);
    WEFT_TRY(comm_setup(run->context, true));
    WEFT_TRY(bench_sizes_parse(option_text(run->options, OPT_SIZES), bench->size, &bench->sizes));
    WEFT_TRY(find_names(bench));
    WEFT_TRY(op->check != NULL ? op->check(run->options) : WEFT_OK);
    snprintf(bench->mpi, sizeof bench->mpi, "none");
    if (comm_native_available(run->comm)) {
        comm_mpi_version(bench->mpi, sizeof bench->mpi);
    }
    const comm_head head = {.op = bench->op_name,
                            .ranks = comm_size(run->comm),
                            .nodes = comm_get_layout(run->comm)->nodes,
                            .threads = run->context->placement.threads,
                            .mpi = bench->mpi,
                            .model_measured = comm_get_model(run->comm)->measured};
    return bench_begin(run, &(bench_table){.column = op->column,
                                           .columns = op->columns,
                                           BENCH_HEAD(comm_head),
                                           .head = &head,
                                           .cases = (double)bench->sizes * bench->names.count});
}

static weft_status measure(bench_run *run)
{
    comm_bench *bench = (comm_bench *)run;
    for (int i = 0; i < bench->sizes * bench->names.count; i++) {
        const int algorithm = i % bench->names.count;
        const int64_t bytes = bench->size[i / bench->names.count];
        bench->best = algorithm == 0 ? (double)NAN : bench->best;
        WEFT_TRY(bench->op->run(bench, &(comm_case){.name = bench->names.name[algorithm],
                                                    .number = bench->names.wanted[algorithm],
                                                    .bytes = bytes,
                                                    .count = bytes / (int64_t)sizeof(float)}));
    }
    return WEFT_OK;
}

const bench_kind bench_comm = {.bytes = sizeof(comm_bench), .ranks = true, .begin = begin, .measure = measure};
