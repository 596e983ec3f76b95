/*
 * comm/progress.c: the queues and the wait.
 *
 * A wait looks often at first, because most messages are there within microseconds, then gives its core away: with more
 * ranks than cores the peer that is waited for may need it.
 */
#include "comm/progress.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/comm_internal.h"

enum { SPINS = 64, YIELDS = 4096, SLEEP_NANOSECONDS = 50000 };

typedef struct lane_queue {
    comm_operation *first, *last;
} lane_queue;

struct comm_progress {
    lane_queue lane[COMM_LANES];
    double stall_seconds;
    int references;
};

weft_status progress_create(comm_progress **engine)
{
    WEFT_TRY(WEFT_NEW_ZERO(engine, 1, WEFT_MEM_COMM));
    (*engine)->references = 1;
    return WEFT_OK;
}

comm_progress *progress_retain(comm_progress *engine)
{
    ++engine->references;
    return engine;
}

void progress_release(comm_progress *engine)
{
    if (engine != NULL && --engine->references == 0) {
        weft_free(engine);
    }
}

void progress_set_stall_timeout(comm_progress *engine, double seconds)
{
    engine->stall_seconds = seconds;
}

static void queue_append(lane_queue *queue, comm_operation *op)
{
    op->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = op;
    } else {
        queue->first = op;
    }
    queue->last = op;
}

static void queue_remove(lane_queue *queue, comm_operation *op)
{
    comm_operation *previous = NULL;
    for (comm_operation *at = queue->first; at != op; at = at->next) {
        previous = at;
    }
    if (previous != NULL) {
        previous->next = op->next;
    } else {
        queue->first = op->next;
    }
    if (queue->last == op) {
        queue->last = previous;
    }
    op->next = NULL;
}

static void operation_end(comm_progress *engine, comm_operation *op, weft_status status)
{
    queue_remove(&engine->lane[op->lane], op);
    op->active = false;
    op->status = status;
    if (status != WEFT_OK) {
        op->cancel(op);
        snprintf(op->message, sizeof op->message, "%s", weft_error_message());
    }
}

static void operation_advance(comm_progress *engine, comm_operation *op)
{
    bool done = false;
    bool moved = false;
    weft_status status = op->advance(op, &done, &moved);
    op->moved = op->moved || moved;
    if (done || status != WEFT_OK) {
        operation_end(engine, op, status);
    }
}

void progress_post(comm_progress *engine, comm_operation *op)
{
    assert(!op->active);
    op->active = true;
    op->moved = true;
    op->status = WEFT_OK;
    queue_append(&engine->lane[op->lane], op);
    operation_advance(engine, op);
}

void progress_drive(comm_progress *engine)
{
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_operation *next = NULL;
        for (comm_operation *op = engine->lane[lane].first; op != NULL; op = next) {
            next = op->next; /* an operation that ends leaves the queue */
            operation_advance(engine, op);
        }
    }
}

weft_status progress_status(const comm_operation *op)
{
    return op->status == WEFT_OK ? WEFT_OK : weft_fail(op->status, "%s", op->message);
}

static weft_status operation_stalled(comm_progress *engine, comm_operation *op, int rank)
{
    char place[OPERATION_MESSAGE_BYTES];
    op->describe(op, place, sizeof place);
    weft_fail(WEFT_ERR_STALL, "no progress for %g s: rank %d, lane %s, %s, %s", engine->stall_seconds, rank,
              comm_lane_name(op->lane), op->name, place);
    operation_end(engine, op, WEFT_ERR_STALL);
    return WEFT_ERR_STALL;
}

static void wait_politely(int round)
{
    if (round < SPINS) {
        __builtin_ia32_pause();
    } else if (round < YIELDS) {
        sched_yield();
    } else {
        struct timespec pause = {.tv_sec = 0, .tv_nsec = SLEEP_NANOSECONDS};
        nanosleep(&pause, NULL);
    }
}

weft_status progress_wait(comm_progress *engine, comm_operation *op, int rank)
{
    double last_move = 0.0;
    int idle = 0;
    while (op->active) {
        op->moved = false;
        progress_drive(engine);
        if (op->moved) {
            idle = 0;
            last_move = 0.0;
            continue;
        }
        wait_politely(idle);
        idle += idle < YIELDS;
        if (idle > SPINS && op->active && engine->stall_seconds > 0.0) {
            double now = clock_seconds();
            last_move = last_move > 0.0 ? last_move : now;
            if (now - last_move > engine->stall_seconds) {
                return operation_stalled(engine, op, rank);
            }
        }
    }
    return progress_status(op);
}

void progress_cancel(comm_progress *engine, comm_operation *op)
{
    if (op->active) {
        queue_remove(&engine->lane[op->lane], op);
        op->active = false;
        op->cancel(op);
    }
}
