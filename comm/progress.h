/*
 * comm/progress.h: who moves operations forward.
 *
 * Posted operations stand in one queue a lane. A drive passes over the lanes in priority order (comm_lane's order) and
 * lets each operation take every step it can without blocking. Today the driver is the thread that waits or tests; a
 * communication thread would call progress_drive in a loop and the waiting thread would watch `active` instead: nothing
 * else changes.
 *
 * One engine serves a communicator and all that were split from it, so waiting on one moves the others too: two ranks
 * that wait in different orders on two communicators do not block each other.
 */
#ifndef WEFT_COMM_PROGRESS_H
#define WEFT_COMM_PROGRESS_H

#include "comm/comm.h"

typedef struct comm_progress comm_progress;
typedef struct comm_operation comm_operation;

enum { OPERATION_NAME_BYTES = 160, OPERATION_MESSAGE_BYTES = 512 };

/* An operation: the first member of what implements it. */
struct comm_operation {
    comm_lane lane;
    char name[OPERATION_NAME_BYTES]; /* "allreduce ring of 1000 float32 sum": for messages */
    /* Take every step that does not block; *done at the end, *moved when anything happened. On failure the operation
     * ends, with its messages cancelled by the engine. */
    weft_status (*advance)(comm_operation *op, bool *done, bool *moved);
    void (*cancel)(comm_operation *op);
    /* Where it stands: "reduce-scatter, round 2 of 6: no message from rank 3 (...)". */
    void (*describe)(const comm_operation *op, char *text, size_t bytes);

    /* the engine's */
    bool active;
    bool moved; /* since the watchdog looked last */
    weft_status status;
    char message[OPERATION_MESSAGE_BYTES];
    comm_operation *next;
};

weft_status progress_create(comm_progress **engine);
comm_progress *progress_retain(comm_progress *engine);
void progress_release(comm_progress *engine);

/* Seconds without any movement after which a wait fails; 0 = never. */
void progress_set_stall_timeout(comm_progress *engine, double seconds);

/* Queue the operation and take its first steps. It must stay where it is until it ends. */
void progress_post(comm_progress *engine, comm_operation *op);
/* One pass over everything that is posted. */
void progress_drive(comm_progress *engine);
/* Drive until the operation ends; its status, or WEFT_ERR_STALL. rank: for the message. */
weft_status progress_wait(comm_progress *engine, comm_operation *op, int rank);
/* The status of an operation that ended, its message recorded again for this thread. */
weft_status progress_status(const comm_operation *op);
/* End an operation early; nothing if it is not posted. */
void progress_cancel(comm_progress *engine, comm_operation *op);

#endif
