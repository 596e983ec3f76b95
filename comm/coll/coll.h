/*
 * comm/coll/coll.h: the collective algorithms, one a file.
 *
 * Each writes the steps of one rank into a schedule and, for the all-reduces, predicts its cost in closed form: the
 * exact bytes and messages that a rank sends (asserted against Open MPI's own counters by tests/mpi/test_volume.sh) and
 * the length of the critical path (which COMM_ALGO_AUTO minimises).
 * The critical path is the same number on every rank.
 *
 * Letters: P ranks, M bytes of the vector, p the largest power of two <= P, e bytes of an element.
 */
#ifndef WEFT_COMM_COLL_H
#define WEFT_COMM_COLL_H

#include "comm/cost.h"
#include "comm/layout.h"
#include "comm/schedule.h"

/* What an all-reduce through shared memory keeps beside its steps (comm/coll/shared.h). */
typedef struct coll_shared coll_shared;

typedef struct coll_allreduce {
    int rank, size;
    void *buffer;
    int64_t count;
    weft_dtype dtype;
    comm_op op;
    coll_shared *shared; /* of COMM_ALGO_SHARED, made before it is built; else NULL */
} coll_allreduce;

/* Whose cost: rank `rank` of `size`, spread over nodes as the layout says. */
typedef struct coll_place {
    int rank, size;
    const comm_layout *layout;
} coll_place;

typedef struct coll_algorithm {
    comm_algorithm id;
    const char *name, *description;
    void (*build)(comm_schedule *s, const coll_allreduce *args);
    comm_cost (*cost)(const coll_place *place, int64_t count, int64_t element);
} coll_algorithm;

/* NULL for AUTO and for numbers that are no algorithm. */
const coll_algorithm *coll_algorithm_of(comm_algorithm id);
/* The cheapest by the predicted critical path under the model; the same on every rank. */
const coll_algorithm *coll_choose(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                  weft_dtype dtype);
/* The same among the algorithms that send messages. */
const coll_algorithm *coll_choose_messages(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                           weft_dtype dtype);
/* The share of a flat algorithm's critical path: all of it on the network when there is more than one node, else inside
 * the node. */
void coll_flat_path(comm_cost *cost, const coll_place *place, int64_t rounds, int64_t bytes);

void coll_recursive_doubling_build(comm_schedule *s, const coll_allreduce *args);
comm_cost coll_recursive_doubling_cost(const coll_place *place, int64_t count, int64_t element);
void coll_halving_doubling_build(comm_schedule *s, const coll_allreduce *args);
comm_cost coll_halving_doubling_cost(const coll_place *place, int64_t count, int64_t element);
void coll_ring_build(comm_schedule *s, const coll_allreduce *args);
comm_cost coll_ring_cost(const coll_place *place, int64_t count, int64_t element);
void coll_fixed_order_build(comm_schedule *s, const coll_allreduce *args);
comm_cost coll_fixed_order_cost(const coll_place *place, int64_t count, int64_t element);

void coll_shared_build(comm_schedule *s, const coll_allreduce *args);
comm_cost coll_shared_cost(const coll_place *place, int64_t count, int64_t element);

void coll_bcast_build(comm_schedule *s, int rank, int size, int root, void *buffer, int64_t bytes);
void coll_allgatherv_build(comm_schedule *s, int rank, int size, const void *send, void *recv,
                           const int64_t *recv_bytes);
void coll_alltoallv_build(comm_schedule *s, int rank, int size, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes);
void coll_gatherv_build(comm_schedule *s, int rank, int size, int root, const void *send, int64_t send_bytes,
                        void *recv, const int64_t *recv_bytes);
void coll_barrier_build(comm_schedule *s, int rank, int size);

/* ---- folding P ranks onto a power of two (comm/coll/fold.c)
 * ------------------------------------------------------------ */
typedef struct coll_fold {
    int power;   /* p */
    int extra;   /* P - p: pairs that are folded */
    int virtual; /* this rank's number in 0..p-1, or -1 when its neighbour acts for it */
    int steps;   /* log2 p */
} coll_fold;

coll_fold coll_fold_of(int rank, int size);
int coll_fold_rank(const coll_fold *fold, int virtual); /* the rank that acts as `virtual` */
/* One round before: the vector of every even folded rank is reduced into its odd neighbour's. tmp: one vector. */
void coll_fold_in(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args, void *tmp);
/* One round after: the result goes back. */
void coll_fold_out(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args);

static inline int64_t coll_vector_bytes(const coll_allreduce *args)
{
    return args->count * (int64_t)weft_dtype_bytes(args->dtype);
}

#endif
