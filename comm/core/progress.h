/*
 * comm/core/progress.h: who moves operations forward.
 *
 * Posted operations stand in one queue a lane. A pass goes over the lanes in priority order (comm_lane's order), in
 * each lane in the order of posting, and lets each operation take every step it can without blocking. One thread at a
 * time does that, the driver, who holds the driver lock:
 *
 *      progress_post    takes the first steps at once when the lock is free; else leaves the operation to the driver
 *      progress_wait    drives until its operation ends; when somebody else drives it watches `active` meanwhile
 *      the thread       drives while the callers compute, sleeps while nothing is posted, steps aside for callers
 *
 * So a blocking call pays no hand-off, and without the thread operations move only while somebody waits or tests.
 * MPI is used under the driver lock only: one thread at a time (MPI_THREAD_SERIALIZED).
 *
 * One engine serves a communicator and all that were split from it, so waiting on one moves the others too: two ranks
 * that wait in different orders on two communicators do not block each other.
 *
 * A stall, an operation that stands still for the stall timeout while somebody drives, or for a shorter time while
 * another rank calls to the inquest (comm/core/inquest.h), spoils the engine: its peers are out of step, so everything
 * that is posted, and all that is posted afterwards, fails with the same message.
 */
#pragma once

#include <stdatomic.h>

#include "comm/comm.h"
#include "comm/transport/transport.h"

typedef struct comm_progress comm_progress;
typedef struct comm_operation comm_operation;

enum { OPERATION_NAME_BYTES = 160, OPERATION_MESSAGE_BYTES = 512 };

/* An operation: the first member of what implements it. */
struct comm_operation {
    weft_comm *comm; /* its rank is named in messages, its counters count */
    comm_lane lane;
    char name[OPERATION_NAME_BYTES]; /* "allreduce ring of 1000 float32 sum": for messages */
    /* Take every step that does not block; *done at the end, *moved when anything happened. On failure the operation
     * ends, with its messages cancelled by the engine. Called by the driver, on any thread; must not wait. */
    weft_status (*advance)(comm_operation *op, bool *done, bool *moved);
    void (*cancel)(comm_operation *op);
    /* Where it stands: "reduce-scatter, round 2 of 6: no message from rank 3 (...)". */
    void (*describe)(const comm_operation *op, char *text, size_t bytes);

    /* The engine's. Whoever sees `active` fall (operation_active) sees everything the operation wrote. */
    atomic_bool active;
    bool moved;         /* since the watchdog looked last */
    double posted_at;   /* clock_seconds */
    double ended_at;    /* clock_seconds */
    double still_since; /* when the watchdog first saw it stand still; 0: never */
    weft_status status;
    char message[OPERATION_MESSAGE_BYTES];
    comm_operation *next;
};

static inline bool operation_active(const comm_operation *op)
{
    return atomic_load_explicit(&op->active, memory_order_acquire);
}

weft_status progress_create(comm_progress **engine);
comm_progress *progress_retain(comm_progress *engine);
/* The last one ends the thread, too. */
void progress_release(comm_progress *engine);

/* Seconds of standing still after which an operation fails; 0 = never. */
void progress_set_stall_timeout(comm_progress *engine, double seconds);
double progress_stall_timeout(comm_progress *engine);
/* After a stall: seconds since anything moved. */
double progress_still_seconds(const comm_progress *engine);
/* The transport whose alarm lane other ranks call on when they give up waiting; NULL: there is none any more. */
void progress_set_called(comm_progress *engine, transport *t);

/* Ranks share processors: waits give theirs away at once instead of looking often first. */
void progress_set_crowded(comm_progress *engine, bool crowded);

/* Queue the operation and take its first steps. It must stay where it is until it ends. */
void progress_post(comm_progress *engine, comm_operation *op);
/* One pass over everything that is posted, unless somebody drives already. */
void progress_drive(comm_progress *engine);
/* Until the operation ends; its status, or WEFT_ERR_STALL. */
weft_status progress_wait(comm_progress *engine, comm_operation *op);
/* Until the operation ends, true, or `enough` says so (looked at by this thread, without the lock's protection). */
bool progress_wait_until(comm_progress *engine, comm_operation *op, bool (*enough)(const comm_operation *op));
/* Post and wait: the thread is left asleep, because the caller drives. */
weft_status progress_run(comm_progress *engine, comm_operation *op);
/* The status of an operation that ended, its message recorded again for this thread. */
weft_status progress_status(const comm_operation *op);
/* [out] done: whether the operation ended, after one pass if it had not; then returns its status. */
weft_status progress_test(comm_operation *op, bool *done);
/* End an operation early; nothing if it is not posted. */
void progress_cancel(comm_progress *engine, comm_operation *op);

/* The driver lock, for calls of the transport outside of operations. Not from inside an operation. */
void progress_lock(comm_progress *engine);
void progress_unlock(comm_progress *engine);
/* Give up after about this many seconds: for the end of the job. */
bool progress_lock_for(comm_progress *engine, double seconds);

/* The communication thread, on this processor (-1: the caller's mask). WEFT_ERR_INTERNAL when there is one,
 * WEFT_ERR_RESOURCE when the system gives no thread. */
weft_status progress_thread_start(comm_progress *engine, int cpu);
bool progress_thread_runs(const comm_progress *engine);
void progress_thread_stop(comm_progress *engine); /* nothing if there is none; what is posted stays posted */
