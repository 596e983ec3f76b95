/*
 * comm/coll/shared_create.c: choosing the form of a shared-memory all-reduce and making its window.
 *
 * The ranks tell each other where their vectors lie. When all are in one window the sums go straight through it; a
 * vector in ordinary memory, on any rank, makes all of them copy.
 */
#include "base/alloc.h"
#include "base/integer/integers.h"
#include "comm/coll/shared_state.h"

/* One meeting moves the whole vector to everybody, two move a slice of it: what the second costs, the rest of the
 * vector may cost. A vector that lies in a window needs no copy in its favour, so for it slots end earlier. */
bool shared_fits_slot(int ranks, int64_t bytes, bool windowed)
{
    return windowed ? bytes <= SHARED_SLOT_WINDOWED_BYTES
                    : bytes <= SHARED_SLOT_WINDOWED_BYTES || bytes * (ranks - 1) <= SHARED_SLOT_BYTES;
}

bool coll_shared_possible(const comm_layout *layout, int size)
{
    return layout->nodes == 1 && size > 1;
}

void coll_shared_destroy(coll_shared *shared)
{
    if (shared != NULL) {
        comm_window_return(shared->comm, shared->window);
        WEFT_FREE_ALL((void *)shared->vector, (void *)shared->to, (void *)shared->from, shared);
    }
}

static weft_status shared_new(weft_comm *comm, coll_shared **out)
{
    weft_status status = WEFT_OK;
    coll_shared *shared = NULL;
    int ranks = comm_size(comm);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared, 1, WEFT_MEM_COMM), status, done);
    *shared = (coll_shared){.comm = comm, .ranks = ranks, .me = comm_rank(comm)};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->vector, ranks, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->to, ranks, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->from, ranks, WEFT_MEM_COMM), status, done);
    *out = shared;
    shared = NULL;
done:
    coll_shared_destroy(shared);
    return status;
}

/* Collective: direct when all vectors lie in one window. */
static weft_status place_vectors(weft_comm *comm, coll_shared *shared)
{
    bool direct = false;
    WEFT_TRY(comm_buffer_vectors(comm, shared->buffer, shared->count * shared->element, shared->vector, &direct));
    shared->form = direct ? SHARED_DIRECT : shared->form;
    return WEFT_OK;
}

/* Everything but the window of the form that is set. */
static int64_t lay_out(coll_shared *shared, int64_t bytes)
{
    int64_t pieces = (bytes + SHARED_PIECE_BYTES - 1) / SHARED_PIECE_BYTES;
    switch (shared->form) {
    case SHARED_SLOTS:
        shared->slot_bytes = whole(SHARED_LINE + bytes, SHARED_LINE);
        break;
    case SHARED_DIRECT:
        shared->slot_bytes = 0;
        break;
    case SHARED_STAGED:
        shared->slot_bytes = whole((bytes + pieces - 1) / pieces, SHARED_LINE);
        shared->piece = shared->slot_bytes / shared->element;
        shared->pieces = (shared->count + shared->piece - 1) / shared->piece;
        break;
    }
    return 2 * shared->slot_bytes;
}

/* Collective: the window. It is zero, so a slot's flag stands below every post; the meeting makes that known. */
static weft_status lease(weft_comm *comm, coll_shared *shared, int64_t bytes)
{
    WEFT_TRY(comm_window_lease(comm, lay_out(shared, bytes), &shared->window));
    return comm->meet->agree(comm, WEFT_OK);
}

void coll_shared_aim(coll_shared *shared, void *buffer, int64_t count, weft_dtype dtype, comm_op op)
{
    shared->buffer = buffer;
    shared->count = count;
    shared->element = (int64_t)weft_dtype_bytes(dtype);
    shared->dtype = dtype;
    shared->op = op;
}

weft_status coll_shared_create(weft_comm *comm, const coll_allreduce *args, coll_shared **out)
{
    weft_status status = WEFT_OK;
    int64_t bytes = coll_vector_bytes(args);
    *out = NULL;
    coll_shared *shared = NULL;
    weft_status local = shared_new(comm, &shared);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    coll_shared_aim(shared, args->buffer, args->count, args->dtype, args->op);
    shared->form = shared_fits_slot(shared->ranks, bytes, false) ? SHARED_SLOTS : SHARED_STAGED;
    if (!shared_fits_slot(shared->ranks, bytes, true)) {
        WEFT_TRY_GOTO(place_vectors(comm, shared), status, done);
    }
    WEFT_TRY_GOTO(lease(comm, shared, bytes), status, done);
    *out = shared;
    shared = NULL;
done:
    coll_shared_destroy(shared);
    return status;
}

weft_status coll_shared_create_small(weft_comm *comm, coll_shared **out)
{
    weft_status status = WEFT_OK;
    coll_shared *shared = NULL;
    *out = NULL;
    weft_status local = shared_new(comm, &shared);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(lease(comm, shared, SHARED_SLOT_BYTES), status, done);
    *out = shared;
    shared = NULL;
done:
    coll_shared_destroy(shared);
    return status;
}
