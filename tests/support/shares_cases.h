/*
 * support/shares_cases.h: planned all-gathers, reduce-scatters and broadcasts on the caller's shares, on imitated nodes
 * with and without shared memory. Oracles: values of known inputs, sums in the order of the ranks, and counts of
 * messages and bytes that are written down here a second time.
 */
#pragma once

#include "comm/core/cost.h"
#include "support/allreduce_cases.h"

enum { SHARES_RANKS = 8, SHARES_CUTS = 5, SHARES_POSTS = 4, SHARES_MOST = 40000 };

/* Element counts of one rank's share: even, ragged with empty ones, all at the last rank, nothing, long. */
static int64_t shares_count(int cut, int rank, int size)
{
    const int64_t counts[SHARES_CUTS] = {7, rank % 3 == 1 ? 0 : 11 * rank + 1, rank == size - 1 ? 1000 : 0, 0,
                                         3000 + rank};
    return counts[cut];
}

static int64_t shares_fill(int cut, int size, int64_t *count)
{
    int64_t total = 0;
    for (int r = 0; r < size; ++r) {
        count[r] = shares_count(cut, r, size);
        total += count[r];
    }
    return total;
}

static int64_t shares_begin(const int64_t *count, int rank)
{
    int64_t begin = 0;
    for (int r = 0; r < rank; ++r) {
        begin += count[r];
    }
    return begin;
}

static weft_status shares_post(comm_plan *plan)
{
    WEFT_TRY(comm_post(plan));
    return comm_wait(plan);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */
static weft_status shares_gather(weft_comm *comm, comm_shares_desc *desc, int64_t total)
{
    const int rank = comm_rank(comm);
    const int64_t begin = shares_begin(desc->count, rank);
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY(comm_allgather_plan(comm, desc, &plan));
    for (int post = 0; post < SHARES_POSTS && status == WEFT_OK; ++post) {
        for (int64_t i = 0; i < total; ++i) {
            const bool mine = i >= begin && i < begin + desc->count[rank];
            case_store(desc->buffer, desc->dtype, i, mine ? case_value(post, i) + 50 : 1);
        }
        status = shares_post(plan);
        for (int64_t i = 0; i < total && status == WEFT_OK; ++i) {
            const double got = case_load(desc->buffer, desc->dtype, i);
            if (got != case_value(post, i) + 50) {
                status = weft_fail(WEFT_ERR_INTERNAL, "post %d: element %lld of %lld is %g", post, (long long)i,
                                   (long long)total, got);
            }
        }
    }
    comm_plan_destroy(plan);
    return status;
}

/* Noise, so that the order of the sum shows: the bits are those of the sum in the order of the ranks. Every other post
 * is of shares half as long. */
static weft_status shares_scatter(weft_comm *comm, comm_shares_desc *desc, int64_t total)
{
    const int rank = comm_rank(comm);
    int64_t begin = 0;
    int64_t count = 0;
    int64_t cut[8];
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    WEFT_TRY(comm_reduce_scatter_plan(comm, desc, &plan));
    for (int post = 0; post < SHARES_POSTS && status == WEFT_OK; ++post) {
        for (int r = 0; r < comm_size(comm); ++r) {
            cut[r] = post % 2 == 0 ? desc->count[r] : desc->count[r] / 2;
        }
        status = post > 0 ? comm_plan_recut(plan, cut) : WEFT_OK;
        comm_plan_owned(plan, &begin, &count);
        if (status == WEFT_OK && (begin != shares_begin(cut, rank) || count != cut[rank])) {
            status =
                weft_fail(WEFT_ERR_INTERNAL, "rank %d owns %lld from %lld", rank, (long long)count, (long long)begin);
        }
        for (int64_t i = 0; i < total; ++i) {
            if (desc->dtype == WEFT_DTYPE_F32) {
                ((float *)desc->buffer)[i] = case_noise(rank, i + post);
            } else {
                ((int64_t *)desc->buffer)[i] = ((int64_t)1 << 60) / (rank + 2 + i + post);
            }
        }
        status = status == WEFT_OK ? shares_post(plan) : status;
        for (int64_t i = begin; i < begin + count && status == WEFT_OK; ++i) {
            float sum = case_noise(0, i + post);
            int64_t whole = ((int64_t)1 << 60) / (2 + i + post);
            for (int r = 1; r < comm_size(comm); ++r) {
                sum += case_noise(r, i + post);
                whole += ((int64_t)1 << 60) / (r + 2 + i + post);
            }
            const bool good = desc->dtype == WEFT_DTYPE_F32
                                  ? case_same_bits(&sum, (float *)desc->buffer + i, sizeof sum)
                                  : whole == ((int64_t *)desc->buffer)[i];
            status = good ? WEFT_OK
                          : weft_fail(WEFT_ERR_INTERNAL, "post %d: sum %lld of %lld is wrong", post, (long long)i,
                                      (long long)total);
        }
    }
    comm_plan_destroy(plan);
    return status;
}

static weft_status shares_bcast(weft_comm *comm, int root, int64_t count, float *x)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    const comm_bcast_desc desc = {.lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_F32, .count = count, .buffer = x};
    WEFT_TRY(comm_bcast_plan(comm, root, &desc, &plan));
    for (int post = 0; post < SHARES_POSTS && status == WEFT_OK; ++post) {
        for (int64_t i = 0; i < count; ++i) {
            x[i] = comm_rank(comm) == root ? case_noise(root, i + post) : 0.0f;
        }
        status = shares_post(plan);
        for (int64_t i = 0; i < count && status == WEFT_OK; ++i) {
            status = x[i] == case_noise(root, i + post)
                         ? WEFT_OK
                         : weft_fail(WEFT_ERR_INTERNAL, "post %d: element %lld from rank %d", post, (long long)i, root);
        }
    }
    comm_plan_destroy(plan);
    return status;
}

static weft_status shares_values_on(weft_comm *comm)
{
    static const weft_dtype types[] = {WEFT_DTYPE_U8, WEFT_DTYPE_F32, WEFT_DTYPE_I64};
    weft_status status = WEFT_OK;
    int64_t count[SHARES_RANKS];
    double *x = malloc(SHARES_MOST * sizeof *x);
    for (int cut = 0; cut < SHARES_CUTS && status == WEFT_OK; ++cut) {
        const int64_t total = shares_fill(cut, comm_size(comm), count);
        for (int t = 0; t < 3 && status == WEFT_OK; ++t) {
            comm_shares_desc desc = {.lane = COMM_LANE_ROWS, .dtype = types[t], .count = count, .buffer = x};
            status = shares_gather(comm, &desc, total);
            status = status == WEFT_OK && t > 0 ? shares_scatter(comm, &desc, total) : status;
        }
        for (int root = 0; root < comm_size(comm) && status == WEFT_OK; ++root) {
            status = shares_bcast(comm, root, total, (float *)x);
        }
    }
    free(x);
    return status;
}

static weft_status shares_values(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, shares_values_on);
}

/* Two plans under way at once, on one lane, and messages of a few bytes: chunks. */
static weft_status shares_together_on(weft_comm *comm)
{
    weft_status status = WEFT_OK;
    int64_t count[SHARES_RANKS];
    comm_plan *plan[2] = {NULL, NULL};
    const int rank = comm_rank(comm);
    const int64_t total = shares_fill(1, comm_size(comm), count);
    float *x = calloc((size_t)total, 2 * sizeof *x);
    comm->chunk_bytes = 40;
    for (int p = 0; p < 2; ++p) {
        const comm_shares_desc desc = {
            .lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_F32, .count = count, .buffer = x + p * total};
        WEFT_TRY_GOTO(comm_allgather_plan(comm, &desc, &plan[p]), status, done);
        for (int64_t i = 0; i < count[rank]; ++i) {
            x[p * total + shares_begin(count, rank) + i] = (float)(1000 * p + i);
        }
    }
    WEFT_TRY_GOTO(comm_post(plan[0]), status, done);
    WEFT_TRY_GOTO(comm_post(plan[1]), status, done);
    WEFT_TRY_GOTO(comm_wait(plan[1]), status, done);
    WEFT_TRY_GOTO(comm_wait(plan[0]), status, done);
    for (int r = 0; r < comm_size(comm) && status == WEFT_OK; ++r) {
        for (int64_t i = 0; i < 2 * count[r]; ++i) {
            const int64_t p = i / count[r];
            const float got = x[p * total + shares_begin(count, r) + i % count[r]];
            if (got != (float)(1000 * p + i % count[r])) {
                status = weft_fail(WEFT_ERR_INTERNAL, "plan %lld, share %d: %g", (long long)p, r, (double)got);
            }
        }
    }
done:
    comm_plan_destroy(plan[0]);
    comm_plan_destroy(plan[1]);
    free(x);
    return status;
}

static weft_status shares_together(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, shares_together_on);
}

/* ---- costs: the closed forms, the plan's own prediction and the counters ----------------------------------------- */
typedef struct shares_sent {
    int64_t messages, bytes;
} shares_sent;

enum { SHARES_GATHER, SHARES_SCATTER, SHARES_BCAST, SHARES_OPS };

static shares_sent shares_expected(const weft_comm *comm, int op, const int64_t *count, int root)
{
    const comm_layout *layout = comm_get_layout(comm);
    const int size = comm_size(comm);
    const int me = comm_rank(comm);
    const bool memory = !comm->messages_only || layout->most == 1;
    shares_sent sent = {0, 0};
    if (op == SHARES_BCAST) {
        const int first = layout->member[layout->first[layout->node_of[me]]];
        const bool leads = layout->node_of[root] == layout->node_of[me] ? me == root : me == first;
        const int members = memory ? layout->nodes : size;
        const int number =
            memory ? (layout->node_of[me] - layout->node_of[root] + members) % members : (me - root + size) % size;
        for (int bit = 1; (leads || !memory) && count[root] > 0 && bit < members && number % (2 * bit) == 0; bit *= 2) {
            sent.messages += number + bit < members;
        }
        sent.bytes = 4 * sent.messages * count[root];
        return sent;
    }
    for (int r = 0; r < size; ++r) {
        const bool away = layout->node_of[r] != layout->node_of[me];
        const bool goes = op == SHARES_SCATTER ? (memory ? away : r != me) : r != (me + 1) % size;
        sent.messages += goes && count[r] > 0;
        sent.bytes += goes ? 4 * count[r] : 0;
    }
    if (op == SHARES_GATHER && memory) {
        sent = (shares_sent){count[me] > 0 ? layout->nodes - 1 : 0, 4 * count[me] * (layout->nodes - 1)};
    }
    return sent;
}

static weft_status shares_plan(weft_comm *comm, int op, int root, const comm_shares_desc *desc, comm_plan **plan)
{
    const comm_bcast_desc whole = {
        .lane = desc->lane, .dtype = desc->dtype, .count = desc->count[root], .buffer = desc->buffer};
    return op == SHARES_GATHER    ? comm_allgather_plan(comm, desc, plan)
           : op == SHARES_SCATTER ? comm_reduce_scatter_plan(comm, desc, plan)
                                  : comm_bcast_plan(comm, root, &whole, plan);
}

static weft_status shares_stats_of(weft_comm *comm, int op, int cut, float *x)
{
    int64_t count[SHARES_RANKS];
    comm_plan *plan = NULL;
    const int root = comm_size(comm) / 2;
    const int64_t total = shares_fill(cut, comm_size(comm), count);
    const comm_shares_desc desc = {.lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_F32, .count = count, .buffer = x};
    WEFT_TRY(shares_plan(comm, op, root, &desc, &plan));
    const comm_cost cost = comm_plan_cost(plan);
    const comm_stats before = comm_lane_stats(comm, COMM_LANE_ROWS);
    const weft_status status = shares_post(plan);
    const comm_stats after = comm_lane_stats(comm, COMM_LANE_ROWS);
    comm_plan_destroy(plan);
    WEFT_TRY(status);
    const shares_sent expected = shares_expected(comm, op, count, root);
    const shares_sent seen = {(int64_t)(after.messages_sent - before.messages_sent),
                              (int64_t)(after.bytes_sent - before.bytes_sent)};
    CASE_CHECK(seen.messages == expected.messages && seen.bytes == expected.bytes,
               "operation %d, cut %d, %d nodes: %lld messages, %lld bytes; expected %lld, %lld", op, cut,
               comm_get_layout(comm)->nodes, (long long)seen.messages, (long long)seen.bytes,
               (long long)expected.messages, (long long)expected.bytes);
    CASE_CHECK(cost.messages_sent == expected.messages && cost.bytes_sent == expected.bytes,
               "operation %d, cut %d: predicts %lld messages, %lld bytes", op, cut, (long long)cost.messages_sent,
               (long long)cost.bytes_sent);
    CASE_CHECK((int64_t)(after.shared_bytes - before.shared_bytes) <= cost.shared_bytes,
               "operation %d, cut %d: %lld bytes of shared memory, predicted %lld", op, cut,
               (long long)(after.shared_bytes - before.shared_bytes), (long long)cost.shared_bytes);
    double path[2] = {comm_model_seconds(comm_get_model(comm), &cost), 0.0};
    path[1] = -path[0];
    WEFT_TRY(comm_allreduce(comm, path, 2, WEFT_DTYPE_F64, COMM_MAX));
    CASE_CHECK(path[0] == -path[1], "operation %d, cut %d: ranks predict %g to %g s", op, cut, -path[1], path[0]);
    const int64_t moved = op == SHARES_BCAST ? count[root] : total;
    CASE_CHECK((path[0] > 0.0) == (moved > 0 && comm_size(comm) > 1), "operation %d, cut %d: %g s", op, cut, path[0]);
    return WEFT_OK;
}

static weft_status shares_stats_on(weft_comm *comm)
{
    weft_status status = WEFT_OK;
    float *x = calloc(SHARES_MOST, sizeof *x);
    for (int i = 0; i < SHARES_OPS * SHARES_CUTS && status == WEFT_OK; ++i) {
        status = shares_stats_of(comm, i / SHARES_CUTS, i % SHARES_CUTS, x);
    }
    free(x);
    return status;
}

static weft_status shares_stats(weft_comm *comm, void *argument)
{
    (void)argument;
    return hier_each(comm, shares_stats_on);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */
static weft_status shares_refused(weft_comm *comm, void *argument)
{
    (void)argument;
    uint8_t x[64 * SHARES_RANKS] = {0};
    int64_t count[SHARES_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    comm_plan *plan = NULL;
    const bool odd = comm_rank(comm) == comm_size(comm) - 1 && comm_size(comm) > 1;
    comm_shares_desc desc = {.lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_U8, .count = count, .buffer = x};
    CASE_CHECK(comm_reduce_scatter_plan(comm, &desc, &plan) == WEFT_ERR_UNSUPPORTED && plan == NULL,
               "sums of bytes are planned");
    count[0] = -1;
    CASE_CHECK(comm_allgather_plan(comm, &desc, &plan) == WEFT_ERR_INTERNAL && plan == NULL &&
                   strstr(weft_error_message(), "-1 elements for rank 0") != NULL,
               "%s", weft_error_message());
    count[0] = odd ? 2 : 1;
    const weft_status status = comm_allgather_plan(comm, &desc, &plan);
    comm_plan_destroy(plan);
    CASE_CHECK(status == (comm_size(comm) > 1 ? WEFT_ERR_INTERNAL : WEFT_OK), "other cuts on other ranks give %s",
               weft_status_name(status));
    CASE_CHECK(comm_size(comm) == 1 || strstr(weft_error_message(), "all-gather of shares of") != NULL, "%s",
               weft_error_message());
    const comm_bcast_desc whole = {.lane = COMM_LANE_ROWS, .dtype = WEFT_DTYPE_U8, .count = 1, .buffer = x};
    CASE_CHECK(comm_bcast_plan(comm, comm_size(comm), &whole, &plan) == WEFT_ERR_INTERNAL && plan == NULL,
               "a root past the last rank");
    return WEFT_OK;
}

static const comm_case shares_cases[] = {
    {"shares arrive, sums keep the order of the ranks", shares_values},
    {"two gathers at once, in chunks", shares_together},
    {"messages and bytes are the closed forms", shares_stats},
    {"wrong shares are refused", shares_refused},
};
enum { SHARES_CASES = sizeof shares_cases / sizeof shares_cases[0] };
