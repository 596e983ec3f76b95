/*
 * support/exchange_cases.h: the all-to-all with counts a post against brute force, on any number of ranks and any
 * transport. Every rank knows what every other one sends in every round: counts and elements are pure functions of
 * (round, sender, receiver, index).
 */
#pragma once

#include "comm/exchange.h"
#include "support/comm_cases.h"

enum { EXCHANGE_ROUNDS = 12, EXCHANGE_MOST = 700 };

static uint32_t exchange_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t x = a * 2654435761u + b * 2246822519u + c * 3266489917u + 374761393u;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

/* Some pairs never exchange anything; among those that do is every rank with itself. */
static int64_t exchange_most(int from, int to)
{
    uint32_t draw = exchange_hash(7u, (uint32_t)from, (uint32_t)to);
    return from != to && draw % 4 == 0 ? 0 : draw % EXCHANGE_MOST;
}

/* Nothing, everything, and what lies between. */
static int64_t exchange_count(int round, int from, int to)
{
    uint32_t draw = exchange_hash((uint32_t)round + 100u, (uint32_t)from, (uint32_t)to);
    int64_t most = exchange_most(from, to);
    return draw % 5 == 0 ? 0 : draw % 5 == 1 ? most : draw % (uint32_t)(most + 1);
}

static char exchange_byte(int round, int from, int to, int64_t i)
{
    return (char)exchange_hash((uint32_t)(round * 64 + from), (uint32_t)to, (uint32_t)i);
}

static weft_status exchange_check_round(const weft_comm *comm, const comm_exchange *x, int round, int64_t element)
{
    const int rank = comm_rank(comm);
    for (int p = 0; p < comm_size(comm); ++p) {
        int64_t count = -1;
        const char *received = comm_exchange_received(x, p, &count);
        CASE_CHECK(count == exchange_count(round, p, rank), "round %d: %lld elements from rank %d", round,
                   (long long)count, p);
        for (int64_t i = 0; i < count * element; ++i) {
            CASE_CHECK(received[i] == exchange_byte(round, p, rank, i), "round %d: byte %lld from rank %d", round,
                       (long long)i, p);
        }
    }
    return WEFT_OK;
}

/* A count a pair that may exchange, and the elements in chunks; nothing more. */
static weft_status exchange_check_traffic(const weft_comm *comm, comm_lane lane, int round, int64_t element,
                                          comm_stats before)
{
    const comm_stats after = comm_lane_stats(comm, lane);
    int64_t bytes = 0, messages = 0;
    for (int p = 0; p < comm_size(comm); ++p) {
        if (p != comm_rank(comm) && exchange_most(comm_rank(comm), p) > 0) {
            const int64_t elements = exchange_count(round, comm_rank(comm), p) * element;
            bytes += 8 + elements;
            messages += 1 + (elements + comm->chunk_bytes - 1) / comm->chunk_bytes;
        }
    }
    CASE_CHECK((int64_t)(after.bytes_sent - before.bytes_sent) == bytes, "round %d: %llu bytes, not %lld", round,
               (unsigned long long)(after.bytes_sent - before.bytes_sent), (long long)bytes);
    CASE_CHECK((int64_t)(after.messages_sent - before.messages_sent) == messages, "round %d: %llu messages, not %lld",
               round, (unsigned long long)(after.messages_sent - before.messages_sent), (long long)messages);
    return WEFT_OK;
}

static weft_status exchange_round(weft_comm *comm, comm_exchange *x, comm_lane lane, int round, int64_t element)
{
    const int size = comm_size(comm);
    const comm_stats before = comm_lane_stats(comm, lane);
    int64_t count[64];
    for (int p = 0; p < size; ++p) {
        char *area = comm_exchange_area(x, p);
        count[p] = exchange_count(round, comm_rank(comm), p);
        for (int64_t i = 0; i < count[p] * element; ++i) {
            area[i] = exchange_byte(round, comm_rank(comm), p, i);
        }
    }
    WEFT_TRY(comm_exchange_post(x, count));
    memset(count, 0xff, sizeof count); /* the caller's again */
    for (bool done = round % 3 != 0; !done;) {
        WEFT_TRY(comm_exchange_test(x, &done));
    }
    WEFT_TRY(comm_exchange_wait(x));
    WEFT_TRY(exchange_check_round(comm, x, round, element));
    return exchange_check_traffic(comm, lane, round, element, before);
}

static weft_status exchange_plan_case(weft_comm *comm, comm_lane lane, int64_t element, comm_exchange **x)
{
    int64_t most[64];
    for (int p = 0; p < comm_size(comm); ++p) {
        most[p] = exchange_most(comm_rank(comm), p);
    }
    const comm_exchange_desc desc = {.lane = lane, .element_bytes = element, .most = most, .name = "cases"};
    return comm_exchange_plan(comm, &desc, x);
}

/* Every lane but that of alarms, where a message that nobody has taken yet is a call to the inquest: who waits 0.2 s
 * follows it. Elements of odd and even sizes, whole messages and cut ones. */
static weft_status exchange_case_rounds(weft_comm *comm, void *argument)
{
    (void)argument;
    static const int64_t elements[] = {1, 4, 24};
    weft_status status = WEFT_OK;
    const int64_t usual = comm->chunk_bytes;
    comm_exchange *x = NULL;
    for (int k = 0; k < 3 * COMM_LANE_ALARM; ++k) {
        const comm_lane lane = (comm_lane)(k % COMM_LANE_ALARM);
        const int64_t element = elements[k / COMM_LANE_ALARM];
        comm->chunk_bytes = k % 2 == 0 ? usual : 512;
        WEFT_TRY_GOTO(exchange_plan_case(comm, lane, element, &x), status, done);
        for (int round = 0; round < EXCHANGE_ROUNDS; ++round) {
            WEFT_TRY_GOTO(exchange_round(comm, x, lane, round, element), status, done);
        }
        comm_exchange_destroy(x);
        x = NULL;
    }
done:
    comm_exchange_destroy(x);
    comm->chunk_bytes = usual;
    return status;
}

/* Only where ranks do not share the allocator's counters. */
static weft_status exchange_case_no_allocation(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    comm_exchange *x = NULL;
    uint64_t allocations = 0;
    WEFT_TRY(exchange_plan_case(comm, COMM_LANE_HALO, 4, &x));
    allocations = weft_mem_usage_total().allocations;
    for (int round = 0; round < EXCHANGE_ROUNDS && status == WEFT_OK; ++round) {
        status = exchange_round(comm, x, COMM_LANE_HALO, round, 4);
    }
    allocations = weft_mem_usage_total().allocations - allocations;
    if (status == WEFT_OK && strcmp(comm_transport_name(comm), "thread") != 0 && allocations != 0) {
        status = weft_fail(WEFT_ERR_INTERNAL, "%d exchanges allocate %llu times", (int)EXCHANGE_ROUNDS,
                           (unsigned long long)allocations);
    }
    comm_exchange_destroy(x);
    return status;
}

/* Several at once on two lanes, waited for in another order on every other rank. */
static weft_status exchange_case_together(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    comm_exchange *x[2] = {NULL, NULL};
    int64_t count[64];
    const int rank = comm_rank(comm);
    WEFT_TRY_GOTO(exchange_plan_case(comm, COMM_LANE_HALO, 4, &x[0]), status, done);
    WEFT_TRY_GOTO(exchange_plan_case(comm, COMM_LANE_GRADIENT, 4, &x[1]), status, done);
    for (int round = 0; round < EXCHANGE_ROUNDS; ++round) {
        for (int k = 0; k < 2; ++k) {
            for (int p = 0; p < comm_size(comm); ++p) {
                char *area = comm_exchange_area(x[k], p);
                count[p] = exchange_count(round + k, rank, p);
                for (int64_t i = 0; i < count[p] * 4; ++i) {
                    area[i] = exchange_byte(round + k, rank, p, i);
                }
            }
            WEFT_TRY_GOTO(comm_exchange_post(x[k], count), status, done);
        }
        const int first = (rank + round) % 2;
        WEFT_TRY_GOTO(comm_exchange_wait(x[first]), status, done);
        WEFT_TRY_GOTO(comm_exchange_wait(x[1 - first]), status, done);
        WEFT_TRY_GOTO(exchange_check_round(comm, x[0], round, 4), status, done);
        WEFT_TRY_GOTO(exchange_check_round(comm, x[1], round + 1, 4), status, done);
    }
done:
    comm_exchange_destroy(x[0]);
    comm_exchange_destroy(x[1]);
    return status;
}

/* Counts out of range are refused before anything is sent, and the plan still works; ranks that plan differently, or a
 * rank whose plan is senseless, end the plan everywhere. */
static weft_status exchange_case_wrong(weft_comm *comm, void *argument)
{
    (void)argument;
    const int size = comm_size(comm);
    weft_status status = WEFT_OK;
    comm_exchange *x = NULL;
    int64_t count[64];
    WEFT_TRY(exchange_plan_case(comm, COMM_LANE_HALO, 8, &x));
    for (int wrong = 0; wrong < 2 && status == WEFT_OK; ++wrong) {
        for (int p = 0; p < size; ++p) {
            count[p] = p == size - 1 ? (wrong == 0 ? exchange_most(comm_rank(comm), p) + 1 : -1) : 0;
        }
        if (comm_exchange_post(x, count) != WEFT_ERR_INTERNAL || strstr(weft_error_message(), "were planned") == NULL) {
            status = weft_fail(WEFT_ERR_INTERNAL, "a post of %lld elements is taken", (long long)count[size - 1]);
        }
    }
    status = status == WEFT_OK ? exchange_round(comm, x, COMM_LANE_HALO, 1, 8) : status;
    comm_exchange_destroy(x);
    WEFT_TRY(status);
    if (size > 1) {
        x = NULL;
        CASE_CHECK(exchange_plan_case(comm, COMM_LANE_HALO, comm_rank(comm) == 0 ? 4 : 8, &x) == WEFT_ERR_INTERNAL &&
                       x == NULL,
                   "ranks plan different elements: %s", weft_error_message());
    }
    for (int p = 0; p < size; ++p) {
        count[p] = p == 0 && comm_rank(comm) == size - 1 ? -3 : 5;
    }
    const comm_exchange_desc desc = {.lane = COMM_LANE_HALO, .element_bytes = 8, .most = count};
    CASE_CHECK(comm_exchange_plan(comm, &desc, &x) == WEFT_ERR_INTERNAL && x == NULL &&
                   strstr(weft_error_message(), "up to -3 elements") != NULL,
               "a plan of -3 elements: %s", weft_error_message());
    return WEFT_OK;
}

static const comm_case exchange_cases[] = {
    {"rounds", exchange_case_rounds},
    {"no_allocation", exchange_case_no_allocation},
    {"together", exchange_case_together},
    {"wrong", exchange_case_wrong},
};
enum { EXCHANGE_CASES = sizeof exchange_cases / sizeof exchange_cases[0] };
