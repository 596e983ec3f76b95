/* app/cli/stack.c: see app/cli/stack.h. */
#include "app/cli/stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

static const size_t wanted_bytes = (size_t)8 << 20, least_bytes = (size_t)1 << 20, thread_bytes = (size_t)2 << 20;

typedef struct stack_call {
    weft_status (*run)(void *argument);
    void *argument;
    weft_status status;
} stack_call;

static void *call(void *argument)
{
    stack_call *c = argument;
    c->status = c->run(c->argument);
    return NULL;
}

/* Returns true if the calling thread's stack may grow far enough. */
static bool raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= wanted_bytes) {
        return true;
    }
    limit.rlim_cur = limit.rlim_max < wanted_bytes ? limit.rlim_max : wanted_bytes;
    return setrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= least_bytes;
}

/* The C library took the size of new threads' stacks from the limit, when the program was loaded; libomp takes it
 * later. */
static void raise_threads(void)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0) {
        return;
    }
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < thread_bytes &&
        pthread_attr_setstacksize(&attributes, thread_bytes) == 0) {
        (void)pthread_setattr_default_np(&attributes);
        (void)setenv("OMP_STACKSIZE", "2M", 0);
    }
    (void)pthread_attr_destroy(&attributes);
}

weft_status stack_run(weft_status (*run)(void *argument), void *argument)
{
    stack_call c = {.run = run, .argument = argument};
    pthread_attr_t attributes;
    pthread_t thread;
    bool started = false;
    raise_threads();
    if (!raise_limit() && pthread_attr_init(&attributes) == 0) {
        started = pthread_attr_setstacksize(&attributes, wanted_bytes) == 0 &&
                  pthread_create(&thread, &attributes, call, &c) == 0;
        (void)pthread_attr_destroy(&attributes);
    }
    if (!started) {
        return run(argument);
    }
    (void)pthread_join(thread, NULL);
    return c.status;
}
