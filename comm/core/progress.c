/*
 * comm/core/progress.c: the queues, the driver lock and the wait.
 *
 * The lock is one atomic exchange: it is contended only when a thread drives beside the callers, and then whoever comes
 * second has something to watch (its operation) or to leave (a post goes into a list that the driver takes over).
 *
 * A wait looks often at first, because most messages are there within microseconds, then gives its core away: with more
 * ranks than cores the peer that is waited for may need it. It keeps the lock from its first pass to the end of its
 * operation: passing it back and forth would only add to the latency.
 *
 * Cost of an operation beside its own steps: one exchange for the post, one for the wait (one for both when blocking),
 * two readings of the clock.
 */
#include "comm/core/progress.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/core/comm_internal.h"
#include "comm/core/progress_internal.h"

/* A nap is short against the time that was waited already: the long ones come after some 20 ms. */
enum { NAP_NANOSECONDS = 50000, LONG_NAP_NANOSECONDS = 500000 };

weft_status progress_create(comm_progress **engine)
{
    WEFT_TRY(WEFT_NEW_ZERO(engine, 1, WEFT_MEM_COMM));
    atomic_init(&(*engine)->references, 1);
    pthread_mutex_init(&(*engine)->thread.lock, NULL);
    pthread_cond_init(&(*engine)->thread.wake, NULL);
    return WEFT_OK;
}

comm_progress *progress_retain(comm_progress *engine)
{
    atomic_fetch_add_explicit(&engine->references, 1, memory_order_relaxed);
    return engine;
}

void progress_release(comm_progress *engine)
{
    if (engine != NULL && atomic_fetch_sub_explicit(&engine->references, 1, memory_order_acq_rel) == 1) {
        progress_thread_stop(engine);
        pthread_cond_destroy(&engine->thread.wake);
        pthread_mutex_destroy(&engine->thread.lock);
        weft_free(engine);
    }
}

void progress_set_crowded(comm_progress *engine, bool crowded)
{
    atomic_store_explicit(&engine->crowded, crowded, memory_order_relaxed);
}

/* ---- the driver lock ------------------------------------------------------------------------------------- */
void engine_pause(int idle, int yields)
{
    if (idle < PAUSE_SPINS) {
        __builtin_ia32_pause();
    } else if (idle < yields) {
        sched_yield();
    } else {
        long nanoseconds = idle < yields + PAUSE_NAPS ? NAP_NANOSECONDS : LONG_NAP_NANOSECONDS;
        struct timespec nap = {.tv_sec = 0, .tv_nsec = nanoseconds};
        nanosleep(&nap, NULL);
    }
}

bool engine_try_lock(comm_progress *engine)
{
    return !atomic_load_explicit(&engine->driven, memory_order_relaxed) &&
           !atomic_exchange_explicit(&engine->driven, true, memory_order_acquire);
}

void engine_unlock(comm_progress *engine)
{
    atomic_store_explicit(&engine->driven, false, memory_order_release);
}

bool progress_lock_for(comm_progress *engine, double seconds)
{
    bool locked = engine_try_lock(engine);
    if (locked) {
        return true;
    }
    double start = clock_seconds();
    atomic_fetch_add_explicit(&engine->wanting, 1, memory_order_relaxed);
    for (int idle = 0; !locked && (seconds < 0.0 || clock_seconds() - start < seconds);
         idle += idle < PAUSE_YIELDS + PAUSE_NAPS) {
        engine_pause(idle, PAUSE_YIELDS);
        locked = engine_try_lock(engine);
    }
    atomic_fetch_sub_explicit(&engine->wanting, 1, memory_order_relaxed);
    return locked;
}

void progress_lock(comm_progress *engine)
{
    progress_lock_for(engine, -1.0);
}

void progress_unlock(comm_progress *engine)
{
    engine_unlock(engine);
}

bool engine_wanted(comm_progress *engine)
{
    return atomic_load_explicit(&engine->wanting, memory_order_relaxed) > 0 ||
           atomic_load_explicit(&engine->waiting, memory_order_relaxed) > 0;
}

/* ---- the queues, under the lock ---------------------------------------------------------------------------- */
bool engine_empty(comm_progress *engine)
{
    return atomic_load_explicit(&engine->queued, memory_order_acquire) == 0 &&
           atomic_load_explicit(&engine->submitted, memory_order_acquire) == NULL;
}

static void count_queued(comm_progress *engine, int more)
{
    int queued = atomic_load_explicit(&engine->queued, memory_order_relaxed);
    atomic_store_explicit(&engine->queued, queued + more, memory_order_release);
}

static void queue_append(comm_progress *engine, comm_operation *op)
{
    lane_queue *queue = &engine->lane[op->lane];
    op->next = NULL;
    if (queue->last != NULL) {
        queue->last->next = op;
    } else {
        queue->first = op;
    }
    queue->last = op;
    count_queued(engine, 1);
}

static void queue_remove(comm_progress *engine, comm_operation *op)
{
    lane_queue *queue = &engine->lane[op->lane];
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
    count_queued(engine, -1);
}

/* The operation belongs to its poster again, who may free it at once. */
static void operation_finish(comm_operation *op, weft_status status, const char *message)
{
    if (status != WEFT_OK) {
        snprintf(op->message, sizeof op->message, "%s", message);
        op->cancel(op);
    }
    op->status = status;
    op->ended_at = clock_seconds();
    comm_count_seconds(&op->comm->counters[op->lane].busy_ns, op->ended_at - op->posted_at);
    atomic_store_explicit(&op->active, false, memory_order_release);
}

/* True when it moved. */
static bool operation_advance(comm_progress *engine, comm_operation *op)
{
    bool done = false;
    bool moved = false;
    weft_status status = op->advance(op, &done, &moved);
    op->moved = op->moved || moved;
    if (done || status != WEFT_OK) {
        queue_remove(engine, op);
        operation_finish(op, status, weft_error_message());
        return true;
    }
    return moved;
}

static void operation_enter(comm_progress *engine, comm_operation *op)
{
    if (engine->failure != WEFT_OK) {
        operation_finish(op, engine->failure, engine->failure_text);
    } else {
        queue_append(engine, op);
    }
}

/* Take over what was posted without the lock, the oldest first. */
static void absorb_submitted(comm_progress *engine)
{
    if (atomic_load_explicit(&engine->submitted, memory_order_relaxed) == NULL) {
        return;
    }
    comm_operation *newest = atomic_exchange_explicit(&engine->submitted, NULL, memory_order_acquire);
    comm_operation *oldest = NULL;
    while (newest != NULL) {
        comm_operation *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        comm_operation *next = oldest->next;
        operation_enter(engine, oldest);
        oldest = next;
    }
}

bool engine_pass(comm_progress *engine, bool step_aside)
{
    bool moved = false;
    absorb_submitted(engine);
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_operation *next = NULL;
        for (comm_operation *op = engine->lane[lane].first; op != NULL; op = next) {
            next = op->next; /* an operation that ends leaves the queue */
            moved = operation_advance(engine, op) || moved;
            if (step_aside && engine_wanted(engine)) {
                return moved;
            }
        }
    }
    return moved;
}

void engine_fail(comm_progress *engine, weft_status status, const char *message)
{
    engine->failure = status;
    snprintf(engine->failure_text, sizeof engine->failure_text, "%s", message);
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        while (engine->lane[lane].first != NULL) {
            comm_operation *first = engine->lane[lane].first;
            queue_remove(engine, first);
            operation_finish(first, status, message);
        }
    }
}

/* ---- posting and waiting --------------------------------------------------------------------------------------- */
/* Into the lane, with its first steps, or into the list. True when this thread holds the lock now. */
static bool operation_submit(comm_progress *engine, comm_operation *op)
{
    assert(!operation_active(op));
    op->moved = true;
    op->still_since = 0.0;
    op->status = WEFT_OK;
    op->posted_at = clock_seconds();
    atomic_store_explicit(&op->active, true, memory_order_relaxed);
    if (engine_try_lock(engine)) {
        absorb_submitted(engine);
        operation_enter(engine, op);
        if (atomic_load_explicit(&op->active, memory_order_relaxed)) {
            operation_advance(engine, op);
        }
        return true;
    }
    op->next = atomic_load_explicit(&engine->submitted, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&engine->submitted, &op->next, op, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    return false;
}

void progress_post(comm_progress *engine, comm_operation *op)
{
    if (operation_submit(engine, op)) {
        engine_unlock(engine);
    }
    if (operation_active(op)) {
        engine_wake(engine);
    }
}

void progress_drive(comm_progress *engine)
{
    if (engine_try_lock(engine)) {
        engine_pass(engine, false);
        engine_unlock(engine);
    }
}

weft_status progress_status(const comm_operation *op)
{
    return op->status == WEFT_OK ? WEFT_OK : weft_fail(op->status, "%s", op->message);
}

weft_status progress_test(comm_operation *op, bool *done)
{
    if (operation_active(op)) {
        progress_drive(op->comm->progress);
    }
    *done = !operation_active(op);
    return *done ? progress_status(op) : WEFT_OK;
}

/* Drive until the operation ends or is enough, with the lock when `driving`, else as soon as it is free. */
static void drive_until(comm_progress *engine, comm_operation *op, bool (*enough)(const comm_operation *op),
                        bool driving)
{
    const bool crowded = atomic_load_explicit(&engine->crowded, memory_order_relaxed);
    const int first = crowded ? PAUSE_SPINS : 0;
    const int yields = crowded ? PAUSE_YIELDS : PAUSE_YIELDS_ALONE;
    int idle = first;
    bool counted = false; /* in engine->waiting */
    while (operation_active(op) && (enough == NULL || !enough(op))) {
        if (atomic_load_explicit(&engine->wanting, memory_order_relaxed) > 0 && driving) {
            engine_unlock(engine);
            driving = false;
        } else if (!driving) {
            driving = engine_try_lock(engine);
        }
        if (driving == counted) {
            counted = !driving;
            atomic_fetch_add_explicit(&engine->waiting, counted ? 1 : -1, memory_order_relaxed);
        }
        if (driving && engine_pass(engine, false)) {
            idle = first;
            continue;
        }
        engine_pause(idle, yields);
        idle += idle < yields + PAUSE_NAPS;
        if (driving && idle > PAUSE_SPINS) {
            engine_watch(engine);
        }
    }
    if (counted) {
        atomic_fetch_sub_explicit(&engine->waiting, 1, memory_order_relaxed);
    }
    if (driving) {
        engine_unlock(engine);
    }
}

bool progress_wait_until(comm_progress *engine, comm_operation *op, bool (*enough)(const comm_operation *op))
{
    drive_until(engine, op, enough, false);
    return !operation_active(op);
}

weft_status progress_wait(comm_progress *engine, comm_operation *op)
{
    drive_until(engine, op, NULL, false);
    return progress_status(op);
}

weft_status progress_run(comm_progress *engine, comm_operation *op)
{
    drive_until(engine, op, NULL, operation_submit(engine, op));
    return progress_status(op);
}

void progress_cancel(comm_progress *engine, comm_operation *op)
{
    if (!operation_active(op)) {
        return;
    }
    progress_lock(engine);
    absorb_submitted(engine);
    if (operation_active(op)) {
        queue_remove(engine, op);
        op->cancel(op);
        op->status = WEFT_OK;
        atomic_store_explicit(&op->active, false, memory_order_release);
    }
    progress_unlock(engine);
}
