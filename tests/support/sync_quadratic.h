/*
 * support/sync_quadratic.h: a small problem that replicas solve together, its exact optimum, and its serial twin.
 *
 *      rank r has f_r(w) = 1/P sum_i a_ri / 2 (w_i - t_ri)^2;    the sum over ranks is least at sum a t / sum a
 *
 * A replica is a rank's parameters, gradient and synchronisation; a step is plain SGD. Behind the trained parameters
 * lie two elements of state, which nothing but the synchronisation changes.
 */
#pragma once

#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "comm/core/comm_internal.h"
#include "comm/sync/sync.h"
#include "support/comm_cases.h"

enum { QUAD_TRAINED = 37, QUAD_STATE = 2, QUAD_ELEMENTS = QUAD_TRAINED + QUAD_STATE, QUAD_BUCKETS = 3 };

static const sync_bucket quad_bucket[QUAD_BUCKETS] = {{20, 17}, {5, 15}, {0, 5}};

static inline double quad_target(int rank, int i)
{
    return (double)((rank * 31 + i * 17) % 23) / 11.0 - 1.0;
}

/* equal: the same curvature on all ranks, so that the mean of replicas moves as one exact replica would. */
static inline double quad_curvature(int rank, int i, bool equal)
{
    return 0.5 + (double)((i * 5 + (equal ? 0 : rank * 3)) % 7) / 7.0;
}

static inline double quad_start(int i)
{
    return 2.0 - 0.1 * i;
}

static inline double quad_optimum(int ranks, int i, bool equal)
{
    double top = 0;
    double bottom = 0;
    for (int r = 0; r < ranks; ++r) {
        top += quad_curvature(r, i, equal) * quad_target(r, i);
        bottom += quad_curvature(r, i, equal);
    }
    return top / bottom;
}

/* Ranks with minima of their own whose numbers float32 holds exactly, so that replicas come to rest on predicted places
 * to the last bit: the first of two ranks is steeper (3 and 2, times a rate of a quarter), and factor[0] times its
 * minimum and factor[1] times that of the second, over all ranks, cancel around `centre`. */
enum { DYADIC_STEEP = 3, DYADIC_FLAT = 2 };
static const double dyadic_rate = 0.25;

typedef struct dyadic_problem {
    double centre;    /* the predicted place, of element 0; that of element i is i farther where it is not 0 */
    double factor[2]; /* integers */
} dyadic_problem;

static inline double dyadic_centre(const dyadic_problem *problem, int i)
{
    return problem->centre == 0 ? 0 : problem->centre + i;
}

static inline double dyadic_curvature(int rank)
{
    return rank % 2 == 0 ? DYADIC_STEEP : DYADIC_FLAT;
}

static inline double dyadic_target(const dyadic_problem *problem, int rank, int ranks, int i)
{
    const double scale = (i % 2 == 0 ? 1 : -1) * (1 + i % 5); /* times ranks, by which gradients are divided */
    const double apart = rank % 2 == 0 ? problem->factor[1] * (ranks / 2) : -problem->factor[0] * ((ranks + 1) / 2);
    return dyadic_centre(problem, i) + apart * scale * ranks;
}

typedef struct replica {
    weft_comm *comm;
    comm_sync *sync;
    bool equal;                   /* curvature */
    const dyadic_problem *dyadic; /* NULL: targets and curvatures from above */
    float value[QUAD_ELEMENTS], grad[QUAD_TRAINED];
} replica;

static inline weft_status replica_create(weft_comm *comm, const sync_options *options, replica *r)
{
    static const sync_tensor tensor = {"w", 0, QUAD_TRAINED, 1};
    *r = (replica){.comm = comm, .equal = true};
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        r->value[i] = (float)quad_start(i);
    }
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = r->value,
                            .grad = r->grad,
                            .trained = QUAD_TRAINED,
                            .elements = QUAD_ELEMENTS,
                            .bucket = quad_bucket,
                            .buckets = QUAD_BUCKETS,
                            .tensor = &tensor,
                            .tensors = 1};
    return sync_create(comm, options, &desc, &r->sync);
}

/* Create, reset. */
static inline weft_status replica_open(weft_comm *comm, const sync_options *options, replica *r)
{
    WEFT_TRY(replica_create(comm, options, r));
    return sync_reset(r->sync);
}

static inline void replica_gradient(replica *r)
{
    int rank = comm_rank(r->comm);
    int ranks = comm_size(r->comm);
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        const double a = r->dyadic != NULL ? dyadic_curvature(rank) : quad_curvature(rank, i, r->equal);
        const double t = r->dyadic != NULL ? dyadic_target(r->dyadic, rank, ranks, i) : quad_target(rank, i);
        r->grad[i] = (float)(a * ((double)r->value[i] - t) / ranks);
    }
}

static inline weft_status replica_step(replica *r, double lr, double weight)
{
    WEFT_TRY(sync_begin(r->sync, lr, weight));
    replica_gradient(r);
    if (weight == 0) {
        r->grad[3] = NAN; /* nobody may look at it */
    }
    for (int b = 0; b < QUAD_BUCKETS; ++b) {
        WEFT_TRY(sync_ready(r->sync, b));
    }
    WEFT_TRY(sync_gradients(r->sync));
    for (int i = 0; i < QUAD_TRAINED; ++i) {
        r->value[i] -= (float)lr * r->grad[i];
    }
    return sync_parameters(r->sync);
}

static inline weft_status replica_steps(replica *r, int steps, double lr)
{
    for (int k = 0; k < steps; ++k) {
        WEFT_TRY(replica_step(r, lr, 1.0));
    }
    return WEFT_OK;
}

/* A buffer of the state by name. */
static inline weft_status replica_buffer(replica *r, const char *name, sync_buffer *found)
{
    const sync_buffer *buffer = NULL;
    int count = 0;
    WEFT_TRY(sync_state(r->sync, &buffer, &count));
    for (int i = 0; i < count; ++i) {
        if (strcmp(buffer[i].name, name) == 0) {
            *found = buffer[i];
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_ERR_INTERNAL, "no buffer '%s' among %d", name, count);
}

/* The parameters of all ranks; all: [P][QUAD_ELEMENTS]. */
static inline weft_status replica_gather(const replica *r, float (*all)[QUAD_ELEMENTS])
{
    int64_t bytes[64];
    for (int q = 0; q < comm_size(r->comm); ++q) {
        bytes[q] = (int64_t)sizeof r->value;
    }
    return comm_allgatherv(r->comm, r->value, (int64_t)sizeof r->value, all, bytes);
}

/* To the bit. */
static inline bool quad_same(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static inline weft_status replica_check_equal(const replica *r)
{
    float all[8][QUAD_ELEMENTS];
    WEFT_TRY(replica_gather(r, all));
    for (int q = 1; q < comm_size(r->comm); ++q) {
        CASE_CHECK(quad_same(all[0], all[q], sizeof all[0]), "ranks 0 and %d differ", q);
    }
    return WEFT_OK;
}

static inline void quad_sleep(int microseconds)
{
    struct timespec pause = {.tv_nsec = microseconds * 1000L};
    nanosleep(&pause, NULL);
}

/* A text file that rank 0 writes and removes; path: [64] */
static inline weft_status quad_write(weft_comm *comm, const char *text, char *path)
{
    static int number;
    snprintf(path, 64, "/tmp/weft-sync-%d-%d", (int)getpid(), comm_rank(comm) == 0 ? number++ : 0);
    WEFT_TRY(comm_bcast(comm, 0, path, 64));
    weft_status status = WEFT_OK;
    if (comm_rank(comm) == 0) {
        FILE *file = fopen(path, "w");
        status =
            file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 ? WEFT_OK : weft_fail(WEFT_ERR_IO, "%s", path);
    }
    return comm_agree(comm, status);
}

static inline weft_status quad_remove(weft_comm *comm, const char *path)
{
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 0) {
        unlink(path);
    }
    return WEFT_OK;
}
