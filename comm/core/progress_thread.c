/*
 * comm/core/progress_thread.c: the communication thread, which drives while the callers compute.
 *
 * MPI libraries without progress threads of their own move nothing between calls: without this thread a posted
 * operation takes its first steps and then stands until somebody waits (measured with Open MPI 4.1: all of a 32 MiB
 * all-reduce stays exposed).
 *
 *      nothing posted       sleeps on a condition: costs nothing; a post pays one atomic exchange, and wakes it once
 *      something moves      passes without pause
 *      nothing moves        on a core of its own spins, yields, then looks every 50 us, after some 20 ms every 500 us;
 *                           on cores that compute naps at once, a quarter of the time since something moved, 50 us to
 *                           1 ms: a look takes 10 to 20 us away from them, and no message ends much later for it
 *      a caller drives      looks that often whether it is needed again
 *
 * Local reductions that run here are serial: the cores belong to the computing threads.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/trace/trace.h"
#include "comm/comm_options.def"
#include "comm/core/progress_internal.h"
#include "machine/placement.h"

/* Naps on cores that compute. */
static const double shortest_nap = 50e-6;
static const double longest_nap = 1e-3;

void engine_wake(comm_progress *engine)
{
    progress_thread *thread = &engine->thread;
    /* The exchange orders the post before the thread's second look at the queues. */
    if (atomic_load_explicit(&thread->running, memory_order_relaxed) && !atomic_exchange(&thread->posted, true)) {
        pthread_mutex_lock(&thread->lock);
        pthread_cond_signal(&thread->wake);
        pthread_mutex_unlock(&thread->lock);
    }
}

static void sleep_until_posted(comm_progress *engine)
{
    progress_thread *thread = &engine->thread;
    atomic_exchange(&thread->posted, false);
    if (!engine_empty(engine)) {
        return; /* posted just before */
    }
    pthread_mutex_lock(&thread->lock);
    while (!atomic_load(&thread->posted) && !atomic_load(&thread->stop)) {
        pthread_cond_wait(&thread->wake, &thread->lock);
    }
    pthread_mutex_unlock(&thread->lock);
}

static void nap(double still)
{
    const double seconds = fmin(fmax(still / 4.0, shortest_nap), longest_nap);
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

static void *thread_main(void *argument)
{
    comm_progress *engine = argument;
    progress_thread *thread = &engine->thread;
    const bool own_core = thread->cpu >= 0;
    double moved_at = clock_seconds();
    int idle = 0;
    placement_helper_thread(thread->cpu);
    trace_thread("communication");
    while (!atomic_load_explicit(&thread->stop, memory_order_relaxed)) {
        if (engine_empty(engine)) {
            sleep_until_posted(engine);
            idle = 0;
            moved_at = clock_seconds();
            continue;
        }
        bool moved = false;
        if (!engine_wanted(engine) && engine_try_lock(engine)) {
            moved = engine_pass(engine, true);
            if (!moved && idle > PAUSE_SPINS) {
                engine_watch(engine);
            }
            engine_unlock(engine);
        } else {
            idle = idle < PAUSE_YIELDS_ALONE ? PAUSE_YIELDS_ALONE : idle;
        }
        if (moved) {
            idle = 0;
            moved_at = clock_seconds();
        } else if (own_core) {
            engine_pause(idle, PAUSE_YIELDS_ALONE);
            idle += idle < PAUSE_YIELDS_ALONE + PAUSE_NAPS;
        } else {
            nap(clock_seconds() - moved_at);
            idle = PAUSE_YIELDS;
        }
    }
    return NULL;
}

weft_status progress_thread_start(comm_progress *engine, int cpu)
{
    progress_thread *thread = &engine->thread;
    WEFT_CHECK(!atomic_load(&thread->running), WEFT_ERR_INTERNAL, "the communication thread runs already");
    WEFT_CHECK(cpu >= -1 && cpu < PLACEMENT_MAX_CPUS, WEFT_ERR_INTERNAL, "a communication thread on processor %d", cpu);
    thread->cpu = cpu;
    atomic_store(&thread->stop, false);
    atomic_store(&thread->posted, true); /* its first look is at what was posted before */
    int error = pthread_create(&thread->id, NULL, thread_main, engine);
    WEFT_CHECK(error == 0, WEFT_ERR_RESOURCE,
               "no communication thread: %s; raise the limit of processes (ulimit -u) or use " FLAG_COMM_THREAD " off",
               strerror(error));
    pthread_setname_np(thread->id, "weft-comm");
    atomic_store(&thread->running, true);
    return WEFT_OK;
}

bool progress_thread_runs(const comm_progress *engine)
{
    return atomic_load_explicit(&engine->thread.running, memory_order_relaxed);
}

void progress_thread_stop(comm_progress *engine)
{
    progress_thread *thread = &engine->thread;
    if (!atomic_load(&thread->running)) {
        return;
    }
    atomic_store(&thread->running, false);
    pthread_mutex_lock(&thread->lock);
    atomic_store(&thread->stop, true);
    pthread_cond_signal(&thread->wake);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->id, NULL);
}
