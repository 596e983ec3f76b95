/*
 * app/bench/comm_shares.c: weft bench comm --op allgather, bcast and reducescatter: the planned collectives on a vector
 * of float32 that is cut into a share for each rank, equal ones as far as the elements go (comm/coll/cut.h).
 *
 * Before and after the timing known inputs (app/bench/bench_check.h) go through the plan, and every rank checks what it
 * holds then: the bits of all elements, or of a sum its own share against the sum in double precision. Elements that a
 * rank should receive are NaN before.
 */
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/bench/bench_comm.h"
#include "app/bench/pair.h"
#include "base/alloc.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"

/* bytes_sent, messages, shared_bytes: of the busiest rank. */
/* clang-format off */
#define SHARES_ROW(C)                                                                                                  \
    C(TEXT, op, true) C(INT, bytes, true) C(INT, ranks, false) C(INT, nodes, false) C(INT, n, false)                   \
    C(REAL, seconds_median, true) C(REAL, seconds_q1, true) C(REAL, seconds_q3, true) C(REAL, seconds_min, false)      \
    C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true) C(INT, shared_bytes, true)            \
    C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(shares_row, SHARES_ROW);

typedef struct shares_case {
    weft_comm *comm;
    bench_op op;
    float *buffer;             /* [count] the plan's */
    int64_t count, begin, own; /* elements of the vector; the share of this rank */
    comm_plan *plan;
    int64_t figure[3]; /* bytes sent, messages, shared bytes of one operation, of the busiest rank */
    double worst;      /* largest error over its bound */
} shares_case;

static weft_status run_plan(void *argument)
{
    const shares_case *c = argument;
    WEFT_TRY(comm_post(c->plan));
    return comm_wait(c->plan);
}

/* Inputs of rank 0 are the vector that is gathered or broadcast; every rank has addends of its own. */
static void fill(const shares_case *c)
{
    const int rank = comm_rank(c->comm);
    for (int64_t i = 0; i < c->count; ++i) {
        const bool own = c->op == BENCH_OP_BCAST ? rank == 0 : i >= c->begin && i < c->begin + c->own;
        c->buffer[i] = c->op == BENCH_OP_REDUCESCATTER ? bench_input(rank, i) : own ? bench_input(0, i) : NAN;
    }
}

static double error_of(const shares_case *c)
{
    const bool sums = c->op == BENCH_OP_REDUCESCATTER;
    double worst = 0.0;
    for (int64_t i = 0; i < c->count; ++i) {
        bench_sum sum = {.exact = 0.0};
        if (!sums) {
            worst = c->buffer[i] == bench_input(0, i) ? worst : (double)INFINITY;
        } else if (i >= c->begin && i < c->begin + c->own) {
            for (int rank = 0; rank < comm_size(c->comm); ++rank) {
                bench_sum_add(&sum, (double)bench_input(rank, i), 1.0);
            }
            worst = bench_sum_worst(worst, &sum, (double)c->buffer[i], 0.0);
        }
    }
    return worst;
}

/* One operation on known inputs. Collective. */
static weft_status check(shares_case *c)
{
    const comm_stats before = comm_lane_stats(c->comm, COMM_LANE_GRADIENT);
    fill(c);
    WEFT_TRY(run_plan(c));
    const comm_stats after = comm_lane_stats(c->comm, COMM_LANE_GRADIENT);
    double worst = error_of(c);
    c->figure[0] = (int64_t)(after.bytes_sent - before.bytes_sent);
    c->figure[1] = (int64_t)(after.messages_sent - before.messages_sent);
    c->figure[2] = (int64_t)(after.shared_bytes - before.shared_bytes);
    WEFT_TRY(comm_allreduce(c->comm, c->figure, 3, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_TRY(comm_allreduce(c->comm, &worst, 1, WEFT_DTYPE_F64, COMM_MAX));
    c->worst = fmax(c->worst, worst);
    return WEFT_OK;
}

static weft_status add_row(comm_bench *bench, const shares_case *c, const bench_pair *times)
{
    const char *name = option_text(bench->context->options, OPT_OP);
    const comm_cost cost = comm_plan_cost(c->plan);
    const int64_t bytes = c->count * (int64_t)sizeof(float);
    const bench_quartiles seconds = bench_comm_judge(bench, name, bytes, c->worst, times->seconds);
    shares_row row = {.op = name,
                      .bytes = bytes,
                      .ranks = comm_size(c->comm),
                      .nodes = comm_get_layout(c->comm)->nodes,
                      .seconds_min = seconds.least,
                      .model_seconds = comm_model_seconds(comm_get_model(c->comm), &cost),
                      .bytes_sent = c->figure[0],
                      .messages = c->figure[1],
                      .shared_bytes = c->figure[2],
                      .valid = c->worst <= 1.0};
    BENCH_SET_SECONDS(&row, seconds);
    row.n = times->seconds.count;
    return bench_grid_add(&bench->grid, &row);
}

static weft_status make_plan(shares_case *c, int64_t *share)
{
    const int size = comm_size(c->comm);
    for (int p = 0; p < size; ++p) {
        share[p] = c->count * (p + 1) / size - c->count * p / size;
        c->begin += p < comm_rank(c->comm) ? share[p] : 0;
    }
    c->own = share[comm_rank(c->comm)];
    const comm_shares_desc shares = {.lane = COMM_LANE_GRADIENT,
                                     .dtype = WEFT_DTYPE_F32,
                                     .op = COMM_SUM,
                                     .count = share,
                                     .buffer = c->buffer,
                                     .name = "bench"};
    const comm_bcast_desc whole = {
        .lane = COMM_LANE_GRADIENT, .dtype = WEFT_DTYPE_F32, .count = c->count, .buffer = c->buffer, .name = "bench"};
    return c->op == BENCH_OP_BCAST       ? comm_bcast_plan(c->comm, 0, &whole, &c->plan)
           : c->op == BENCH_OP_ALLGATHER ? comm_allgather_plan(c->comm, &shares, &c->plan)
                                         : comm_reduce_scatter_plan(c->comm, &shares, &c->plan);
}

static weft_status run_size(comm_bench *bench, int64_t bytes)
{
    weft_status status = WEFT_OK;
    shares_case c = {.comm = bench->context->comm,
                     .op = option_choice(bench->context->options, OPT_OP),
                     .count = bytes / (int64_t)sizeof(float)};
    const bench_side side = {run_plan, &c};
    bench_pair times;
    int64_t *share = NULL;
    status = WEFT_NEW(&share, comm_size(c.comm), WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&c.buffer, c.count, WEFT_MEM_WORKSPACE) : status;
    WEFT_TRY_GOTO(comm_agree(c.comm, status), status, done);
    WEFT_TRY_GOTO(make_plan(&c, share), status, done);
    WEFT_TRY_GOTO(check(&c), status, done);
    memset(c.buffer, 0, (size_t)c.count * sizeof *c.buffer); /* sums of sums stay zeros */
    WEFT_TRY_GOTO(bench_pair_measure(c.comm, &side, NULL, bench->repeats, &times), status, done);
    WEFT_TRY_GOTO(check(&c), status, done);
    WEFT_TRY_GOTO(add_row(bench, &c, &times), status, done);
done:
    comm_plan_destroy(c.plan);
    weft_free(c.buffer);
    weft_free(share);
    return status;
}

const comm_bench_op bench_comm_shares = {
    .choices = OPTION_NONE, .column = shares_row_columns, .columns = TABLE_COLUMNS(shares_row), .run = run_size};
