/*
 * app/bench/bench_comm.c: weft bench comm: what the communication core takes and sends, on all ranks of the job.
 *
 *      mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all --format json
 *
 * Every case is checked against sums in double precision of the ranks' known inputs before its rate is printed. Times
 * are those of the slowest rank.
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

typedef struct comm_bench {
    bench_run run;
    char mpi[128];
} comm_bench;

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

weft_status bench_comm_equal(weft_comm *comm, const float *x, int64_t count, double *worst)
{
    int64_t hash[2] = {(int64_t)file_checksum(x, (size_t)count * sizeof *x, 0), 0};
    hash[1] = ~hash[0]; /* its maximum tells the least hash */
    WEFT_TRY(comm_allreduce(comm, hash, 2, WEFT_DTYPE_I64, COMM_MAX));
    *worst = hash[0] == ~hash[1] ? *worst : (double)INFINITY;
    return WEFT_OK;
}

static weft_status find_sizes(bench_run *run)
{
    const bench_axis *sizes = &run->axis[0];
    bench_axis_numbers(run->options, OPT_SIZES, &run->axis[0]);
    for (int i = 0; i < sizes->count; i++) {
        WEFT_CHECK(sizes->value[i] % (int64_t)sizeof(float) == 0, WEFT_ERR_USAGE,
                   "--sizes: %" PRId64 " is no multiple of 4 bytes (float32)", sizes->value[i]);
    }
    return WEFT_OK;
}

/* The algorithms that are measured, by the choices of the operation. */
static weft_status find_names(bench_run *run, const comm_bench_op *op)
{
    const weft_options *options = run->options;
    const char *name = option_text(options, OPT_OP);
    const bool asked = option_is_set(options, OPT_ALGORITHMS);
    if (op->choices == OPTION_NONE) {
        WEFT_CHECK(!asked, WEFT_ERR_USAGE, "--algorithms does not go with --op %s, which has one", name);
        return bench_axis_names("--op", name, name, &run->axis[1]);
    }
    return bench_axis_names("--algorithms", op->all && !asked ? "all" : option_text(options, OPT_ALGORITHMS),
                            option_row_in(options, op->choices)->choices, &run->axis[1]);
}

static weft_status begin(bench_run *run)
{
    static const comm_bench_op *const ops[] = {
        [BENCH_OP_ALLREDUCE] = &bench_comm_allreduce, [BENCH_OP_ALLGATHER] = &bench_comm_shares,
        [BENCH_OP_BCAST] = &bench_comm_shares,        [BENCH_OP_REDUCESCATTER] = &bench_comm_shares,
        [BENCH_OP_SYNC] = &bench_comm_sync,           [BENCH_OP_SELECT] = &bench_comm_select};
    const comm_bench_op *op = ops[option_choice(run->options, OPT_OP)];
    char *mpi = ((comm_bench *)run)->mpi;
    run->kind = &op->kind;
    WEFT_TRY(comm_setup_begin(run->context));
    WEFT_TRY(comm_setup(run->context, true));
    WEFT_TRY(find_sizes(run));
    WEFT_TRY(find_names(run, op));
    WEFT_TRY(op->check != NULL ? op->check(run->options) : WEFT_OK);
    snprintf(mpi, sizeof((comm_bench *)run)->mpi, "none");
    if (comm_native_available(run->comm)) {
        comm_mpi_version(mpi, sizeof((comm_bench *)run)->mpi);
    }
    return BENCH_HEAD(run, comm_head, .op = option_text(run->options, OPT_OP), .ranks = comm_size(run->comm),
                      .nodes = comm_get_layout(run->comm)->nodes, .threads = run->context->placement.threads,
                      .mpi = mpi, .model_measured = comm_get_model(run->comm)->measured);
}

const bench_kind bench_comm = {.bytes = sizeof(comm_bench), .ranks = true, .begin = begin};
