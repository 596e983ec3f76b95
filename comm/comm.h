/*
 * comm/comm.h: ranks that talk.
 *
 * A weft_comm is a group of ranks over one transport: self (one rank), thread (ranks inside one process, for sanitizers
 * and unit tests) or mpi. Everything moves buffers of `count` elements of a dtype; counts are int64 and are cut into
 * chunks below. An operation is planned once, posted many times, tested or waited on:
 *
 *     comm_plan *plan;
 *     WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));      collective: every rank plans the same
 *     for (...) { WEFT_TRY(comm_post(plan)); ...compute...; WEFT_TRY(comm_wait(plan)); }
 *     comm_plan_destroy(plan);
 *
 * Operations of one lane are posted in the same order on every rank; different lanes are independent.
 *
 * Progress. One driver at a time: the communication thread while the caller computes, or the thread that waits, so that
 * a blocking call pays no hand-off (comm/core/progress.h).
 *
 * Buffers are host memory, but for rows of halos (comm/halo.h). Errors of a peer surface as WEFT_ERR_LAUNCH/_IO; a
 * local failure before a collective is agreed with comm_agree so that no rank is left waiting. Not thread-safe: one
 * thread per communicator at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"
#include "hal/hal.h"

typedef struct weft_comm weft_comm;
typedef struct comm_plan comm_plan;

extern weft_mem_tag WEFT_MEM_COMM[1]; /* messages, and what is kept to send and to receive them */

typedef enum comm_op { COMM_SUM = HAL_SUM, COMM_MAX = HAL_MAX, COMM_MIN = HAL_MIN } comm_op;

/* A lane carries one kind of traffic. It has its own duplicated communicator, its own counters and, in this order, its
 * priority. */
typedef enum comm_lane {
    COMM_LANE_CONTROL,
    COMM_LANE_HALO,
    COMM_LANE_GRADIENT,
    COMM_LANE_FACTORS, /* curvature of a second-order method, its inverses and the directions they give */
    COMM_LANE_SAMPLES, /* samples that the next steps read: images that other nodes keep */
    COMM_LANE_ROWS,    /* rows of tables that are sharded among the ranks, and their gradients */
    COMM_LANE_SHADOW,
    COMM_LANE_ALARM, /* the inquest after a stall (comm/core/inquest.h) */
    COMM_LANES
} comm_lane;

/* ---- communicators ---------------------------------------------------------------------------------------------- */
weft_status comm_create_self(weft_comm **comm);
/* Initialises MPI (SERIALIZED) on first use; the command line stays untouched. Collective over MPI_COMM_WORLD. */
weft_status comm_create_mpi(weft_comm **comm);
/* Run fn(comm of rank r, argument) on `ranks` threads of this process; returns the first failure. */
typedef weft_status (*comm_thread_fn)(weft_comm *comm, void *argument);
weft_status comm_thread_run(int ranks, comm_thread_fn fn, void *argument);
void comm_destroy(weft_comm *comm); /* collective */

int comm_rank(const weft_comm *comm);
int comm_size(const weft_comm *comm);
const char *comm_transport_name(const weft_comm *comm);
/* Ranks of this communicator on this rank's node (shared memory), and this rank's place among them. */
int comm_node_rank(const weft_comm *comm);
int comm_node_size(const weft_comm *comm);
/* A new communicator of the ranks with equal colour, ordered by key then rank. Collective. */
weft_status comm_split(weft_comm *comm, int color, int key, weft_comm **out);

/*
 * An operation that does not move for this many seconds, while somebody waits or the communication thread runs, fails
 * with WEFT_ERR_STALL; the message names rank, lane, operation, phase and the peer that is missing. If nobody waits for
 * it the next post says so: after a stall the ranks are out of step, and whatever is posted fails. 0, the default: wait
 * for ever. Holds for all communicators split from one another.
 */
void comm_set_stall_timeout(weft_comm *comm, double seconds);

/*
 * A communication thread: drives posted operations while the caller computes. cpu: the processor it is pinned to, -1:
 * the caller's mask. Without it operations move only while somebody waits or tests. Of the whole family of
 * communicators split from one another; ends with comm_thread_stop or the last of them. Not collective.
 * WEFT_ERR_LAUNCH when the MPI library allows calls from the main thread only, WEFT_ERR_RESOURCE when the system gives
 * no thread, WEFT_ERR_INTERNAL when it runs already. Over MPI one family a process may have a thread.
 */
weft_status comm_thread_start(weft_comm *comm, int cpu);
void comm_thread_stop(weft_comm *comm);

/* Returns true if messages move while the caller computes: there is a communication thread, or messages go to other
 * nodes, whose network carries them by itself. */
bool comm_moves_alone(const weft_comm *comm);
/* Takes every step of posted operations that does not block, for callers that compute for long between a post and its
 * wait. With a communication thread it does nothing, because that thread takes the steps. */
void comm_poll(weft_comm *comm);

/* Name and version of the MPI library, e.g. "Open MPI v4.1.4". Works before and without comm_create_mpi. */
void comm_mpi_version(char *text, size_t bytes);

/* Do rows of halos that lie in a device's memory go to the transport as they are? */
#define COMM_DIRECTS(X)                                                                                                \
    X(COMM_DIRECT_AUTO, "auto") /* where all ranks' MPI libraries say that they take them */                           \
    X(COMM_DIRECT_ON, "on")     /* where none says that it does not */                                                 \
    X(COMM_DIRECT_OFF, "off")
typedef enum comm_direct { COMM_DIRECTS(CHOICE_VALUE) } comm_direct;

/*
 * Decides whether rows of halos go to the transport from device memory, for this communicator and those that are split
 * from it afterwards. Without the call rows pass through host memory. hal: the backend of this rank. [out] road: the
 * decision and its reason, for people, with a hint how to shorten the way; "" if there is one rank, or no rank has a
 * device. WEFT_ERR_UNSUPPORTED: wish is ON, and rows of some rank cannot go directly. Collective.
 */
enum { COMM_ROAD_BYTES = 320 };
weft_status comm_choose_direct(weft_comm *comm, const weft_hal *hal, comm_direct wish, char road[COMM_ROAD_BYTES]);
/* Returns 1 if the MPI library takes messages in the memory of CUDA devices, 0 if it does not, -1 if it does not
 * say. */
int comm_takes_cuda(const weft_comm *comm);

/* End the whole job at once with this exit status (1..125). Never returns. comm may be NULL. For `main` only. */
_Noreturn void comm_abort(weft_comm *comm, weft_status status);

/* ---- blocking collectives (small data, set-up) ------------------------------------------------------------------ */
weft_status comm_barrier(weft_comm *comm);
weft_status comm_bcast(weft_comm *comm, int root, void *buffer, int64_t bytes);
/* In place over all ranks; result identical on every rank. f32, f64, i32, i64, u8(max/min). */
weft_status comm_allreduce(weft_comm *comm, void *buffer, int64_t count, weft_dtype dtype, comm_op op);
/* recv = concatenation by rank; recv_bytes[P] gives each rank's contribution. */
weft_status comm_allgatherv(weft_comm *comm, const void *send, int64_t send_bytes, void *recv,
                            const int64_t *recv_bytes);
/* Gathers bytes from all ranks, of which no rank knows beforehand how many the others give. comm: a weft_comm, so that
 * rooms that know no ranks may be given this function (table/table_exchange.h). [out] all: the bytes of rank 0, 1, ...
 * behind each other; bytes_of: [P] how many each gave. Both for weft_free, also after a failure. */
weft_status comm_allgather_bytes(void *comm, const void *mine, size_t bytes, void **all, size_t **bytes_of);
/* Like comm_allgatherv(), but every rank contributes equally many bytes. recv: [P * bytes]. */
weft_status comm_allgather(weft_comm *comm, const void *send, int64_t bytes, void *recv);
/* Bytes to and from each rank; offsets are prefix sums of the counts. */
weft_status comm_alltoallv(weft_comm *comm, const void *send, const int64_t *send_bytes, void *recv,
                           const int64_t *recv_bytes);
/* Rank root receives everybody's bytes by rank (recv, recv_bytes: significant at root only). */
weft_status comm_gatherv(weft_comm *comm, int root, const void *send, int64_t send_bytes, void *recv,
                         const int64_t *recv_bytes);
/* Every rank hands in its status; all return the worst, with the message of the lowest failing rank. Collective. */
weft_status comm_agree(weft_comm *comm, weft_status local);
/* Goes to `label` if any rank failed. agreed: the call that returns the worst status of all ranks, this one's `local`
 * included. */
#define COMM_AGREED_GOTO(agreed, local, status, label)                                                                 \
    do {                                                                                                               \
        (status) = (agreed);                                                                                           \
        if ((local) != WEFT_OK || (status) != WEFT_OK) {                                                               \
            goto label;                                                                                                \
        }                                                                                                              \
    } while (0)

/* ---- planned operations ----------------------------------------------------------------------------------------- */
#define COMM_ALGORITHMS(X)                                                                                             \
    X(COMM_ALGO_AUTO, "auto")                                                                                          \
    X(COMM_ALGO_RECURSIVE_DOUBLING, "recursive-doubling") /* small */                                                  \
    X(COMM_ALGO_HALVING_DOUBLING, "halving-doubling")     /* large; bit-stable in the position of an element */        \
    X(COMM_ALGO_RING, "ring")                             /* large, bandwidth-optimal for any P */                     \
    X(COMM_ALGO_FIXED_ORDER, "fixed-order") /* sums in rank order 0..P-1 on every element: bit-deterministic */        \
    X(COMM_ALGO_SHARED, "shared")           /* one node: direct sums in shared memory, in rank order */                \
    X(COMM_ALGO_TWO_LEVEL, "two-level")     /* 2-D: sum in the node, an all-reduce a local rank, gather in the node */ \
    X(COMM_ALGO_MASTER, "master")           /* reduce to one rank a node, all-reduce among those, broadcast */
typedef enum comm_algorithm { COMM_ALGORITHMS(CHOICE_VALUE) } comm_algorithm;

/*
 * What float32 travels as between nodes; sums are always float32. Everything but SAME rounds: opt-in. For float32 sums
 * by two-level and master (between nodes only), by fixed-order (between all ranks) and by AUTO, which ignores it on a
 * single node. The error bound is in comm/coll/direct.h.
 */
#define COMM_WIRES(X)                                                                                                  \
    X(COMM_WIRE_SAME, "same")                                                                                          \
    X(COMM_WIRE_BF16, "bf16")                                                                                          \
    X(COMM_WIRE_FP16, "fp16")
typedef enum comm_wire { COMM_WIRES(CHOICE_VALUE) } comm_wire;

/*
 * An all-reduce, or one half of it. The reduce-scatter leaves a part of the vector complete on this rank
 * (comm_plan_owned) and the rest of the buffer in no defined state; the all-gather brings everybody's part to all. Of
 * one named algorithm both, one after the other, are the whole to the bit. halving-doubling, ring, fixed-order and
 * two-level have halves, others are WEFT_ERR_UNSUPPORTED; AUTO takes the cheapest of those that do, the same for both.
 */
typedef enum comm_half { COMM_WHOLE, COMM_REDUCE_SCATTER, COMM_ALL_GATHER } comm_half;

/* Merges what another rank has into what this one has, [bytes] each: both orders of two vectors, and of three, give the
 * same. Runs on whichever thread drives. */
typedef void (*comm_merge_fn)(void *into, const void *other, int64_t bytes);

typedef struct comm_allreduce_desc {
    comm_lane lane;
    comm_algorithm algorithm;
    comm_algorithm preferred; /* what AUTO takes where it can run; AUTO: none */
    weft_dtype dtype;
    comm_op op;
    int64_t count;
    void *buffer; /* in place, fixed for the plan's life */
    comm_wire wire;
    comm_half half;
    const char *name; /* the tensor or bucket, for messages and traces; NULL: none */
    /* Local work on the vector before it is read, the first step of every post, by whoever drives: behind the
     * caller's back where there is a communication thread. A failure is the operation's. [out] done  false: the
     * vector is not there yet, and it is called again. NULL: none. */
    weft_status (*before)(void *argument, bool *done);
    void *argument;
    comm_merge_fn merge; /* in place of op, for bytes (WEFT_DTYPE_U8) by recursive-doubling; NULL: op */
} comm_allreduce_desc;

/* Collective. All ranks must pass equal descriptors: their hash is compared, a mismatch is WEFT_ERR_INTERNAL with
 * names. */
weft_status comm_allreduce_plan(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan **plan);

/* From the next post on a plan by recursive-doubling without `before` reduces the first `count` elements, at most as
 * many as it was made for. Takes no memory. Local: all ranks must pass the same, and nobody checks. */
weft_status comm_plan_shorten(comm_plan *plan, int64_t count);

/*
 * A vector that the caller cuts into one share for each rank, in the order of the ranks: shares by layer, by feature,
 * by rows. The buffer holds the whole vector on every rank. All ranks pass equal descriptors, as for all-reduces.
 *
 *     comm_allgather_plan        before the post, each rank has filled its own share
 *                                after the wait, all ranks hold all shares
 *     comm_reduce_scatter_plan   before the post, each rank holds its own addends
 *                                after the wait, this rank's share is complete (comm_plan_owned), the rest is undefined
 *     comm_bcast_plan            after the wait, all ranks hold the root's vector
 *
 * Sums run in the order of the ranks, so their bits depend neither on the cut nor on which ranks share a node. Between
 * post and wait the buffer belongs to the operation. comm/coll/cut.h has the steps and what they cost. Collective.
 */
typedef struct comm_shares_desc {
    comm_lane lane;
    weft_dtype dtype;     /* WEFT_DTYPE_U8 for bytes */
    comm_op op;           /* of the reduce-scatter only */
    const int64_t *count; /* [P] elements of each rank's share, at least 0; copied */
    void *buffer;         /* [sum of count], fixed for the plan's life */
    const char *name;     /* what travels, for messages and traces; NULL: none */
} comm_shares_desc;
weft_status comm_allgather_plan(weft_comm *comm, const comm_shares_desc *desc, comm_plan **plan);
weft_status comm_reduce_scatter_plan(weft_comm *comm, const comm_shares_desc *desc, comm_plan **plan);
/* From the next post on a reduce-scatter has these shares, none longer than it was made for. count: [P] elements;
 * copied. Takes no memory. Local: all ranks must pass the same, and nobody checks. */
weft_status comm_plan_recut(comm_plan *plan, const int64_t *count);

typedef struct comm_bcast_desc {
    comm_lane lane;
    weft_dtype dtype;
    int64_t count;
    void *buffer; /* [count], fixed for the plan's life */
    const char *name;
} comm_bcast_desc;
weft_status comm_bcast_plan(weft_comm *comm, int root, const comm_bcast_desc *desc, comm_plan **plan);

weft_status comm_post(comm_plan *plan);
weft_status comm_test(comm_plan *plan, bool *done);
weft_status comm_wait(comm_plan *plan);
void comm_plan_destroy(comm_plan *plan);
/* [out] begin, count: the elements that this rank holds complete after a reduce-scatter, and hands in to an
 * all-gather of halves. A rank may hold none, and together the ranks hold every element once. For all other
 * operations: all elements. */
void comm_plan_owned(const comm_plan *plan, int64_t *begin, int64_t *count);
const char *comm_algorithm_name(comm_algorithm algorithm);
/* Returns the algorithm of an all-reduce that runs; AUTO for operations that have only one. */
comm_algorithm comm_plan_algorithm(const comm_plan *plan);

/* ---- figures ---------------------------------------------------------------------------------------------------- */
typedef struct comm_stats {
    /* Sent in messages; bytes include rows of a halo that other ranks read in memory of the node, without a message. */
    uint64_t bytes_sent, messages_sent;
    uint64_t shared_bytes; /* read and written in memory that the ranks of a node share, in place of messages */
    double wait_seconds;   /* time callers stood still */
    double busy_seconds;   /* from the post to the end of each operation, summed: what is not waited for was hidden */
} comm_stats;
comm_stats comm_lane_stats(const weft_comm *comm, comm_lane lane);
const char *comm_lane_name(comm_lane lane); /* "gradient" */
/* The sum of float32 by the MPI library's own blocking all-reduce, to be measured beside ours. send == recv: in place.
 * Collective, while nothing is posted. WEFT_ERR_UNSUPPORTED when the transport has none (_available tells). */
bool comm_native_available(const weft_comm *comm);
weft_status comm_native_sum(weft_comm *comm, const float *send, float *recv, int64_t count);
