/*
 * comm/transport/transport.h: what a transport must do: carry bytes between ranks.
 *
 * Messages match by (source, lane, tag) in the order in which they were sent; both sides name the same number of bytes.
 * A lane is a matching space of its own: a message of one lane is never seen by a receive of another.
 *
 * Requests are cells of request_bytes each in an array of the caller, so that posting allocates nothing and a transport
 * can test all of them in one call. A cell of zero bytes is idle; a cell must not move while its message is under way.
 *
 * Nothing here blocks except create, split, share, unshare and destroy. One thread at a time per transport: whoever
 * holds the driver lock (comm/core/progress.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Largest tag every MPI library must take. */
enum { TRANSPORT_TAGS = 32768 };

typedef struct transport transport;

/* Memory that some ranks of one node share: one segment a member. */
typedef struct transport_share {
    const int *member;    /* [count] ranks of the transport, the same list on each of them */
    int count, me;        /* this rank is member[me] */
    const int64_t *bytes; /* [count] of each member's segment */
    uint64_t key;         /* the same on all members; no two live sets of segments of a transport have the same */
} transport_share;

typedef struct transport_ops {
    const char *name;
    size_t request_bytes;
    /* Start one message; bytes fits in an int (comm/core/transfer.c cuts longer ones). */
    weft_status (*isend)(transport *t, int lane, int peer, int tag, const void *data, size_t bytes, void *request);
    weft_status (*irecv)(transport *t, int lane, int peer, int tag, void *data, size_t bytes, void *request);
    /* Indices of requests that ended since the last call, [count] at most; idle cells are skipped. */
    weft_status (*test_some)(transport *t, void *requests, int count, int *ended, int *ended_count);
    /* Give up on a message: its buffer may be freed afterwards. Only before the job ends. */
    void (*cancel)(transport *t, void *request);
    /* A number that no other call in the job returns, for split. */
    uint64_t (*token)(transport *t);
    /* A transport among members[0..count) (ranks of t), this rank being the me-th; token: members[0]'s. Collective
     * over t: every rank calls it, each with its own group. */
    weft_status (*split)(transport *t, const int *members, int count, int me, uint64_t token, transport **out);
    /* The library's own blocking sum of float32 over all ranks, to be measured beside ours; NULL: there is none. count
     * fits in an int. send == recv: in place. */
    weft_status (*native_sum)(transport *t, int lane, const float *send, float *recv, int64_t count);
    /* Segments that all members read and write: segment[count], 64-byte aligned. Collective over the members, which all
     * succeed or all fail; WEFT_ERR_RESOURCE when there is no room. NULL: only for transports of one rank. */
    weft_status (*share)(transport *t, const transport_share *share, void **segment, void **handle);
    void (*unshare)(transport *t, void *handle); /* collective over the members */
    /* Bytes that this node has left for such segments; NULL: ordinary memory, with no limit of its own. */
    uint64_t (*share_room)(transport *t);
    /* Now and then, from a wait that looks at shared memory only: moves messages that are still on their way and fails
     * when a peer has failed. */
    weft_status (*poll)(transport *t);
    /* Has a message come in on this lane that nobody receives? */
    bool (*called)(transport *t, int lane);
    /* An operation was given up before its end: nothing that follows may wait for other ranks. */
    void (*abandon)(transport *t);
    /* May a thread that did not create it use it, one at a time? WEFT_ERR_LAUNCH with the cure; NULL: always. */
    weft_status (*allow_thread)(transport *t);
    /* Whether messages may lie in the memory of a CUDA device: 1 or 0, as the library says now, -1: it does not say.
     * NULL: 0. */
    int (*takes_cuda)(transport *t);
    /* End the job with this exit status; does not return. */
    void (*abort)(transport *t, int exit_status);
    void (*destroy)(transport *t);
} transport_ops;

struct transport {
    const transport_ops *ops;
    int rank, size;
    int node_leader; /* lowest rank of this rank's node */
};

weft_status transport_self_create(transport **out);
weft_status transport_mpi_create(transport **out);

/* Ranks as threads of one process. The world outlives its transports; fail makes every later call of every rank return
 * WEFT_ERR_LAUNCH, and only the first failure is kept. */
typedef struct thread_world thread_world;
weft_status thread_world_create(int ranks, thread_world **world);
void thread_world_destroy(thread_world *world);
void thread_world_fail(thread_world *world, int rank, weft_status status, const char *message);
/* The first failure, with its message recorded for the calling thread; WEFT_OK if none. */
weft_status thread_world_failure(thread_world *world);
weft_status transport_thread_create(thread_world *world, int rank, transport **out);
