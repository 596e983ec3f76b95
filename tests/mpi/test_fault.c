/*
 * A job in which rank 1 fails at step 50, for tests/mpi/test_fault.sh: "KIND [thread]", KIND one of
 *   kill   SIGKILL        stop    SIGSTOP        leave  exits with status 0
 *   plan   has other buckets than the rest       data   fails with a message of its own
 *   lose   a message of it never arrives         error  the MPI library reports an error of a message
 *   none   nothing happens (also without arguments)
 * With "thread" the communication thread drives. For lose and error, MPI_Isend and MPI_Testsome stand in front of the
 * library's: what a broken connection does to a job, without a network.
 *
 * ranks: 3
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/setup/context.h"
#include "base/log.h"
#include "comm/sync/sync.h"

enum { COUNT = 3000, STEPS = 200, FAULT_STEP = 50, CULPRIT = 1 };

static bool lose_next, report_next;

int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    int to = lose_next ? MPI_PROC_NULL : peer; /* complete at once, as a message that TCP has taken */
    lose_next = false;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Testsome(int count, MPI_Request request[], int *ended_count, int ended[], MPI_Status state[])
{
    return report_next ? MPI_ERR_OTHER : PMPI_Testsome(count, request, ended_count, ended, state);
}

static weft_status fault(const char *kind)
{
    lose_next = strcmp(kind, "lose") == 0;
    report_next = strcmp(kind, "error") == 0;
    fflush(NULL);
    if (strcmp(kind, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(kind, "stop") == 0) {
        raise(SIGSTOP);
    } else if (strcmp(kind, "leave") == 0) {
        _exit(0);
    } else if (strcmp(kind, "data") == 0) {
        return weft_fail(WEFT_ERR_DATA, "row 17 is bad");
    }
    return WEFT_OK;
}

static weft_status step(comm_sync *sync, float *grad)
{
    for (int i = 0; i < COUNT; ++i) {
        grad[i] = 1.0f;
    }
    WEFT_TRY(sync_begin(sync, 0.1, 1.0));
    WEFT_TRY(sync_ready(sync, 0));
    WEFT_TRY(sync_ready(sync, 1));
    WEFT_TRY(sync_gradients(sync));
    return sync_parameters(sync);
}

static weft_status steps(weft_comm *comm, comm_sync *sync, const char *kind, float *grad)
{
    WEFT_TRY(sync_reset(sync));
    for (int i = 0; i < STEPS; ++i) {
        WEFT_TRY(step(sync, grad));
        WEFT_CHECK(grad[COUNT - 1] == (float)comm_size(comm), WEFT_ERR_INTERNAL, "a sum of %g over %d ranks",
                   (double)grad[COUNT - 1], comm_size(comm));
        if (i == FAULT_STEP && comm_rank(comm) == CULPRIT) {
            WEFT_TRY(fault(kind));
        }
    }
    return WEFT_OK;
}

static weft_status run(weft_comm *comm, const char *kind)
{
    static float value[COUNT], grad[COUNT];
    bool other = strcmp(kind, "plan") == 0 && comm_rank(comm) == CULPRIT;
    int64_t first = other ? 999 : 1000;
    const sync_bucket buckets[] = {{COUNT - first, first}, {0, COUNT - first}};
    const sync_tensor tensors[] = {{"weight", 0, COUNT, 1}};
    const sync_options options = sync_options_default();
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = value,
                            .grad = grad,
                            .trained = COUNT,
                            .elements = COUNT,
                            .bucket = buckets,
                            .buckets = 2,
                            .tensor = tensors,
                            .tensors = 1};
    comm_sync *sync = NULL;
    WEFT_TRY(sync_create(comm, &options, &desc, &sync));
    weft_status status = steps(comm, sync, kind, grad);
    sync_destroy(sync);
    return status;
}

int main(int argc, char **argv)
{
    app_context context = {.host = "here"};
    weft_status status = comm_create_mpi(&context.comm);
    if (status == WEFT_OK) {
        const bool silent = argc > 1 && (strcmp(argv[1], "stop") == 0 || strcmp(argv[1], "lose") == 0);
        comm_set_stall_timeout(context.comm, silent ? 2.0 : 60.0); /* what is told at once waits for none */
        if (argc > 1 && (strcmp(argv[1], "lose") == 0 || strcmp(argv[1], "error") == 0)) {
            status = comm_imitate_nodes(context.comm, 1); /* messages, not shared memory */
        }
        status = status == WEFT_OK && argc > 2 ? comm_thread_start(context.comm, -1) : status;
    }
    if (status == WEFT_OK) {
        status = run(context.comm, argc > 1 ? argv[1] : "none");
    }
    if (status != WEFT_OK) {
        app_context_fail(&context, status);
    }
    comm_destroy(context.comm);
    return (int)status;
}
