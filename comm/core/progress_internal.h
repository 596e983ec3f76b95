/*
 * comm/core/progress_internal.h: the engine as its files see it: progress.c (whoever drives), progress_thread.c (the
 * communication thread) and progress_watch.c (the watchdog).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "comm/core/progress.h"

typedef struct lane_queue {
    comm_operation *first, *last;
} lane_queue;

/* The communication thread. It sleeps on `wake` while nothing is posted. */
typedef struct progress_thread {
    atomic_bool running; /* posts wake it */
    atomic_bool posted;  /* something was, since it last found the queues empty */
    atomic_bool stop;
    int cpu; /* -1: any */
    pthread_t id;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} progress_thread;

struct comm_progress {
    atomic_bool driven; /* the driver lock */
    atomic_int waiting; /* callers that wait for an operation without the lock: the thread steps aside */
    atomic_int wanting; /* callers that want the lock for themselves: every driver steps aside */
    _Atomic(comm_operation *) submitted; /* posted without the lock; the newest first */
    atomic_int queued;                   /* in the lanes; written under the lock */
    _Atomic double stall_seconds;
    atomic_bool crowded; /* ranks share processors: waits begin with yields, and sleep soon */
    atomic_int references;
    /* under the lock */
    lane_queue lane[COMM_LANES];
    double looked_at;   /* when a driver last looked for stalls */
    double asked_at;    /* and whether another rank calls to the inquest */
    double still_since; /* of the stall that spoilt the engine */
    transport *called;  /* where that rank calls: the first communicator's, or NULL */
    weft_status failure;
    char failure_text[OPERATION_MESSAGE_BYTES];
    progress_thread thread;
};

/*
 * Rounds of a pause: spin, then give the core away, then sleep shortly, then longer. A round in which nothing ended may
 * have moved a piece of a long message all the same, which MPI alone sees: tens of kilobytes, where it has to copy. So
 * who has a core of its own looks for some 40 ms without sleeping, and nobody sleeps long within the first second.
 */
enum { PAUSE_SPINS = 64, PAUSE_YIELDS = 4096, PAUSE_YIELDS_ALONE = 1 << 15, PAUSE_NAPS = 10000 };
/* The idle-th pause in a row; sleeps from `yields` on, longer after PAUSE_NAPS more. */
void engine_pause(int idle, int yields);

bool engine_try_lock(comm_progress *engine);
void engine_unlock(comm_progress *engine);
/* Is nothing posted? */
bool engine_empty(comm_progress *engine);
/* Does a caller wait for the lock? */
bool engine_wanted(comm_progress *engine);
/* One pass over everything that is posted, under the lock; true when something moved. step_aside: stop early when a
 * caller wants to drive. */
bool engine_pass(comm_progress *engine, bool step_aside);
/* Spoil the engine when an operation stood still for too long; under the lock, after a pass in which nothing moved. */
void engine_watch(comm_progress *engine);
/* Everything that is posted, now and from now on, ends with this status and message. Under the lock. */
void engine_fail(comm_progress *engine, weft_status status, const char *message);

/* Wake the thread if there is one: after something was posted. */
void engine_wake(comm_progress *engine);
