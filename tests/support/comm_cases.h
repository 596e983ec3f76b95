/*
 * support/comm_cases.h: what must hold for a communicator of any number of ranks, over any transport.
 *
 * A case runs on every rank and returns a status: assertions of cmocka jump out of a function and must not be used
 * inside rank threads. The same cases run over threads (tests/unit/comm) and under mpirun (tests/mpi).
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/coll/coll.h"
#include "comm/comm.h"
#include "comm/core/comm_internal.h"
#include "comm/core/transfer.h"

typedef struct comm_case {
    const char *name;
    comm_thread_fn run;
} comm_case;

#define CASE_CHECK(condition, ...)                                                                                     \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            char case_text_[256];                                                                                      \
            snprintf(case_text_, sizeof case_text_, __VA_ARGS__);                                                      \
            return weft_fail(WEFT_ERR_INTERNAL, "%s:%d: %s: %s", __FILE__, __LINE__, #condition, case_text_);          \
        }                                                                                                              \
    } while (0)

static const comm_algorithm case_algorithms[] = {
    COMM_ALGO_AUTO,        COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_HALVING_DOUBLING, COMM_ALGO_RING,
    COMM_ALGO_FIXED_ORDER, COMM_ALGO_TWO_LEVEL,          COMM_ALGO_MASTER,           COMM_ALGO_SHARED};
enum { CASE_ALGORITHMS = sizeof case_algorithms / sizeof case_algorithms[0], CASE_LONG = 100003 };

static inline comm_allreduce_desc case_desc(comm_lane lane, comm_algorithm algorithm, weft_dtype dtype, comm_op op,
                                            int64_t count, void *buffer)
{
    return (comm_allreduce_desc){
        .lane = lane, .algorithm = algorithm, .dtype = dtype, .op = op, .count = count, .buffer = buffer};
}

/* Small integers: every order of summation gives the same float. Element i of rank r. */
static int case_value(int rank, int64_t i)
{
    return (int)((i * 7 + rank * 13) % 101) - 50;
}

static int case_expected(int size, comm_op op, int64_t i, int shift)
{
    int result = case_value(0, i) + shift;
    for (int r = 1; r < size; ++r) {
        int value = case_value(r, i) + shift;
        result = op == COMM_SUM   ? result + value
                 : op == COMM_MAX ? (value > result ? value : result)
                                  : (value < result ? value : result);
    }
    return result;
}

static void case_store(void *buffer, weft_dtype dtype, int64_t i, int value)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
        ((float *)buffer)[i] = (float)value;
        break;
    case WEFT_DTYPE_F64:
        ((double *)buffer)[i] = value;
        break;
    case WEFT_DTYPE_I32:
        ((int32_t *)buffer)[i] = value;
        break;
    case WEFT_DTYPE_I64:
        ((int64_t *)buffer)[i] = value;
        break;
    case WEFT_DTYPE_U8:
        ((uint8_t *)buffer)[i] = (uint8_t)value;
        break;
    default:
        break;
    }
}

static double case_load(const void *buffer, weft_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WEFT_DTYPE_F32:
        return (double)((const float *)buffer)[i];
    case WEFT_DTYPE_F64:
        return ((const double *)buffer)[i];
    case WEFT_DTYPE_I32:
        return ((const int32_t *)buffer)[i];
    case WEFT_DTYPE_I64:
        return (double)((const int64_t *)buffer)[i];
    case WEFT_DTYPE_U8:
        return ((const uint8_t *)buffer)[i];
    default:
        break;
    }
    return NAN;
}

/* A float with all its bits in use, of magnitudes 2^-8 .. 2^8, so that the order of summation shows. */
static float case_noise(int rank, int64_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u ^ ((uint32_t)rank + 1u) * 2246822519u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    float sign = (x & 1u) != 0 ? -1.0f : 1.0f;
    return sign * ldexpf(1.0f + (float)(x >> 9) * 0x1.0p-23f, (int)(x % 17u) - 8);
}

static bool case_same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static weft_status case_same_on_all(weft_comm *comm, const void *buffer, int64_t bytes)
{
    char *first = malloc((size_t)bytes + 1);
    memcpy(first, buffer, (size_t)bytes);
    weft_status status = comm_bcast(comm, 0, first, bytes);
    bool same = memcmp(first, buffer, (size_t)bytes) == 0;
    free(first);
    WEFT_TRY(status);
    CASE_CHECK(same, "rank %d differs from rank 0 in %lld bytes", comm_rank(comm), (long long)bytes);
    return WEFT_OK;
}

/* ---- all-reduce against the closed form ------------------------------------------------------------------------- */
static weft_status case_check_reduced(weft_comm *comm, const comm_allreduce_desc *desc, int shift)
{
    for (int64_t i = 0; i < desc->count; ++i) {
        double actual = case_load(desc->buffer, desc->dtype, i);
        double expected = case_expected(comm_size(comm), desc->op, i, shift);
        CASE_CHECK(actual == expected, "%s, %lld %s, op %d: element %lld is %g instead of %g",
                   comm_algorithm_name(desc->algorithm), (long long)desc->count, weft_dtype_name(desc->dtype),
                   (int)desc->op, (long long)i, actual, expected);
    }
    return WEFT_OK;
}

static weft_status case_one_allreduce(weft_comm *comm, comm_allreduce_desc *desc)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    int shift = desc->dtype == WEFT_DTYPE_U8 ? 50 : 0;
    WEFT_TRY(comm_allreduce_plan(comm, desc, &plan));
    for (int repeat = 0; repeat < 2; ++repeat) {
        for (int64_t i = 0; i < desc->count; ++i) {
            case_store(desc->buffer, desc->dtype, i, case_value(comm_rank(comm), i) + shift);
        }
        uint64_t allocations = weft_mem_usage_total().allocations;
        WEFT_TRY_GOTO(comm_post(plan), status, done);
        WEFT_TRY_GOTO(comm_wait(plan), status, done);
        /* Threads share the counter with ranks that are planning already. */
        if (strcmp(comm_transport_name(comm), "thread") != 0 && weft_mem_usage_total().allocations != allocations) {
            status =
                weft_fail(WEFT_ERR_INTERNAL, "%s allocates when it is posted", comm_algorithm_name(desc->algorithm));
            goto done;
        }
        WEFT_TRY_GOTO(case_check_reduced(comm, desc, shift), status, done);
    }
done:
    comm_plan_destroy(plan);
    return status;
}

static weft_status case_allreduce(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    const int64_t counts[] = {0, 1, 2, 7, size - 1, size, size + 1, 1000};
    double *buffer = malloc(1000 * sizeof *buffer);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
        for (int a = 0; a < CASE_ALGORITHMS; ++a) {
            for (int kind = 0; kind < 15; ++kind) {
                comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, case_algorithms[a], (weft_dtype)(kind / 3),
                                                     (comm_op)(kind % 3), counts[c], buffer);
                if (desc.dtype == WEFT_DTYPE_U8 && desc.op == COMM_SUM) {
                    continue;
                }
                WEFT_TRY_GOTO(case_one_allreduce(comm, &desc), status, done);
            }
        }
    }
done:
    free(buffer);
    return status;
}

static weft_status case_allreduce_long(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    double *buffer = malloc(CASE_LONG * sizeof *buffer);
    for (int a = 0; a < CASE_ALGORITHMS; ++a) {
        comm_allreduce_desc sum =
            case_desc(COMM_LANE_GRADIENT, case_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, CASE_LONG, buffer);
        comm_allreduce_desc max =
            case_desc(COMM_LANE_GRADIENT, case_algorithms[a], WEFT_DTYPE_I64, COMM_MAX, CASE_LONG, buffer);
        WEFT_TRY_GOTO(case_one_allreduce(comm, &sum), status, done);
        WEFT_TRY_GOTO(case_one_allreduce(comm, &max), status, done);
    }
done:
    free(buffer);
    return status;
}

/* The blocking form, in place, and the types' edge cases. */
static weft_status case_allreduce_blocking(weft_comm *comm, void *argument)
{
    (void)argument;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    double x[3] = {rank + 1.0, -rank, rank == size / 2 ? NAN : 1.0};
    WEFT_TRY(comm_allreduce(comm, x, 2, WEFT_DTYPE_F64, COMM_SUM));
    CASE_CHECK(x[0] == size * (size + 1) / 2.0 && x[1] == -size * (size - 1) / 2.0, "sums are %g and %g", x[0], x[1]);
    WEFT_TRY(comm_allreduce(comm, &x[2], 1, WEFT_DTYPE_F64, COMM_MAX));
    CASE_CHECK(isnan(x[2]), "the maximum of a NaN is %g", x[2]);
    double zero = rank % 2 == 0 ? 0.0 : -0.0;
    WEFT_TRY(comm_allreduce(comm, &zero, 1, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(case_same_on_all(comm, &zero, sizeof zero));
    int32_t wrap = INT32_MAX;
    WEFT_TRY(comm_allreduce(comm, &wrap, 1, WEFT_DTYPE_I32, COMM_SUM));
    CASE_CHECK(wrap == (int32_t)((uint32_t)INT32_MAX * (uint32_t)size), "the sum wraps to %d", wrap);
    uint8_t byte = 0;
    weft_status refused = comm_allreduce(comm, &byte, 1, WEFT_DTYPE_U8, COMM_SUM);
    CASE_CHECK(refused == WEFT_ERR_UNSUPPORTED, "a sum of bytes gives %s", weft_status_name(refused));
    return comm_allreduce(comm, NULL, 0, WEFT_DTYPE_F32, COMM_SUM);
}

/* ---- bits ------------------------------------------------------------------------------------------------------- */
static weft_status case_reduce_noise(weft_comm *comm, comm_algorithm algorithm, float *buffer, int64_t count)
{
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, algorithm, WEFT_DTYPE_F32, COMM_SUM, count, buffer);
    for (int64_t i = 0; i < count; ++i) {
        buffer[i] = case_noise(comm_rank(comm), i);
    }
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    weft_status status = comm_post(plan);
    status = status == WEFT_OK ? comm_wait(plan) : status;
    comm_plan_destroy(plan);
    WEFT_TRY(status);
    return case_same_on_all(comm, buffer, count * (int64_t)sizeof *buffer);
}

static weft_status case_bits(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { COUNT = 5003 };
    static const comm_algorithm doubling[] = {COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_HALVING_DOUBLING};
    float *result[2] = {malloc(COUNT * sizeof(float)), malloc(COUNT * sizeof(float))};
    float *other = malloc(COUNT * sizeof(float));
    weft_status status = WEFT_OK;
    int64_t serial_differs = 0;
    bool same = true;
    for (int a = 0; a < 2; ++a) {
        WEFT_TRY_GOTO(case_reduce_noise(comm, doubling[a], result[a], COUNT), status, done);
    }
    same = case_same_bits(result[0], result[1], COUNT * sizeof(float));
    WEFT_TRY_GOTO(case_reduce_noise(comm, COMM_ALGO_RING, other, COUNT), status, done);
    WEFT_TRY_GOTO(case_reduce_noise(comm, COMM_ALGO_FIXED_ORDER, other, COUNT), status, done);
    for (int64_t i = 0; i < COUNT; ++i) {
        float serial = case_noise(0, i);
        for (int r = 1; r < comm_size(comm); ++r) {
            serial += case_noise(r, i);
        }
        serial_differs += !case_same_bits(&serial, &other[i], sizeof serial);
    }
done:
    free(result[0]);
    free(result[1]);
    free(other);
    WEFT_TRY(status);
    CASE_CHECK(same, "halving-doubling differs from recursive doubling on %d ranks", comm_size(comm));
    CASE_CHECK(serial_differs == 0, "fixed order differs from the serial sum in %lld elements",
               (long long)serial_differs);
    return WEFT_OK;
}

/* ---- the other collectives -------------------------------------------------------------------------------------- */
static weft_status case_bcast(weft_comm *comm, void *argument)
{
    (void)argument;
    static const int64_t sizes[] = {0, 1, 13, 4096, 70001};
    unsigned char *data = malloc(70001);
    weft_status status = WEFT_OK;
    for (int root = 0; root < comm_size(comm); ++root) {
        for (int k = 0; k < 5; ++k) {
            for (int64_t i = 0; i < sizes[k]; ++i) {
                data[i] = (unsigned char)(comm_rank(comm) == root ? i * 31 + root : 0);
            }
            WEFT_TRY_GOTO(comm_bcast(comm, root, data, sizes[k]), status, done);
            for (int64_t i = 0; i < sizes[k]; ++i) {
                if (data[i] != (unsigned char)(i * 31 + root)) {
                    status = weft_fail(WEFT_ERR_INTERNAL, "broadcast from %d: byte %lld of %lld is wrong", root,
                                       (long long)i, (long long)sizes[k]);
                    goto done;
                }
            }
        }
    }
done:
    free(data);
    return status;
}

/* Bytes from rank a to rank b: some pairs have none, some ranks neither send nor receive. */
static int64_t case_pair_bytes(int a, int b)
{
    return a == 1 || b == 2 ? 0 : (a * 5 + b * 3) % 4 == 0 ? 0 : 100 * a + 7 * b + 1;
}

static unsigned char case_pair_byte(int a, int b, int64_t i)
{
    return (unsigned char)(a * 59 + b * 17 + i * 3);
}

static weft_status case_alltoallv(weft_comm *comm, void *argument)
{
    (void)argument;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    int64_t out[64];
    int64_t in[64];
    int64_t out_total = 0;
    int64_t in_total = 0;
    for (int q = 0; q < size; ++q) {
        out_total += out[q] = case_pair_bytes(rank, q);
        in_total += in[q] = case_pair_bytes(q, rank);
    }
    unsigned char *send = out_total == 0 ? NULL : malloc((size_t)out_total);
    unsigned char *recv = in_total == 0 ? NULL : calloc((size_t)in_total, 1);
    int64_t at = 0;
    for (int q = 0; q < size; ++q) {
        for (int64_t i = 0; i < out[q]; ++i) {
            send[at++] = case_pair_byte(rank, q, i);
        }
    }
    weft_status status = comm_alltoallv(comm, send, out, recv, in);
    int64_t wrong = 0;
    at = 0;
    for (int q = 0; q < size; ++q) {
        for (int64_t i = 0; i < in[q]; ++i) {
            wrong += recv[at++] != case_pair_byte(q, rank, i);
        }
    }
    free(send);
    free(recv);
    WEFT_TRY(status);
    CASE_CHECK(wrong == 0, "%lld of %lld bytes are wrong", (long long)wrong, (long long)in_total);
    return WEFT_OK;
}

static weft_status case_gather(weft_comm *comm, void *argument)
{
    (void)argument;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    for (int root = -1; root < size; ++root) { /* -1: all-gather */
        int64_t bytes[64];
        int64_t total = 0;
        for (int q = 0; q < size; ++q) {
            total += bytes[q] = case_pair_bytes(q, root + 3);
        }
        unsigned char *send = bytes[rank] == 0 ? NULL : malloc((size_t)bytes[rank]);
        unsigned char *recv = total == 0 ? NULL : calloc((size_t)total, 1);
        for (int64_t i = 0; i < bytes[rank]; ++i) {
            send[i] = case_pair_byte(rank, root + 1, i);
        }
        weft_status status = root < 0 ? comm_allgatherv(comm, send, bytes[rank], recv, bytes)
                                      : comm_gatherv(comm, root, send, bytes[rank], recv, bytes);
        int64_t wrong = 0;
        int64_t at = 0;
        for (int q = 0; q < size && (root < 0 || root == rank); ++q) {
            for (int64_t i = 0; i < bytes[q]; ++i) {
                wrong += recv[at++] != case_pair_byte(q, root + 1, i);
            }
        }
        free(send);
        free(recv);
        WEFT_TRY(status);
        CASE_CHECK(wrong == 0, "root %d: %lld bytes are wrong", root, (long long)wrong);
    }
    return WEFT_OK;
}

static weft_status case_barrier(weft_comm *comm, void *argument)
{
    (void)argument;
    for (int i = 0; i < 50; ++i) {
        WEFT_TRY(comm_barrier(comm));
    }
    return WEFT_OK;
}

/* ---- agreement and mismatch ------------------------------------------------------------------------------------- */
static weft_status case_agree(weft_comm *comm, void *argument)
{
    (void)argument;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    CASE_CHECK(comm_agree(comm, WEFT_OK) == WEFT_OK, "no rank failed");
    for (int failing = 0; failing < size; ++failing) {
        /* From `failing` on all fail; the last one with the worst status. */
        weft_status local = WEFT_OK;
        if (rank >= failing) {
            local = weft_fail(rank == size - 1 ? WEFT_ERR_STALL : WEFT_ERR_DATA, "trouble on %d", rank);
        }
        weft_status agreed = comm_agree(comm, local);
        char expected[32];
        snprintf(expected, sizeof expected, "trouble on %d", failing);
        CASE_CHECK(agreed == WEFT_ERR_STALL, "agreed on %s", weft_status_name(agreed));
        CASE_CHECK(strstr(weft_error_message(), expected) != NULL, "message \"%s\", not \"%s\"", weft_error_message(),
                   expected);
    }
    return WEFT_OK;
}

static weft_status case_mismatch(weft_comm *comm, void *argument)
{
    (void)argument;
    int size = comm_size(comm);
    float x[16] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 10, x);
    if (size == 1) {
        return WEFT_OK;
    }
    if (comm_rank(comm) == size - 1) {
        desc.count = 11;
    }
    weft_status status = comm_allreduce_plan(comm, &desc, &plan);
    CASE_CHECK(status == WEFT_ERR_INTERNAL && plan == NULL, "a mismatch gives %s", weft_status_name(status));
    char expected[32];
    snprintf(expected, sizeof expected, "rank %d \"all-reduce", size - 1);
    CASE_CHECK(strstr(weft_error_message(), "of 10 float32 sum") != NULL &&
                   strstr(weft_error_message(), "of 11 float32 sum") != NULL &&
                   strstr(weft_error_message(), expected) != NULL,
               "%s", weft_error_message());
    /* A rank whose own arguments are wrong fails all. */
    desc.count = 10;
    desc.buffer = comm_rank(comm) == size - 1 ? NULL : x;
    status = comm_allreduce_plan(comm, &desc, &plan);
    CASE_CHECK(status == WEFT_ERR_INTERNAL && plan == NULL, "a missing buffer gives %s", weft_status_name(status));
    return comm_barrier(comm);
}

/* ---- several operations at once --------------------------------------------------------------------------------- */
enum { CASE_PLANS = 9, CASE_PLAN_COUNT = 700 };

/* Plans on three lanes, posted in one order, tested and waited on in another order on every rank. */
static weft_status case_interleaved(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    unsigned seed = 12345u + 977u * (unsigned)comm_rank(comm);
    float *x = malloc(sizeof(float) * CASE_PLANS * CASE_PLAN_COUNT);
    comm_plan *plan[CASE_PLANS] = {NULL};
    comm_allreduce_desc desc[CASE_PLANS];
    for (int p = 0; p < CASE_PLANS; ++p) {
        desc[p] = case_desc((comm_lane)(1 + p % 3), case_algorithms[1 + p % 5], WEFT_DTYPE_F32, COMM_SUM,
                            CASE_PLAN_COUNT / (p + 1), x + p * CASE_PLAN_COUNT);
        WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc[p], &plan[p]), status, done);
    }
    for (int repeat = 0; repeat < 20; ++repeat) {
        for (int i = 0; i < CASE_PLANS * CASE_PLAN_COUNT; ++i) {
            x[i] = (float)case_value(comm_rank(comm), i % CASE_PLAN_COUNT);
        }
        for (int p = 0; p < CASE_PLANS; ++p) {
            WEFT_TRY_GOTO(comm_post(plan[p]), status, done);
            if (rand_r(&seed) % 3 == 0) {
                bool ended = false;
                WEFT_TRY_GOTO(comm_test(plan[rand_r(&seed) % (unsigned)(p + 1)], &ended), status, done);
            }
        }
        unsigned first = (unsigned)rand_r(&seed) % CASE_PLANS;
        for (unsigned k = 0; k < CASE_PLANS; ++k) {
            unsigned p = (first + 4 * k) % CASE_PLANS;
            if (k == 3) {
                WEFT_TRY_GOTO(comm_barrier(comm), status, done);
            }
            WEFT_TRY_GOTO(comm_wait(plan[p]), status, done);
            WEFT_TRY_GOTO(case_check_reduced(comm, &desc[p], 0), status, done);
        }
    }
done:
    for (int p = 0; p < CASE_PLANS; ++p) {
        comm_plan_destroy(plan[p]);
    }
    free(x);
    return status;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */
static weft_status case_split(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { COUNT = 20 };
    weft_status status = WEFT_OK;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    weft_comm *odd = NULL;
    weft_comm *reversed = NULL;
    comm_plan *inner = NULL;
    comm_plan *outer = NULL;
    int32_t a[COUNT];
    int32_t b[COUNT];
    int32_t expected = 0;
    bool places = false;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_I32, COMM_SUM, COUNT, a);
    WEFT_TRY_GOTO(comm_split(comm, rank % 2 - 7, 0, &odd), status, done);
    WEFT_TRY_GOTO(comm_split(comm, 3, -rank, &reversed), status, done);
    places = comm_rank(odd) == rank / 2 && comm_size(odd) == (size + 1 - rank % 2) / 2 &&
             comm_rank(reversed) == size - 1 - rank && comm_size(reversed) == size;
    for (int r = rank % 2; r < size; r += 2) {
        expected += r;
    }
    /* Rings need everybody's help in every round, and half of the ranks wait on the other group first. */
    WEFT_TRY_GOTO(comm_allreduce_plan(odd, &desc, &inner), status, done);
    desc.buffer = b;
    WEFT_TRY_GOTO(comm_allreduce_plan(reversed, &desc, &outer), status, done);
    for (int repeat = 0; repeat < 10; ++repeat) {
        for (int i = 0; i < COUNT; ++i) {
            a[i] = b[i] = rank;
        }
        WEFT_TRY_GOTO(comm_post(inner), status, done);
        WEFT_TRY_GOTO(comm_post(outer), status, done);
        WEFT_TRY_GOTO(comm_wait(rank % 4 < 2 ? inner : outer), status, done);
        WEFT_TRY_GOTO(comm_wait(rank % 4 < 2 ? outer : inner), status, done);
        for (int i = 0; i < COUNT; ++i) {
            if (a[i] != expected || b[i] != size * (size - 1) / 2) {
                status = weft_fail(WEFT_ERR_INTERNAL, "sums %d and %d in the groups of rank %d", a[i], b[i], rank);
                goto done;
            }
        }
    }
done:
    comm_plan_destroy(inner);
    comm_plan_destroy(outer);
    comm_destroy(reversed);
    comm_destroy(odd);
    WEFT_TRY(status);
    CASE_CHECK(places, "rank %d of %d has the wrong place in its groups", rank, size);
    return WEFT_OK;
}

/* ---- chunks and figures ----------------------------------------------------------------------------------------- */
static weft_status case_chunks(weft_comm *comm, void *argument)
{
    int64_t usual = comm->chunk_bytes;
    comm->chunk_bytes = 56; /* 100003 elements would be many; 1000 give messages cut in up to 143 */
    weft_status status = case_allreduce_blocking(comm, argument);
    status = status == WEFT_OK ? case_alltoallv(comm, argument) : status;
    float buffer[1000];
    for (int a = 0; a < CASE_ALGORITHMS && status == WEFT_OK; ++a) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, case_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, 1000, buffer);
        status = case_one_allreduce(comm, &desc);
    }
    comm->chunk_bytes = usual;
    return status;
}

/* Between nodes long messages go in pieces of 256 KiB, at most 256 of them; inside a node whole. */
static weft_status case_pieces(weft_comm *comm, void *argument)
{
    (void)argument;
    enum { LONG = 200003, KIB = 1 << 10, MIB = 1 << 20 };
    static const int64_t cuts[][2] = {
        {0, 0}, {1, 1}, {256 * KIB, 1}, {256 * KIB + 1, 2}, {64 * MIB, 256}, {((int64_t)1 << 36) + 1, 256}};
    static const comm_algorithm algorithms[] = {COMM_ALGO_RECURSIVE_DOUBLING, COMM_ALGO_RING};
    weft_comm *nodes = NULL;
    float *buffer = calloc(LONG, sizeof *buffer);
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(comm_split(comm, 0, 0, &nodes), status, done);
    WEFT_TRY_GOTO(comm_imitate_nodes(nodes, 1), status, done);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; ++i) {
        const int64_t pieces =
            comm_size(comm) > 1 ? cuts[i][1] : (cuts[i][0] + nodes->chunk_bytes - 1) / nodes->chunk_bytes;
        const int64_t cut = transfers_chunks(nodes, cuts[i][0]);
        if (cut != pieces) {
            status =
                weft_fail(WEFT_ERR_INTERNAL, "%lld bytes are cut into %lld", (long long)cuts[i][0], (long long)cut);
            goto done;
        }
    }
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; ++a) {
        comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, algorithms[a], WEFT_DTYPE_F32, COMM_SUM, LONG, buffer);
        WEFT_TRY_GOTO(case_one_allreduce(nodes, &desc), status, done);
    }
done:
    comm_destroy(nodes);
    free(buffer);
    return status;
}

static weft_status case_stats(weft_comm *comm, void *argument)
{
    (void)argument;
    static const int64_t counts[] = {0, 1, 3, 8, 1000};
    float buffer[1000] = {0};
    for (int a = 1; a < CASE_ALGORITHMS; ++a) {
        for (int c = 0; c < 5; ++c) {
            comm_plan *plan = NULL;
            comm_allreduce_desc desc =
                case_desc(COMM_LANE_SHADOW, case_algorithms[a], WEFT_DTYPE_F32, COMM_SUM, counts[c], buffer);
            const coll_allreduce args = coll_arguments(comm, buffer, counts[c], WEFT_DTYPE_F32, COMM_SUM);
            const coll_place place = coll_place_of(&args);
            comm_cost cost = coll_algorithm_of(case_algorithms[a])->cost(&place, counts[c], 4);
            WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
            comm_stats before = comm_lane_stats(comm, COMM_LANE_SHADOW);
            weft_status status = comm_post(plan);
            status = status == WEFT_OK ? comm_wait(plan) : status;
            comm_stats after = comm_lane_stats(comm, COMM_LANE_SHADOW);
            comm_plan_destroy(plan);
            WEFT_TRY(status);
            int64_t bytes = (int64_t)(after.bytes_sent - before.bytes_sent);
            int64_t messages = (int64_t)(after.messages_sent - before.messages_sent);
            CASE_CHECK(bytes == cost.bytes_sent && messages == cost.messages_sent,
                       "%s of %lld on %d of %d: %lld bytes in %lld messages, predicted %lld in %lld",
                       comm_algorithm_name(case_algorithms[a]), (long long)counts[c], comm_rank(comm), comm_size(comm),
                       (long long)bytes, (long long)messages, (long long)cost.bytes_sent,
                       (long long)cost.messages_sent);
            CASE_CHECK(after.wait_seconds >= before.wait_seconds, "time runs backwards");
        }
    }
    return WEFT_OK;
}

/* Nodes of two ranks: 0 1 | 2 3 | 4 ..., also of what is split from it. */
static weft_status case_layout(weft_comm *comm, void *argument)
{
    (void)argument;
    weft_status status = WEFT_OK;
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    weft_comm *odd = NULL;
    weft_comm *pairs = NULL;
    CASE_CHECK(comm_node_size(comm) == size && comm_node_rank(comm) == rank, "all ranks share this machine");
    WEFT_TRY(comm_split(comm, 0, 0, &pairs));
    WEFT_TRY_GOTO(comm_imitate_nodes(pairs, 2), status, done);
    const comm_layout *layout = comm_get_layout(pairs);
    CASE_CHECK(layout->nodes == (size + 1) / 2, "%d nodes", layout->nodes);
    CASE_CHECK(layout->node_of[rank] == rank / 2 && layout->local_of[rank] == rank % 2 && layout->member[rank] == rank,
               "rank %d is %d of node %d", rank, layout->local_of[rank], layout->node_of[rank]);
    CASE_CHECK(layout->most == (size > 1 ? 2 : 1) && layout->least == (size % 2 == 0 ? 2 : 1), "nodes of %d to %d",
               layout->least, layout->most);
    CASE_CHECK(layout->first[layout->nodes] == size && layout->first[0] == 0, "%d ranks are placed",
               layout->first[layout->nodes]);
    WEFT_TRY_GOTO(comm_split(pairs, rank % 2, 0, &odd), status, done);
    CASE_CHECK(comm_get_layout(odd)->nodes == comm_size(odd) && comm_node_size(odd) == 1,
               "%d nodes of %d ranks without their neighbours", comm_get_layout(odd)->nodes, comm_size(odd));
done:
    comm_destroy(odd);
    comm_destroy(pairs);
    return status;
}

static const comm_case comm_cases[] = {
    {"layout", case_layout},
    {"allreduce", case_allreduce},
    {"allreduce_long", case_allreduce_long},
    {"allreduce_blocking", case_allreduce_blocking},
    {"bits", case_bits},
    {"bcast", case_bcast},
    {"alltoallv", case_alltoallv},
    {"gather", case_gather},
    {"barrier", case_barrier},
    {"agree", case_agree},
    {"mismatch", case_mismatch},
    {"interleaved", case_interleaved},
    {"split", case_split},
    {"chunks", case_chunks},
    {"pieces", case_pieces},
    {"stats", case_stats},
};
enum { COMM_CASES = sizeof comm_cases / sizeof comm_cases[0] };
