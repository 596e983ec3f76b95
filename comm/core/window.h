/*
 * comm/core/window.h: memory that all ranks of a node share, and flags to meet in it.
 *
 * Every rank of the node owns one segment of the window and touches it first, so its pages lie on its own NUMA node;
 * all ranks of the node read and write all segments. Over mpi it is an MPI shared-memory window with one segment a
 * rank; over threads it is ordinary memory.
 *
 *      node of 3     segment 0 (rank 0's pages)   segment 1    segment 2
 *                    [flags | data ..........]    [flags | ..] [flags | ..]
 *
 * Who may read what and when is the algorithm's business: it raises its own flag (release) and awaits the others'
 * (acquire). Flags only grow; the number of the post (schedule_fn's `post`) tells one operation from the next.
 */
#pragma once

#include "comm/comm.h"

typedef struct comm_window comm_window;

enum { WINDOW_FLAGS = 64 }; /* of each rank, each on a cache line of its own, zero at the start */

/* A window of `bytes` (may differ between ranks) of this rank's own. Collective over the communicator; on a node of one
 * rank it is plain memory. WEFT_ERR_RESOURCE names the file system of shared memory when it is too small. */
weft_status comm_window_create(weft_comm *comm, int64_t bytes, comm_window **window);
/* Collective, before the communicator is destroyed; NULL is allowed. */
void comm_window_destroy(comm_window *window);

/* Bytes of shared memory that this node has left for windows; UINT64_MAX: no limit, as on a node of one rank. Pages
 * count from when they are touched. */
uint64_t comm_window_room(const weft_comm *comm);

/* The segment of the local-th rank of this node (comm_layout), 64-byte aligned, zeroed by nobody. */
void *window_segment(const comm_window *window, int local);
int64_t window_segment_bytes(const comm_window *window, int local);
int window_ranks(const comm_window *window);
int window_me(const comm_window *window); /* this rank's number among them */
/* The same on all ranks of the window, and of no other window of theirs. */
uint64_t window_id(const comm_window *window);

/* Raise this rank's flag to `value`: everything this rank wrote before is seen by whoever sees the value. */
void window_raise(comm_window *window, int flag, uint64_t value);
/* The flag of a rank of this node. */
uint64_t window_flag(const comm_window *window, int local, int flag);
/* A look at flags was in vain: once in many, the transport gets a chance to move its messages and to report a failure.
 * looks: the caller's count of them. By whoever drives. */
weft_status window_look_again(const weft_comm *comm, unsigned *looks);

/*
 * Windows for planned operations: one that no rank uses any more, or a new one. The communicator keeps them until it is
 * destroyed, so giving one back is local and a plan that is made again costs no new window. Lease: collective, at least
 * `bytes` (may differ between ranks) of this rank's own; its flags and segment are zero (again). They are so on every
 * rank after the next meeting (comm_agree).
 */
weft_status comm_window_lease(weft_comm *comm, int64_t bytes, comm_window **window);
void comm_window_return(weft_comm *comm, comm_window *window); /* NULL is allowed */

/*
 * A buffer for planned operations that lies in shared memory, so that ranks of the node reduce straight from it; plans
 * whose buffer lies in one use it without copying. Falls back to ordinary memory (with one line in the log) when there
 * is no room in shared memory. Collective; equal bytes on all ranks. The pages are first touched by the caller's
 * OpenMP threads and are zero.
 */
weft_status comm_buffer_alloc(weft_comm *comm, int64_t bytes, void **buffer);
/* Collective; after every plan on it and before the communicator it was made on is destroyed. NULL is allowed. */
void comm_buffer_free(weft_comm *comm, void *buffer);
/* The window that holds [data, data + bytes) of this rank at *offset of its segment, or NULL. The room's own. */
comm_window *comm_buffer_window(const weft_comm *comm, const void *data, int64_t bytes, int64_t *offset);
/*
 * Where the vectors of this node's ranks lie in shared memory: every rank hands in its own. *direct: on every node of
 * the communicator all of them lie in one window; then vector[q] is that of the q-th rank of this node, else vector
 * stays as it is. Collective, the same answer on every rank. The room's own.
 */
weft_status comm_buffer_vectors(weft_comm *comm, const void *data, int64_t bytes, void **vector, bool *direct);

/* ---- the room's own: what comm.c keeps --------------------------------------------------------------------------- */
/* Buffers of a communicator and all that are split from one another. */
typedef struct buffer_registry buffer_registry;
weft_status buffer_registry_create(buffer_registry **registry);
buffer_registry *buffer_registry_retain(buffer_registry *registry);
void buffer_registry_release(buffer_registry *registry);

typedef struct window_pool {
    struct pooled_window *entry;
    int count, capacity;
} window_pool;
void window_pool_destroy(window_pool *pool); /* collective */
