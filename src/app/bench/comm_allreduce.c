/*
 * app/bench/comm_allreduce.c: weft bench comm --op allreduce: our all-reduces of float32 beside the MPI library's own.
 *
 * Both sides start from vectors that are in the caches as far as they fit. Ours reduces a buffer of comm_buffer_alloc
 * in place; MPI_Allreduce is given ordinary memory, in place or not, whichever of the two is faster at this size. What
 * is summed while the clock runs is zero, so that sums of sums neither overflow nor become denormal.
 *
 * Before and after the timing a sum of known inputs is checked on every rank and element (app/bench/bench_check.h),
 * and all ranks must hold the same bits.
 */
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/bench/bench_comm.h"
#include "app/bench/pair.h"
#include "base/alloc.h"
#include "comm/coll/coll.h"
#include "comm/core/window.h"

enum { CHOICE_TRIES = 3 };

/* ran: what auto became. of_best: the median over the least of the algorithms measured so far: with auto last it is
 * auto/best. */
/* clang-format off */
#define ALLREDUCE_ROW(C)                                                                                               \
    C(TEXT, op, false) C(TEXT, algorithm, true) C(TEXT, ran, true) C(TEXT, wire, true) C(INT, bytes, true)             \
    C(INT, ranks, false) C(INT, nodes, false) C(INT, n, false) C(REAL, seconds_median, true)                           \
    C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(REAL, seconds_min, false)                                    \
    C(REAL, mpi_seconds_median, true) C(REAL, mpi_seconds_min, false) C(REAL, ratio, true) C(REAL, of_best, true)      \
    C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true) C(INT, shared_bytes, false)           \
    C(REAL, bus_gb_per_s, true) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(allreduce_row, ALLREDUCE_ROW);

typedef struct sum_case {
    weft_comm *comm;
    const char *name;
    comm_wire wire;
    int64_t bytes, count;
    float *buffer; /* [count] the plan's */
    comm_plan *plan;
    float *mpi_send, *mpi_recv; /* [count] or NULL */
    bool in_place;              /* MPI's side */
    bench_pair times;
    int64_t sent, messages, shared; /* of one operation, of the busiest rank */
    double worst;                   /* largest error over its bound */
} sum_case;

static weft_status run_ours(void *argument)
{
    const sum_case *c = argument;
    WEFT_TRY(comm_post(c->plan));
    return comm_wait(c->plan);
}

static weft_status run_mpi(void *argument)
{
    const sum_case *c = argument;
    return comm_native_sum(c->comm, c->in_place ? c->mpi_recv : c->mpi_send, c->mpi_recv, c->count);
}

/* One operation on known inputs; collective, the same verdict on every rank. */
static weft_status check(sum_case *c)
{
    comm_stats before = comm_lane_stats(c->comm, COMM_LANE_GRADIENT);
    bench_fill(comm_rank(c->comm), c->buffer, c->count);
    WEFT_TRY(run_ours(c));
    comm_stats after = comm_lane_stats(c->comm, COMM_LANE_GRADIENT);
    int64_t figure[3] = {(int64_t)(after.bytes_sent - before.bytes_sent),
                         (int64_t)(after.messages_sent - before.messages_sent),
                         (int64_t)(after.shared_bytes - before.shared_bytes)};
    double worst = bench_sum_error(c->buffer, c->count, comm_size(c->comm), c->wire);
    WEFT_TRY(comm_allreduce(c->comm, figure, 3, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_TRY(comm_allreduce(c->comm, &worst, 1, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(bench_comm_equal(c->comm, c->buffer, c->count, &worst));
    c->sent = figure[0];
    c->messages = figure[1];
    c->shared = figure[2];
    c->worst = fmax(c->worst, worst);
    return WEFT_OK;
}

/* Whether MPI is faster in place, here and at this size. */
static weft_status choose_in_place(sum_case *c)
{
    const bench_side side = {run_mpi, c};
    double least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < 2 * CHOICE_TRIES; i++) {
        double seconds = 0.0;
        c->in_place = i % 2 == 1;
        WEFT_TRY(bench_sample(c->comm, &side, 1, &seconds));
        least[i % 2] = fmin(least[i % 2], seconds);
    }
    c->in_place = least[1] < least[0];
    return WEFT_OK;
}

static weft_status measure(sum_case *c, int repeats)
{
    const bench_side ours = {run_ours, c};
    const bench_side mpi = {run_mpi, c};
    WEFT_TRY(check(c));
    memset(c->buffer, 0, (size_t)c->bytes);
    if (c->mpi_recv != NULL) {
        WEFT_TRY(choose_in_place(c));
    }
    WEFT_TRY(bench_pair_measure(c->comm, &ours, c->mpi_recv != NULL ? &mpi : NULL, repeats, &c->times));
    return check(c);
}

static weft_status add_row(comm_bench *bench, const sum_case *c)
{
    static const char *const wires[] = {COMM_WIRES(CHOICE_NAME)};
    static const char *const same[] = {"wire", "bytes", NULL};
    const comm_cost cost = comm_plan_cost(c->plan);
    const bool valid = c->worst <= 1.0;
    const bench_pair *t = &c->times;
    const bench_quartiles ours = valid ? t->seconds : bench_quartiles_of(NULL, 0);
    const int ranks = comm_size(c->comm);
    if (!valid) {
        bench_comm_reject(bench, c->name, c->bytes, c->worst);
    }
    allreduce_row row = {.op = "allreduce",
                         .algorithm = c->name,
                         .ran = comm_algorithm_name(comm_plan_algorithm(c->plan)),
                         .wire = wires[c->wire],
                         .bytes = c->bytes,
                         .ranks = ranks,
                         .nodes = comm_get_layout(c->comm)->nodes,
                         .seconds_min = ours.least,
                         .mpi_seconds_median = t->other.median,
                         .mpi_seconds_min = t->other.least,
                         .ratio = valid ? t->ratio : (double)NAN,
                         .model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost),
                         .bytes_sent = c->sent,
                         .messages = c->messages,
                         .shared_bytes = c->shared,
                         .valid = valid};
    BENCH_SET_SECONDS(&row, ours);
    row.n = t->seconds.count;
    row.bus_gb_per_s = ranks > 1 ? 2.0 * (ranks - 1) / ranks * (double)c->bytes / ours.median * 1e-9 : (double)NAN;
    row.of_best = ours.median / table_grid_least(&bench->grid.rows, &row, "seconds_median", same);
    return bench_grid_add(&bench->grid, &row);
}

/* Collective: the plan, or a line about why there is none. */
static weft_status make_plan(comm_bench *bench, sum_case *c, comm_algorithm algorithm)
{
    const comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                      .algorithm = algorithm,
                                      .dtype = WEFT_DTYPE_F32,
                                      .op = COMM_SUM,
                                      .count = c->count,
                                      .buffer = c->buffer,
                                      .wire = c->wire,
                                      .name = "bench"};
    if (bench->names.all && algorithm != COMM_ALGO_AUTO && coll_algorithm_of(algorithm) == NULL) {
        return bench_grid_skip(&bench->grid, c->name, c->bytes, "not in this build");
    }
    weft_status status = comm_allreduce_plan(c->comm, &desc, &c->plan);
    if (status == WEFT_ERR_UNSUPPORTED && bench->names.all) {
        weft_error_clear();
        return bench_grid_skip(&bench->grid, c->name, c->bytes, "does not run on these nodes or with this wire");
    }
    return status;
}

/* Zeros in pages of their own: pages that were never written would all be the kernel's one page of zeros. */
static weft_status new_touched(int64_t count, float **x)
{
    WEFT_TRY(WEFT_NEW(x, count, WEFT_MEM_WORKSPACE));
    memset(*x, 0, (size_t)count * sizeof **x);
    return WEFT_OK;
}

static weft_status run_size(comm_bench *bench, int64_t bytes)
{
    weft_comm *comm = bench->context->comm;
    weft_status status = WEFT_OK;
    sum_case c = {.comm = comm, .bytes = bytes, .count = bytes / (int64_t)sizeof(float)};
    void *buffer = NULL;
    float *send = NULL;
    float *recv = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, bytes, &buffer));
    if (comm_native_available(comm)) {
        status = new_touched(c.count, &send);
        status = status == WEFT_OK ? new_touched(c.count, &recv) : status;
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    for (int i = 0; i < bench->names.count; i++) {
        const int number = bench->names.wanted[i];
        c = (sum_case){.comm = comm,
                       .name = bench->names.choice[number],
                       .wire = option_choice(bench->context->options, OPT_WIRE),
                       .bytes = bytes,
                       .count = c.count,
                       .buffer = buffer,
                       .mpi_send = send,
                       .mpi_recv = recv};
        WEFT_TRY_GOTO(make_plan(bench, &c, (comm_algorithm)number), status, done);
        if (c.plan != NULL) {
            WEFT_TRY_GOTO(measure(&c, bench->repeats), status, done);
            WEFT_TRY_GOTO(add_row(bench, &c), status, done);
            comm_plan_destroy(c.plan);
            c.plan = NULL;
        }
    }
done:
    comm_plan_destroy(c.plan);
    weft_free(send);
    weft_free(recv);
    if (status == WEFT_OK || comm_size(comm) == 1) {
        comm_buffer_free(comm, buffer); /* after a failure the job ends, and other ranks may not come to meet */
    }
    return status;
}

weft_status bench_comm_allreduce(comm_bench *bench)
{
    WEFT_TRY(bench_comm_begin(bench, allreduce_row_columns, TABLE_COLUMNS(allreduce_row)));
    for (int i = 0; i < bench->sizes; i++) {
        WEFT_TRY(run_size(bench, bench->size[i]));
    }
    return WEFT_OK;
}
