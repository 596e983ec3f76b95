/*
 * support/sparse_cases.h: what must hold for sparse all-reduces on any number of ranks, nodes and transport.
 *
 * Every rank can work out every rank's vectors, so the accumulators (residual + sum of the node) are known before a
 * call; after it an element must have been sent whole or kept whole, the result must be the sum of what was sent, and
 * with an exact selection what was sent must be what a sort says.
 */
#pragma once

#include "comm/core/window.h"
#include "comm/sparse/sparse.h"
#include "support/comm_cases.h"

enum { SPARSE_STEPS = 4 };
static const sparse_exchange sparse_exchanges[] = {SPARSE_HIERARCHICAL, SPARSE_OK_TOPK, SPARSE_ALL_GATHER};
static const int sparse_imitated[] = {8, 3, 2, 1};

static float sparse_input(int rank, int step, int64_t i)
{
    return case_noise(rank + 31 * step, i);
}

static sparse_desc sparse_describe(sparse_exchange exchange, select_method method, int64_t count, int64_t most,
                                   float *buffer)
{
    return (sparse_desc){.lane = COMM_LANE_GRADIENT,
                         .exchange = exchange,
                         .select = {.method = method, .samplings = 30, .refresh = 3, .seed = 5, .threads = 1},
                         .count = count,
                         .most = most,
                         .buffer = buffer};
}

/* Imitated nodes on communicators of their own: windows belong to the nodes they were made for. */
static weft_status sparse_nodes_comm(weft_comm *comm, int ranks, weft_comm **nodes)
{
    WEFT_TRY(comm_split(comm, 0, comm_rank(comm), nodes));
    return comm_imitate_nodes(*nodes, ranks);
}

static weft_status sparse_on_nodes(weft_comm *comm, int ranks, comm_thread_fn fn)
{
    weft_comm *nodes = NULL;
    weft_status status = sparse_nodes_comm(comm, ranks, &nodes);
    status = status == WEFT_OK ? fn(nodes, NULL) : status;
    comm_destroy(nodes);
    return status;
}

/* ---- who sums what, straight from the layout ----------------------------------------------------------------- */
typedef struct sparse_role {
    int64_t begin, count; /* of the residual; count -1: none */
    int64_t share;        /* of k */
} sparse_role;

static sparse_role sparse_role_of(const weft_comm *comm, sparse_exchange exchange, int rank, int64_t count, int64_t k)
{
    const comm_layout *layout = comm_get_layout(comm);
    int n = layout->least;
    int j = layout->local_of[rank];
    if (exchange == SPARSE_ALL_GATHER) {
        return (sparse_role){0, count, k};
    }
    if (j >= n) {
        return (sparse_role){0, 0, 0};
    }
    sparse_role role = {0, 0, 0};
    for (int q = 0; q <= j; ++q) {
        role.begin += role.count;
        role.count = count / n + (q < count % n);
        role.share = k / n + (q < k % n);
    }
    return role;
}

/* acc = residual + what this rank's selection sees. */
static void sparse_accumulate(const weft_comm *comm, sparse_exchange exchange, int step, sparse_role role,
                              const float *residual, float *acc)
{
    const comm_layout *layout = comm_get_layout(comm);
    int rank = comm_rank(comm);
    int node = layout->node_of[rank];
    for (int64_t i = 0; i < role.count; ++i) {
        volatile float sum = 0.0f;
        if (exchange == SPARSE_ALL_GATHER) {
            sum = sparse_input(rank, step, i);
        } else {
            for (int q = layout->first[node]; q < layout->first[node + 1]; ++q) {
                float x = sparse_input(layout->member[q], step, role.begin + i);
                sum = q == layout->first[node] ? x : sum + x;
            }
        }
        acc[i] = residual[i] + sum;
    }
}

/* The k largest of x[0..n), ties by lowest index; the rest becomes zero. */
static void sparse_keep_top(float *x, int64_t n, int64_t k)
{
    char *taken = calloc((size_t)n + 1, 1);
    for (int64_t e = 0; e < k; ++e) {
        int64_t best = 0;
        while (taken[best]) {
            ++best;
        }
        for (int64_t i = best + 1; i < n; ++i) {
            best = !taken[i] && fabsf(x[i]) > fabsf(x[best]) ? i : best;
        }
        taken[best] = 1;
    }
    for (int64_t i = 0; i < n; ++i) {
        x[i] = taken[i] ? x[i] : 0.0f;
    }
    free(taken);
}

/* Everybody's vector of `count` floats, [P][count]. */
static weft_status sparse_gather(weft_comm *comm, const float *mine, int64_t count, float *all)
{
    int64_t bytes[8];
    for (int q = 0; q < comm_size(comm); ++q) {
        bytes[q] = count * (int64_t)sizeof *mine;
    }
    return comm_allgatherv(comm, mine, count * (int64_t)sizeof *mine, all, bytes);
}

/* The sum of everybody's vectors in the order in which exchanges add: node by node. */
static void sparse_add_all(const weft_comm *comm, const float *all, int64_t count, float *sum)
{
    const comm_layout *layout = comm_get_layout(comm);
    for (int64_t i = 0; i < count; ++i) {
        volatile float s = 0.0f;
        for (int q = 0; q < comm_size(comm); ++q) {
            s = s + all[layout->member[q] * count + i];
        }
        sum[i] = s;
    }
}

typedef struct sparse_world {
    weft_comm *comm;
    sparse_plan *plan;
    sparse_desc desc;
    sparse_exchange exchange;
    weft_comm *lender; /* of the buffer in shared memory; NULL: it is plain memory */
    float *before, *acc, *sent, *all, *expected;
    float largest; /* of what this rank sent in the last call */
} sparse_world;

static weft_status sparse_world_open(weft_comm *comm, sparse_desc desc, weft_comm *lender, sparse_world *w)
{
    size_t n = (size_t)desc.count + 1;
    *w = (sparse_world){.comm = comm, .desc = desc, .exchange = desc.exchange, .lender = lender};
    if (lender != NULL) {
        WEFT_TRY(comm_buffer_alloc(lender, (int64_t)(n * sizeof(float)), (void **)&w->desc.buffer));
    } else {
        w->desc.buffer = malloc(n * sizeof(float));
    }
    w->before = malloc(n * sizeof(float));
    w->acc = malloc(n * sizeof(float));
    w->sent = malloc(n * sizeof(float));
    w->expected = malloc(n * sizeof(float));
    w->all = malloc(n * (size_t)comm_size(comm) * sizeof(float));
    return sparse_create(comm, &w->desc, &w->plan);
}

static void sparse_world_close(sparse_world *w)
{
    sparse_destroy(w->plan);
    if (w->lender != NULL) {
        comm_buffer_free(w->lender, w->desc.buffer);
    } else {
        free(w->desc.buffer);
    }
    free(w->before);
    free(w->acc);
    free(w->sent);
    free(w->expected);
    free(w->all);
}

/* One call, the vector's elements from the step. */
static weft_status sparse_world_call(sparse_world *w, int step, int64_t k)
{
    for (int64_t i = 0; i < w->desc.count; ++i) {
        w->desc.buffer[i] = sparse_input(comm_rank(w->comm), step, i);
    }
    WEFT_TRY(sparse_post(w->plan, k));
    return sparse_wait(w->plan);
}

/* ---- one checked call ---------------------------------------------------------------------------------------- */

/* Returns the value that a selection sends for x: where it is rounded, the nearest number of as many significant bits,
 * of two equally near ones the even one; in 4 bits 0 where that is less than a 64th of
 * w->largest. */
static float sparse_part_sent(const sparse_world *w, float x)
{
    const int bits = w->desc.values == SPARSE_4_BITS ? 1 : 8;
    int exponent = 0;
    if (w->desc.values == SPARSE_FLOAT32 || w->exchange == SPARSE_OK_TOPK) {
        return x;
    }
    const double significand = frexp((double)x, &exponent);
    const float near = (float)ldexp(nearbyint(ldexp(significand, bits)), exponent - bits);
    return w->desc.values == SPARSE_4_BITS && fabsf(near) < w->largest / 64 ? 0.0f : near;
}

/* w->sent: what this rank sent, by the plan's own list, each element whole or rounded; everything else must have been
 * kept, to the bit. */
static weft_status sparse_check_feedback(sparse_world *w, sparse_role role)
{
    int64_t begin = 0;
    int64_t count = 0;
    int64_t found = 0;
    const float *residual = sparse_residual(w->plan, &begin, &count);
    const int32_t *sent = sparse_sent(w->plan, &found);
    CASE_CHECK(count == role.count && (count == 0 || begin == role.begin), "residual [%lld, +%lld)", (long long)begin,
               (long long)count);
    memset(w->sent, 0, (size_t)w->desc.count * sizeof(float));
    float largest = 0.0f;
    w->largest = 0.0f;
    for (int64_t e = 0; e < found; ++e) {
        largest = fmaxf(largest, fabsf(sparse_part_sent(w, w->acc[sent[e] - begin])));
    }
    w->largest = largest;
    int64_t e = 0;
    for (int64_t i = 0; i < count; ++i) {
        bool is_sent = e < found && sent[e] == begin + i;
        e += is_sent;
        const float part = is_sent ? sparse_part_sent(w, w->acc[i]) : 0.0f;
        const float kept = w->acc[i] - part;
        CASE_CHECK((double)part + (double)kept == (double)w->acc[i], "element %lld: %g and %g are not %g", (long long)i,
                   (double)part, (double)kept, (double)w->acc[i]);
        CASE_CHECK(case_same_bits(&residual[i], &kept, sizeof kept), "element %lld: residual %g, %s of %g",
                   (long long)(begin + i), (double)residual[i], is_sent ? "sent" : "kept", (double)w->acc[i]);
        w->sent[begin + i] = part;
    }
    CASE_CHECK(e == found, "%lld of %lld sent places are this rank's", (long long)e, (long long)found);
    return WEFT_OK;
}

/* What Ok-Topk must hand back when its threshold is exact: all from everybody's accumulators. */
static weft_status sparse_expect_ok_topk(sparse_world *w, sparse_role role, int64_t k)
{
    const comm_layout *layout = comm_get_layout(w->comm);
    int64_t n = w->desc.count;
    float *selection = calloc((size_t)n + 1, sizeof *selection);
    memcpy(selection + role.begin, w->acc, (size_t)role.count * sizeof *selection);
    sparse_keep_top(selection + role.begin, role.count, role.share);
    weft_status status = sparse_gather(w->comm, selection, n, w->all);
    free(selection);
    WEFT_TRY(status);
    sparse_add_all(w->comm, w->all, n, w->expected);
    for (int j = 0; j < layout->least; ++j) {
        sparse_role shard = sparse_role_of(w->comm, w->exchange, layout->member[j], n, k);
        sparse_keep_top(w->expected + shard.begin, shard.count, shard.share);
    }
    CASE_CHECK(memcmp(w->expected, w->desc.buffer, (size_t)n * sizeof(float)) == 0, "k = %lld: not the global top k",
               (long long)k);
    return WEFT_OK;
}

static weft_status sparse_check_call(sparse_world *w, int step, int64_t k, bool exact_threshold)
{
    int64_t n = w->desc.count;
    int64_t begin = 0;
    int64_t count = 0;
    int rank = comm_rank(w->comm);
    sparse_role role = sparse_role_of(w->comm, w->exchange, rank, n, k);
    const float *residual = sparse_residual(w->plan, &begin, &count);
    if (count > 0) {
        memcpy(w->before, residual, (size_t)count * sizeof(float));
    }
    sparse_accumulate(w->comm, w->exchange, step, role, w->before, w->acc);
    comm_stats before = comm_lane_stats(w->comm, COMM_LANE_GRADIENT);
    WEFT_TRY(sparse_world_call(w, step, k));
    comm_stats after = comm_lane_stats(w->comm, COMM_LANE_GRADIENT);
    WEFT_TRY(sparse_check_feedback(w, role));
    WEFT_TRY(sparse_gather(w->comm, w->sent, n, w->all));
    sparse_add_all(w->comm, w->all, n, w->expected);
    for (int64_t i = 0; i < n; ++i) {
        CASE_CHECK(w->expected[i] == w->desc.buffer[i], "step %d, element %lld: %.9g, sent were %.9g", step,
                   (long long)i, (double)w->desc.buffer[i], (double)w->expected[i]);
    }
    bool exact = w->desc.select.method != SELECT_REUSE;
    bool windowed = w->lender != NULL && w->exchange != SPARSE_ALL_GATHER && comm_get_layout(w->comm)->most > 1;
    comm_cost cost = sparse_cost(comm_get_layout(w->comm), rank, w->exchange, windowed, n, k, w->desc.values);
    CASE_CHECK((windowed && comm_node_size(w->comm) > 1) == (after.shared_bytes > before.shared_bytes) || n < 100,
               "shared memory: %d", windowed);
    int64_t bytes = (int64_t)(after.bytes_sent - before.bytes_sent);
    int64_t messages = (int64_t)(after.messages_sent - before.messages_sent);
    if (exact && w->exchange != SPARSE_OK_TOPK) {
        CASE_CHECK(bytes == cost.bytes_sent && messages == cost.messages_sent,
                   "%lld bytes in %lld messages instead of %lld in %lld", (long long)bytes, (long long)messages,
                   (long long)cost.bytes_sent, (long long)cost.messages_sent);
        if (w->desc.select.method == SELECT_RADIX) {
            sparse_keep_top(w->acc, role.count, role.share);
            for (int64_t i = 0; i < role.count; ++i) {
                CASE_CHECK(sparse_part_sent(w, w->acc[i]) == w->sent[role.begin + i], "step %d: not the %lld largest",
                           step, (long long)role.share);
            }
        }
    }
    if (exact && w->exchange == SPARSE_OK_TOPK) {
        CASE_CHECK(bytes <= cost.bytes_sent, "%lld bytes, at most %lld", (long long)bytes, (long long)cost.bytes_sent);
    }
    if (w->desc.select.method == SELECT_RADIX && w->exchange == SPARSE_OK_TOPK && exact_threshold) {
        sparse_accumulate(w->comm, w->exchange, step, role, w->before, w->acc);
        WEFT_TRY(sparse_expect_ok_topk(w, role, k));
    }
    return WEFT_OK;
}

/* k falls as in a warm-up, then stays. With refresh = 3, OK_TOPK's threshold is exact in steps 0, 1 and 3. */
static weft_status sparse_run_steps(weft_comm *comm, weft_comm *lender, sparse_exchange exchange, select_method method,
                                    int64_t count, sparse_values values)
{
    const int64_t k[SPARSE_STEPS] = {count / 4, count / 20, count / 20, count / 20};
    sparse_world w;
    sparse_desc desc = sparse_describe(exchange, method, count, count / 4, NULL);
    desc.values = values;
    weft_status status = sparse_world_open(comm, desc, lender, &w);
    for (int step = 0; step < SPARSE_STEPS && status == WEFT_OK; ++step) {
        status = sparse_check_call(&w, step, k[step], step != 2);
    }
    sparse_world_close(&w);
    return status == WEFT_OK
               ? WEFT_OK
               : weft_fail_context(status,
                                   "%s, selection %d, %lld elements, %d nodes: ", sparse_exchange_name(exchange),
                                   (int)method, (long long)count, comm_get_layout(comm)->nodes);
}

static weft_status sparse_run_nodes(weft_comm *comm, weft_comm *lender, bool thorough)
{
    const sparse_values first = thorough ? SPARSE_FLOAT32 : SPARSE_4_BITS;
    for (int x = 0; x < 3; ++x) {
        WEFT_TRY(sparse_run_steps(comm, lender, sparse_exchanges[x], SELECT_RADIX, 301, first));
        if (thorough) {
            WEFT_TRY(sparse_run_steps(comm, lender, sparse_exchanges[x], SELECT_RADIX, 301, SPARSE_BFLOAT16));
            WEFT_TRY(sparse_run_steps(comm, lender, sparse_exchanges[x], SELECT_MSTOPK, 301, SPARSE_FLOAT32));
            WEFT_TRY(sparse_run_steps(comm, lender, sparse_exchanges[x], SELECT_REUSE, 301, SPARSE_4_BITS));
            WEFT_TRY(sparse_run_steps(comm, lender, sparse_exchanges[x], SELECT_RADIX, 7, SPARSE_FLOAT32));
        }
    }
    return WEFT_OK;
}

static weft_status case_sparse_feedback(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    for (int v = 0; v < 4 && status == WEFT_OK; ++v) {
        if (v == 0 && comm_size(comm) <= 3) { /* the same nodes as with 3 */
            continue;
        }
        weft_comm *nodes = NULL;
        status = sparse_nodes_comm(comm, sparse_imitated[v], &nodes);
        status = status == WEFT_OK && v != 1 ? sparse_run_nodes(nodes, NULL, v == 2) : status;
        /* A buffer may come from a communicator with larger nodes. */
        status =
            status == WEFT_OK && (v == 1 || v == 2) ? sparse_run_nodes(nodes, v == 2 ? comm : nodes, v == 1) : status;
        comm_destroy(nodes);
    }
    return status;
}

/* ---- everything is sent ---------------------------------------------------------------------------------------- */
static weft_status sparse_run_dense(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 997 };
    float buffer[N];
    for (int x = 0; x < 3; ++x) {
        sparse_desc desc = sparse_describe(sparse_exchanges[x], SELECT_RADIX, N, N, buffer);
        sparse_plan *plan = NULL;
        WEFT_TRY(sparse_create(comm, &desc, &plan));
        /* Integers: the sums of two steps are exact, whatever was kept back in the first. */
        for (int step = 0; step < 4; ++step) {
            int64_t found = 0;
            for (int i = 0; i < N; ++i) {
                buffer[i] = (float)case_value(comm_rank(comm), i);
            }
            WEFT_TRY(sparse_post(plan, step % 2 == 0 ? 10 : N));
            WEFT_TRY(sparse_wait(plan));
            if (step % 2 == 0) {
                continue;
            }
            CASE_CHECK(sparse_sent(plan, &found) == NULL && found == N, "%lld sent", (long long)found);
        }
        /* The residuals are empty: a dense call now is the plain sum. */
        for (int i = 0; i < N; ++i) {
            buffer[i] = (float)case_value(comm_rank(comm), i);
        }
        WEFT_TRY(sparse_post(plan, N));
        WEFT_TRY(sparse_wait(plan));
        for (int i = 0; i < N; ++i) {
            int expected = case_expected(comm_size(comm), COMM_SUM, i, 0);
            CASE_CHECK(buffer[i] == (float)expected, "%s: element %d is %g instead of %d",
                       sparse_exchange_name(desc.exchange), i, (double)buffer[i], expected);
        }
        sparse_destroy(plan);
    }
    return WEFT_OK;
}

static weft_status case_sparse_dense(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 2, sparse_run_dense);
}

/* Sparse calls, then a dense one: all that was ever put in has come out, to the last unit. */
static weft_status sparse_run_total(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 600 };
    float plain[N];
    float total[N];
    float *shared = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, N * (int64_t)sizeof(float), (void **)&shared));
    for (int x = 0; x < 3; ++x) {
        for (int m = SELECT_RADIX; m <= SELECT_REUSE; ++m) {
            float *buffer = m == SELECT_MSTOPK ? plain : shared;
            sparse_desc desc = sparse_describe(sparse_exchanges[x], (select_method)m, N, N, buffer);
            sparse_plan *plan = NULL;
            memset(total, 0, sizeof total);
            WEFT_TRY(sparse_create(comm, &desc, &plan));
            for (int step = 0; step < 6; ++step) {
                for (int i = 0; i < N; ++i) {
                    buffer[i] = (float)case_value(comm_rank(comm) + step, i);
                }
                WEFT_TRY(sparse_post(plan, step == 5 ? N : step % 2 == 0 ? N / 2 : 30));
                WEFT_TRY(sparse_wait(plan));
                for (int i = 0; i < N; ++i) {
                    total[i] += buffer[i];
                }
            }
            for (int i = 0; i < N; ++i) {
                int expected = 0;
                for (int step = 0; step < 6; ++step) {
                    for (int r = 0; r < comm_size(comm); ++r) {
                        expected += case_value(r + step, i);
                    }
                }
                CASE_CHECK(total[i] == (float)expected, "%s, selection %d: element %d sums to %g instead of %d",
                           sparse_exchange_name(desc.exchange), m, i, (double)total[i], expected);
            }
            sparse_destroy(plan);
        }
    }
    comm_buffer_free(comm, shared);
    return WEFT_OK;
}

static weft_status case_sparse_total(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 3, sparse_run_total);
}

/* ---- a vector that is not finite --------------------------------------------------------------------------------- */
static weft_status sparse_run_diverged(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 300 };
    int size = comm_size(comm);
    float plain[N];
    float *shared = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, N * (int64_t)sizeof(float), (void **)&shared));
    for (int v = 0; v < 3 * 3 * 3; ++v) {
        float *buffer = v % 2 == 0 ? plain : shared;
        int culprit = (v * 5 + 1) % size;
        int at = (v * 37) % N;
        int64_t k = v / 9 == 2 ? N : 12; /* sparse at once, sparse after a good call, dense */
        sparse_desc desc = sparse_describe(sparse_exchanges[v % 3], (select_method)(v / 3 % 3), N, N, buffer);
        sparse_plan *plan = NULL;
        WEFT_TRY(sparse_create(comm, &desc, &plan));
        for (int step = 0; step < 2; ++step) {
            bool bad = step == 1 || v / 9 == 0;
            for (int i = 0; i < N; ++i) {
                buffer[i] = sparse_input(comm_rank(comm), step, i);
            }
            if (bad && comm_rank(comm) == culprit) {
                buffer[at] = v % 2 == 0 ? NAN : INFINITY;
            }
            weft_status status = sparse_post(plan, k);
            status = status == WEFT_OK ? sparse_wait(plan) : status;
            if (!bad) {
                WEFT_TRY(status);
                continue;
            }
            char who[64];
            snprintf(who, sizeof who, "rank %d: element %d ", culprit, at);
            CASE_CHECK(status == WEFT_ERR_DIVERGED, "%s, selection %d, step %d gives %s",
                       sparse_exchange_name(desc.exchange), v / 3 % 3, step, weft_status_name(status));
            CASE_CHECK(strstr(weft_error_message(), who) != NULL, "\"%s\" not in \"%s\"", who, weft_error_message());
            break;
        }
        sparse_destroy(plan);
    }
    comm_buffer_free(comm, shared);
    return comm_barrier(comm); /* nothing is left on the way */
}

static weft_status case_sparse_diverged(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 3, sparse_run_diverged);
}

/* ---- state ------------------------------------------------------------------------------------------------------ */
static void sparse_copy_state(sparse_plan *to, sparse_plan *from)
{
    int64_t begin = 0;
    int64_t count = 0;
    int64_t bytes = 0;
    const float *residual = sparse_residual(from, &begin, &count);
    if (count > 0) {
        memcpy(sparse_residual(to, &begin, &count), residual, (size_t)count * sizeof(float));
    }
    const void *chosen = selector_state(sparse_selector(from), &bytes);
    memcpy(selector_state(sparse_selector(to), &bytes), chosen, (size_t)bytes);
    const void *own = sparse_state(from, &bytes);
    if (bytes > 0) {
        memcpy(sparse_state(to, &bytes), own, (size_t)bytes);
    }
}

static weft_status sparse_run_state(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 1000, K = 40, STEPS = 9, SAVED = 4 };
    for (int v = 0; v < 9; ++v) {
        sparse_desc desc = sparse_describe(sparse_exchanges[v % 3], (select_method)(v / 3), N, K, NULL);
        sparse_world w[2];
        WEFT_TRY(sparse_world_open(comm, desc, v % 2 == 0 ? comm : NULL, &w[0]));
        WEFT_TRY(sparse_world_open(comm, desc, v % 2 == 0 ? comm : NULL, &w[1]));
        for (int step = 0; step < STEPS; ++step) {
            WEFT_TRY(sparse_world_call(&w[0], step, K));
            if (step == SAVED) {
                sparse_copy_state(w[1].plan, w[0].plan);
            }
            if (step > SAVED) {
                WEFT_TRY(sparse_world_call(&w[1], step, K));
                CASE_CHECK(case_same_bits(w[0].desc.buffer, w[1].desc.buffer, N * sizeof(float)),
                           "%s, selection %d: step %d differs after the state was restored",
                           sparse_exchange_name(desc.exchange), v / 3, step);
            }
        }
        sparse_world_close(&w[0]);
        sparse_world_close(&w[1]);
    }
    return WEFT_OK;
}

static weft_status case_sparse_state(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 2, sparse_run_state);
}

/* The threshold of OK_TOPK between exact ones, by the rule: 1.2 % up or down when the number kept leaves
 * [2/3 k, 5/4 k]. Every rank is a node: one shard. */
static weft_status sparse_run_threshold(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 400, K = 40, STEPS = 8 };
    static const float scale[STEPS] = {1.0f, 3.0f, 3.0f, 1.0f, 1e-3f, 1e-3f, 1e-3f, 1.0f};
    float buffer[N];
    int nudged = 0;
    sparse_desc desc = sparse_describe(SPARSE_OK_TOPK, SELECT_RADIX, N, K, buffer);
    desc.select.refresh = 1000;
    sparse_plan *plan = NULL;
    WEFT_TRY(sparse_create(comm, &desc, &plan));
    int64_t bytes = 0;
    const int64_t *state = sparse_state(plan, &bytes); /* calls, k, bits of the threshold */
    for (int step = 0; step < STEPS; ++step) {
        int64_t found = 0;
        float before = 0.0f;
        float smallest = INFINITY;
        uint32_t bits = (uint32_t)state[2];
        memcpy(&before, &bits, sizeof before);
        for (int i = 0; i < N; ++i) {
            buffer[i] = scale[step] * sparse_input(comm_rank(comm), step, i);
        }
        WEFT_TRY(sparse_post(plan, K));
        WEFT_TRY(sparse_wait(plan));
        for (int i = 0; i < N; ++i) {
            found += buffer[i] != 0.0f;
            smallest = buffer[i] != 0.0f ? fminf(smallest, fabsf(buffer[i])) : smallest;
        }
        float expected = step == 0           ? smallest
                         : 4 * found > 5 * K ? before * 1.012f
                         : 3 * found < 2 * K ? before / 1.012f
                                             : before;
        float after = 0.0f;
        bits = (uint32_t)state[2];
        memcpy(&after, &bits, sizeof after);
        CASE_CHECK(after == expected, "step %d: threshold %g after %g and %lld kept", step, (double)after,
                   (double)before, (long long)found);
        CASE_CHECK(step == 0 ? found == K : smallest >= before, "step %d: %lld kept from %g on", step, (long long)found,
                   (double)smallest);
        nudged += step > 0 && after != before;
    }
    CASE_CHECK(nudged > 0, "the threshold never moved");
    sparse_destroy(plan);
    return WEFT_OK;
}

static weft_status case_sparse_threshold(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 1, sparse_run_threshold);
}

/* ---- the choice ------------------------------------------------------------------------------------------------- */
static weft_status sparse_run_auto(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 20000 };
    float *buffer = malloc(N * sizeof *buffer);
    comm_model model = comm_model_default();
    for (int fast = 0; fast < 2 && comm_get_layout(comm)->nodes > 1; ++fast) {
        /* A slow network: the fewest bytes win. A fast one with slow selection: nothing beats dense. */
        model.inter = fast ? (comm_link){1e-7, 1e-12} : (comm_link){1e-6, 1e-6};
        model.intra = model.inter;
        model.select_per_element = fast ? 1e-6 : 1e-9;
        comm_set_model(comm, &model);
        sparse_desc desc = sparse_describe(SPARSE_AUTO, SELECT_RADIX, N, N, buffer);
        sparse_plan *plan = NULL;
        WEFT_TRY(sparse_create(comm, &desc, &plan));
        static const int64_t ks[] = {20, N - N / 50, N};
        for (int i = 0; i < 3; ++i) {
            int64_t found = 0;
            if (i == 1 && comm_size(comm) % 2 != 0) {
                continue; /* nodes that differ exchange selections once, and a dense vector more than once */
            }
            for (int e = 0; e < N; ++e) {
                buffer[e] = sparse_input(comm_rank(comm), i, e);
            }
            WEFT_TRY(sparse_post(plan, ks[i]));
            WEFT_TRY(sparse_wait(plan));
            bool dense = sparse_sent(plan, &found) == NULL && found == N;
            CASE_CHECK(dense == (i > 0 || fast == 1), "fast %d, k = %lld went %s", fast, (long long)ks[i],
                       dense ? "dense" : "sparse");
        }
        sparse_destroy(plan);
    }
    free(buffer);
    return WEFT_OK;
}

static weft_status case_sparse_auto(weft_comm *comm, void *argument)
{
    (void)argument;
    return sparse_on_nodes(comm, 2, sparse_run_auto);
}

static weft_status case_sparse_refused(weft_comm *comm, void *argument)
{
    (void)argument;
    float buffer[10] = {0};
    sparse_plan *plan = NULL;
    sparse_desc desc = sparse_describe(SPARSE_HIERARCHICAL, SELECT_RADIX, (int64_t)1 << 31, 1, buffer);
    weft_status status = sparse_create(comm, &desc, &plan);
    CASE_CHECK(status == WEFT_ERR_UNSUPPORTED && plan == NULL, "2^31 elements: %s", weft_status_name(status));
    desc = sparse_describe(SPARSE_HIERARCHICAL, SELECT_RADIX, 10, 10 - comm_rank(comm) % 2, buffer);
    status = sparse_create(comm, &desc, &plan);
    CASE_CHECK(status == (comm_size(comm) > 1 ? WEFT_ERR_INTERNAL : WEFT_OK), "different plans: %s",
               weft_status_name(status));
    sparse_destroy(plan);
    desc = sparse_describe(SPARSE_ALL_GATHER, SELECT_RADIX, 10, 3, buffer);
    WEFT_TRY(sparse_create(comm, &desc, &plan));
    status = sparse_post(plan, 4);
    CASE_CHECK(status == WEFT_ERR_INTERNAL, "k past the most: %s", weft_status_name(status));
    WEFT_TRY(sparse_post(plan, 3));
    WEFT_TRY(sparse_wait(plan));
    sparse_destroy(plan);
    return WEFT_OK;
}

/* Every allocation of a plan fails once; what it took before is given back (the address sanitizer counts). */
static weft_status case_sparse_short_memory(weft_comm *comm, void *argument)
{
    (void)argument;
    float buffer[100] = {0};
    for (int x = 0; x < 3 && comm_size(comm) == 1; ++x) {
        sparse_desc desc = sparse_describe(sparse_exchanges[x], SELECT_RADIX, 100, 100, buffer);
        weft_status status = WEFT_ERR_RESOURCE;
        int fail = 1;
        for (; status != WEFT_OK; ++fail) {
            sparse_plan *plan = NULL;
            weft_alloc_fail_after(fail);
            status = sparse_create(comm, &desc, &plan);
            weft_alloc_fail_after(0);
            CASE_CHECK(status == WEFT_OK || status == WEFT_ERR_RESOURCE, "allocation %d: %s", fail,
                       weft_status_name(status));
            CASE_CHECK((plan == NULL) == (status != WEFT_OK), "allocation %d leaves a plan", fail);
            sparse_destroy(plan);
        }
        CASE_CHECK(fail > 10, "only %d allocations failed", fail);
    }
    return WEFT_OK;
}

/* After the first call nothing is allocated. */
static weft_status case_sparse_allocations(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { N = 5000, K = 50 };
    for (int v = 0; v < 9; ++v) {
        sparse_desc desc = sparse_describe(sparse_exchanges[v % 3], (select_method)(v / 3), N, K, NULL);
        sparse_world w;
        uint64_t before = 0;
        WEFT_TRY(sparse_world_open(comm, desc, comm, &w));
        for (int step = 0; step < 4; ++step) {
            WEFT_TRY(sparse_world_call(&w, step, K));
            WEFT_TRY(comm_barrier(comm));
            uint64_t now = weft_mem_usage_total().allocations;
            CASE_CHECK(step == 0 || now == before, "step %d: %lld allocations", step, (long long)(now - before));
            before = now;
            WEFT_TRY(comm_barrier(comm));
        }
        sparse_world_close(&w);
    }
    return WEFT_OK;
}

/* The same with a communication thread that drives while the callers come and go. */
static weft_status case_sparse_threaded(weft_comm *comm, void *argument)
{
    WEFT_TRY(comm_thread_start(comm, -1));
    WEFT_TRY(comm_barrier(comm));
    WEFT_TRY(case_sparse_total(comm, argument));
    WEFT_TRY(case_sparse_state(comm, argument));
    comm_thread_stop(comm);
    return WEFT_OK;
}

static const comm_case sparse_cases[] = {
    {"sparse feedback", case_sparse_feedback},
    {"sparse dense", case_sparse_dense},
    {"sparse total", case_sparse_total},
    {"sparse diverged", case_sparse_diverged},
    {"sparse state", case_sparse_state},
    {"sparse auto", case_sparse_auto},
    {"sparse refused", case_sparse_refused},
    {"sparse allocations", case_sparse_allocations},
    {"sparse threshold", case_sparse_threshold},
    {"sparse threaded", case_sparse_threaded},
    {"sparse short memory", case_sparse_short_memory},
};
enum { SPARSE_CASES = sizeof sparse_cases / sizeof sparse_cases[0] };
