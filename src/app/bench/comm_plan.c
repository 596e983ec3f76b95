/*
 * app/bench/comm_plan.c: weft bench comm --op allreduce, allgather, bcast and reducescatter: the planned collectives on
 * a vector of float32. All but the all-reduce cut it into a share for each rank, equal ones as far as the elements go
 * (comm/coll/cut.h).
 *
 * All-reduces stand beside the MPI library's own. Both sides start from vectors that are in the caches as far as they
 * fit. Ours reduces a buffer of comm_buffer_alloc in place; MPI_Allreduce is given ordinary memory, in place or not,
 * whichever of the two is faster at this size. What is summed while the clock runs is zero, so that sums of sums
 * neither overflow nor become denormal.
 *
 * Before and after the timing known inputs (app/bench/bench.h) go through the plan, and every rank checks what it
 * holds then: sums against those in double precision, and elements that it received, which were NaN before, bit by bit.
 * After an all-reduce all ranks must hold the same bits.
 */
#include <assert.h>
#include <string.h>

#include "app/bench/bench_comm.h"
#include "base/alloc.h"
#include "base/integer/integers.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"
#include "comm/core/window.h"

enum { CHOICE_TRIES = 3, BUFFER_ALIGN = 1024 /* elements: a page */ };

/* ran: the algorithm that auto became. of_best: the median over the least median of the algorithms measured so far, so
 * with auto last it is auto/best. bytes_sent, messages, shared_bytes: of one operation, of the busiest rank. */
/* clang-format off */
#define ALLREDUCE_ROW(C)                                                                                               \
    C(TEXT, op, false) C(TEXT, algorithm, true) C(TEXT, ran, true) C(TEXT, wire, true) COMM_SECONDS(C)                 \
    C(REAL, mpi_seconds_median, true) C(REAL, mpi_seconds_min, false) C(REAL, ratio, true) C(REAL, of_best, true)      \
    C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true) C(INT, shared_bytes, false)           \
    C(REAL, bus_gb_per_s, true) C(VALID, valid, true)
#define SHARES_ROW(C)                                                                                                  \
    C(TEXT, op, true) COMM_SECONDS(C) C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true)     \
    C(INT, shared_bytes, true) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(allreduce_row, ALLREDUCE_ROW);
TABLE_ROW(shares_row, SHARES_ROW);

typedef struct plan_case {
    weft_comm *comm;
    int64_t count; /* elements of the vector */
    bench_op op;
    bool sums; /* the operation adds; else it moves elements */
    comm_wire wire;
    comm_plan *plan;
    float *buffer;              /* [count] the plan's */
    int64_t begin, own;         /* elements of the vector of which this rank holds the result */
    float *mpi_send, *mpi_recv; /* [count] of the all-reduce beside; NULL: there is none */
    int64_t figure[3];          /* bytes sent, messages, shared bytes of one operation, of the busiest rank */
    double worst;               /* largest error over its bound */
} plan_case;

static weft_status run_plan(void *self)
{
    const plan_case *c = self;
    WEFT_TRY(comm_post(c->plan));
    return comm_wait(c->plan);
}

static weft_status run_mpi(void *self)
{
    const plan_case *c = self;
    return comm_native_sum(c->comm, c->mpi_send, c->mpi_recv, c->count);
}

static weft_status run_mpi_in_place(void *self)
{
    const plan_case *c = self;
    return comm_native_sum(c->comm, c->mpi_recv, c->mpi_recv, c->count);
}

/* ---- the check ---- */

/* Every rank has addends of its own; the vector that is gathered or broadcast holds the inputs of rank 0. */
static void fill(const plan_case *c)
{
    const int rank = comm_rank(c->comm);
    const bool root = c->op == BENCH_OP_BCAST && rank == 0, gathers = c->op == BENCH_OP_ALLGATHER;
    bench_fill(c->sums ? rank : 0, c->buffer, c->count);
    for (int64_t i = 0; i < c->count && !c->sums && !root; ++i) {
        c->buffer[i] = gathers && i >= c->begin && i < c->begin + c->own ? c->buffer[i] : NAN;
    }
}

static double error_of(const plan_case *c)
{
    if (c->sums) {
        return bench_sum_error(c->buffer, c->begin, c->own, comm_size(c->comm), c->wire);
    }
    double worst = 0.0;
    for (int64_t i = 0; i < c->count; ++i) {
        worst = c->buffer[i] == bench_input(0, i) ? worst : (double)INFINITY;
    }
    return worst;
}

/* One operation on known inputs. Collective. */
static weft_status check(void *self, double *error)
{
    plan_case *c = self;
    memset(c->figure, 0, sizeof c->figure);
    fill(c);
    bench_comm_traffic(c->comm, -1, c->figure);
    WEFT_TRY(run_plan(c));
    bench_comm_traffic(c->comm, 1, c->figure);
    c->worst = fmax(c->worst, error_of(c));
    WEFT_TRY(comm_allreduce(c->comm, c->figure, 3, WEFT_DTYPE_I64, COMM_MAX));
    if (c->op == BENCH_OP_ALLREDUCE) {
        WEFT_TRY(bench_comm_equal(c->comm, c->buffer, c->count, &c->worst));
    }
    *error = c->worst;
    return WEFT_OK;
}

/* ---- the plans ---- */

/* What every descriptor of an operation on the vector has. */
#define COMM_VECTOR(c) .lane = COMM_LANE_GRADIENT, .dtype = WEFT_DTYPE_F32, .buffer = (c)->buffer, .name = "bench"

static weft_status make_plan(plan_case *c, comm_algorithm algorithm, int64_t *share)
{
    const int64_t count = c->count, size = comm_size(c->comm), rank = comm_rank(c->comm);
    for (int64_t p = 0; p < size; ++p) {
        share[p] = count * (p + 1) / size - count * p / size;
    }
    c->begin = c->op == BENCH_OP_ALLREDUCE ? 0 : count * rank / size;
    c->own = c->op == BENCH_OP_ALLREDUCE ? count : share[rank];
    const comm_shares_desc shares = {COMM_VECTOR(c), .op = COMM_SUM, .count = share};
    switch (c->op) {
    case BENCH_OP_ALLGATHER:
        return comm_allgather_plan(c->comm, &shares, &c->plan);
    case BENCH_OP_REDUCESCATTER:
        return comm_reduce_scatter_plan(c->comm, &shares, &c->plan);
    case BENCH_OP_BCAST:
        return comm_bcast_plan(c->comm, 0, &(comm_bcast_desc){COMM_VECTOR(c), .count = count}, &c->plan);
    default:
        return comm_allreduce_plan(c->comm,
                                   &(comm_allreduce_desc){COMM_VECTOR(c), .op = COMM_SUM, .algorithm = algorithm,
                                                          .count = count, .wire = c->wire},
                                   &c->plan);
    }
}

static weft_status open_case(bench_run *run, void *self)
{
    plan_case *c = self;
    int64_t *share = NULL;
    const bench_op op = option_choice(run->options, OPT_OP);
    const bool reduces = op == BENCH_OP_ALLREDUCE;
    *c = (plan_case){.comm = run->comm,
                     .count = COMM_COUNT(run),
                     .op = op,
                     .sums = reduces || op == BENCH_OP_REDUCESCATTER,
                     .wire = reduces ? option_choice(run->options, OPT_WIRE) : COMM_WIRE_SAME};
    WEFT_TRY(reduces ? comm_buffer_alloc(c->comm, run->at[0], (void **)&c->buffer) : WEFT_OK);
    weft_status status = WEFT_NEW(&share, comm_size(c->comm), WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK && !reduces) {
        status = WEFT_NEW(&c->buffer, c->count, WEFT_MEM_WORKSPACE);
    } else if (status == WEFT_OK && comm_native_available(c->comm)) {
        const int64_t apart = whole(c->count, BUFFER_ALIGN);
        status = WEFT_NEW(&c->mpi_send, 2 * apart, WEFT_MEM_WORKSPACE);
        c->mpi_recv = status == WEFT_OK ? c->mpi_send + apart : NULL;
    }
    status = comm_agree(c->comm, status);
    status = status == WEFT_OK ? make_plan(c, (comm_algorithm)run->at[1], share) : status;
    weft_free(share);
    return status;
}

static void close_case(void *self)
{
    plan_case *c = self;
    comm_plan_destroy(c->plan);
    weft_free(c->mpi_send);
    if (c->op == BENCH_OP_ALLREDUCE) {
        comm_buffer_free(c->comm, c->buffer);
    } else {
        weft_free(c->buffer);
    }
}

/* ---- a case ---- */

static weft_status add_row(bench_run *run, const plan_case *c, const bench_result *result)
{
    static const char *const wires[] = {COMM_WIRES(CHOICE_NAME)}, *const same[] = {"bytes", NULL};
    const comm_cost cost = comm_plan_cost(c->plan);
    const double model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost);
    const double median = result->time.seconds.median, ranks = comm_size(c->comm);
    const int nodes = comm_get_layout(c->comm)->nodes;
    if (c->op != BENCH_OP_ALLREDUCE) {
        return bench_add(run, &(shares_row){COMM_COMMON(run, result), .nodes = nodes, .model_seconds = model_seconds,
                                            .bytes_sent = c->figure[0], .messages = c->figure[1],
                                            .shared_bytes = c->figure[2]});
    }
    return bench_add_best(
        run,
        &(allreduce_row){COMM_COMMON(run, result), .nodes = nodes, .algorithm = bench_name(run, 1),
                         .ran = comm_algorithm_name(comm_plan_algorithm(c->plan)), .wire = wires[c->wire],
                         .mpi_seconds_median = result->time.other.median, .mpi_seconds_min = result->time.other.least,
                         .ratio = result->time.ratio, .model_seconds = model_seconds, .bytes_sent = c->figure[0],
                         .messages = c->figure[1], .shared_bytes = c->figure[2],
                         .bus_gb_per_s =
                             ranks > 1 ? 2.0 * (ranks - 1) / ranks * (double)run->at[0] / median * 1e-9 : (double)NAN},
        same);
}

static weft_status measure(bench_run *run, void *self)
{
    plan_case *c = self;
    const bench_side mpi = {run_mpi, c, NULL}, in_place = {run_mpi_in_place, c, NULL};
    bench_case timed = {.side = {run_plan, c, NULL}, .check = check};
    bench_pair tried;
    bench_result result;
    WEFT_TRY(check(c, &result.error));
    memset(c->buffer, 0, (size_t)run->at[0]);
    if (c->mpi_recv != NULL) { /* pages that were never written would all be the kernel's one page of zeros */
        memset(c->mpi_send, 0, (size_t)run->at[0]);
        memset(c->mpi_recv, 0, (size_t)run->at[0]);
        WEFT_TRY(bench_time(c->comm, &mpi, &in_place, CHOICE_TRIES, &tried));
        timed.other = tried.other.least < tried.seconds.least ? in_place : mpi;
    }
    WEFT_TRY(bench_measure(run, &timed, &result));
    return add_row(run, c, &result);
}

#define PLAN_CASES(row)                                                                                                \
    {                                                                                                                  \
        .ranks = true, BENCH_CASES(plan_case, row), .unsupported = "does not run on these nodes or with this wire"     \
    }
const comm_bench_op bench_comm_allreduce = {.choices = OPT_ALLREDUCE, .kind = PLAN_CASES(allreduce_row)};
const comm_bench_op bench_comm_shares = {.choices = OPTION_NONE, .kind = PLAN_CASES(shares_row)};
