/*
 * support/window_cases.h: windows, shared buffers and the all-reduce in them, on any number of ranks of one machine.
 *
 * Oracles: patterns that name their writer, the serial sum in rank order, the closed form of bytes.
 */
#pragma once

#include "comm/core/window.h"
#include "support/comm_cases.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */
static unsigned char window_byte(int rank, int64_t i)
{
    return (unsigned char)(rank * 41 + i * 7 + 3);
}

/* Every rank writes its segment, all ranks of the node read it. bytes(rank) differ. */
static weft_status window_check(weft_comm *comm, comm_window *window)
{
    const comm_layout *layout = comm_get_layout(comm);
    int rank = comm_rank(comm);
    const int *member = layout->member + layout->first[layout->node_of[rank]];
    CASE_CHECK(window_ranks(window) == comm_node_size(comm) && window_me(window) == comm_node_rank(comm),
               "rank %d is %d of %d", rank, window_me(window), window_ranks(window));
    unsigned char *mine = window_segment(window, window_me(window));
    for (int64_t i = 0; i < window_segment_bytes(window, window_me(window)); ++i) {
        mine[i] = window_byte(rank, i);
    }
    for (int q = 0; q < window_ranks(window); ++q) {
        CASE_CHECK((uintptr_t)window_segment(window, q) % 64 == 0, "segment %d is not aligned", q);
        CASE_CHECK(window_flag(window, q, WINDOW_FLAGS - 1) == 0, "a flag of rank %d is raised at the start", q);
    }
    WEFT_TRY(comm_barrier(comm));
    window_raise(window, WINDOW_FLAGS - 1, (uint64_t)rank + 1);
    for (int q = 0; q < window_ranks(window); ++q) {
        const unsigned char *theirs = window_segment(window, q);
        CASE_CHECK(window_segment_bytes(window, q) == 37 * member[q], "%lld bytes of rank %d",
                   (long long)window_segment_bytes(window, q), member[q]);
        for (int64_t i = 0; i < window_segment_bytes(window, q); ++i) {
            CASE_CHECK(theirs[i] == window_byte(member[q], i), "byte %lld of rank %d", (long long)i, member[q]);
        }
    }
    WEFT_TRY(comm_barrier(comm));
    for (int q = 0; q < window_ranks(window); ++q) {
        CASE_CHECK(window_flag(window, q, WINDOW_FLAGS - 1) == (uint64_t)member[q] + 1, "flag of rank %d", member[q]);
    }
    return comm_barrier(comm);
}

static weft_status window_case_segments(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    for (int ranks = 1; ranks <= 8; ranks *= 2) { /* of a node */
        weft_comm *nodes = NULL;
        comm_window *window = NULL;
        comm_window *other = NULL;
        WEFT_TRY(comm_split(comm, 0, 0, &nodes));
        WEFT_TRY_GOTO(comm_imitate_nodes(nodes, ranks), status, done);
        WEFT_TRY_GOTO(comm_window_create(nodes, 37 * (int64_t)comm_rank(comm), &window), status, done);
        WEFT_TRY_GOTO(comm_window_create(nodes, 37 * (int64_t)comm_rank(comm), &other), status, done);
        WEFT_TRY_GOTO(window_check(nodes, window), status, done);
        WEFT_TRY_GOTO(window_check(nodes, other), status, done);
        if (window_id(window) == window_id(other)) {
            status = weft_fail(WEFT_ERR_INTERNAL, "two windows have one id");
        }
    done:
        comm_window_destroy(other);
        comm_window_destroy(window);
        comm_destroy(nodes);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

/* Windows come back from the pool once no rank uses them, in whatever order the ranks gave them back. */
static weft_status window_case_pool(weft_comm *comm, void *argument)
{
    (void)argument;
    comm_window *first = NULL;
    comm_window *second = NULL;
    comm_window *again = NULL;
    WEFT_TRY(comm_window_lease(comm, 1000, &first));
    WEFT_TRY(comm_window_lease(comm, 5000, &second));
    CASE_CHECK(first != second, "a window is leased twice");
    window_raise(first, 5, 77);
    WEFT_TRY(comm_barrier(comm));
    /* All but the last rank give the small one back: it must not be leased again. */
    if (comm_rank(comm) != comm_size(comm) - 1) {
        comm_window_return(comm, first);
    }
    comm_window_return(comm, second);
    WEFT_TRY(comm_window_lease(comm, 900, &again));
    CASE_CHECK(again == second, "a window that is in use is leased");
    if (comm_rank(comm) == comm_size(comm) - 1) {
        comm_window_return(comm, first);
    }
    WEFT_TRY(comm_window_lease(comm, 1000, &second));
    CASE_CHECK(second == first, "a window that is free is not leased");
    WEFT_TRY(comm_barrier(comm));
    for (int q = 0; q < window_ranks(second); ++q) {
        CASE_CHECK(window_flag(second, q, 5) == 0, "the flag of rank %d is still raised", q);
    }
    comm_window_return(comm, first);
    comm_window_return(comm, again);
    comm_window_return(comm, NULL);
    return comm_barrier(comm);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */
static weft_status buffer_check(weft_comm *comm, char *buffer, int64_t bytes)
{
    int64_t offset = -1;
    char other[16];
    for (int64_t i = 0; i < bytes; ++i) {
        CASE_CHECK(buffer[i] == 0, "byte %lld is not zero", (long long)i);
    }
    comm_window *window = comm_buffer_window(comm, buffer, bytes, &offset);
    CASE_CHECK(window != NULL && offset == 0, "the buffer lies in no window");
    CASE_CHECK(window_segment(window, window_me(window)) == (void *)buffer, "the window is another's");
    CASE_CHECK(comm_buffer_window(comm, buffer + 10, bytes - 10, &offset) == window && offset == 10,
               "a part of it lies at %lld", (long long)offset);
    CASE_CHECK(comm_buffer_window(comm, buffer + 10, bytes - 9, &offset) == NULL, "more than the buffer is found");
    CASE_CHECK(comm_buffer_window(comm, other, 1, &offset) == NULL, "other memory is found");
    return WEFT_OK;
}

static weft_status window_case_buffers(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { BYTES = 300001 };
    weft_status status = WEFT_OK;
    void *buffer[3] = {NULL};
    void *none = buffer;
    WEFT_TRY(comm_buffer_alloc(comm, 0, &none));
    CASE_CHECK(none == NULL, "an empty buffer has an address");
    for (int repeat = 0; repeat < 3 && status == WEFT_OK; ++repeat) {
        for (int b = 0; b < 3 && status == WEFT_OK; ++b) {
            status = comm_buffer_alloc(comm, BYTES - b, &buffer[b]);
            status = status == WEFT_OK ? buffer_check(comm, buffer[b], BYTES - b) : status;
        }
        for (int b = 0; b < 3; ++b) {
            int64_t offset = 0;
            comm_buffer_free(comm, buffer[(b + repeat) % 3]);
            if (comm_buffer_window(comm, buffer[(b + repeat) % 3], 1, &offset) != NULL) {
                status = weft_fail(WEFT_ERR_INTERNAL, "a buffer is found after it was freed");
            }
        }
    }
    comm_buffer_free(comm, NULL);
    return status;
}

/* ---- the all-reduce ---------------------------------------------------------------------------------------------- */
static float serial_sum(int ranks, int64_t i, int salt)
{
    float sum = case_noise(salt, i);
    for (int r = 1; r < ranks; ++r) {
        sum += case_noise(r + salt, i);
    }
    return sum;
}

/* Short, odd, around the borders of the forms and of the pieces of the staged form. */
static const int64_t shared_counts[] = {0,  1,  2,   3,   5,   7,   13,   14,   15,   16,   17,    31,    33,
                                        63, 97, 127, 128, 129, 513, 1000, 2047, 2048, 2049, 12345, 65537, 140001};
enum { SHARED_COUNTS = sizeof shared_counts / sizeof shared_counts[0], SHARED_LONG = 3, SHARED_MOST = 140001 };
enum { SHARED_POSTS = 3 };

/* This rank's vector and the serial sum of every post, made once. */
typedef struct shared_oracle {
    float *mine, *sum; /* [SHARED_POSTS][SHARED_MOST] */
} shared_oracle;

static shared_oracle oracle_make(weft_comm *comm)
{
    shared_oracle o = {malloc(SHARED_POSTS * SHARED_MOST * sizeof(float)),
                       malloc(SHARED_POSTS * SHARED_MOST * sizeof(float))};
    for (int64_t i = 0; i < SHARED_MOST; ++i) {
        o.mine[i] = case_noise(comm_rank(comm), i);
        o.sum[i] = serial_sum(comm_size(comm), i, 0);
    }
    /* Later posts: the same times a power of two, which rounds alike. */
    for (int64_t i = SHARED_MOST; i < SHARED_POSTS * SHARED_MOST; ++i) {
        o.mine[i] = -2.0f * o.mine[i - SHARED_MOST];
        o.sum[i] = -2.0f * o.sum[i - SHARED_MOST];
    }
    return o;
}

static void oracle_free(shared_oracle *o)
{
    free(o->mine);
    free(o->sum);
}

/* The posts of one plan, each with other numbers, against the serial sum to the bit. */
static weft_status shared_sums(weft_comm *comm, const shared_oracle *o, float *x, int64_t count)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_SHARED, WEFT_DTYPE_F32, COMM_SUM, count, x);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    for (int post = 0; post < SHARED_POSTS && status == WEFT_OK; ++post) {
        const float *expected = o->sum + (int64_t)post * SHARED_MOST;
        memcpy(x, o->mine + (int64_t)post * SHARED_MOST, (size_t)count * sizeof *x);
        status = comm_post(plan);
        status = status == WEFT_OK ? comm_wait(plan) : status;
        for (int64_t i = 0; i < count && status == WEFT_OK; ++i) {
            if (!case_same_bits(&x[i], &expected[i], sizeof *expected)) {
                status = weft_fail(WEFT_ERR_INTERNAL, "element %lld of %lld is %g instead of %g in post %d",
                                   (long long)i, (long long)count, (double)x[i], (double)expected[i], post);
            }
        }
    }
    comm_plan_destroy(plan);
    return status;
}

static weft_status window_case_bits(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    int rank = comm_rank(comm);
    void *windowed = NULL;
    shared_oracle o = oracle_make(comm);
    float *plain = malloc((SHARED_MOST + 64) * sizeof *plain);
    WEFT_TRY_GOTO(comm_buffer_alloc(comm, (SHARED_MOST + 64) * (int64_t)sizeof *plain, &windowed), status, done);
    for (int c = 0; c < SHARED_COUNTS; ++c) {
        int64_t count = shared_counts[c];
        float *w = windowed;
        WEFT_TRY_GOTO(shared_sums(comm, &o, plain + 1, count), status, done);
        WEFT_TRY_GOTO(shared_sums(comm, &o, w + 3, count), status, done);
        if (c < SHARED_COUNTS - SHARED_LONG) {
            WEFT_TRY_GOTO(shared_sums(comm, &o, w, count), status, done);
            /* Places that differ between ranks; one rank outside of the window. */
            WEFT_TRY_GOTO(shared_sums(comm, &o, w + 5 * rank, count), status, done);
            WEFT_TRY_GOTO(shared_sums(comm, &o, rank == 0 ? plain : w, count), status, done);
        }
    }
done:
    comm_buffer_free(comm, windowed);
    free(plain);
    oracle_free(&o);
    return status;
}

/* Every type and op on a vector in a window, long enough for slices. */
static weft_status window_case_types(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { COUNT = 2777 };
    weft_status status = WEFT_OK;
    void *buffer = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, (COUNT + 1) * (int64_t)sizeof(double), &buffer));
    for (int kind = 0; kind < 15; ++kind) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, COMM_ALGO_SHARED, (weft_dtype)(kind / 3), (comm_op)(kind % 3), COUNT, buffer);
        if (hal_reduces(desc.dtype, (hal_reduction)desc.op)) {
            desc.buffer = (char *)buffer + weft_dtype_bytes(desc.dtype);
            WEFT_TRY_GOTO(case_one_allreduce(comm, &desc), status, done);
        }
    }
done:
    comm_buffer_free(comm, buffer);
    return status;
}

/* Bytes in shared memory: of slots every rank reads or writes n times the vector; direct, n slices twice. */
static weft_status window_case_counters(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { LINE = 16, COUNT = 960 * LINE }; /* 960 cache lines: divisible by 2, 3, 4 and 8 */
    int size = comm_size(comm);
    void *buffer = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, COUNT * (int64_t)sizeof(float), &buffer));
    weft_status status = WEFT_OK;
    for (int form = 0; form < 2 && status == WEFT_OK; ++form) {
        comm_plan *plan = NULL;
        int64_t count = form == 0 ? 10 : COUNT;
        comm_allreduce_desc desc = case_desc(COMM_LANE_SHADOW, COMM_ALGO_AUTO, WEFT_DTYPE_F32, COMM_SUM, count, buffer);
        status = comm_allreduce_plan(comm, &desc, &plan);
        comm_stats before = comm_lane_stats(comm, COMM_LANE_SHADOW);
        status = status == WEFT_OK ? comm_post(plan) : status;
        status = status == WEFT_OK ? comm_wait(plan) : status;
        comm_stats after = comm_lane_stats(comm, COMM_LANE_SHADOW);
        comm_plan_destroy(plan);
        int64_t bytes = (int64_t)(after.shared_bytes - before.shared_bytes);
        int64_t expected = size == 1 ? 0 : form == 0 ? 40 * size : 8 * COUNT;
        bool even = form == 0 || 960 % size == 0;
        if (status == WEFT_OK && ((even && bytes != expected) || after.messages_sent != before.messages_sent)) {
            status = weft_fail(WEFT_ERR_INTERNAL, "%lld bytes are shared instead of %lld, %llu messages sent",
                               (long long)bytes, (long long)expected,
                               (unsigned long long)(after.messages_sent - before.messages_sent));
        }
    }
    comm_buffer_free(comm, buffer);
    return status;
}

/* Plans on ranges of one buffer, posted together over three lanes, waited for in another order on every rank. */
static weft_status window_case_in_flight(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { PLANS = 7, COUNT = 1501, POSTS = 12 };
    weft_status status = WEFT_OK;
    void *buffer = NULL;
    comm_plan *plan[PLANS] = {NULL};
    comm_allreduce_desc desc[PLANS];
    int rank = comm_rank(comm);
    WEFT_TRY(comm_buffer_alloc(comm, PLANS * COUNT * (int64_t)sizeof(float), &buffer));
    float *x = buffer;
    for (int p = 0; p < PLANS; ++p) {
        int64_t count = p % 3 == 0 ? 60 : COUNT - p;
        desc[p] = case_desc((comm_lane)(1 + p % 3), COMM_ALGO_SHARED, WEFT_DTYPE_F32, COMM_SUM, count, x + p * COUNT);
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc[p], &plan[p]), status, done);
    }
    for (int post = 0; post < POSTS; ++post) {
        for (int i = 0; i < PLANS * COUNT; ++i) {
            x[i] = (float)case_value(rank, i % COUNT);
        }
        for (int p = 0; p < PLANS; ++p) {
            bool done = false;
            WEFT_TRY_GOTO(comm_post(plan[p]), status, done);
            WEFT_TRY_GOTO(comm_test(plan[(p + rank) % (p + 1)], &done), status, done);
        }
        WEFT_TRY_GOTO(comm_barrier(comm), status, done);
        for (int k = 0; k < PLANS; ++k) {
            int p = (k * 3 + rank + post) % PLANS;
            WEFT_TRY_GOTO(comm_wait(plan[p]), status, done);
            WEFT_TRY_GOTO(case_check_reduced(comm, &desc[p], 0), status, done);
        }
    }
done:
    for (int p = 0; p < PLANS; ++p) {
        comm_plan_destroy(plan[p]);
    }
    comm_buffer_free(comm, buffer);
    return status;
}

/* A group reduces in a buffer of the whole: its ranks have other numbers there. */
static weft_status window_case_group(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { COUNT = 4000 };
    int rank = comm_rank(comm);
    weft_comm *half = NULL;
    void *buffer = NULL;
    comm_plan *plan = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, COUNT * (int64_t)sizeof(float), &buffer));
    float *x = buffer;
    weft_status status = comm_split(comm, rank % 2, -rank, &half);
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_SHARED, WEFT_DTYPE_F32, COMM_SUM, COUNT, x);
    status = status == WEFT_OK ? comm_allreduce_plan(half, &desc, &plan) : status;
    for (int post = 0; post < 5 && status == WEFT_OK; ++post) {
        for (int i = 0; i < COUNT; ++i) {
            x[i] = case_noise(rank, i);
        }
        status = comm_post(plan);
        status = status == WEFT_OK ? comm_wait(plan) : status;
        for (int i = 0; i < COUNT && status == WEFT_OK; ++i) {
            int last = comm_size(comm) - 1; /* ranks of the group run downwards */
            int from = (last - rank) % 2 == 0 ? last : last - 1;
            float expected = case_noise(from, i);
            for (int r = from - 2; r >= 0; r -= 2) {
                expected += case_noise(r, i);
            }
            if (!case_same_bits(&x[i], &expected, sizeof expected)) {
                status = weft_fail(WEFT_ERR_INTERNAL, "element %d of rank %d is %g", i, rank, (double)x[i]);
            }
        }
    }
    comm_stats stats = half != NULL ? comm_lane_stats(half, COMM_LANE_GRADIENT) : (comm_stats){0};
    bool direct = half == NULL || comm_size(half) != 2 || stats.shared_bytes == 5u * 2 * COUNT * sizeof(float);
    comm_plan_destroy(plan);
    comm_destroy(half);
    WEFT_TRY(comm_agree(comm, status));
    comm_buffer_free(comm, buffer);
    CASE_CHECK(direct, "%llu bytes are shared: the vector is copied", (unsigned long long)stats.shared_bytes);
    return WEFT_OK;
}

/* Plans and buffers come and go; nothing is kept but the pool. */
static weft_status window_case_again(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    int windows = 0;
    shared_oracle o = oracle_make(comm);
    for (int repeat = 0; repeat < 10 && status == WEFT_OK; ++repeat) {
        void *buffer = NULL;
        float plain[700] = {0};
        status = comm_buffer_alloc(comm, 5000 + repeat, &buffer);
        status = status == WEFT_OK ? shared_sums(comm, &o, buffer, 1250) : status;
        status = status == WEFT_OK ? shared_sums(comm, &o, plain, 700) : status;
        comm_buffer_free(comm, buffer);
        windows = repeat == 0 ? comm->pool.count : windows;
    }
    oracle_free(&o);
    WEFT_TRY(status);
    CASE_CHECK(comm->pool.count == windows, "%d windows grow to %d", windows, comm->pool.count);
    return WEFT_OK;
}

/* Where shared memory does not reach, the algorithm is refused and AUTO takes another. */
static weft_status window_case_nodes(weft_comm *comm, void *argument)
{
    (void)argument;
    float x[100] = {0};
    weft_comm *nodes = NULL;
    comm_plan *plan = NULL;
    WEFT_TRY(comm_split(comm, 0, 0, &nodes));
    weft_status status = comm_imitate_nodes(nodes, 1);
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_SHARED, WEFT_DTYPE_F32, COMM_SUM, 100, x);
    weft_status refused = status == WEFT_OK ? comm_allreduce_plan(nodes, &desc, &plan) : status;
    comm_plan_destroy(plan);
    desc.algorithm = COMM_ALGO_AUTO;
    status = status == WEFT_OK ? case_one_allreduce(nodes, &desc) : status;
    int32_t one = 1;
    status = status == WEFT_OK ? comm_allreduce(nodes, &one, 1, WEFT_DTYPE_I32, COMM_SUM) : status;
    comm_destroy(nodes);
    WEFT_TRY(status);
    weft_status wanted = comm_size(comm) > 1 ? WEFT_ERR_UNSUPPORTED : WEFT_OK;
    CASE_CHECK(refused == wanted, "shared over nodes gives %s", weft_status_name(refused));
    CASE_CHECK(one == comm_size(comm), "the sum is %d", one);
    return WEFT_OK;
}

static const comm_case window_cases[] = {
    {"segments", window_case_segments},   {"pool", window_case_pool},   {"buffers", window_case_buffers},
    {"shared bits", window_case_bits},    {"types", window_case_types}, {"counters", window_case_counters},
    {"in flight", window_case_in_flight}, {"group", window_case_group}, {"again", window_case_again},
    {"nodes", window_case_nodes},
};
enum { WINDOW_CASES = sizeof window_cases / sizeof window_cases[0] };
