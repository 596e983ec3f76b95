/* comm/group/thread_run.c: a job of several ranks inside one process. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/core/comm_internal.h"

typedef struct rank_thread {
    thread_world *world;
    int rank;
    comm_thread_fn fn;
    void *argument;
    pthread_t thread;
} rank_thread;

static void *rank_main(void *argument)
{
    rank_thread *self = argument;
    transport *t = NULL;
    weft_comm *comm = NULL;
    weft_status status = transport_thread_create(self->world, self->rank, &t);
    if (status == WEFT_OK) {
        status = comm_create(t, &comm);
    }
    if (status == WEFT_OK) {
        status = self->fn(comm, self->argument);
    }
    if (status != WEFT_OK) {
        thread_world_fail(self->world, self->rank, status, weft_error_message());
    }
    comm_destroy(comm);
    return NULL;
}

weft_status comm_thread_run(int ranks, comm_thread_fn fn, void *argument)
{
    weft_status status = WEFT_OK;
    thread_world *world = NULL;
    rank_thread *threads = NULL;
    int started = 0;
    WEFT_TRY_GOTO(thread_world_create(ranks, &world), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&threads, ranks, WEFT_MEM_COMM), status, done);
    for (; started < ranks; ++started) {
        threads[started] = (rank_thread){.world = world, .rank = started, .fn = fn, .argument = argument};
        int error = pthread_create(&threads[started].thread, NULL, rank_main, &threads[started]);
        if (error != 0) {
            thread_world_fail(world, started, WEFT_ERR_RESOURCE, strerror(error));
            break;
        }
    }
    for (int r = 0; r < started; ++r) {
        pthread_join(threads[r].thread, NULL);
    }
    status = thread_world_failure(world);
done:
    thread_world_destroy(world);
    weft_free(threads);
    return status;
}
