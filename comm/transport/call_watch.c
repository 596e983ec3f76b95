/* comm/transport/call_watch.c: see comm/transport/call_watch.h. One state, as MPI is one per process. */
#include "comm/transport/call_watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/clock.h"

enum { LOOKS = 8, NAMES = 8 };

static struct {
    comm_hang_handler *handler;
    double limit;
    pthread_t thread;
    bool running;
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int depth;
    const char *call[NAMES]; /* by depth */
    double spent;            /* of the innermost call's time, as the thread has seen it */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void comm_on_hang(comm_hang_handler *handler)
{
    watch.handler = handler;
}

void comm_set_hang_timeout(double seconds)
{
    watch.limit = seconds;
}

static struct timespec after(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)seconds;
    at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec += 1;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* The limit in pieces: after a piece that took far too long this process was not running either. */
static void *watch_main(void *argument)
{
    const double limit = *(const double *)argument;
    const double piece = limit / LOOKS;
    double looked_at = clock_seconds();
    pthread_mutex_lock(&watch.lock);
    while (watch.depth > 0) {
        const double left = limit - watch.spent;
        const struct timespec next = after(left < piece ? left : piece);
        pthread_cond_clockwait(&watch.changed, &watch.lock, CLOCK_MONOTONIC, &next);
        double now = clock_seconds();
        double gone = now - looked_at;
        looked_at = now;
        watch.spent += gone < 2.0 * piece ? gone : 0.0;
        if (watch.depth > 0 && watch.spent >= limit) {
            const char *call = watch.call[watch.depth <= NAMES ? watch.depth - 1 : NAMES - 1];
            double spent = watch.spent;
            watch.spent = 0.0;
            pthread_mutex_unlock(&watch.lock);
            watch.handler(call, spent);
            pthread_mutex_lock(&watch.lock);
        }
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

/* Signals are the main thread's. A system that gives no thread leaves the call unwatched. */
static void start(void)
{
    static double limit; /* of this thread: read once it runs */
    sigset_t all;
    sigset_t before;
    limit = watch.limit;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch.running = pthread_create(&watch.thread, NULL, watch_main, &limit) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void call_watch_begin(const char *call)
{
    pthread_mutex_lock(&watch.lock);
    bool outermost = watch.depth == 0;
    if (watch.depth < NAMES) {
        watch.call[watch.depth] = call;
    }
    watch.depth += 1;
    watch.spent = 0.0;
    pthread_mutex_unlock(&watch.lock);
    if (outermost && watch.handler != NULL && watch.limit > 0.0) {
        start();
    }
}

void call_watch_end(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.depth -= 1;
    watch.spent = 0.0;
    bool ended = watch.depth == 0;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    if (ended && watch.running) {
        pthread_join(watch.thread, NULL);
        watch.running = false;
    }
}
