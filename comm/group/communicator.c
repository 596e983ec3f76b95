/* comm/group/communicator.c: communicators: making, splitting, asking, ending. */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "comm/coll/shared.h"
#include "comm/core/comm_internal.h"
#include "comm/transport/call_watch.h"

weft_mem_tag WEFT_MEM_COMM[1] = {{.text = "communication"}};

/* Seconds that the end of the job waits for a driver to leave the transport. */
#define ABORT_PATIENCE 1.0

/* A transport is used under the driver lock of the family it belongs to. progress: NULL = it is the first. */
static void transport_destroy(transport *t, comm_progress *progress)
{
    if (progress != NULL) {
        progress_lock(progress);
    }
    t->ops->destroy(t);
    if (progress != NULL) {
        progress_unlock(progress);
    }
}

/* What comm/core and comm/coll call upwards. */
static const comm_meetings meetings = {.agree = comm_agree, .allreduce = comm_allreduce, .allgather = comm_allgather};

/* Without talking to anybody; t is the communicator's from now on, also on failure. parent: NULL = it is the first. */
static weft_status comm_wrap(transport *t, const weft_comm *parent, weft_comm **out)
{
    weft_status status = WEFT_OK;
    weft_comm *comm = NULL;
    *out = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&comm, 1, WEFT_MEM_COMM), status, done);
    if (parent != NULL) {
        comm->progress = progress_retain(parent->progress);
        comm->buffers = buffer_registry_retain(parent->buffers);
    } else {
        WEFT_TRY_GOTO(progress_create(&comm->progress), status, done);
        WEFT_TRY_GOTO(buffer_registry_create(&comm->buffers), status, done);
    }
    /* One node, until the ranks have told each other. */
    WEFT_TRY_GOTO(layout_create(NULL, t->size, &comm->layout), status, done);
    comm->transport = t;
    comm->meet = &meetings;
    comm->chunk_bytes = COMM_CHUNK_BYTES;
    comm->model = comm_model_default();
    *out = comm;
    return WEFT_OK;
done:
    t->ops->abandon(t); /* the other ranks know nothing of this and go on without the one that would free with them */
    transport_destroy(t, parent != NULL ? parent->progress : NULL);
    if (comm != NULL) {
        progress_release(comm->progress);
        buffer_registry_release(comm->buffers);
        weft_free(comm);
    }
    return status;
}

weft_status comm_create(transport *t, weft_comm **comm)
{
    WEFT_TRY(comm_wrap(t, NULL, comm));
    weft_status status = comm_layout_exchange(*comm, t->node_leader);
    if (status != WEFT_OK) {
        t->ops->abandon(t); /* a rank that failed alone must not wait in MPI_Finalize for those that wait for it */
        comm_destroy(*comm);
        *comm = NULL;
    } else {
        (*comm)->small.state = SMALL_WANTED;
        progress_set_called((*comm)->progress, t);
        (*comm)->calls = true;
        progress_set_crowded((*comm)->progress, comm_node_size(*comm) > sysconf(_SC_NPROCESSORS_ONLN));
    }
    return status;
}

weft_status comm_create_self(weft_comm **comm)
{
    transport *t = NULL;
    *comm = NULL;
    WEFT_TRY(transport_self_create(&t));
    return comm_create(t, comm);
}

weft_status comm_create_mpi(weft_comm **comm)
{
    transport *t = NULL;
    *comm = NULL;
    call_watch_begin("the first meeting of all ranks");
    weft_status status = transport_mpi_create(&t);
    if (status == WEFT_OK) {
        status = comm_create(t, comm);
    }
    call_watch_end();
    return status;
}

void comm_destroy(weft_comm *comm)
{
    if (comm == NULL) {
        return;
    }
    schedule_free(&comm->blocking);
    schedule_free(&comm->small.schedule);
    coll_shared_destroy(comm->small.shared);
    window_pool_destroy(&comm->pool);
    buffer_registry_release(comm->buffers);
    layout_destroy(comm->layout);
    if (comm->calls) {
        progress_lock(comm->progress);
        progress_set_called(comm->progress, NULL);
        progress_unlock(comm->progress);
    }
    transport_destroy(comm->transport, comm->progress);
    progress_release(comm->progress);
    weft_free(comm);
}

void comm_set_stall_timeout(weft_comm *comm, double seconds)
{
    progress_set_stall_timeout(comm->progress, seconds);
}

weft_status comm_thread_start(weft_comm *comm, int cpu)
{
    const transport_ops *ops = comm->transport->ops;
    if (ops->allow_thread != NULL) {
        WEFT_TRY(ops->allow_thread(comm->transport));
    }
    return progress_thread_start(comm->progress, cpu);
}

void comm_thread_stop(weft_comm *comm)
{
    progress_thread_stop(comm->progress);
}

bool comm_moves_alone(const weft_comm *comm)
{
    return progress_thread_runs(comm->progress) || comm->layout->nodes > 1;
}

void comm_poll(weft_comm *comm)
{
    if (!progress_thread_runs(comm->progress)) {
        progress_drive(comm->progress);
    }
}

_Noreturn void comm_abort(weft_comm *comm, weft_status status)
{
    int code = (int)status;
    code = code < 1 || code > 125 ? (int)WEFT_ERR_INTERNAL : code;
    if (comm != NULL) {
        progress_lock_for(comm->progress, ABORT_PATIENCE); /* a driver that hangs must not hold up the end */
        comm->transport->ops->abort(comm->transport, code);
    }
    fflush(NULL);
    _Exit(code);
}

/* ---- splitting ------------------------------------------------------------------------------------------- */
typedef struct split_entry {
    int64_t color, key, rank;
    uint64_t token;
} split_entry;

static int compare_entries(const void *a, const void *b)
{
    const split_entry *x = a;
    const split_entry *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Every rank's entry, then this rank's group in order; members: [P]. */
static weft_status split_gather(weft_comm *comm, int color, int key, split_entry *entry, int *members, int *count,
                                int *me, uint64_t *token)
{
    int size = comm_size(comm);
    progress_lock(comm->progress);
    split_entry mine = {color, key, comm_rank(comm), comm->transport->ops->token(comm->transport)};
    progress_unlock(comm->progress);
    WEFT_TRY(comm_allgather(comm, &mine, (int64_t)sizeof mine, entry));
    qsort(entry, (size_t)size, sizeof *entry, compare_entries);
    *count = 0;
    *me = 0;
    for (int q = 0; q < size; ++q) {
        if (entry[q].color != color) {
            continue;
        }
        if (*count == 0) {
            *token = entry[q].token;
        }
        if (entry[q].rank == mine.rank) {
            *me = *count;
        }
        members[(*count)++] = (int)entry[q].rank;
    }
    return WEFT_OK;
}

/* Ranks that share a node (or imitate one) in the parent share it in the group. leader: [count] of work space. */
static weft_status split_layout(const weft_comm *comm, weft_comm *group, const int *members, int count, int *leader)
{
    const int *node_of = comm->layout->node_of;
    for (int i = 0; i < count; ++i) {
        leader[i] = 0;
        while (node_of[members[leader[i]]] != node_of[members[i]]) {
            ++leader[i];
        }
    }
    layout_destroy(group->layout);
    return layout_create(leader, count, &group->layout);
}

/* Memory of what agreements are made of, before the group needs one to say that memory is short. */
static weft_status split_reserve(weft_comm *group)
{
    int64_t pair[2] = {0};
    int size = comm_size(group);
    if (size == 1) {
        return WEFT_OK;
    }
    coll_allreduce args = coll_arguments(group, pair, 2, WEFT_DTYPE_I64, COMM_MAX);
    args.shared_memory = false; /* its window is not made yet */
    const coll_place place = coll_place_of(&args);
    schedule_begin(&group->blocking, group, COMM_LANE_CONTROL, "agreement");
    coll_build(&group->blocking, coll_choose_form(&place, 2, (int64_t)sizeof *pair), &args);
    WEFT_TRY(schedule_end(&group->blocking));
    return transfers_reserve(&group->blocking.transfers, 2 * (int64_t)size);
}

weft_status comm_split(weft_comm *comm, int color, int key, weft_comm **out)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    int count = 0;
    int me = 0;
    uint64_t token = 0;
    transport *t = NULL;
    split_entry *entry = NULL;
    int *members = NULL;
    int *leaders = NULL;
    *out = NULL;
    weft_status local = WEFT_NEW(&entry, size, WEFT_MEM_COMM);
    local = local == WEFT_OK ? WEFT_NEW(&members, size, WEFT_MEM_COMM) : local;
    local = local == WEFT_OK ? WEFT_NEW(&leaders, size, WEFT_MEM_COMM) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(split_gather(comm, color, key, entry, members, &count, &me, &token), status, done);
    progress_lock(comm->progress);
    status = comm->transport->ops->split(comm->transport, members, count, me, token, &t);
    progress_unlock(comm->progress);
    if (status == WEFT_OK) {
        status = comm_wrap(t, comm, out);
    }
    if (status == WEFT_OK) {
        (*out)->chunk_bytes = comm->chunk_bytes;
        (*out)->model = comm->model;
        memcpy((*out)->straight, comm->straight, sizeof comm->straight);
        (*out)->small.state = SMALL_WANTED;
        status = split_layout(comm, *out, members, count, leaders);
        status = status == WEFT_OK ? split_reserve(*out) : status;
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
done:
    if (status != WEFT_OK) {
        comm_destroy(*out);
        *out = NULL;
    }
    WEFT_FREE_ALL(entry, members, leaders);
    return status;
}
